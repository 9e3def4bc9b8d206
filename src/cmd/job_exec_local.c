/* SPDX-License-Identifier: Apache-2.0 */
/* On this machine. With a terminal: a new one for the program, and a process of ours that
 * stands between it and the user's, so that nothing of the job ever holds that.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/exec.h"
#include "base/mem.h"
#include "cmd/job_exec.h"

static enum rc run_here(const struct cmd_place *p, const struct job_exec_ask *x,
                        bool terminal, int *status, struct err *err)
{
    struct proc_exit exit = {.code = 0};
    struct backend_exec e = {.id = x->id,
                             .worker = x->worker,
                             .argv = x->argv,
                             .terminal = terminal,
                             .term = terminal ? getenv("TERM") : NULL,
                             .by = x->by ? x->by : p->owner,
                             .parent = (pid_t)x->parent};
    enum rc rc = backend_exec_run(&p->p, &e, &exit, err);
    *status = exit.signal ? 128 + exit.signal : exit.code;
    return rc;
}

/* The process that has the program's terminal. Never returns. */
static void run_inside(const struct cmd_place *p, const struct job_exec_ask *x, int slave)
{
    struct err err = {0};
    int status = 0;
    struct job_exec_ask mine = *x;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    mine.parent = getppid();
    for (int i = 0; i < 3; i++)
        dup2(slave, i);
    if (slave > 2)
        close(slave);
    if (run_here(p, &mine, true, &status, &err)) {
        fprintf(stderr, "trainyard job exec: %s\r\n", err.msg);
        status = 1;
    }
    fflush(stderr);
    _exit(status);
}

static bool copy(int from, int to)
{
    char block[16384];
    ssize_t n = read(from, block, sizeof(block)), done = 0;
    while (n > 0 && done < n) {
        ssize_t k = write(to, block + done, (size_t)(n - done));
        if (k < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        done += k > 0 ? k : 0;
    }
    return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

/* Until the program has ended. A signal that ends us ends it first. */
static void relay(int master, int signals, pid_t program)
{
    struct pollfd fds[3] = {{.fd = master, .events = POLLIN},
                            {.fd = 0, .events = POLLIN},
                            {.fd = signals, .events = POLLIN}};
    while (poll(fds, 3, -1) >= 0 || errno == EINTR) {
        struct winsize size;
        int signal = fds[2].revents ? job_terminal_signal(signals) : 0;
        if (signal == SIGWINCH) {
            job_terminal_size(&size);
            ioctl(master, TIOCSWINSZ, &size);
        } else if (signal) {
            kill(program, signal);
            fds[1].fd = -1;
        }
        if (fds[1].revents && !copy(0, master)) {
            fds[1].fd = -1;
            if (write(master, "\004", 1) < 0)
                break;
        }
        if (fds[0].revents && !copy(master, 1))
            break;
    }
}

static int open_pair(int *slave)
{
    char name[64];
    struct winsize size;
    int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    *slave = -1;
    if (fd >= 0 && grantpt(fd) == 0 && unlockpt(fd) == 0 &&
        ptsname_r(fd, name, sizeof(name)) == 0)
        *slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    job_terminal_size(&size);
    if (fd >= 0)
        ioctl(fd, TIOCSWINSZ, &size);
    return fd;
}

static enum rc run_on_terminal(const struct cmd_place *p, const struct job_exec_ask *x,
                               int *status, struct err *err)
{
    struct job_terminal ours;
    int slave, master = open_pair(&slave), ended = 0;
    if (slave < 0)
        return err_sys(err, errno, "cannot open a terminal");
    int signals = job_terminal_signals();
    pid_t pid = fork();
    if (pid == 0)
        run_inside(p, x, slave);
    close(slave);
    job_terminal_enter(&ours);
    if (pid > 0)
        relay(master, signals, pid);
    job_terminal_leave(&ours);
    close(master);
    close(signals);
    while (pid > 0 && waitpid(pid, &ended, 0) < 0 && errno == EINTR)
        ;
    *status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
    return pid < 0 ? err_sys(err, EAGAIN, "cannot start a process") : RC_OK;
}

enum rc job_exec_local(const struct cmd_place *p, const struct job_exec_ask *x,
                       int *status, struct err *err)
{
    return x->terminal ? run_on_terminal(p, x, status, err)
                       : run_here(p, x, x->in_terminal, status, err);
}
