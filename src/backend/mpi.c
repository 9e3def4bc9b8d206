/* SPDX-License-Identifier: Apache-2.0 */
/* Workers are started by mpirun on the hosts of a hostfile. Their directory must be on a
 * file system that all hosts share: each rank becomes the shim of its worker (task.h), so
 * starts and ends are seen in files. A process beside mpirun has the hosts' slots meanwhile
 * (mpirun_runner.h); nothing is asked of anybody, and requests reach shims as files.
 *
 * Beside a handle lies HANDLE.verdict, too: how a worker ended that left no record.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "backend/address.h"
#include "backend/agent.h"
#include "backend/handoff.h"
#include "backend/mpirun_runner.h"
#include "backend/mpirun_slots.h"
#include "backend/task.h"
#include "backend/verdict.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "job/file.h"

#define SETTLE_NS (3 * CLOCK_SECOND) /* a record may come behind its mpirun on a disk */
#define DONE_NS (5 * CLOCK_SECOND)   /* mpirun whose tasks have ended ends */
#define CLEAN_NS (10 * CLOCK_SECOND)
#define OUTPUT_MAX (1 << 20)
#define TEXT_MAX 4096

/* One mpirun and its runner. */
struct run {
    char *base;          /* owned: path without ending */
    bool stopped;        /* BASE.stop is there */
    bool over;           /* its runner has ended */
    int64_t over_at;     /* monotonic ns when that was seen */
    struct proc *runner; /* NULL: another supervisor's */
};

/* `own` of a job. */
struct mpi {
    VEC(struct run *) runs;
};

/* `own` of a worker. */
struct seat {
    struct run *run; /* borrowed from the job; NULL: its handle cannot be read */
    struct backend_verdict end;
};

static char *file_of(const struct run *r, const char *ending)
{
    return mem_printf("%s.%s", r->base, ending);
}

static bool has_file(const struct run *r, const char *ending)
{
    char *path = file_of(r, ending);
    bool there = fs_exists(path);
    mem_free(path);
    return there;
}

static void put_mark(const struct run *r, const char *ending)
{
    char *path = file_of(r, ending);
    enum rc rc = job_file_put(path, "", 0, 0600, NULL);
    (void)rc; /* it is swept in the end */
    mem_free(path);
}

/* NULL: there is no such file, or nothing in it. The caller's. */
static char *read_file(const struct run *r, const char *ending)
{
    char *path = file_of(r, ending), *text = NULL;
    size_t n = 0;
    if (!fs_exists(path) || fs_read(path, OUTPUT_MAX, &text, &n, NULL) || !n) {
        mem_free(text);
        text = NULL;
    }
    mem_free(path);
    return text;
}

static enum rc mpi_probe(const char *dir, struct err *err)
{
    static const char *const argv[] = {"mpirun", "--version", NULL};
    struct proc_spec spec = {.argv = argv};
    struct proc_limits limits = {.seconds = 15, .max_bytes = TEXT_MAX};
    struct proc_output got = {0};
    enum rc rc = proc_capture(&spec, &limits, &got, err);
    if (rc == RC_NOTFOUND)
        rc = err_set(err, rc,
                     "start jobs on MPI hosts: no mpirun on PATH (see docs/clusters.md)");
    if (!rc && !(got.out && strstr(got.out, "Open MPI")) &&
        !(got.out && strstr(got.out, "Open RTE")))
        rc = err_set(err, RC_UNSUPPORTED,
                     "start jobs on MPI hosts: mpirun is not Open MPI's, but '%.80s'",
                     got.out ? got.out : "");
    proc_output_release(&got);
    return rc;
}

static enum rc mpi_open(struct backend_job *j, struct err *err)
{
    j->own = mem_calloc(1, sizeof(struct mpi));
    return RC_OK;
}

static void mpi_address(const struct backend_job *j, int64_t worker,
                        char out[BACKEND_ADDRESS_SIZE])
{
    backend_address_token(worker, out);
}

/* --- a run --- */

static struct run *run_new(const struct backend_job *j, const char *name)
{
    struct run *r = mem_calloc(1, sizeof(*r));
    r->base = mem_printf("%s/run/%s", j->dir, name);
    r->stopped = has_file(r, "stop");
    return r;
}

static void run_free(struct run *r)
{
    if (r->runner)
        proc_disown(r->runner);
    mem_free(r->base);
    mem_free(r);
}

/* The lock becomes the runner's standard input; one that runs already keeps it. */
static enum rc start_runner(struct run *r, struct err *err)
{
    char *lock = file_of(r, "lock"), *out = file_of(r, "out");
    char *program = backend_agent_program();
    const char *const argv[] = {program, "job", "agent", "--mpi-run", r->base, NULL};
    int fd = job_lock_take(lock);
    struct proc_spec spec = {.argv = argv,
                             .cwd = "/",
                             .in = {.kind = PROC_FD, .fd = fd},
                             .out = {.kind = PROC_APPEND, .path = out},
                             .err = {.kind = PROC_STDOUT},
                             .new_session = true};
    enum rc rc = RC_OK;
    if (fd >= 0)
        rc = proc_start(&spec, &r->runner, err);
    else if (errno != EWOULDBLOCK)
        rc = err_sys(err, errno, "cannot lock '%s'", lock);
    if (fd >= 0)
        close(fd);
    mem_free(program);
    mem_free(out);
    mem_free(lock);
    return rc;
}

/* Where its runner is. One that was never started, since the supervisor died, is now. */
static void run_look(struct run *r)
{
    char *lock = file_of(r, "lock");
    struct proc_exit exit;
    if (r->over) {
        mem_free(lock);
        return;
    }
    if (!fs_exists(lock) && !r->stopped) {
        enum rc rc = start_runner(r, NULL);
        (void)rc; /* tried again */
    } else if (r->runner) {
        r->over = proc_poll(r->runner, &exit);
    } else {
        r->over = !job_lock_held(lock);
    }
    if (r->over)
        r->over_at = clock_mono_ns();
    mem_free(lock);
}

/* The hostfile of a job; in `a`. */
static const char *hostfile_of(const struct backend_job *j, struct arena *a)
{
    const char *given = jobspec_backend_option(j->spec->s, "hostfile");
    char *own = fs_join(j->p->dir, "hostfile");
    const char *path = arena_strdup(a, given ? given : own);
    mem_free(own);
    return path;
}

static int64_t number_option(const struct backend_job *j, const char *name)
{
    const char *text = jobspec_backend_option(j->spec->s, name);
    int64_t n = 0;
    return text && str_to_i64(str_c(text), &n) ? n : 0;
}

static enum rc check_hosts(const char *path, size_t workers, int64_t per_host,
                           struct err *err)
{
    struct mpirun_hosts h;
    enum rc rc = mpirun_hosts_read(path, &h, err);
    if (!rc && mpirun_slots_most(&h, per_host) < (int64_t)workers)
        rc = err_set(err, RC_INVAL,
                     "'%.200s' has %jd slots%s, which are too few for %zu workers", path,
                     (intmax_t)mpirun_slots_most(&h, per_host),
                     per_host ? " with so many workers on a host" : "", workers);
    mpirun_hosts_release(&h);
    return rc;
}

/* Where a worker that starts again alone was: its slot is the attempt's still. NULL: it
 * had none yet. The caller's.
 */
static char *seat_before(const struct backend_job *j, const struct backend_worker *w)
{
    char *path = mem_printf("%s/run/%jd.%jd.node", j->dir, (intmax_t)w->index,
                            (intmax_t)j->attempt);
    char *name = NULL;
    size_t n = 0;
    if (!w->life || !fs_exists(path) || fs_read(path, 1000, &name, &n, NULL))
        name = NULL;
    mem_free(path);
    return name;
}

/* `seat`: the only host, or NULL. */
static enum rc copy_hosts(const struct run *r, const char *from, const char *seat,
                          struct err *err)
{
    char *to = file_of(r, "hosts"), *text = seat ? mem_strdup(seat) : NULL;
    size_t n = seat ? strlen(seat) : 0;
    enum rc rc = seat ? RC_OK : fs_read(from, OUTPUT_MAX, &text, &n, err);
    if (!rc)
        rc = job_file_put(to, text, n, 0600, err);
    mem_free(text);
    mem_free(to);
    return rc;
}

static enum rc write_conf(const struct run *r, const struct backend_job *j,
                          const char *hostfile, bool seated, size_t n, struct err *err)
{
    const char *given = jobspec_backend_option(j->spec->s, "program");
    const char *mpirun = jobspec_backend_option(j->spec->s, "mpirun");
    const char *world = jobspec_backend_option(j->spec->s, "world");
    char *own = backend_agent_program(), *name = fs_basename(r->base);
    char *tag = mem_printf("%s.%s", j->id, name + strlen("mpi."));
    struct mpirun_runner_conf c = {.job = j->id,
                                   .tag = tag,
                                   .dir = j->p->dir,
                                   .hostfile = hostfile,
                                   .mpirun = mpirun ? mpirun : "mpirun",
                                   .program = given ? given : own,
                                   .workers = (int64_t)n,
                                   .per_host = number_option(j, "tasks_per_node"),
                                   .world = world && strcmp(world, "yes") == 0,
                                   .seated = seated};
    enum rc rc = RC_OK;
    if (strchr(c.program, ' '))
        rc = err_set(err, RC_INVAL, "mpirun cannot start '%.200s': its path has a blank",
                     c.program);
    if (!rc)
        rc = mpirun_runner_write(&c, r->base, err);
    mem_free(tag);
    mem_free(name);
    mem_free(own);
    return rc;
}

/* Handles come last: with them the run exists. */
static enum rc write_all(const struct run *r, const struct backend_job *j,
                         struct backend_launch *at, size_t n, const char *hostfile,
                         struct err *err)
{
    char *list = file_of(r, "list"), *name = fs_basename(r->base);
    char *seat = seat_before(j, at[0].w);
    enum rc rc = backend_task_list(list, at, n, err);
    if (!rc)
        rc = copy_hosts(r, hostfile, seat, err);
    if (!rc)
        rc = write_conf(r, j, hostfile, seat != NULL, n, err);
    for (size_t i = 0; i < n && !rc; i++)
        rc = backend_handoff_write(j, &at[i], err);
    for (size_t i = 0; i < n && !rc; i++)
        rc = job_file_put(at[i].w->handle, name, strlen(name), 0600, err);
    mem_free(seat);
    mem_free(name);
    mem_free(list);
    return rc;
}

static void take_seat(struct backend_worker *w, struct run *r)
{
    struct seat *x = mem_calloc(1, sizeof(*x));
    x->run = r;
    w->own = x;
    w->fd = -1;
}

static enum rc start_run(struct backend_job *j, struct backend_launch *at, size_t n,
                         const char *hostfile, struct err *err)
{
    struct mpi *m = j->own;
    const struct backend_worker *w = at[0].w;
    char name[100];
    if (w->life)
        snprintf(name, sizeof(name), "mpi.%jd.%jd-%jd", (intmax_t)j->attempt,
                 (intmax_t)w->index, (intmax_t)w->life);
    else
        snprintf(name, sizeof(name), "mpi.%jd", (intmax_t)j->attempt);
    struct run *r = run_new(j, name);
    enum rc rc = write_all(r, j, at, n, hostfile, err);
    if (!rc)
        rc = start_runner(r, err);
    if (rc) {
        run_free(r);
        return rc;
    }
    VEC_PUSH(&m->runs, r);
    for (size_t i = 0; i < n; i++) {
        take_seat(at[i].w, r);
        at[i].started = at[i].w->waiting = true;
    }
    return RC_OK;
}

static enum rc mpi_start(struct backend_job *j, struct backend_launch *at, size_t n,
                         struct err *err)
{
    struct arena a = {0};
    const char *hostfile = hostfile_of(j, &a);
    enum rc rc = RC_OK;
    if (j->isolation)
        rc =
            err_set(err, RC_UNSUPPORTED,
                    "jobs of a server's users are isolated, which the mpi backend cannot "
                    "do: they would run on its hosts as the server's own user");
    if (!rc && at[0].w->role->gpu)
        j->warn(j, "a hostfile does not say which GPUs are free: workers on one host see "
                   "all of its GPUs");
    if (!rc)
        rc = check_hosts(hostfile, n, number_option(j, "tasks_per_node"), err);
    if (!rc)
        rc = start_run(j, at, n, hostfile, err);
    arena_release(&a);
    return rc;
}

static struct run *run_of(struct backend_job *j, const char *handle)
{
    struct mpi *m = j->own;
    struct run *r = NULL;
    char *name = NULL;
    size_t n = 0;
    if (fs_read(handle, 100, &name, &n, NULL) == RC_OK && str_starts(name, "mpi.") &&
        !strchr(name, '/'))
        r = run_new(j, name);
    mem_free(name);
    for (size_t i = 0; r && i < m->runs.n; i++)
        if (strcmp(m->runs.at[i]->base, r->base) == 0) {
            run_free(r);
            return m->runs.at[i];
        }
    if (r) {
        VEC_PUSH(&m->runs, r);
        run_look(r);
    }
    return r;
}

/* --- ends --- */

/* The first line of mpirun's output that says something, such as which host is not there:
 * neither a rule nor, where there is another, a warning of its own ("[host:pid] ...").
 */
static void add_first_words(const struct run *r, struct backend_exit *out)
{
    char *text = read_file(r, "out");
    struct str rest = str_c(text ? text : ""), line, found = {0};
    while (rest.n && (!found.n || found.p[0] == '[') && str_split(&rest, '\n', &line)) {
        line = str_trim(line);
        if (line.n && line.p[0] != '-' && (!found.n || line.p[0] != '['))
            found = line;
    }
    size_t used = strlen(out->text);
    if (found.n)
        snprintf(out->text + used, sizeof(out->text) - used, ": %.*s",
                 (int)(found.n > 240 ? 240 : found.n), found.p);
    mem_free(text);
}

/* mpirun is over, and a worker left no record. */
static enum backend_state end_of_run(struct backend_worker *w, struct seat *x,
                                     struct backend_exit *out)
{
    *out = (struct backend_exit){.code = -1, .signal = SIGKILL};
    if (x->run->stopped) { /* as we asked */
        out->signal = SIGTERM;
        return backend_verdict_set(&x->end, BACKEND_ENDED, out);
    }
    out->why = WHY_NodeFailure;
    char *done = read_file(x->run, "done");
    struct str status = str_trim(str_c(done ? done : ""));
    if (done)
        snprintf(out->text, sizeof(out->text),
                 "mpirun ended without it (exit status %.*s)", (int)status.n, status.p);
    else
        snprintf(out->text, sizeof(out->text), "the process beside mpirun was killed");
    mem_free(done);
    add_first_words(x->run, out);
    return backend_verdict_keep(&x->end, w->handle, BACKEND_LOST, out);
}

static enum backend_state recorded_end(struct backend_worker *w, struct seat *x, int told,
                                       struct backend_exit *out)
{
    if (x->run->stopped || told != SIGTERM)
        return backend_verdict_set(&x->end, BACKEND_ENDED, out);
    out->why = WHY_NodeFailure;
    snprintf(out->text, sizeof(out->text),
             "mpirun told it to stop, as it does when another worker or a host is lost");
    return backend_verdict_keep(&x->end, w->handle, BACKEND_ENDED, out);
}

static void describe_wait(const struct run *r, struct backend_exit *out)
{
    char *text = has_file(r, "seats") ? NULL : read_file(r, "wait");
    snprintf(out->text, sizeof(out->text), "%s",
             text                   ? text
             : has_file(r, "seats") ? "mpirun is starting it"
                                    : "its hosts are being looked at");
    mem_free(text);
}

static enum backend_state mpi_poll(struct backend_job *j, struct backend_worker *w,
                                   struct backend_exit *out)
{
    struct seat *x = w->own;
    bool ended;
    int told = 0;
    if (!x || !x->run)
        return BACKEND_LOST;
    if (backend_verdict_find(&x->end, w->handle)) {
        *out = x->end.exit;
        return x->end.state;
    }
    bool runs = backend_task_look(w, &ended, &told, out);
    if (runs)
        backend_task_note(j, w);
    if (ended)
        return recorded_end(w, x, told, out);
    if (x->run->stopped && !runs && !has_file(x->run, "lock")) {
        x->run->over = true; /* its runner was never started, and never will be */
        return end_of_run(w, x, out);
    }
    if (x->run->over &&
        (x->run->stopped || clock_mono_ns() - x->run->over_at > SETTLE_NS))
        return end_of_run(w, x, out);
    if (runs)
        return BACKEND_RUNNING;
    describe_wait(x->run, out);
    return BACKEND_WAITING;
}

static enum backend_state mpi_reattach(struct backend_job *j, struct backend_worker *w)
{
    struct backend_exit exit = {.code = 0};
    bool there = fs_exists(w->handle);
    take_seat(w, there ? run_of(j, w->handle) : NULL);
    return there ? mpi_poll(j, w, &exit) : BACKEND_NONE;
}

static enum rc mpi_refresh(struct backend_job *j, struct err *err)
{
    struct mpi *m = j->own;
    backend_task_refresh(j);
    for (size_t i = 0; i < m->runs.n; i++)
        run_look(m->runs.at[i]);
    return RC_OK;
}

static void stop_run(struct run *r)
{
    if (!r->stopped)
        put_mark(r, "stop");
    r->stopped = true;
}

static void mpi_signal(struct backend_job *j, struct backend_worker *w,
                       enum backend_signal s)
{
    struct seat *x = w->own;
    if (!x || !x->run || x->end.known)
        return;
    backend_task_request(w, s);
    if (s != BACKEND_PAUSE && s != BACKEND_RESUME)
        stop_run(x->run);
    if (s == BACKEND_DESTROY)
        put_mark(x->run, "kill");
}

static void mpi_release(struct backend_job *j, struct backend_worker *w)
{
    mem_free(w->own);
    w->own = NULL;
    w->fd = -1;
}

/* --- the end of a job --- */

/* Those of one worker that starts again alone, or (-1) all. */
static bool is_of(const struct run *r, int64_t worker)
{
    char *part = mem_printf(".%jd-", (intmax_t)worker);
    bool is = worker < 0 || strstr(strrchr(r->base, '/'), part);
    mem_free(part);
    return is;
}

/* True when the runners have ended within this time. */
static bool await_runners(struct mpi *m, int64_t worker, int64_t ns)
{
    int64_t until = clock_mono_ns() + ns;
    for (;;) {
        bool all = true;
        for (size_t i = 0; i < m->runs.n; i++)
            if (is_of(m->runs.at[i], worker)) {
                if (has_file(m->runs.at[i], "lock"))
                    run_look(m->runs.at[i]);
                all = all && (m->runs.at[i]->over || !has_file(m->runs.at[i], "lock"));
            }
        if (all || clock_mono_ns() > until)
            return all;
        nanosleep(&(struct timespec){.tv_nsec = 50 * 1000000}, NULL);
    }
}

/* What a runner that was killed could not do. */
static void sweep_run(const struct run *r)
{
    struct mpirun_runner_conf c;
    struct arena a = {0};
    if (!has_file(r, "done") && mpirun_runner_read(r->base, &c, &a, NULL) == RC_OK)
        mpirun_runner_sweep(&c, r->base);
    arena_release(&a);
}

static void mpi_clean(struct backend_job *j, int64_t worker, bool lost)
{
    struct mpi *m = j->own;
    if (!lost && await_runners(m, worker, DONE_NS))
        return;
    for (size_t i = 0; i < m->runs.n; i++)
        if (is_of(m->runs.at[i], worker)) {
            stop_run(m->runs.at[i]);
            put_mark(m->runs.at[i], "kill");
        }
    bool ended = await_runners(m, worker, CLEAN_NS);
    if (lost || !ended)
        backend_shim_sweep(j->id, j->attempt, worker); /* mpirun is here */
    for (size_t i = 0; i < m->runs.n && lost; i++)
        if (is_of(m->runs.at[i], worker))
            sweep_run(m->runs.at[i]);
}

static void mpi_close(struct backend_job *j, bool ended)
{
    struct mpi *m = j->own;
    if (ended && !await_runners(m, -1, DONE_NS))
        mpi_clean(j, -1, true);
    for (size_t i = 0; i < m->runs.n; i++)
        run_free(m->runs.at[i]);
    VEC_RELEASE(&m->runs);
    mem_free(m);
    j->own = NULL;
}

static void mpi_room(const struct job_place *p, const struct job_spec *s,
                     struct backend_room *out)
{
    const char *given = jobspec_backend_option(s->s, "hostfile");
    const char *per_host = jobspec_backend_option(s->s, "tasks_per_node");
    char *own = fs_join(p->dir, "hostfile");
    struct mpirun_hosts h;
    struct err err = {0};
    int64_t most = 0, taken = 0, each = 0;
    if (per_host && !str_to_i64(str_c(per_host), &each))
        each = 0;
    out->has = BACKEND_ROOM_NEVER;
    if (mpirun_hosts_read(given ? given : own, &h, &err)) {
        snprintf(out->text, sizeof(out->text), "%.190s", err.msg);
    } else {
        most = mpirun_slots_most(&h, each);
        taken = mpirun_slots_taken(p->dir, &h);
        out->has = most < s->workers           ? BACKEND_ROOM_NEVER
                   : most - taken < s->workers ? BACKEND_ROOM_LATER
                                               : BACKEND_ROOM_NOW;
        snprintf(out->text, sizeof(out->text),
                 "%jd of the %jd slots of its hosts are free", (intmax_t)(most - taken),
                 (intmax_t)most);
    }
    if (s->total_gpu && out->has != BACKEND_ROOM_NEVER) {
        out->has = BACKEND_ROOM_NEVER;
        snprintf(out->text, sizeof(out->text),
                 "a hostfile does not say which GPUs are "
                 "free");
    }
    mpirun_hosts_release(&h);
    mem_free(own);
}

const struct backend_ops backend_mpi = {
    .name = "mpi",
    .host_files = true,
    .own_queue = true,
    .probe = mpi_probe,
    .open = mpi_open,
    .prepare = backend_task_prepare,
    .address = mpi_address,
    .port = backend_task_port,
    .start = mpi_start,
    .reattach = mpi_reattach,
    .refresh = mpi_refresh,
    .poll = mpi_poll,
    .signal = mpi_signal,
    .release = mpi_release,
    .clean = mpi_clean,
    .close = mpi_close,
    .room = mpi_room,
};
