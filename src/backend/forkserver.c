/* SPDX-License-Identifier: Apache-2.0 */
/* One process, forked while nothing is open. It waits for requests of the agent on a socket
 * pair, forks a supervisor for each, and reports its end on the same socket. The agent's end
 * of the socket is its life: when that closes, it ends.
 */
#include "backend/forkserver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"

#define FIRST_FREE_FD 10

struct backend_forkserver {
    int fd;
    pid_t pid;
};

/* What the agent sends. */
struct request {
    char id[JOB_ID_SIZE];
    char log[4096];
};

struct child {
    pid_t pid;
    char id[JOB_ID_SIZE];
};

struct server {
    backend_forkserver_fn *run;
    void *arg;
    int fd, signals;
    VEC(struct child) child;
};

static void default_signals(void)
{
    sigset_t none;
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Never returns. */
static void become_supervisor(const struct server *n, const struct request *q)
{
    int null = open("/dev/null", O_RDONLY);
    int log = open(q->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (null >= 0)
        dup2(null, 0);
    for (int i = 1; i < 3 && log >= 0; i++)
        dup2(log, i);
    close_range(3, ~0U, 0);
    default_signals();
    prctl(PR_SET_PDEATHSIG, 0);
    prctl(PR_SET_NAME, q->id);
    setsid();
    int status = chdir("/") < 0 ? 126 : n->run(n->arg, q->id);
    fflush(NULL);
    _exit(status);
}

static void say(const struct server *n, const char *id, struct proc_exit exit)
{
    struct backend_forkserver_end e = {.exit = exit};
    memcpy(e.id, id, sizeof(e.id));
    ssize_t sent = send(n->fd, &e, sizeof(e), MSG_NOSIGNAL);
    (void)sent; /* nobody listens any more: the end is near */
}

static void fork_supervisor(struct server *n, const struct request *q)
{
    struct child y = {.pid = fork()};
    if (y.pid == 0)
        become_supervisor(n, q);
    memcpy(y.id, q->id, sizeof(y.id));
    if (y.pid < 0)
        say(n, y.id, (struct proc_exit){.code = 126});
    else
        VEC_PUSH(&n->child, y);
}

static void reap(struct server *n)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        for (size_t i = 0; i < n->child.n; i++) {
            if (n->child.at[i].pid != pid)
                continue;
            bool killed = WIFSIGNALED(status);
            say(n, n->child.at[i].id,
                (struct proc_exit){.code = killed ? -1 : WEXITSTATUS(status),
                                   .signal = killed ? WTERMSIG(status) : 0});
            n->child.at[i] = n->child.at[--n->child.n];
            break;
        }
}

/* False at the agent's end. */
static bool listen_once(struct server *n)
{
    struct request q;
    ssize_t got = recv(n->fd, &q, sizeof(q), MSG_DONTWAIT);
    if (got == (ssize_t)sizeof(q)) {
        q.id[sizeof(q.id) - 1] = q.log[sizeof(q.log) - 1] = '\0';
        fork_supervisor(n, &q);
        return true;
    }
    return got < 0 && (errno == EAGAIN || errno == EINTR);
}

/* The fork server's whole life. */
static void serve_requests(struct server *n)
{
    struct signalfd_siginfo info;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_SETMASK, &set, NULL);
    signal(SIGTERM, SIG_IGN); /* that is for the agent, whose end is ours */
    signal(SIGINT, SIG_IGN);
    prctl(PR_SET_NAME, "ty-forkserver");
    int fd = fcntl(n->fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    n->fd = dup3(fd, 3, O_CLOEXEC);
    close_range(4, ~0U, 0);
    n->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    struct pollfd fds[2] = {{.fd = n->fd, .events = POLLIN},
                            {.fd = n->signals, .events = POLLIN}};
    for (bool go_on = true; go_on;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            break;
        while (read(n->signals, &info, sizeof(info)) > 0)
            ;
        reap(n);
        if (fds[0].revents)
            go_on = listen_once(n);
    }
}

enum rc backend_forkserver_create(backend_forkserver_fn *run, void *arg,
                                  struct backend_forkserver **out, struct err *err)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        return err_sys(err, errno, "cannot make a socket");
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) {
        enum rc rc = err_sys(err, errno, "cannot fork");
        close(fds[0]);
        close(fds[1]);
        return rc;
    }
    if (pid == 0) {
        struct server n = {.run = run, .arg = arg, .fd = fds[1]};
        serve_requests(&n);
        _exit(0);
    }
    close(fds[1]);
    struct backend_forkserver *n = mem_calloc(1, sizeof(*n));
    *n = (struct backend_forkserver){.fd = fds[0], .pid = pid};
    *out = n;
    return RC_OK;
}

void backend_forkserver_destroy(struct backend_forkserver *n)
{
    if (!n)
        return;
    close(n->fd);
    while (waitpid(n->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    mem_free(n);
}

int backend_forkserver_fd(const struct backend_forkserver *n)
{
    return n->fd;
}

bool backend_forkserver_ask(struct backend_forkserver *n, const char *id, const char *log)
{
    struct request q = {.id = ""};
    if (strlen(id) >= sizeof(q.id) || strlen(log) >= sizeof(q.log))
        return false;
    strncpy(q.id, id, sizeof(q.id) - 1);
    strncpy(q.log, log, sizeof(q.log) - 1);
    return send(n->fd, &q, sizeof(q), MSG_NOSIGNAL) == (ssize_t)sizeof(q);
}

enum backend_forkserver_answer backend_forkserver_next(struct backend_forkserver *n,
                                                       struct backend_forkserver_end *out)
{
    ssize_t got = recv(n->fd, out, sizeof(*out), MSG_DONTWAIT);
    if (got == (ssize_t)sizeof(*out))
        return FORKSERVER_END;
    return got < 0 && (errno == EAGAIN || errno == EINTR) ? FORKSERVER_NOTHING
                                                          : FORKSERVER_GONE;
}
