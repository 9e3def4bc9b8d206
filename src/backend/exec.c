/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces are joined by the worker's process descriptor, and only those that differ from
 * ours: joining one's own user namespace is an error. A process namespace is entered by
 * fork, so a process of ours stays between us and the program; it ends the program with the
 * worker's shim, and with us (exec_guard.h): a pipe of which only we hold the other end
 * tells it, however we end. Identity, limits and system calls are those of a worker
 * (jail_drop), in the same order: namespaces first, identity last.
 */
#include "backend/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/call.h"
#include "backend/cgroup.h"
#include "backend/confine.h"
#include "backend/exec_guard.h"
#include "backend/shim.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "job/record.h"

#define ENVIRON_MAX (4 << 20)
#define NESTING 4 /* of processes of ours around a program */

/* What the child needs; all is read before namespaces are left. */
struct entering {
    const struct backend_exec *x;
    const struct proc_spec *by; /* a program that enters for us; NULL: we do */
    const struct jail *jail;    /* NULL: as we are */
    pid_t program;              /* the worker's */
    struct backend_exec_guard guard;
    sigset_t before; /* signals that were blocked before ours */
    char *cgroup;    /* owned; NULL: none */
    char cwd[4096];
    VEC(const char *) env;
    struct arena arena;
};

struct failure {
    int errnum;
    char what[VIEW_ERROR_SIZE];
};

static pid_t first_child(pid_t pid)
{
    char path[64], text[64];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return (pid_t)strtol(text, NULL, 10);
}

/* Below the first process of a jail, or bwrap. */
static pid_t program_of(pid_t pid)
{
    for (int i = 0; i < NESTING; i++) {
        char path[64], name[32] = "";
        snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, name, sizeof(name) - 1);
        if (fd >= 0)
            close(fd);
        name[n > 0 ? n - 1 : 0] = '\0';
        if (strcmp(name, "ty-first") != 0 && strcmp(name, "bwrap") != 0)
            return pid;
        pid_t below = first_child(pid);
        if (below <= 0)
            return pid;
        pid = below;
    }
    return pid;
}

static void read_env(struct entering *e)
{
    char path[64], *text = mem_alloc(ENVIRON_MAX + 1);
    size_t n = 0;
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)e->program);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got;
         fd >= 0 && n < ENVIRON_MAX && (got = read(fd, text + n, ENVIRON_MAX - n)) > 0;)
        n += (size_t)got;
    if (fd >= 0)
        close(fd);
    text[n] = '\0';
    for (size_t i = 0; i < n; i += strlen(text + i) + 1)
        if (strchr(text + i, '=') && !str_starts(text + i, "TERM=") &&
            !str_starts(text + i, EXEC_MARK "="))
            VEC_PUSH(&e->env, arena_strdup(&e->arena, text + i));
    if (e->x->term)
        VEC_PUSH(&e->env, arena_printf(&e->arena, "TERM=%.60s", e->x->term));
    VEC_PUSH(&e->env, e->guard.mark);
    VEC_PUSH(&e->env, NULL);
    explicit_bzero(text, n); /* it may have held secrets */
    mem_free(text);
}

static void read_cwd(struct entering *e)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/cwd", (int)e->program);
    ssize_t n = readlink(path, e->cwd, sizeof(e->cwd) - 1);
    e->cwd[n > 0 ? n : 0] = '\0';
}

/* Those of the program that are not ours. */
static int differing(pid_t pid)
{
    static const struct {
        const char *name;
        int flag;
    } kinds[] = {{"user", CLONE_NEWUSER},    {"mnt", CLONE_NEWNS},  {"pid", CLONE_NEWPID},
                 {"net", CLONE_NEWNET},      {"ipc", CLONE_NEWIPC}, {"uts", CLONE_NEWUTS},
                 {"cgroup", CLONE_NEWCGROUP}};
    int flags = 0;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        char theirs[64], ours[64];
        struct stat a, b;
        snprintf(theirs, sizeof(theirs), "/proc/%d/ns/%s", (int)pid, kinds[i].name);
        snprintf(ours, sizeof(ours), "/proc/self/ns/%s", kinds[i].name);
        if (stat(theirs, &a) == 0 && stat(ours, &b) == 0 && a.st_ino != b.st_ino)
            flags |= kinds[i].flag;
    }
    return flags;
}

static int fail(struct failure *f, const char *what)
{
    f->errnum = errno ? errno : EIO;
    snprintf(f->what, sizeof(f->what), "%s", what);
    return f->errnum;
}

static int join(const struct entering *e, struct failure *f)
{
    int flags = differing(e->program);
    int fd = (int)syscall(SYS_pidfd_open, e->program, 0);
    if (fd < 0)
        return fail(f, "find the worker's process");
    if (e->cgroup && backend_cgroup_enter(e->cgroup))
        return fail(f, "enter the worker's control group");
    if (flags && setns(fd, flags) < 0)
        return fail(f, "enter the worker's namespaces");
    close(fd);
    return 0;
}

/* Closes all but the three files and *to, which is moved. */
static void keep_only(int *to)
{
    int kept = *to == 3 ? 3 : dup2(*to, 3);
    if (kept < 0)
        _exit(126);
    *to = kept;
    fcntl(kept, F_SETFD, FD_CLOEXEC);
    close_range((unsigned)kept + 1, ~0U, 0);
}

/* As a shell tells that a program cannot be run: on the file of its errors, wherever that
 * is, and by the exit status. Never returns.
 */
static void refuse(const char *program)
{
    int errnum = errno;
    dprintf(2, "trainyard job exec: cannot execute '%.200s': %s\n", program,
            strerror(errnum));
    _exit(errnum == ENOENT ? 127 : 126);
}

/* The program itself, up to exec. Never returns. */
static void become(const struct entering *e, int to)
{
    static const char *const shell[] = {"/bin/sh", NULL};
    struct failure f = {.errnum = 0};
    const char *const *argv = e->x->argv && e->x->argv[0] ? e->x->argv : shell;
    keep_only(&to);
    sigprocmask(SIG_SETMASK, &e->before, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (setsid() < 0 || (e->x->terminal && ioctl(0, TIOCSCTTY, 0) < 0))
        fail(&f, "take the terminal");
    if (!f.errnum && e->jail)
        f.errnum = jail_drop(e->jail, f.what);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of identity forgets it */
    if (!f.errnum && (!e->cwd[0] || chdir(e->cwd) < 0) && chdir("/") < 0)
        fail(&f, "enter the worker's directory");
    if (!f.errnum) {
        environ = (char **)(uintptr_t)e->env.at;
        proc_trim_path();
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        refuse(argv[0]);
    }
    ssize_t n = write(to, &f, sizeof(f));
    (void)n;
    _exit(127);
}

static pid_t fork_program(const struct entering *e, int to, struct failure *f)
{
    if (join(e, f))
        return -1;
    pid_t pid = fork();
    if (pid == 0)
        become(e, to);
    if (pid < 0)
        fail(f, "start a process");
    return pid;
}

/* The program of the backend that enters; its terminal is ours, so it sees changes of size. */
static pid_t start_helper(const struct entering *e, struct failure *f)
{
    struct proc *proc = NULL;
    struct err err = {0};
    if (e->x->terminal && ioctl(0, TIOCSCTTY, 0) < 0) {
        fail(f, "take the terminal");
        return -1;
    }
    if (proc_start(e->by, &proc, &err)) {
        f->errnum = EIO;
        snprintf(f->what, sizeof(f->what), "enter the worker: %.150s", err.msg);
        return -1;
    }
    pid_t pid = proc_pid(proc);
    proc_disown(proc);
    return pid;
}

/* Between us and the program: ends it with the worker, or with us. Never returns. */
static void stand_between(const struct entering *e, int to)
{
    struct failure f = {.errnum = 0};
    int status = 0;
    setsid(); /* what a terminal sends comes to us alone */
    if (e->jail) {
        jail_offer_to_oom();
        prctl(PR_SET_DUMPABLE,
              0); /* until exec the job could read our memory and files */
    }
    pid_t pid = e->by ? start_helper(e, &f) : fork_program(e, to, &f);
    if (pid < 0) {
        ssize_t n = write(to, &f, sizeof(f));
        (void)n;
        _exit(126);
    }
    close(to);
    for (int i = 0; i < 3; i++) /* the program's alone: its end is seen */
        close(i);
    status = backend_exec_guard_wait(&e->guard, pid);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* Our parent is this one no more, or was never. */
static bool is_orphan(pid_t parent)
{
    return parent && getppid() != parent;
}

/* Waits for `pid`. When we are told to end, or who asked is gone, `life` is closed, which
 * ends the program. Returns the signal that told us, or 0.
 */
static int wait_between(pid_t pid, int life, int signals, pid_t parent, int *status)
{
    int told = 0;
    int over = (int)syscall(SYS_pidfd_open, pid, 0);
    int asker = parent ? (int)syscall(SYS_pidfd_open, parent, 0) : -1;
    struct pollfd fds[3] = {{.fd = over, .events = POLLIN},
                            {.fd = signals, .events = POLLIN},
                            {.fd = asker, .events = POLLIN}};
    while (waitpid(pid, status, over < 0 ? 0 : WNOHANG) == 0) {
        struct signalfd_siginfo info;
        bool gone = fds[2].revents || (life >= 0 && is_orphan(parent));
        if (fds[1].revents && read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
            told = told ? told : (int)info.ssi_signo;
        if ((gone || told) && life >= 0) {
            close(life);
            life = fds[2].fd = -1;
        }
        while (poll(fds, 3, -1) < 0 && errno == EINTR)
            ;
    }
    int fds_open[] = {over, asker, life};
    for (size_t i = 0; i < ARRAY_LEN(fds_open); i++)
        if (fds_open[i] >= 0)
            close(fds_open[i]);
    return told;
}

/* Those that end us; blocked, so that the program ends before we do. */
static int take_signals(sigset_t *before)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, before);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static enum rc run_between(struct entering *e, struct proc_exit *out, struct err *err)
{
    int fds[2], life[2], status = 0, told = 0;
    struct failure f = {.errnum = 0};
    if (pipe2(fds, O_CLOEXEC) < 0 || pipe2(life, O_CLOEXEC) < 0)
        return err_sys(err, errno, "cannot run a program");
    int signals = take_signals(&e->before);
    e->guard.life = life[0];
    e->guard.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        close(life[1]);
        stand_between(e, fds[1]);
    }
    close(fds[1]);
    close(life[0]);
    ssize_t n = pid < 0 ? 0 : read(fds[0], &f, sizeof(f));
    if (pid > 0)
        told = wait_between(pid, life[1], signals, e->x->parent, &status);
    close(fds[0]);
    close(e->guard.proc);
    close(signals);
    sigprocmask(SIG_SETMASK, &e->before, NULL);
    f.what[sizeof(f.what) - 1] = '\0';
    if (pid < 0 || n == (ssize_t)sizeof(f))
        return err_sys(err, pid < 0 ? EAGAIN : f.errnum, "cannot %s",
                       pid < 0 ? "start a process" : f.what);
    *out = (struct proc_exit){.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                              .signal = WIFSIGNALED(status) ? WTERMSIG(status) : told};
    return RC_OK;
}

static enum rc enter_process(struct backend_job *j, const char *run, struct entering *e,
                             struct proc_exit *out, struct err *err)
{
    char *group = mem_printf("%s.cgroup", run);
    size_t n = 0;
    if (fs_exists(group) && fs_read(group, 4096, &e->cgroup, &n, NULL))
        e->cgroup = NULL;
    enum rc rc = j->isolation ? confine_jail(j, NULL, &e->arena, &e->jail, err) : RC_OK;
    read_env(e);
    read_cwd(e);
    if (!rc)
        rc = run_between(e, out, err);
    for (size_t i = 0; i < e->env.n; i++)
        if (e->env.at[i] && e->env.at[i] != e->guard.mark)
            explicit_bzero((char *)(uintptr_t)e->env.at[i], strlen(e->env.at[i]));
    VEC_RELEASE(&e->env);
    mem_free(e->cgroup);
    mem_free(group);
    return rc;
}

/* By the backend's own program, on our three files. */
static enum rc enter_by_program(struct backend_job *j, struct entering *e,
                                struct proc_exit *out, struct err *err)
{
    const struct backend_exec *x = e->x;
    struct job_contract_env env = {0};
    const struct backend_entry entry = {
        .worker = x->worker, .terminal = x->terminal, .mark = e->guard.mark};
    const char *const *argv = NULL;
    enum rc rc = backend_call_enter(j, &entry, x->argv, &e->arena, &argv, &env, err);
    const struct proc_spec spec = {
        .argv = argv, .env = job_contract_env_list(&env), .same_group = true};
    e->by = &spec;
    e->guard.marked_only = true;
    if (!rc)
        rc = run_between(e, out, err);
    job_contract_env_release(&env);
    return rc;
}

static enum rc note_exec(const struct job_place *p, const struct backend_exec *x,
                         struct err *err)
{
    struct job_record r = {0};
    struct buf data;
    enum rc rc = job_record_open(p->store, x->id, &r, err);
    if (rc)
        return rc;
    buf_init(&data, 1 << 16);
    buf_puts(&data, "{\"command\": [");
    for (size_t i = 0; x->argv && x->argv[i] && data.n < 1000; i++) {
        buf_puts(&data, i ? ", " : "");
        buf_json_str(&data, x->argv[i], strnlen(x->argv[i], 200));
    }
    buf_puts(&data, "]}");
    char *who = mem_printf("by %s", x->by);
    struct job_record_note note = {
        .worker = x->worker, .message = who, .data = buf_str(&data)};
    rc = job_record_add(&r, EV_Exec, &note, err);
    if (!rc)
        rc = job_record_flush(&r, err);
    mem_free(who);
    buf_release(&data);
    job_record_release(&r);
    return rc;
}

static enum rc check_row(const struct job_place *p, const struct store_job *j,
                         const struct backend_exec *x, struct err *err)
{
    if (strcmp(j->node, p->node) != 0)
        return err_coded(err, RC_INVAL, E3014,
                         "job %s runs on %.200s: programs are run beside it there", j->id,
                         j->node);
    if (strcmp(j->state, "Running") != 0)
        return err_coded(err, RC_INVAL, E3014,
                         "job %s is %s; programs can be run beside "
                         "running workers only",
                         j->id, j->state);
    if (x->worker < 0 || x->worker >= j->workers)
        return err_coded(err, RC_INVAL, E3015, "job %s has %jd workers, numbered from 0",
                         j->id, (intmax_t)j->workers);
    return RC_OK;
}

/* The job as a backend wants it, without a supervisor. */
struct seen {
    struct job_spec spec;
    struct job_isolation_job isolation;
    struct backend_job job;
    char *dir, *ml;
};

static void ignore_warning(struct backend_job *j, const char *text)
{
}

static enum rc see(const struct job_place *p, const struct store_job *row, struct seen *s,
                   struct err *err)
{
    char *text = NULL;
    bool isolated = false;
    s->dir = job_place_dir(p, row->id);
    s->ml = fs_join(s->dir, "ml");
    enum rc rc = store_spec(p->store, row->id, &text, err);
    if (!rc)
        rc = job_spec_from_json(text, &s->spec, err);
    if (!rc)
        rc = job_isolation_read(s->dir, &s->isolation, &isolated, err);
    mem_free(text);
    if (rc)
        return rc;
    s->job = (struct backend_job){.ops = backend_find(s->spec.backend),
                                  .p = p,
                                  .id = row->id,
                                  .dir = s->dir,
                                  .ml = s->ml,
                                  .spec = &s->spec,
                                  .attempt = row->attempt,
                                  .isolation = isolated ? &s->isolation : NULL,
                                  .warn = ignore_warning,
                                  .network = -1};
    return s->job.ops ? RC_OK
                      : err_set(err, RC_NOTFOUND, "there is no backend '%.60s'",
                                s->spec.backend);
}

/* A worker that is a process of this machine; the program ends with it. */
static enum rc enter_here(struct seen *s, struct entering *e, struct proc_exit *out,
                          struct err *err)
{
    struct backend_shim shim;
    char *run = confine_run(&s->job, e->x->worker);
    enum rc rc = RC_OK;
    if (!backend_shim_attach(run, &shim)) {
        rc = err_coded(err, RC_INVAL, E3014, "worker %jd of job %s does not run",
                       (intmax_t)e->x->worker, s->job.id);
    } else {
        e->program = program_of(shim.worker);
        e->guard.shim = shim.pidfd;
        rc = s->job.ops->enter ? enter_by_program(&s->job, e, out, err)
                               : enter_process(&s->job, run, e, out, err);
        backend_shim_release(&shim);
    }
    mem_free(run);
    return rc;
}

static enum rc enter_worker(struct seen *s, const struct backend_exec *x,
                            struct proc_exit *out, struct err *err)
{
    struct entering e = {.x = x, .guard = {.shim = -1}};
    const struct backend_ops *ops = s->job.ops;
    char id[JOB_ID_SIZE];
    enum rc rc = job_id_new(id, err);
    if (rc)
        return rc;
    e.guard.mark = arena_printf(&e.arena, EXEC_MARK "=%s", id);
    if (ops->processes)
        rc = enter_here(s, &e, out, err);
    else if (ops->enter)
        rc = enter_by_program(&s->job, &e, out, err);
    else
        rc = err_coded(err, RC_INVAL, E3014,
                       "the %s backend runs no programs beside workers", ops->name);
    arena_release(&e.arena);
    return rc;
}

enum rc backend_exec_run(const struct job_place *p, const struct backend_exec *x,
                         struct proc_exit *out, struct err *err)
{
    struct store_jobs jobs = {0};
    struct seen s = {.dir = NULL};
    enum rc rc = store_get(p->store, x->id, &jobs, err);
    if (!rc)
        rc = check_row(p, &jobs.at[0], x, err);
    if (!rc)
        rc = see(p, &jobs.at[0], &s, err);
    if (!rc)
        rc = note_exec(p, x, err);
    if (!rc)
        rc = enter_worker(&s, x, out, err);
    if (s.job.ops)
        confine_release(&s.job);
    job_spec_release(&s.spec);
    mem_free(s.ml);
    mem_free(s.dir);
    store_jobs_release(&jobs);
    return rc;
}
