/* SPDX-License-Identifier: Apache-2.0 */
/* Forked without exec: the supervisor is small and has one thread, and a second program
 * to load would cost more than all the rest. The child closes everything it does not
 * need, so locks of the supervisor end with the supervisor.
 */
#include "backend/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/cgroup.h"
#include "backend/log_writer.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"

#define IDLE_MS 100      /* then an unfinished line is written */
#define KILL_MS 10000    /* a killed process is gone by then, however busy the machine */
#define DRAIN_MS 2000    /* for output of processes that survived even a kill */
#define FIRST_FREE_FD 20 /* our own files are moved below it */
#define ATTACH_ROUNDS 3000 /* of 10 ms, on a machine that is busy */
#define REQUESTS_MS 5000   /* between two looks for a request without a signal */
#define RUN_EXIT_AT 64     /* place of the exit status in the run file */
#define RUN_EXIT_SIZE 160

/* What a launch came to; sent through pipes whole. */
struct report {
    int errnum, status; /* 0: executed */
    pid_t worker;
    char what[VIEW_ERROR_SIZE];
};

struct running {
    const struct backend_shim_spec *spec;
    int run;     /* fd of the run file, locked */
    int signals; /* signalfd */
    int out[2];  /* worker's stdout and stderr, -1 at their end */
    int ends;    /* the first process of a jail tells how the worker ended; -1: none */
    pid_t worker;
    struct backend_log_writer writer;
    bool ended;
    bool alone; /* no process that the worker left is there any more */
    int status; /* of the worker, as waitpid() has it */
    struct rusage usage;
    int64_t kill_at; /* monotonic ns; 0: no */
    int64_t drain_until;
    int told;            /* what first told it to stop, see shim.h */
    int64_t request;     /* number of the last one obeyed */
    int64_t requests_at; /* monotonic ns of the last look */
};

static void reset_signals(void)
{
    sigset_t none;
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void tell(int fd, const struct report *r)
{
    ssize_t n = write(fd, r, sizeof(*r));
    (void)n; /* nobody listens any more */
}

/* Has the shim gone already? In a process namespace of ours nobody knows its number, but
 * it alone reads what we tell.
 */
static bool orphaned(int to)
{
    struct pollfd fd = {.fd = to};
    return poll(&fd, 1, 0) > 0 && (fd.revents & POLLERR);
}

/* In a jail the view is built by its first process, which stays; what returns from here is
 * the worker to be.
 */
static int enter_jail(const struct backend_shim_spec *s, int to, int ends,
                      char what[VIEW_ERROR_SIZE])
{
    int rc = jail_build(s->jail, s->scratch, s->mounts, s->n_mounts, what);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (orphaned(to))
        _exit(126);
    jail_hear(true);
    pid_t worker = rc ? 0 : fork();
    if (worker > 0)
        jail_wait(worker, ends);
    jail_hear(false);
    if (worker < 0) {
        snprintf(what, VIEW_ERROR_SIZE, "start a process");
        return errno;
    }
    return rc;
}

static int enter_view(const struct backend_shim_spec *s, int to, int ends,
                      char what[VIEW_ERROR_SIZE])
{
    if (!s->scratch && s->jail) {
        snprintf(what, VIEW_ERROR_SIZE, "isolate a worker without a view of its own");
        return EINVAL;
    }
    if (!s->scratch)
        return 0;
    return s->jail ? enter_jail(s, to, ends, what)
                   : backend_view_enter(s->scratch, s->mounts, s->n_mounts, what);
}

/* The last steps before exec; a worker must not outlive the shim. */
static int settle(const struct backend_shim_spec *s, pid_t parent,
                  char what[VIEW_ERROR_SIZE])
{
    if (s->jail)
        return jail_drop(s->jail, what);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(126); /* it died before we asked */
    return 0;
}

/* The worker, up to exec; `errnum` is 0, or why it is not in its group. Never returns. */
static void become_worker(const struct backend_shim_spec *s, int errnum, int to, int ends,
                          const int fds[2], pid_t parent)
{
    struct report r = {.errnum = errnum, .status = 126};
    if (errnum)
        snprintf(r.what, sizeof(r.what), "enter %.150s", s->cgroup);
    setpgid(0, 0);
    reset_signals();
    int null = open("/dev/null", O_RDONLY);
    if (!r.errnum &&
        (null < 0 || dup2(null, 0) < 0 || dup2(fds[0], 1) < 0 || dup2(fds[1], 2) < 0))
        r.errnum = errno;
    if (!r.errnum)
        r.errnum = enter_view(s, to, ends, r.what);
    if (!r.errnum)
        r.errnum = settle(s, parent, r.what);
    if (!r.errnum && chdir(s->cwd) < 0) {
        r.errnum = errno;
        snprintf(r.what, sizeof(r.what), "enter %.150s", s->cwd);
    }
    if (!r.errnum) {
        environ = (char **)(uintptr_t)s->env;
        proc_trim_path(); /* the job's identity may not be the server's */
        execvp(s->argv[0], (char *const *)(uintptr_t)s->argv);
        r.errnum = errno;
        r.status = errno == ENOENT ? 127 : 126;
        snprintf(r.what, sizeof(r.what), "execute '%.150s'", s->argv[0]);
    }
    tell(to, &r);
    _exit(r.status);
}

/* Locked before the shim exists, which inherits the lock: there is no moment in which one
 * is on its way that a later supervisor could not see. -1: errno says why.
 */
static int open_run_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int why = errno;
        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

/* With room behind it, so that there is a place for the exit status on a full disk. */
static void write_run_file(struct running *x)
{
    char line[RUN_EXIT_AT + RUN_EXIT_SIZE + 1];
    int n = snprintf(line, sizeof(line), "%d %d\n", (int)getpid(), (int)x->worker);
    if (n < 0)
        return;
    memset(line + n, ' ', sizeof(line) - 1 - (size_t)n);
    if (pwrite(x->run, line, sizeof(line) - 1, 0) < 0)
        return; /* the supervisor is told by pipe as well */
}

/* Forks the worker to be, or the first process of its jail, into its control group. */
static pid_t fork_worker(const struct backend_shim_spec *s, int *errnum)
{
    int rc = s->jail ? jail_unshare(s->jail) : 0;
    *errnum = 0;
    if (!rc)
        return s->cgroup ? backend_cgroup_fork(s->cgroup, errnum) : fork();
    errno = rc;
    return -1;
}

/* Starts the worker; the report says how that went. */
static void launch(struct running *x, struct report *r)
{
    int status[2], ends[2], out[2], err[2];
    if (pipe2(status, O_CLOEXEC) < 0 || pipe2(ends, O_CLOEXEC) < 0 ||
        pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0) {
        r->errnum = errno;
        return;
    }
    pid_t self = getpid();
    int errnum;
    x->worker = fork_worker(x->spec, &errnum);
    if (x->worker == 0) {
        const int fds[2] = {out[1], err[1]};
        close(status[0]); /* so that its end is seen */
        become_worker(x->spec, errnum, status[1], ends[1], fds, self);
    }
    close(status[1]);
    close(ends[1]);
    x->ends = ends[0];
    close(out[1]);
    close(err[1]);
    x->out[0] = out[0];
    x->out[1] = err[0];
    if (x->worker < 0) {
        r->errnum = errno;
        return;
    }
    write_run_file(x);
    ssize_t n;
    do {
        n = read(status[0], r, sizeof(*r));
    } while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(*r))
        *r = (struct report){.status = 0}; /* closed by exec */
    close(status[0]);
    r->worker = x->worker;
}

static void kill_group(const struct running *x, int sig)
{
    if (x->worker > 0)
        kill(-x->worker, sig);
}

/* What the worker left behind is ours now: a subreaper adopts orphans. Signals those that
 * are not in process group `but` (0: all).
 */
static void signal_adopted(int sig, pid_t but)
{
    char path[64], text[4096];
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return;
    text[n] = '\0';
    char *at = text;
    for (;;) {
        char *end;
        long pid = strtol(at, &end, 10);
        if (end == at || pid <= 0)
            break;
        if (!but || getpgid((pid_t)pid) != but)
            kill((pid_t)pid, sig);
        at = end;
    }
}

/* The grace time is all processes': it ends when the last of them has. */
static void end_grace(struct running *x)
{
    x->kill_at = 0;
    x->drain_until = clock_mono_ns() + (int64_t)DRAIN_MS * 1000000;
}

/* The first process of a jail cannot end as the worker did, but it tells. */
static int worker_status(const struct running *x, int status)
{
    int told;
    if (x->spec->jail && read(x->ends, &told, sizeof(told)) == (ssize_t)sizeof(told))
        return told;
    return status;
}

static void reap(struct running *x)
{
    int status;
    struct rusage usage;
    pid_t pid;
    while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
        if (pid != x->worker)
            continue;
        x->ended = true;
        x->status = worker_status(x, status);
        x->usage = usage;
        x->drain_until = clock_mono_ns() + (int64_t)DRAIN_MS * 1000000;
        if (x->kill_at) /* those that left its group were not told yet */
            signal_adopted(SIGTERM, x->worker);
    }
    x->alone = pid < 0 && errno == ECHILD;
    if (x->ended && x->alone && x->kill_at)
        end_grace(x);
}

static void stop_worker(struct running *x, int told)
{
    if (!x->told && !x->ended)
        x->told = told;
    kill_group(x, SIGTERM);
    kill_group(x, SIGCONT);
    if (!x->kill_at)
        x->kill_at = clock_mono_ns() + (int64_t)(x->spec->grace_s * 1e9);
}

static void obey(struct running *x, struct str word)
{
    if (str_is(word, "stop"))
        stop_worker(x, SIGHUP);
    else if (str_is(word, "kill"))
        x->kill_at = 1;
    else if (str_is(word, "pause"))
        kill_group(x, SIGSTOP);
    else if (str_is(word, "resume"))
        kill_group(x, SIGCONT);
}

static void read_request(struct running *x)
{
    char *text = NULL;
    size_t n = 0;
    int64_t number;
    x->requests_at = clock_mono_ns();
    if (!x->spec->requests || !fs_exists(x->spec->requests) ||
        fs_read(x->spec->requests, 1000, &text, &n, NULL))
        return;
    struct str word = str_trim(str_of(text, n)), first;
    if (str_split(&word, ' ', &first) && str_to_i64(first, &number) &&
        number > x->request) {
        x->request = number;
        obey(x, word);
    }
    mem_free(text);
}

static void on_signal(struct running *x, uint32_t number)
{
    switch (number) {
    case SIGTERM:
        stop_worker(x, SIGTERM);
        break;
    case SIGWINCH:
        stop_worker(x, SIGWINCH);
        break;
    case SIGURG:
        read_request(x);
        break;
    case SIGINT:
        x->kill_at = 1;
        break;
    case SIGUSR1:
        kill_group(x, SIGSTOP);
        break;
    case SIGUSR2:
        kill_group(x, SIGCONT);
        break;
    default:
        break;
    }
}

static void read_signals(struct running *x)
{
    struct signalfd_siginfo info;
    while (read(x->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        on_signal(x, info.ssi_signo);
    reap(x);
}

static void read_stream(struct running *x, int i)
{
    char block[65536];
    ssize_t n = read(x->out[i], block, sizeof(block));
    if (n > 0) {
        backend_log_writer_feed(&x->writer, i, block, (size_t)n);
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        close(x->out[i]);
        x->out[i] = -1;
    }
}

static int64_t requests_ms(const struct running *x)
{
    return x->spec->requests_ms ? x->spec->requests_ms : REQUESTS_MS;
}

static int wait_ms(const struct running *x)
{
    int64_t now = clock_mono_ns(),
            ms = backend_log_writer_holds(&x->writer) ? IDLE_MS : -1;
    if (x->kill_at) {
        int64_t left = x->kill_at > now ? (x->kill_at - now) / 1000000 + 1 : 0;
        ms = ms < 0 || left < ms ? left : ms;
    }
    if (x->ended && !x->kill_at)
        ms = 10;
    if (x->spec->requests && (ms < 0 || ms > requests_ms(x)))
        ms = requests_ms(x);
    return (int)ms;
}

static void one_round(struct running *x)
{
    struct pollfd fds[3] = {{.fd = x->signals, .events = POLLIN},
                            {.fd = x->out[0], .events = POLLIN},
                            {.fd = x->out[1], .events = POLLIN}};
    int n = poll(fds, 3, wait_ms(x));
    if (n == 0)
        backend_log_writer_flush(&x->writer, false);
    if (fds[0].revents)
        read_signals(x);
    for (int i = 0; i < 2; i++)
        if (x->out[i] >= 0 && fds[1 + i].revents)
            read_stream(x, i);
    if (x->spec->requests && clock_mono_ns() - x->requests_at > requests_ms(x) * 1000000)
        read_request(x); /* whoever should have rung may be away */
    if (x->kill_at && clock_mono_ns() >= x->kill_at) {
        kill_group(x, SIGKILL);
        end_grace(x);
    }
    if (x->ended && !x->kill_at) {
        kill_group(x, SIGKILL);
        signal_adopted(SIGKILL, 0);
        reap(x);
    }
}

/* The end of the output is not enough: a process that ends closes one file after the
 * other, and may still hold a lock.
 */
static bool finished(const struct running *x)
{
    if (!x->ended || x->kill_at)
        return false;
    return (x->alone && x->out[0] < 0 && x->out[1] < 0) ||
           clock_mono_ns() > x->drain_until;
}

static void write_exit(const struct running *x)
{
    char path[4096], temp[4112], line[RUN_EXIT_SIZE];
    bool by_signal = WIFSIGNALED(x->status);
    const struct rusage *u = &x->usage;
    int64_t us = (u->ru_utime.tv_sec + u->ru_stime.tv_sec) * INT64_C(1000000) +
                 u->ru_utime.tv_usec + u->ru_stime.tv_usec;
    snprintf(path, sizeof(path), "%.4000s.exit", x->spec->run);
    snprintf(temp, sizeof(temp), "%s.tmp", path);
    int n = snprintf(line, sizeof(line), "%d %d %jd %jd %jd %d %d\n",
                     by_signal ? -1 : WEXITSTATUS(x->status),
                     by_signal ? WTERMSIG(x->status) : 0, (intmax_t)us,
                     (intmax_t)u->ru_maxrss * 1024, (intmax_t)clock_wall_ns(),
                     (int)x->writer.broken, x->told);
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool written =
        fd >= 0 && n > 0 && write(fd, line, (size_t)n) == n && rename(temp, path) == 0;
    if (fd >= 0)
        close(fd);
    if (written || n <= 0)
        return;
    unlink(temp);
    if (pwrite(x->run, line, (size_t)n, RUN_EXIT_AT) < 0)
        return; /* then nobody saw the end */
}

static int block_signals(bool requests)
{
    static const int wanted[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        sigaddset(&set, wanted[i]);
    if (requests) {
        sigaddset(&set, SIGURG);
        sigaddset(&set, SIGWINCH);
    }
    sigprocmask(SIG_SETMASK, &set, NULL);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* Keeps *to (moved to 3), *run (moved to 4), `network` (a namespace, moved to 5; -1: none)
 * and nothing else.
 */
static void close_others(int *to, int *run, int network)
{
    int null = open("/dev/null", O_RDWR);
    int kept_to = fcntl(*to, F_DUPFD, FIRST_FREE_FD);
    int kept_run = fcntl(*run, F_DUPFD, FIRST_FREE_FD);
    int kept_network = network < 0 ? -1 : fcntl(network, F_DUPFD, FIRST_FREE_FD);
    for (int i = 0; i < 3 && null >= 0; i++)
        dup2(null, i);
    *to = dup2(kept_to, 3);
    *run = dup2(kept_run, 4);
    if (network >= 0)
        dup2(kept_network, JAIL_NETWORK);
    close_range(network >= 0 ? JAIL_NETWORK + 1 : JAIL_NETWORK, ~0U, 0);
    fcntl(JAIL_NETWORK, F_SETFD, FD_CLOEXEC);
    fcntl(3, F_SETFD, FD_CLOEXEC);
    fcntl(4, F_SETFD, FD_CLOEXEC);
}

/* Starts the worker, and makes this process what looks after it. */
static void begin_shim(struct running *x, struct report *r)
{
    const struct backend_shim_spec *spec = x->spec;
    setsid();
    prctl(PR_SET_NAME, "ty-worker");
    prctl(PR_SET_PDEATHSIG, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    x->signals = block_signals(spec->requests != NULL);
    r->errnum = x->signals < 0
                    ? errno
                    : backend_log_writer_open(&x->writer, spec->log, spec->secrets);
    x->writer.most = spec->log_most;
    if (r->errnum)
        snprintf(r->what, sizeof(r->what), "open the files of a worker");
    else
        launch(x, r);
}

static void watch_worker(struct running *x)
{
    while (!finished(x))
        one_round(x);
    backend_log_writer_close(&x->writer);
    write_exit(x);
}

/* The shim's whole life. */
static void shim_main(const struct backend_shim_spec *spec, int to, int run)
{
    struct running x = {.spec = spec, .out = {-1, -1}, .ends = -1};
    struct report r = {.status = 126};
    close_others(&to, &run, spec->jail ? spec->jail->network : -1);
    x.run = run;
    begin_shim(&x, &r);
    tell(to, &r);
    close(to);
    if (r.errnum)
        _exit(1);
    watch_worker(&x);
    _exit(0);
}

enum rc backend_shim_become(const struct backend_shim_spec *spec, int *status,
                            struct err *err)
{
    struct running x = {.spec = spec, .out = {-1, -1}, .ends = -1};
    struct report r = {.status = 126};
    /* Not every shared file system has locks, and nobody asks for this one. */
    x.run = open(spec->run, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (x.run < 0)
        return err_sys(err, errno, "cannot open '%s'", spec->run);
    begin_shim(&x, &r);
    if (!r.errnum) {
        watch_worker(&x);
        return RC_OK;
    }
    x.status = r.status << 8; /* as waitpid() has it */
    write_exit(&x);
    *status = r.status;
    return err_sys(err, r.errnum, "cannot %s", r.what);
}

enum rc backend_shim_start(const struct backend_shim_spec *spec, struct backend_shim *out,
                           int *status, struct err *err)
{
    int fds[2];
    struct report r;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_sys(err, errno, "cannot start a worker");
    int run = open_run_file(spec->run);
    pid_t pid = run < 0 ? -1 : fork();
    if (pid == 0)
        shim_main(spec, fds[1], run);
    close(fds[1]);
    if (run >= 0)
        close(run);
    if (pid < 0) {
        close(fds[0]);
        return err_sys(err, errno, "cannot start a worker");
    }
    ssize_t n;
    do {
        n = read(fds[0], &r, sizeof(r));
    } while (n < 0 && errno == EINTR);
    close(fds[0]);
    bool gone = n != (ssize_t)sizeof(r);
    if (gone || r.errnum) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        if (gone)
            return err_set(err, RC_CANCELED, "the parent of a worker was killed");
        *status = r.status;
        r.what[sizeof(r.what) - 1] = '\0';
        return err_sys(err, r.errnum, "cannot %s", r.what);
    }
    *out = (struct backend_shim){.pid = pid, .worker = r.worker, .child = true};
    out->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    return RC_OK;
}

static bool read_run_file(const char *run, int *pid, int *worker)
{
    char text[RUN_EXIT_AT + 1] = "";
    int fd = open(run, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    bool locked = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    close(fd);
    int64_t a, b;
    text[strcspn(text, "\n")] = '\0';
    struct str rest = str_trim(str_of(text, n > 0 ? strlen(text) : 0)), first;
    if (!str_split(&rest, ' ', &first) || !str_to_i64(first, &a) || !str_to_i64(rest, &b))
        return false;
    *pid = (int)a;
    *worker = (int)b;
    return locked;
}

bool backend_shim_attach(const char *run, struct backend_shim *out)
{
    int pid, worker;
    for (int i = 0; i < ATTACH_ROUNDS; i++) { /* locked, but not written yet */
        if (read_run_file(run, &pid, &worker))
            break;
        int fd = open(run, O_RDONLY | O_CLOEXEC);
        bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
        if (fd >= 0)
            close(fd);
        if (!locked || i + 1 == ATTACH_ROUNDS)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    /* Alive now, so the number was its own when the handle was made. */
    if (pidfd < 0 || !read_run_file(run, &pid, &worker)) {
        if (pidfd >= 0)
            close(pidfd);
        return false;
    }
    *out = (struct backend_shim){.pid = pid, .pidfd = pidfd, .worker = worker};
    return true;
}

void backend_shim_signal(const struct backend_shim *s, int sig)
{
    if (s->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, s->pidfd, sig, NULL, 0);
    else if (s->child)
        kill(s->pid, sig);
}

void backend_shim_kill(const struct backend_shim *s)
{
    struct pollfd fd = {.fd = s->pidfd, .events = POLLIN};
    backend_shim_signal(s, SIGKILL);
    while (s->pidfd >= 0 && poll(&fd, 1, KILL_MS) < 0 && errno == EINTR)
        ;
}

bool backend_shim_ended(struct backend_shim *s)
{
    if (s->child) {
        pid_t got = waitpid(s->pid, NULL, WNOHANG);
        if (got == 0)
            return false;
        s->child = false;
        return true;
    }
    struct pollfd fd = {.fd = s->pidfd, .events = POLLIN};
    return s->pidfd < 0 || poll(&fd, 1, 0) > 0;
}

void backend_shim_release(struct backend_shim *s)
{
    if (s->pidfd >= 0)
        close(s->pidfd);
    *s = (struct backend_shim){.pidfd = -1};
}

static bool parse_exit(struct str text, struct backend_shim_exit *out)
{
    enum { NEEDED = 6 }; /* older records have no more */
    int64_t v[NEEDED + 1] = {0};
    size_t got = 0;
    struct str rest = str_trim(text), word;
    while (got < ARRAY_LEN(v) && str_split(&rest, ' ', &word) &&
           str_to_i64(word, &v[got]))
        got++;
    if (got < NEEDED)
        return false;
    *out = (struct backend_shim_exit){.code = (int)v[0],
                                      .signal = (int)v[1],
                                      .cpu_s = (double)v[2] / 1e6,
                                      .rss_bytes = v[3],
                                      .ended = v[4],
                                      .log_cut = v[5] != 0,
                                      .told = (int)v[6]};
    return true;
}

bool backend_shim_exit_read(const char *run, struct backend_shim_exit *out)
{
    char *path = mem_printf("%s.exit", run), *text = NULL;
    size_t n = 0;
    bool there =
        fs_read(path, 1000, &text, &n, NULL) == RC_OK && parse_exit(str_of(text, n), out);
    mem_free(text);
    text = NULL;
    if (!there && fs_read(run, 4096, &text, &n, NULL) == RC_OK && n > RUN_EXIT_AT)
        there = parse_exit(str_of(text + RUN_EXIT_AT, n - RUN_EXIT_AT), out);
    mem_free(text);
    mem_free(path);
    return there;
}
