/* SPDX-License-Identifier: Apache-2.0 */
/* posix_spawn() starts children: glibc runs it like vfork(), so it is quick however large
 * we are, safe with threads, and returns the exec's own error. What it cannot tell is
 * which step failed, so the working directory and the files are tried by ourselves first.
 *
 * The group is signalled before the leader is reaped: until then its number cannot belong
 * to anybody else.
 */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc_private.h"
#include "base/str.h"
#include "base/vec.h"

#define FD_FIRST 10    /* above anything that file actions write to */
#define NAP_NS 2000000 /* between looks at a child where there are no pidfds */
#define KILL_GRACE 5.0 /* after TERM, of a capture that took too long */

struct proc {
    pid_t pid;
    int pidfd; /* -1 when the kernel has none */
    int pipes[3];
    bool own_group;
    bool reaped;
    struct proc_exit exit; /* once reaped */
};

typedef VEC(const char *) env_list;

static bool same_variable(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return strncmp(a, b, n) == 0 && (b[n] == '=' || b[n] == '\0') && n == strcspn(b, "=");
}

static void put_variable(env_list *list, const char *entry)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++)
        if (!same_variable(entry, list->at[i]))
            list->at[kept++] = list->at[i];
    list->n = kept;
    if (strchr(entry, '='))
        VEC_PUSH(list, entry);
}

/* Ends in NULL; the entries are borrowed. */
static env_list make_env(const struct proc_spec *spec)
{
    env_list list = {0};
    const char *const *from = spec->env ? spec->env : (const char *const *)environ;
    for (; from && *from; from++)
        VEC_PUSH(&list, *from);
    for (from = spec->env_add; from && *from; from++)
        put_variable(&list, *from);
    VEC_PUSH(&list, NULL);
    return list;
}

static const char *variable(const char *const *env, const char *name)
{
    for (; *env; env++)
        if (same_variable(name, *env))
            return strchr(*env, '=') ? strchr(*env, '=') + 1 : "";
    return NULL;
}

static bool executable(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *proc_which(const char *name, const char *path)
{
    if (strchr(name, '/'))
        return executable(name) ? mem_strdup(name) : NULL;
    if (!path)
        path = getenv("PATH");
    if (!path || !*name)
        return NULL;
    struct str rest = str_c(path), part;
    while (str_split(&rest, ':', &part)) {
        char *dir = mem_strndup(part.n ? part.p : ".", part.n ? part.n : 1);
        char *full = fs_join(dir, name);
        mem_free(dir);
        if (executable(full))
            return full;
        mem_free(full);
    }
    return NULL;
}

/* A copy of the file for stream `stream`, close-on-exec and out of the way of 0, 1, 2;
 * -1 with errno. Our end of a pipe goes to *ours.
 */
static int open_stream(const struct proc_io *io, int stream, int *ours)
{
    int fds[2], fd = -1, end = stream == 0 ? 0 : 1;
    switch (io->kind) {
    case PROC_INHERIT:
    case PROC_STDOUT:
        return fcntl(stream, F_DUPFD_CLOEXEC, FD_FIRST);
    case PROC_FD:
        return fcntl(io->fd, F_DUPFD_CLOEXEC, FD_FIRST);
    case PROC_NULL:
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        break;
    case PROC_FILE:
        fd = stream == 0 ? open(io->path, O_RDONLY | O_CLOEXEC)
                         : open(io->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        break;
    case PROC_APPEND:
        fd = open(io->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        break;
    case PROC_PIPE:
        if (pipe2(fds, O_CLOEXEC) < 0)
            return -1;
        fd = fds[end];
        *ours = fds[1 - end];
        break;
    }
    if (fd < 0)
        return -1;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, FD_FIRST), errnum = errno;
    close(fd);
    errno = errnum;
    return moved;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static enum rc open_streams(const struct proc_spec *spec, struct proc *p, int theirs[3],
                            struct err *err)
{
    static const char *const names[] = {"stdin", "stdout", "stderr"};
    const struct proc_io *io[3] = {&spec->in, &spec->out, &spec->err};
    for (int i = 0; i < 3; i++) {
        if (i == 2 && io[2]->kind == PROC_STDOUT)
            theirs[2] = fcntl(theirs[1], F_DUPFD_CLOEXEC, FD_FIRST);
        else
            theirs[i] = open_stream(io[i], i, &p->pipes[i]);
        if (theirs[i] >= 0)
            continue;
        /* A stream that is closed here is closed there. */
        if (io[i]->kind == PROC_INHERIT && errno == EBADF)
            continue;
        return err_sys(err, errno, "%s%s%s", names[i], io[i]->path ? " " : "",
                       io[i]->path ? io[i]->path : "");
    }
    return RC_OK;
}

static int set_actions(posix_spawn_file_actions_t *actions, const struct proc_spec *spec,
                       const int theirs[3])
{
    int rc = 0;
    for (int i = 0; i < 3 && !rc; i++)
        if (theirs[i] >= 0)
            rc = posix_spawn_file_actions_adddup2(actions, theirs[i], i);
    if (!rc) /* also those that we were started with */
        rc = posix_spawn_file_actions_addclosefrom_np(actions, 3);
    if (!rc && spec->cwd)
        rc = posix_spawn_file_actions_addchdir_np(actions, spec->cwd);
    return rc;
}

static int set_attributes(posix_spawnattr_t *attr, const struct proc_spec *spec)
{
    sigset_t none, all;
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigemptyset(&none);
    sigfillset(&all);
    if (spec->new_session)
        flags |= POSIX_SPAWN_SETSID;
    else if (!spec->same_group)
        flags |= POSIX_SPAWN_SETPGROUP;
    posix_spawnattr_setsigmask(attr, &none);
    posix_spawnattr_setsigdefault(attr, &all);
    posix_spawnattr_setpgroup(attr, 0);
    return posix_spawnattr_setflags(attr, flags);
}

static int spawn(const char *file, const struct proc_spec *spec, const int theirs[3],
                 const char *const *env, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    int rc = set_actions(&actions, spec, theirs);
    if (!rc)
        rc = set_attributes(&attr, spec);
    if (!rc)
        rc = posix_spawn(pid, file, &actions, &attr, (char *const *)(uintptr_t)spec->argv,
                         (char *const *)(uintptr_t)env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

static enum rc proc_launch(const struct proc_spec *spec, const int theirs[3], pid_t *pid,
                           struct err *err)
{
    env_list env = make_env(spec);
    const char *name = spec->argv[0], *path = variable(env.at, "PATH");
    char *file =
        strchr(name, '/') ? mem_strdup(name) : proc_which(name, path ? path : "");
    enum rc rc = RC_OK;
    if (!file) {
        rc = err_set(err, RC_NOTFOUND, "no such program in PATH");
    } else {
        int errnum = spawn(file, spec, theirs, env.at, pid);
        if (errnum)
            rc = err_sys(err, errnum, "cannot execute '%s'", file);
    }
    mem_free(file);
    VEC_RELEASE(&env);
    return rc;
}

static int open_pidfd(pid_t pid)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    return -1;
#endif
}

static void free_proc(struct proc *p)
{
    for (int i = 0; i < 3; i++)
        close_fd(&p->pipes[i]);
    close_fd(&p->pidfd);
    mem_free(p);
}

enum rc proc_start(const struct proc_spec *spec, struct proc **out, struct err *err)
{
    if (!spec->argv || !spec->argv[0] || !spec->argv[0][0])
        return err_set(err, RC_INVAL, "cannot start a program: its command is empty");
    struct proc *p = mem_alloc(sizeof(*p));
    *p =
        (struct proc){.pidfd = -1, .pipes = {-1, -1, -1}, .own_group = !spec->same_group};
    int theirs[3] = {-1, -1, -1};
    enum rc rc = RC_OK;
    if (spec->cwd && !fs_is_dir(spec->cwd))
        rc = err_set(err, RC_NOTFOUND, "its working directory '%s' is not there",
                     spec->cwd);
    if (!rc)
        rc = open_streams(spec, p, theirs, err);
    if (!rc)
        rc = proc_launch(spec, theirs, &p->pid, err);
    for (int i = 0; i < 3; i++)
        close_fd(&theirs[i]);
    if (rc) {
        free_proc(p);
        return err_wrap(err, rc, "cannot start '%s'", spec->argv[0]);
    }
    p->pidfd = open_pidfd(p->pid);
    *out = p;
    return RC_OK;
}

pid_t proc_pid(const struct proc *p)
{
    return p->pid;
}

int proc_pidfd(const struct proc *p)
{
    return p->pidfd;
}

void proc_drop_pidfd(struct proc *p)
{
    close_fd(&p->pidfd);
}

int proc_pipe(const struct proc *p, int stream)
{
    return p->pipes[stream];
}

void proc_pipe_close(struct proc *p, int stream)
{
    close_fd(&p->pipes[stream]);
}

/* True when it has ended; it can still be signalled then, until it is reaped. */
static bool ended(const struct proc *p)
{
    siginfo_t info = {.si_pid = 0};
    if (p->reaped)
        return true;
    int rc;
    do {
        rc = waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    } while (rc < 0 && errno == EINTR);
    return rc < 0 || info.si_pid != 0;
}

static void proc_reap(struct proc *p)
{
    int status = 0;
    pid_t got;
    if (p->reaped)
        return;
    do {
        got = waitpid(p->pid, &status, 0);
    } while (got < 0 && errno == EINTR);
    p->reaped = true;
    if (got < 0) /* somebody else took it: its end is not known */
        p->exit = (struct proc_exit){.code = -1};
    else if (WIFSIGNALED(status))
        p->exit = (struct proc_exit){.code = -1, .signal = WTERMSIG(status)};
    else
        p->exit = (struct proc_exit){.code = WEXITSTATUS(status)};
}

bool proc_poll(struct proc *p, struct proc_exit *exit)
{
    if (!ended(p))
        return false;
    proc_reap(p);
    *exit = p->exit;
    return true;
}

static int64_t deadline_after(double seconds)
{
    if (seconds < 0 || seconds > 1e9)
        return INT64_MAX;
    return clock_mono_ns() + (int64_t)(seconds * 1e9);
}

/* Milliseconds for poll(), rounded up, -1 for ever. */
static int ms_until(int64_t deadline)
{
    if (deadline == INT64_MAX)
        return -1;
    int64_t left = deadline - clock_mono_ns();
    if (left <= 0)
        return 0;
    return left > INT64_C(1000000000000) ? 1000000 : (int)((left + 999999) / 1000000);
}

/* Waits for the end without reaping. */
static bool wait_ended(const struct proc *p, int64_t deadline)
{
    while (!ended(p)) {
        int ms = ms_until(deadline);
        if (ms == 0)
            return false;
        struct pollfd fd = {.fd = p->pidfd, .events = POLLIN};
        if (p->pidfd >= 0)
            poll(&fd, 1, ms);
        else
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
    return true;
}

bool proc_wait(struct proc *p, double seconds, struct proc_exit *exit)
{
    return wait_ended(p, deadline_after(seconds)) && proc_poll(p, exit);
}

void proc_signal(struct proc *p, int signal)
{
    if (!p->reaped)
        kill(p->own_group ? -p->pid : p->pid, signal);
}

void proc_terminate(struct proc *p, double grace, struct proc_exit *exit)
{
    if (!p->reaped) {
        proc_signal(p, SIGTERM);
        proc_signal(p, SIGCONT); /* a stopped one would never see it */
        wait_ended(p, deadline_after(grace < 0 ? 0 : grace));
        proc_signal(p, SIGKILL);
        proc_reap(p);
    }
    *exit = p->exit;
}

void proc_destroy(struct proc *p)
{
    if (!p)
        return;
    if (!p->reaped) {
        if (!ended(p))
            proc_signal(p, SIGKILL);
        proc_reap(p);
    }
    free_proc(p);
}

void proc_disown(struct proc *p)
{
    free_proc(p);
}

void proc_exit_words(struct proc_exit exit, char out[PROC_WORDS_SIZE])
{
    const char *name = exit.signal ? sigabbrev_np(exit.signal) : NULL;
    if (!exit.signal && exit.code < 0)
        snprintf(out, PROC_WORDS_SIZE, "ended unseen");
    else if (!exit.signal)
        snprintf(out, PROC_WORDS_SIZE, "exit status %d", exit.code);
    else if (name)
        snprintf(out, PROC_WORDS_SIZE, "killed by SIG%s", name);
    else
        snprintf(out, PROC_WORDS_SIZE, "killed by signal %d", exit.signal);
}

/* The input as a file: no pipe to feed while the output is read. */
static int input_file(const struct proc_limits *limits)
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    for (size_t at = 0; fd >= 0 && at < limits->n_input;) {
        ssize_t n = write(fd, limits->input + at, limits->n_input - at);
        if (n < 0 && errno != EINTR)
            close_fd(&fd);
        else if (n > 0)
            at += (size_t)n;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

/* Reads what is there now; false at the end of the stream. */
static bool drain(int fd, struct buf *into, bool *cut)
{
    char block[8192];
    for (;;) {
        ssize_t n = read(fd, block, sizeof(block));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        if (n == 0)
            return false;
        size_t room = into->max - into->n, take = (size_t)n < room ? (size_t)n : room;
        buf_add(into, block, take);
        *cut |= take < (size_t)n;
    }
}

/* Until both streams end or the child does; false when time is up first. */
static bool proc_collect(struct proc *p, struct buf text[2], int64_t deadline, bool *cut)
{
    for (;;) {
        bool over = ended(p); /* before reading: what it wrote is there by then */
        struct pollfd fds[3] = {{.fd = proc_pipe(p, 1), .events = POLLIN},
                                {.fd = proc_pipe(p, 2), .events = POLLIN},
                                {.fd = p->pidfd, .events = POLLIN}};
        for (int i = 0; i < 2; i++)
            if (fds[i].fd >= 0 && !drain(fds[i].fd, &text[i], cut))
                proc_pipe_close(p, i + 1);
        if (over)
            return true;
        int ms = ms_until(deadline);
        if (ms == 0)
            return false;
        if (p->pidfd < 0 && (ms < 0 || ms > 5))
            ms = 5;
        poll(fds, 3, ms);
    }
}

static enum rc capture(struct proc *p, const struct proc_limits *limits,
                       struct buf text[2], struct proc_output *out, struct err *err)
{
    for (int i = 1; i <= 2; i++)
        fcntl(proc_pipe(p, i), F_SETFL, O_NONBLOCK);
    int64_t deadline = deadline_after(limits->seconds > 0 ? limits->seconds : -1);
    if (!proc_collect(p, text, deadline, &out->cut)) {
        char words[CLOCK_TEXT_SIZE];
        proc_terminate(p, KILL_GRACE, &out->exit);
        clock_duration((int64_t)(limits->seconds * 1e9), words);
        return err_set(err, RC_CANCELED, "took longer than %s and was stopped", words);
    }
    proc_wait(p, -1, &out->exit);
    for (int i = 0; i < 2; i++)
        if (text[i].failed)
            return err_set(err, RC_NOMEM, "out of memory for its output");
    return RC_OK;
}

enum rc proc_capture(const struct proc_spec *spec, const struct proc_limits *limits,
                     struct proc_output *out, struct err *err)
{
    struct proc_spec full = *spec;
    struct proc_output result = {0};
    struct proc *p = NULL;
    struct buf text[2];
    buf_init(&text[0], limits->max_bytes);
    buf_init(&text[1], limits->max_bytes);
    int input = limits->input ? input_file(limits) : -1;
    enum rc rc = RC_OK;
    if (limits->input && input < 0)
        rc = err_sys(err, errno, "cannot keep %zu bytes of input", limits->n_input);
    full.in = (struct proc_io){.kind = input >= 0 ? PROC_FD : PROC_NULL, .fd = input};
    full.out = full.err = (struct proc_io){.kind = PROC_PIPE};
    if (!rc)
        rc = proc_start(&full, &p, err);
    if (!rc) {
        rc = capture(p, limits, text, &result, err);
        if (rc)
            err_wrap(err, rc, "'%s'", spec->argv[0]);
    }
    proc_destroy(p);
    close_fd(&input);
    if (!rc) {
        result.n_out = text[0].n;
        result.n_err = text[1].n;
        result.out = buf_take(&text[0]);
        result.err = buf_take(&text[1]);
        *out = result;
    }
    buf_release(&text[0]);
    buf_release(&text[1]);
    return rc;
}

void proc_output_release(struct proc_output *out)
{
    mem_free(out->out);
    mem_free(out->err);
    *out = (struct proc_output){0};
}

void proc_trim_path(void)
{
    const char *path = getenv("PATH");
    struct str rest = str_c(path ? path : ""), dir;
    struct buf kept;
    size_t n = 0;
    buf_init(&kept, 1 << 20);
    while (rest.n && str_split(&rest, ':', &dir)) {
        char *name = mem_strndup(dir.p, dir.n);
        bool closed = dir.n && access(name, X_OK) < 0 && errno == EACCES;
        if (!closed) {
            buf_puts(&kept, n++ ? ":" : "");
            buf_puts(&kept, name);
        }
        mem_free(name);
    }
    if (n && kept.n != strlen(path))
        setenv("PATH", buf_str(&kept), 1);
    buf_release(&kept);
}
