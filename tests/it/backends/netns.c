/* SPDX-License-Identifier: Apache-2.0 */
/* A backend for tests of the contract in backend/backend.h: a cluster of one job. Nothing
 * is shared with the supervisor but the file system, as with a real one: a `node` process
 * lives in a network namespace of its own with a bridge, each worker in another one with
 * an address on it (10.99.0.1 and up). The node answers requests on a socket: start, how is
 * it, signal, what was written. It holds output and ends of workers in memory, so
 * everything that the supervisor knows came through that socket; it goes on when the
 * supervisor is killed, and is found again by the job's id, which is the handle.
 *
 * As with a cluster, it has a queue of its own (a job named `held` waits until the file `go`
 * is in its directory), one question tells how all workers are, and addresses are given out
 * when they start: variables have tokens until then.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/address.h"
#include "backend/shim.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "job/file.h"

#define MESSAGE_MAX (160 << 10)
#define PIECE_MAX (64 << 10)
#define LOG_MAX (64 << 20)
#define WORKERS_MAX 64
#define PATIENCE_MS 5000
#define START_AFTER_MS 30 /* silence before workers that wait are started */

enum ask { ASK_START, ASK_POLL, ASK_ALL, ASK_SIGNAL, ASK_LOGS, ASK_QUIT };

struct request {
    enum ask what;
    int64_t worker, attempt;
    int64_t arg; /* signal, offset in the log */
    double grace_s;
};

struct reply {
    enum backend_state state;
    struct backend_exit exit;
    int64_t pid;
    int64_t n; /* bytes of the log behind it */
};

struct answer {
    struct reply r;
    char data[PIECE_MAX];
};

/* What the supervisor knows of the workers, between two questions. */
struct news {
    struct reply of[WORKERS_MAX];
};
_Static_assert(sizeof(struct news) <= PIECE_MAX, "one answer tells of all workers");

/* One worker, as the node knows it. */
struct seat {
    enum backend_state state;
    int64_t attempt;
    pid_t pid; /* and its group */
    int out;   /* its output, -1 at the end */
    struct buf launch, log;
    struct backend_exit exit;
    bool ended;
    int64_t kill_at; /* monotonic ns; 0: no */
};

struct cluster {
    const struct backend_job *job;
    int listener;
    int64_t asked; /* monotonic ns of the last request */
    struct seat seats[WORKERS_MAX];
};

/* Runs `ip` with these words; false when it failed. */
static bool ip(const char *const *words)
{
    const char *argv[16] = {"ip"};
    size_t n = 1;
    for (; *words && n < ARRAY_LEN(argv) - 1; words++)
        argv[n++] = *words;
    struct proc_spec spec = {.argv = argv};
    struct proc_limits limits = {.seconds = 10, .max_bytes = 4096};
    struct proc_output got = {0};
    bool good = proc_capture(&spec, &limits, &got, NULL) == RC_OK && got.exit.code == 0;
    proc_output_release(&got);
    return good;
}
#define IP(...) ip((const char *const[]){__VA_ARGS__, NULL})

/* Root needs no user namespace; others get one in which they are root. */
static bool own_network(void)
{
    char map[64];
    unsigned uid = (unsigned)getuid();
    if (unshare(CLONE_NEWNET) == 0)
        return true;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
        return false;
    int n = snprintf(map, sizeof(map), "0 %u 1", uid);
    int fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, map, (size_t)n) == n;
    if (fd >= 0)
        close(fd);
    return good;
}

static bool make_bridge(void)
{
    return own_network() && IP("link", "set", "lo", "up") &&
           IP("link", "add", "br0", "type", "bridge") &&
           IP("addr", "add", "10.99.0.254/24", "dev", "br0") &&
           IP("link", "set", "br0", "up");
}

static bool held(const struct cluster *n)
{
    char *go = fs_join(n->job->dir, "go");
    bool is = strcmp(n->job->spec->s->name, "held") == 0 && !fs_exists(go);
    mem_free(go);
    return is;
}

static void address_of(int64_t worker, char *out, size_t size)
{
    snprintf(out, size, "10.99.0.%d", (int)worker + 1);
}

/* In the worker's process, once its end of the cable is there. */
static bool plug_in(int64_t worker)
{
    char address[BACKEND_ADDRESS_SIZE];
    address_of(worker, address, sizeof(address));
    strcat(address, "/24");
    return IP("link", "set", "lo", "up") && IP("addr", "add", address, "dev", "eth0") &&
           IP("link", "set", "eth0", "up");
}

/* The words of a launch: directory, command, "", variables. */
static void unpack(const struct buf *b, const char **cwd, const char **argv,
                   const char **env, size_t max)
{
    size_t k = 0;
    const char *at = b->p, *end = b->p + b->n;
    *cwd = at;
    at += strlen(at) + 1;
    for (; at < end && *at && k + 1 < max; at += strlen(at) + 1)
        argv[k++] = at;
    argv[k] = NULL;
    at++;
    k = 0;
    for (; at < end && k + 1 < max; at += strlen(at) + 1)
        env[k++] = at;
    env[k] = NULL;
}

static const char *name_of(const void *arg, int64_t worker)
{
    static char name[BACKEND_ADDRESS_SIZE];
    address_of(worker, name, sizeof(name));
    return name;
}

/* Now it is known where workers are. */
static void fill_addresses(const char **env)
{
    for (; *env; env++) {
        struct buf b;
        buf_init(&b, MESSAGE_MAX);
        backend_address_fill(*env, name_of, NULL, &b);
        *env = mem_strdup(buf_str(&b));
        buf_release(&b);
    }
}

/* Never returns. Tells the node through `ready` that its namespace is there, and waits for
 * the cable.
 */
static void become_worker(struct seat *s, int64_t worker, int out, int ready, int go)
{
    enum { WORDS_MAX = 4096 };
    static const char *argv[WORDS_MAX], *env[WORDS_MAX];
    const char *cwd;
    char c = 'r';
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (unshare(CLONE_NEWNET) < 0 || write(ready, &c, 1) != 1 || read(go, &c, 1) != 1 ||
        c != 'g' || !plug_in(worker))
        _exit(126);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    unpack(&s->launch, &cwd, argv, env, WORDS_MAX);
    fill_addresses(env);
    dup2(out, 1);
    dup2(out, 2);
    if (chdir(cwd) < 0)
        _exit(126);
    environ = (char **)(uintptr_t)env;
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    dprintf(2, "cannot execute '%s': %s\n", argv[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

static bool connect_worker(pid_t pid, int64_t worker)
{
    char cable[32], where[32];
    snprintf(cable, sizeof(cable), "w%d", (int)worker);
    snprintf(where, sizeof(where), "%d", (int)pid);
    ip((const char *const[]){"link", "del", cable, NULL}); /* of an earlier life */
    return IP("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns",
              where) &&
           IP("link", "set", cable, "master", "br0") && IP("link", "set", cable, "up");
}

static void start_seat(struct cluster *n, int64_t worker)
{
    struct seat *s = &n->seats[worker];
    int out[2], ready[2], go[2];
    char c = 0;
    if (pipe2(out, O_CLOEXEC) < 0 || pipe2(ready, O_CLOEXEC) < 0 ||
        pipe2(go, O_CLOEXEC) < 0)
        _exit(1);
    s->pid = fork();
    if (s->pid == 0)
        become_worker(s, worker, out[1], ready[1], go[0]);
    close(out[1]);
    close(ready[1]);
    close(go[0]);
    if (read(ready[0], &c, 1) == 1 && connect_worker(s->pid, worker))
        c = write(go[1], "g", 1) == 1 ? 'g' : 'x';
    close(ready[0]);
    close(go[1]);
    s->out = out[0];
    s->state = BACKEND_RUNNING;
    s->ended = false;
    s->kill_at = 0;
}

static void read_output(struct seat *s)
{
    char block[PIECE_MAX];
    ssize_t n = read(s->out, block, sizeof(block));
    if (n > 0) {
        buf_add(&s->log, block, (size_t)n);
    } else if (n == 0 || errno != EINTR) {
        close(s->out);
        s->out = -1;
    }
}

static void reap(struct cluster *n)
{
    int status;
    struct rusage u;
    for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &u)) > 0;)
        for (size_t i = 0; i < WORKERS_MAX; i++) {
            struct seat *s = &n->seats[i];
            if (s->pid != pid || s->ended)
                continue;
            s->ended = true;
            s->exit = (struct backend_exit){
                .code = WIFSIGNALED(status) ? -1 : WEXITSTATUS(status),
                .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                .rss_bytes = u.ru_maxrss * 1024,
                .cpu_s = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec),
                .ended = clock_wall_ns()};
            if (!s->kill_at)
                kill(-pid, SIGKILL); /* what it left; one told to stop has its time */
        }
}

/* An end is told when all output has been read. */
static void settle(struct cluster *n)
{
    int64_t now = clock_mono_ns();
    reap(n);
    for (int64_t i = 0; i < WORKERS_MAX; i++) {
        struct seat *s = &n->seats[i];
        if (s->kill_at && now >= s->kill_at) {
            kill(-s->pid, SIGKILL);
            s->kill_at = 0;
        }
        if (s->state == BACKEND_RUNNING && s->ended && s->out < 0)
            s->state = BACKEND_ENDED;
        if (s->state == BACKEND_WAITING &&
            now - n->asked > (int64_t)START_AFTER_MS * 1000000 && !held(n))
            start_seat(n, i);
    }
}

static void signal_seat(struct seat *s, const struct request *q)
{
    static const int numbers[] = {[BACKEND_STOP] = SIGTERM,
                                  [BACKEND_KILL] = SIGKILL,
                                  [BACKEND_PAUSE] = SIGSTOP,
                                  [BACKEND_RESUME] = SIGCONT,
                                  [BACKEND_DESTROY] = SIGKILL};
    if (s->state == BACKEND_WAITING) { /* it never began */
        s->state = BACKEND_ENDED;
        s->exit = (struct backend_exit){.code = -1, .signal = SIGTERM};
    }
    if (s->state != BACKEND_RUNNING)
        return;
    kill(-s->pid, numbers[q->arg]);
    if (q->arg == BACKEND_STOP) {
        kill(-s->pid, SIGCONT);
        s->kill_at = clock_mono_ns() + (int64_t)(q->grace_s * 1e9) + 1;
    }
}

static void take_launch(struct seat *s, const struct request *q, const char *data,
                        size_t n)
{
    if (s->attempt != q->attempt)
        buf_clear(&s->log);
    buf_clear(&s->launch);
    buf_add(&s->launch, data, n);
    s->attempt = q->attempt;
    s->state = BACKEND_WAITING;
}

static void quit(struct cluster *n)
{
    for (size_t i = 0; i < WORKERS_MAX; i++)
        if (n->seats[i].pid > 0 && !n->seats[i].ended)
            kill(-n->seats[i].pid, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    _exit(0);
}

static struct reply reply_of(const struct seat *s, int64_t attempt)
{
    return (struct reply){.state = s->attempt == attempt ? s->state : BACKEND_NONE,
                          .exit = s->exit,
                          .pid = s->pid};
}

static void serve(struct cluster *n, int fd)
{
    static char message[MESSAGE_MAX];
    static struct answer out;
    struct request q;
    ssize_t got = recv(fd, message, sizeof(message), 0);
    if (got < (ssize_t)sizeof(q))
        return;
    memcpy(&q, message, sizeof(q));
    if (q.what == ASK_QUIT)
        quit(n);
    if (q.worker < 0 || q.worker >= WORKERS_MAX)
        return;
    struct seat *s = &n->seats[q.worker];
    if (q.what != ASK_ALL)
        n->asked = clock_mono_ns();
    if (q.what == ASK_START)
        take_launch(s, &q, message + sizeof(q), (size_t)got - sizeof(q));
    if (q.what == ASK_SIGNAL)
        signal_seat(s, &q);
    out.r = reply_of(s, q.attempt);
    for (size_t i = 0; i < WORKERS_MAX && q.what == ASK_ALL; i++) {
        struct reply one = reply_of(&n->seats[i], q.attempt);
        memcpy(out.data + i * sizeof(one), &one, sizeof(one));
        out.r.n += (int64_t)sizeof(one);
    }
    if (q.what == ASK_LOGS && q.arg < (int64_t)s->log.n) {
        size_t rest = s->log.n - (size_t)q.arg;
        out.r.n = (int64_t)(rest < PIECE_MAX ? rest : PIECE_MAX);
        memcpy(out.data, s->log.p + q.arg, (size_t)out.r.n);
    }
    ssize_t sent =
        send(fd, &out, offsetof(struct answer, data) + (size_t)out.r.n, MSG_NOSIGNAL);
    (void)sent; /* it asks again */
}

/* The node's whole life. */
static void node_main(const struct backend_job *j, int listener)
{
    static struct cluster n;
    n.job = j;
    int fd = fcntl(listener, F_DUPFD, 20);
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++)
        dup2(null, i);
    n.listener = dup3(fd, 3, O_CLOEXEC);
    close_range(4, ~0U, 0);
    setsid();
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_NAME, "ty-netns-node");
    prctl(PR_SET_PDEATHSIG, 0);
    char *path = fs_join(j->dir, "run/node"), *pid = mem_printf("%d\n", (int)getpid());
    if (job_file_put(path, pid, strlen(pid), 0600, NULL) || !make_bridge())
        _exit(1);
    for (size_t i = 0; i < WORKERS_MAX; i++) {
        n.seats[i].out = -1;
        buf_init(&n.seats[i].launch, MESSAGE_MAX);
        buf_init(&n.seats[i].log, LOG_MAX);
    }
    for (;;) {
        struct pollfd fds[WORKERS_MAX + 1] = {{.fd = n.listener, .events = POLLIN}};
        for (size_t i = 0; i < WORKERS_MAX; i++)
            fds[1 + i] = (struct pollfd){.fd = n.seats[i].out, .events = POLLIN};
        poll(fds, ARRAY_LEN(fds), 10);
        for (size_t i = 0; i < WORKERS_MAX; i++)
            if (n.seats[i].out >= 0 && fds[1 + i].revents)
                read_output(&n.seats[i]);
        int peer = fds[0].revents ? accept4(n.listener, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (peer >= 0) {
            serve(&n, peer);
            close(peer);
        }
        settle(&n);
    }
}

/* The supervisor's side. Abstract names belong to the namespace in which they are made,
 * which is the supervisor's.
 */
static socklen_t socket_name(const struct backend_job *j, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(out->sun_path + 1, sizeof(out->sun_path) - 1, "ty-netns-%s", j->id);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static bool ask_node(const struct backend_job *j, const struct request *q,
                     const void *data, size_t n, struct reply *out, char *log)
{
    struct sockaddr_un name;
    socklen_t length = socket_name(j, &name);
    struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
    static char message[sizeof(struct answer)];
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || n + sizeof(*q) > MESSAGE_MAX)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    char *whole = mem_alloc(sizeof(*q) + n);
    memcpy(whole, q, sizeof(*q));
    if (n)
        memcpy(whole + sizeof(*q), data, n);
    ssize_t got = -1;
    if (connect(fd, (struct sockaddr *)&name, length) == 0 &&
        send(fd, whole, sizeof(*q) + n, MSG_NOSIGNAL) > 0)
        got = recv(fd, message, sizeof(message), 0);
    mem_free(whole);
    close(fd);
    if (got < (ssize_t)sizeof(*out))
        return false;
    memcpy(out, message, sizeof(*out));
    if (log)
        memcpy(log, message + offsetof(struct answer, data), (size_t)out->n);
    return true;
}

static bool node_alive(const struct backend_job *j)
{
    struct request q = {.what = ASK_POLL, .attempt = -1};
    struct reply r;
    return ask_node(j, &q, NULL, 0, &r, NULL);
}

static enum rc netns_probe(const char *dir, struct err *err)
{
    pid_t pid = fork();
    int status = 1;
    if (pid == 0)
        _exit(make_bridge() ? 0 : 1);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (status)
        return err_set(err, RC_NOTFOUND, "no network namespaces here");
    return RC_OK;
}

static void netns_prepare(struct backend_job *j)
{
    j->root = j->ml;
    j->view = "netns";
    j->links = true;
}

static void netns_address(const struct backend_job *j, int64_t worker,
                          char out[BACKEND_ADDRESS_SIZE])
{
    backend_address_token(worker, out);
}

static int64_t netns_port(const struct backend_job *j)
{
    return 23456; /* nobody else is in that network */
}

static enum rc start_node(const struct backend_job *j, struct err *err)
{
    struct sockaddr_un name;
    socklen_t length = socket_name(j, &name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&name, length) < 0 || listen(fd, 64) < 0)
        return err_sys(err, errno, "cannot listen for a node");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (fork()) /* nobody's child: it must not wait to be reaped */
            _exit(0);
        node_main(j, fd);
    }
    close(fd);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (pid > 0 && node_alive(j))
        return RC_OK;
    return err_set(err, RC_NOTFOUND, "no network namespaces here");
}

static void pack(const struct backend_launch *l, struct buf *b)
{
    buf_add(b, l->cwd, strlen(l->cwd) + 1);
    for (const char *const *w = l->argv; *w; w++)
        buf_add(b, *w, strlen(*w) + 1);
    buf_putc(b, '\0');
    for (const char *const *e = job_contract_env_list(l->env); *e; e++)
        buf_add(b, *e, strlen(*e) + 1);
}

static enum rc start_one(struct backend_job *j, struct backend_launch *l, struct err *err)
{
    struct request q = {.what = ASK_START, .worker = l->w->index, .attempt = j->attempt};
    struct reply r;
    struct buf b;
    enum rc rc = job_file_put(l->w->handle, j->id, strlen(j->id), 0600, err);
    if (rc)
        return rc;
    buf_init(&b, MESSAGE_MAX);
    pack(l, &b);
    l->started = ask_node(j, &q, b.p, b.n, &r, NULL);
    l->w->waiting = l->started;
    struct news *news = j->own;
    news->of[l->w->index] = (struct reply){.state = BACKEND_WAITING};
    buf_release(&b);
    return l->started ? RC_OK : err_set(err, RC_CANCELED, "the node is gone");
}

static enum rc netns_start(struct backend_job *j, struct backend_launch *at, size_t n,
                           struct err *err)
{
    enum rc rc = node_alive(j) ? RC_OK : start_node(j, err);
    for (size_t i = 0; i < n && !rc; i++)
        rc = start_one(j, &at[i], err);
    return rc;
}

static enum rc netns_open(struct backend_job *j, struct err *err)
{
    j->own = mem_calloc(1, sizeof(struct news));
    return RC_OK;
}

/* A node that is gone is known to be: its workers are lost then. */
static enum rc netns_refresh(struct backend_job *j, struct err *err)
{
    struct request q = {.what = ASK_ALL, .attempt = j->attempt};
    struct reply r;
    static char data[PIECE_MAX];
    if (ask_node(j, &q, NULL, 0, &r, data))
        memcpy(j->own, data, sizeof(struct news));
    else
        memset(j->own, 0, sizeof(struct news));
    return RC_OK;
}

static void name_seat(const struct backend_job *j, struct backend_worker *w)
{
    const char *partition = jobspec_backend_option(j->spec->s, "partition");
    snprintf(w->node, sizeof(w->node), "%.30s%sseat-%d", partition ? partition : "",
             partition ? "/" : "", (int)w->index);
}

static enum backend_state netns_poll(struct backend_job *j, struct backend_worker *w,
                                     struct backend_exit *out)
{
    const struct news *news = j->own;
    const struct reply *r = &news->of[w->index];
    if (r->state == BACKEND_NONE || !fs_exists(w->handle))
        return BACKEND_LOST;
    *out = r->exit;
    if (r->state == BACKEND_WAITING)
        snprintf(out->text, sizeof(out->text), "no seat is free");
    else
        name_seat(j, w);
    return r->state;
}

static enum backend_state netns_reattach(struct backend_job *j, struct backend_worker *w)
{
    struct backend_exit exit;
    w->fd = -1;
    return fs_exists(w->handle) ? netns_poll(j, w, &exit) : BACKEND_NONE;
}

static void netns_signal(struct backend_job *j, struct backend_worker *w,
                         enum backend_signal s)
{
    struct request q = {.what = ASK_SIGNAL,
                        .worker = w->index,
                        .attempt = j->attempt,
                        .arg = s,
                        .grace_s = j->spec->grace_s};
    struct reply r;
    bool heard = ask_node(j, &q, NULL, 0, &r, NULL);
    (void)heard; /* else poll() says that it is lost */
}

static bool netns_logs(struct backend_job *j, struct backend_worker *w,
                       struct backend_log *log)
{
    static char data[PIECE_MAX];
    struct request q = {.what = ASK_LOGS,
                        .worker = w->index,
                        .attempt = j->attempt,
                        .arg = log->position};
    struct reply r;
    if (!ask_node(j, &q, NULL, 0, &r, data) || !r.n)
        return false;
    backend_log_add(log, 0, data, (size_t)r.n, log->position + r.n);
    return true;
}

static enum rc netns_enter(struct backend_job *j, const struct backend_entry *e,
                           const char *const *argv, struct arena *a,
                           const char *const **out, struct job_contract_env *env,
                           struct err *err)
{
    struct request q = {.what = ASK_POLL, .worker = e->worker, .attempt = j->attempt};
    struct reply r;
    if (!ask_node(j, &q, NULL, 0, &r, NULL) || r.state != BACKEND_RUNNING)
        return err_set(err, RC_NOTFOUND, "worker %jd has no seat", (intmax_t)e->worker);
    size_t n = 0, k = 0;
    while (argv[n])
        n++;
    const char **words = arena_alloc(a, (n + 6) * sizeof(*words));
    words[k++] = "nsenter";
    words[k++] = "--target";
    words[k++] = arena_printf(a, "%jd", (intmax_t)r.pid);
    words[k++] = "--net";
    words[k++] = "--";
    memcpy(words + k, argv, (n + 1) * sizeof(*words));
    job_contract_env_put(env, "PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    *out = words;
    return RC_OK;
}

static void netns_release(struct backend_job *j, struct backend_worker *w)
{
    w->fd = -1;
}

static void end_node(struct backend_job *j)
{
    struct request q = {.what = ASK_QUIT};
    struct reply r;
    bool said = ask_node(j, &q, NULL, 0, &r, NULL);
    (void)said; /* it ends without a word */
    for (int i = 0; i < 500 && node_alive(j); i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

/* Workers die with their node; what escaped their group is found by its variables. */
static void netns_clean(struct backend_job *j, int64_t worker, bool lost)
{
    if (lost && worker < 0)
        end_node(j);
    if (lost)
        backend_shim_sweep(j->id, j->attempt, worker);
}

static void netns_close(struct backend_job *j, bool ended)
{
    if (ended)
        end_node(j);
    mem_free(j->own);
}

const struct backend_ops backend_netns = {
    .name = "netns",
    .host_files = true,
    .own_queue = true,
    .probe = netns_probe,
    .open = netns_open,
    .prepare = netns_prepare,
    .address = netns_address,
    .port = netns_port,
    .start = netns_start,
    .reattach = netns_reattach,
    .refresh = netns_refresh,
    .poll = netns_poll,
    .signal = netns_signal,
    .logs = netns_logs,
    .enter = netns_enter,
    .release = netns_release,
    .clean = netns_clean,
    .close = netns_close,
};
