/* SPDX-License-Identifier: Apache-2.0 */
/* mpirun starts one task per worker (task.h), and its daemons on the hosts by
 * `trainyard backend host --reach`, which asks the `backend host` that runs there, or ssh. Hosts are
 * handed to it in the order of seats, so that rank n is the worker of line n.
 *
 * mpirun carries the job in its environment, so that a sweep of the job finds it when this
 * process is killed; this process does not, so that it can sweep.
 */
#include "backend/mpirun_runner.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "backend/mpirun_slots.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/vec.h"
#include "job/file.h"

#define CONF_MAX (1 << 16)
#define LIST_MAX (16 << 20)
#define LOOK_S 0.2
#define WAIT_MAX_MS 2000
#define UNSTARTED_NS (3 * CLOCK_SECOND) /* behind a stop, for tasks to come up */
#define GRACE_S 5
#define SWEEP_S 15

struct runner {
    struct mpirun_runner_conf c;
    const char *base;
    struct mpirun_hosts hosts;
    int64_t *counts; /* owned: workers on each host */
    char told[MPIRUN_TEXT_SIZE];
    int64_t stopped_at; /* monotonic ns; 0: not */
};

static char *file_of(const char *base, const char *ending)
{
    return mem_printf("%s.%s", base, ending);
}

static bool has_file(const char *base, const char *ending)
{
    char *path = file_of(base, ending);
    bool there = fs_exists(path);
    mem_free(path);
    return there;
}

static enum rc put_file(const char *base, const char *ending, const char *text,
                        struct err *err)
{
    char *path = file_of(base, ending);
    enum rc rc = job_file_put(path, text, strlen(text), 0600, err);
    mem_free(path);
    return rc;
}

/* --- BASE.conf --- */

enum rc mpirun_runner_write(const struct mpirun_runner_conf *c, const char *base,
                            struct err *err)
{
    struct buf b;
    buf_init(&b, CONF_MAX);
    buf_printf(&b, "job %s\ntag %s\ndir %s\nhostfile %s\nmpirun %s\nprogram %s\n", c->job,
               c->tag, c->dir, c->hostfile, c->mpirun, c->program);
    buf_printf(&b, "workers %jd\nper_host %jd\nworld %jd\nseated %jd\n",
               (intmax_t)c->workers, (intmax_t)c->per_host, (intmax_t)c->world,
               (intmax_t)c->seated);
    enum rc rc = buf_check(&b, err);
    if (!rc)
        rc = put_file(base, "conf", buf_str(&b), err);
    buf_release(&b);
    return rc;
}

static bool take_setting(struct str name, struct str value, struct mpirun_runner_conf *c,
                         struct arena *a)
{
    const struct {
        const char *name, **text;
        int64_t *number;
    } all[] = {{.name = "job", .text = &c->job},
               {.name = "tag", .text = &c->tag},
               {.name = "dir", .text = &c->dir},
               {.name = "hostfile", .text = &c->hostfile},
               {.name = "mpirun", .text = &c->mpirun},
               {.name = "program", .text = &c->program},
               {.name = "workers", .number = &c->workers},
               {.name = "per_host", .number = &c->per_host},
               {.name = "world", .number = &c->world},
               {.name = "seated", .number = &c->seated}};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (!str_is(name, all[i].name))
            continue;
        if (all[i].number)
            return str_to_i64(value, all[i].number);
        *all[i].text = arena_printf(a, "%.*s", (int)value.n, value.p);
        return true;
    }
    return false;
}

enum rc mpirun_runner_read(const char *base, struct mpirun_runner_conf *out,
                           struct arena *a, struct err *err)
{
    char *path = file_of(base, "conf"), *text = NULL;
    size_t n = 0;
    struct str line, name;
    *out = (struct mpirun_runner_conf){0};
    enum rc rc = fs_read(path, CONF_MAX, &text, &n, err);
    struct str rest = str_of(rc ? "" : text, rc ? 0 : n);
    bool good = true;
    while (good && rest.n && str_split(&rest, '\n', &line))
        good = str_split(&line, ' ', &name) && take_setting(name, line, out, a);
    if (!rc && (!good || !out->job || !out->tag || !out->dir || !out->hostfile ||
                !out->mpirun || !out->program || out->workers < 1))
        rc = err_set(err, RC_FORMAT, "'%s' does not tell what to run", path);
    mem_free(text);
    mem_free(path);
    return rc;
}

/* --- slots --- */

static void nap(int64_t ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000},
              NULL);
}

static void tell_wait(struct runner *r, const char *text)
{
    if (strcmp(r->told, text) == 0)
        return;
    snprintf(r->told, sizeof(r->told), "%.399s", text);
    enum rc rc = put_file(r->base, "wait", text, NULL);
    (void)rc; /* for people */
}

static enum rc write_seats(const struct runner *r, struct err *err)
{
    struct buf b;
    buf_init(&b, LIST_MAX);
    for (size_t i = 0; i < r->hosts.at.n; i++)
        for (int64_t k = 0; k < r->counts[i]; k++)
            buf_printf(&b, "%s\n", r->hosts.at.at[i].name);
    enum rc rc = buf_check(&b, err);
    if (!rc)
        rc = put_file(r->base, "seats", buf_str(&b), err);
    buf_release(&b);
    return rc;
}

/* RC_CANCELED: its end was asked for. */
static enum rc await_slots(struct runner *r, struct mpirun_slots *s, struct err *err)
{
    char text[MPIRUN_TEXT_SIZE];
    for (int64_t ms = 100;; ms = ms < WAIT_MAX_MS ? ms + 100 : ms) {
        if (has_file(r->base, "stop"))
            return err_set(err, RC_CANCELED, "stopped");
        if (mpirun_slots_take(s, r->counts, text))
            return write_seats(r, err);
        tell_wait(r, text);
        nap(ms);
    }
}

/* --- mpirun --- */

typedef VEC(const char *) words;

/* The words of mpirun: `what` on `n` seats of `hosts`. In `a`. */
static const char *const *mpirun_argv(const struct mpirun_runner_conf *c,
                                      const char *hosts, int64_t n, const char *what,
                                      const char *list, struct arena *a)
{
    static const char *const how[] = {"--oversubscribe",
                                      "--bind-to",
                                      "none",
                                      "--leave-session-attached",
                                      "--map-by",
                                      "slot",
                                      "--mca",
                                      "ras",
                                      "^slurm",
                                      "--mca",
                                      "plm",
                                      "rsh",
                                      "--mca",
                                      "plm_rsh_no_tree_spawn",
                                      "1",
                                      "--mca",
                                      "plm_rsh_agent"};
    words v = {0};
    VEC_PUSH(&v, c->mpirun);
    if (geteuid() == 0)
        VEC_PUSH(&v, "--allow-run-as-root"); /* as whoever submitted the job */
    for (size_t i = 0; i < ARRAY_LEN(how); i++)
        VEC_PUSH(&v, how[i]);
    VEC_PUSH(&v, arena_printf(a, "%s backend host --reach", c->program));
    VEC_PUSH(&v, "--host");
    VEC_PUSH(&v, hosts);
    VEC_PUSH(&v, "-n");
    VEC_PUSH(&v, arena_printf(a, "%jd", (intmax_t)n));
    VEC_PUSH(&v, c->program);
    VEC_PUSH(&v, "job");
    VEC_PUSH(&v, "agent");
    VEC_PUSH(&v, what);
    VEC_PUSH(&v, list);
    const char **argv = arena_alloc(a, (v.n + 1) * sizeof(*argv));
    memcpy(argv, v.at, v.n * sizeof(*argv));
    argv[v.n] = NULL;
    VEC_RELEASE(&v);
    return argv;
}

static enum rc start_mpirun(const struct mpirun_runner_conf *c, const char *const *argv,
                            const char *mark, const char *out, struct proc **p,
                            struct err *err)
{
    char *dir = mem_printf("TRAINYARD_MPI_DIR=%s", c->dir);
    const char *const add[] = {dir, mark, NULL};
    struct proc_spec spec = {.argv = argv,
                             .env_add = add,
                             .cwd = "/", /* which hosts have, too */
                             .in = {.kind = PROC_NULL},
                             .out = {.kind = out ? PROC_APPEND : PROC_NULL, .path = out},
                             .err = {.kind = out ? PROC_STDOUT : PROC_NULL}};
    enum rc rc = proc_start(&spec, p, err);
    mem_free(dir);
    return rc;
}

/* "host:2,other:1" */
static void put_hosts(const struct runner *r, struct buf *b)
{
    for (size_t i = 0; i < r->hosts.at.n; i++)
        if (r->counts[i])
            buf_printf(b, "%s%s:%jd", b->n ? "," : "", r->hosts.at.at[i].name,
                       (intmax_t)r->counts[i]);
}

/* Has every worker's task come up? */
static bool all_started(const char *base)
{
    char *list = file_of(base, "list"), *text = NULL;
    size_t n = 0;
    struct str rest = {0}, line;
    bool all = fs_read(list, LIST_MAX, &text, &n, NULL) == RC_OK;
    rest = str_of(text ? text : "", text ? n : 0);
    while (all && rest.n && str_split(&rest, '\n', &line)) {
        char *shim = mem_printf("%.*s.shim", (int)line.n, line.p);
        all = fs_exists(shim);
        mem_free(shim);
    }
    mem_free(text);
    mem_free(list);
    return all;
}

/* Workers end by requests to their shims; what has not come up by then never will. */
static bool must_end(struct runner *r)
{
    if (has_file(r->base, "kill"))
        return true;
    if (!r->stopped_at && has_file(r->base, "stop"))
        r->stopped_at = clock_mono_ns();
    return r->stopped_at && clock_mono_ns() - r->stopped_at > UNSTARTED_NS &&
           !all_started(r->base);
}

static enum rc run_mpirun(struct runner *r, int *status, struct err *err)
{
    struct arena a = {0};
    struct buf hosts;
    struct proc *p = NULL;
    struct proc_exit exit = {.code = 0};
    char *out = file_of(r->base, "out"), *list = file_of(r->base, "list");
    buf_init(&hosts, LIST_MAX);
    put_hosts(r, &hosts);
    const char *mark = arena_printf(&a, "TRAINYARD_JOB_ID=%s", r->c.job);
    const char *const *argv =
        mpirun_argv(&r->c, buf_str(&hosts), r->c.workers, "--mpi-task", list, &a);
    enum rc rc = start_mpirun(&r->c, argv, mark, out, &p, err);
    while (!rc && !proc_wait(p, LOOK_S, &exit))
        if (must_end(r)) {
            proc_terminate(p, GRACE_S, &exit);
            break;
        }
    proc_destroy(p);
    if (!rc)
        *status = exit.code >= 0 ? exit.code : 128 + exit.signal;
    buf_release(&hosts);
    arena_release(&a);
    mem_free(out);
    mem_free(list);
    return rc;
}

/* --- a sweep --- */

/* One mpirun for each host: one that is lost must not keep the others. */
void mpirun_runner_sweep(const struct mpirun_runner_conf *c, const char *base)
{
    struct arena a = {0};
    VEC(struct proc *) all = {0};
    char *seats = file_of(base, "seats"), *list = file_of(base, "list"), *text = NULL;
    size_t n = 0;
    struct str line, before = {0};
    int64_t until = clock_mono_ns() + SWEEP_S * CLOCK_SECOND;
    struct proc_exit exit;
    if (!fs_exists(seats) || fs_read(seats, LIST_MAX, &text, &n, NULL))
        text = NULL;
    struct str rest = str_of(text ? text : "", text ? n : 0);
    while (rest.n && str_split(&rest, '\n', &line)) {
        struct proc *p = NULL;
        if (str_eq(line, before))
            continue;
        before = line;
        const char *host = arena_printf(&a, "%.*s:1", (int)line.n, line.p);
        const char *const *argv = mpirun_argv(c, host, 1, "--mpi-sweep", list, &a);
        if (start_mpirun(c, argv, NULL, NULL, &p, NULL) == RC_OK)
            VEC_PUSH(&all, p);
    }
    for (size_t i = 0; i < all.n; i++) {
        double left = (double)(until - clock_mono_ns()) / 1e9;
        if (!proc_wait(all.at[i], left > 0 ? left : 0, &exit))
            proc_terminate(all.at[i], 1, &exit);
        proc_destroy(all.at[i]);
    }
    VEC_RELEASE(&all);
    mem_free(text);
    mem_free(list);
    mem_free(seats);
    arena_release(&a);
}

static enum rc run_all(struct runner *r, struct err *err)
{
    struct mpirun_slots_want want = {.dir = r->c.dir,
                                     .hostfile = r->c.hostfile,
                                     .hosts = &r->hosts,
                                     .tag = r->c.tag,
                                     .workers = r->c.workers,
                                     .per_host = r->c.per_host};
    struct mpirun_slots *slots = NULL;
    char text[32];
    int status = 0;
    r->counts = mem_calloc(r->hosts.at.n, sizeof(*r->counts));
    r->counts[0] = 1; /* of one that is seated */
    enum rc rc =
        r->c.seated ? write_seats(r, err) : mpirun_slots_open(&want, &slots, err);
    if (!rc && !r->c.seated)
        rc = await_slots(r, slots, err);
    if (!rc)
        rc = run_mpirun(r, &status, err);
    if (!rc && status)
        mpirun_runner_sweep(&r->c, r->base);
    if (rc && rc != RC_CANCELED)
        tell_wait(r, err->msg);
    snprintf(text, sizeof(text), "%d\n", rc ? 1 : status);
    mpirun_slots_close(slots);
    return put_file(r->base, "done", text, err);
}

enum rc mpirun_runner_run(const char *base, struct err *err)
{
    struct runner r = {.base = base};
    struct arena a = {0};
    char *hosts = file_of(base, "hosts");
    prctl(PR_SET_NAME, "ty-mpirun");
    enum rc rc = mpirun_runner_read(base, &r.c, &a, err);
    if (!rc)
        rc = mpirun_hosts_read(hosts, &r.hosts, err);
    if (!rc)
        rc = run_all(&r, err);
    mpirun_hosts_release(&r.hosts);
    mem_free(r.counts);
    mem_free(hosts);
    arena_release(&a);
    return rc;
}
