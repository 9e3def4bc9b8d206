/* SPDX-License-Identifier: Apache-2.0 */
/* The agent keeps what waits and runs in memory and reads the store again when it is
 * told to, and once a second while anything lives. Its end is safe: it stops listening
 * first, then looks a last time, so a submitter either is heard or finds nobody and
 * starts the next agent.
 */
#include "backend/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backend/admission.h"
#include "backend/call.h"
#include "backend/capacity.h"
#include "backend/crash.h"
#include "backend/preempt.h"
#include "backend/reserve.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/proc.h"
#include "job/file.h"
#include "job/retry.h"
#include "job/space.h"
#include "job/submit.h"
#include "store/users.h"

#define LOG_AREA "agent"
#define LOOK_NS (1 * INT64_C(1000000000))
#define SOON_NS (20 * INT64_C(1000000)) /* several signs within this are one */
#define METHOD_PATIENCE_S 180.0
#define STORE_PATIENCE 30 /* times the idle time, while the store is away */
#define LOCK_TRIES 100    /* of 50 ms: for the agent before us to end */

struct child {
    struct agent *agent;
    char id[JOB_ID_SIZE];
    struct proc *proc; /* NULL: the fork server's */
    struct loop_child watch;
    int64_t since; /* monotonic ns */
};

struct agent {
    const struct job_place *p;
    const struct backend_agent_options *o;
    struct backend_queue_need total;
    struct backend_probes probes;
    int64_t method_patience; /* ns that a method of a backend may take */
    struct loop *loop;
    int lock, control;
    struct loop_fd control_watch, forkserver_watch;
    struct backend_forkserver *forkserver; /* borrowed; NULL: none, or none any more */
    struct loop_timer look, soon;
    struct loop_signal term;
    struct backend_agent_queue q;
    struct backend_share share;
    struct backend_share_elsewhere elsewhere;
    struct backend_admission admission;
    VEC(struct child *) children;
    int64_t idle_since; /* monotonic; 0: there is something to do */
    bool stop;
    bool disk_told; /* that it is nearly full */
};

/* A job of a backend that cannot be used waits for it, or has failed. */
static void ask_backend(const struct backend_probes *probes, struct backend_agent_held *h)
{
    const struct backend_probe *f = backend_probe_failure(probes, h->row->backend);
    if (!f)
        return;
    h->answer = f->passing ? DEPEND_WAITS : DEPEND_FAILED;
    h->why = WHY_BackendUnavailable;
    if (f->passing)
        snprintf(h->text, sizeof(h->text), "for the backend %.30s: %.300s",
                 h->row->backend, f->text);
    else
        snprintf(h->text, sizeof(h->text), "%s", f->text);
}

/* A job is held while its owner may not submit any. */
static void ask_owner(const struct store_users *barred, struct backend_agent_held *h)
{
    for (size_t i = 0; i < barred->n; i++) {
        const struct store_user *u = &barred->at[i];
        if (strcmp(u->name, h->row->owner) != 0)
            continue;
        h->answer = DEPEND_WAITS;
        snprintf(h->text, sizeof(h->text),
                 "until an admin lets its owner run jobs: '%.100s' %s", u->name,
                 u->disabled ? "is disabled" : "may not submit jobs");
        return;
    }
}

/* What decides who is in line, beside the queue itself. */
struct sorting {
    const struct job_place *p;
    const struct backend_probes *probes;
    struct store_users barred;
    struct backend_depend_arrays arrays;
};

/* A job that waits for others is not in line; nor is one whose array has its fill. */
static void sort_waiting(struct sorting *t, struct backend_agent_queue *q,
                         const struct store_job *j)
{
    struct backend_agent_held h = {.row = j, .why = WHY_DependencyFailed};
    h.answer = backend_depend(t->p, &q->rows, j, h.text);
    if (h.answer == DEPEND_NONE)
        ask_backend(t->probes, &h);
    if (h.answer == DEPEND_NONE)
        ask_owner(&t->barred, &h);
    if (h.answer == DEPEND_NONE && !backend_depend_array_room(&t->arrays, j, h.text))
        h.answer = DEPEND_WAITS;
    if (h.answer == DEPEND_NONE)
        VEC_PUSH(&q->waiting, backend_share_job(j));
    else
        VEC_PUSH(&q->held, h);
}

static enum rc sort_rows(const struct job_place *p, const struct backend_probes *probes,
                         struct backend_agent_queue *q, struct err *err)
{
    struct sorting t = {.p = p, .probes = probes};
    bool any = false;
    for (size_t i = 0; i < q->rows.n && !any; i++)
        any = strcmp(q->rows.at[i].state, "Queuing") == 0;
    enum rc rc = any ? store_user_barred(p->store, &t.barred, err) : RC_OK;
    if (rc)
        return rc;
    for (size_t i = 0; i < q->rows.n; i++)
        if (backend_share_holds(&q->rows.at[i])) {
            VEC_PUSH(&q->running, backend_share_job(&q->rows.at[i]));
            backend_depend_array_runs(&t.arrays, &q->rows.at[i]);
        }
    for (size_t i = 0; i < q->rows.n; i++)
        if (strcmp(q->rows.at[i].state, "Queuing") == 0)
            sort_waiting(&t, q, &q->rows.at[i]);
    backend_depend_arrays_release(&t.arrays);
    store_users_release(&t.barred);
    return RC_OK;
}

enum rc backend_agent_queue_read(const struct job_place *p,
                                 const struct backend_probes *probes,
                                 struct backend_agent_queue *out, struct err *err)
{
    struct backend_probes kept;
    struct backend_agent_queue q = {.rows = {.n = 0}};
    struct store_filter f = {
        .node = p->node, .states = job_live_states(), .oldest_first = true};
    enum rc rc = store_list(p->store, &f, &q.rows, err);
    if (rc)
        return rc;
    if (!probes)
        backend_probe_read(p->dir, &kept);
    rc = sort_rows(p, probes ? probes : &kept, &q, err);
    if (rc)
        store_jobs_release(&q.rows);
    else
        *out = q;
    return rc;
}

struct backend_queue_world backend_agent_world(
    const struct backend_queue_need *total, const struct backend_agent_queue *q,
    const struct backend_share *share, const struct backend_share_elsewhere *elsewhere)
{
    return (struct backend_queue_world){.total = *total,
                                        .running = q->running.at,
                                        .n_running = q->running.n,
                                        .elsewhere = elsewhere->at.at,
                                        .n_elsewhere = elsewhere->at.n,
                                        .waiting = q->waiting.at,
                                        .n_waiting = q->waiting.n,
                                        .groups = share->groups.at,
                                        .n_groups = share->groups.n,
                                        .now = clock_wall_ns()};
}

void backend_agent_queue_release(struct backend_agent_queue *q)
{
    VEC_RELEASE(&q->running);
    VEC_RELEASE(&q->waiting);
    VEC_RELEASE(&q->held);
    store_jobs_release(&q->rows);
}

enum rc backend_agent_check(const struct job_place *p, const char *slots,
                            const struct job_spec *spec, struct err *err)
{
    struct backend_queue_need total;
    struct backend_queue_verdict v;
    struct backend_queue_job j = {
        .id = "",
        .owner = "",
        .need = {spec->total_cpu, spec->total_mem, spec->total_gpu}};
    const struct backend_ops *ops = backend_find(spec->backend);
    enum rc rc = RC_OK;
    if ((ops && ops->own_queue) || job_spec_auto(spec))
        return RC_OK; /* its service knows what it has, or the choice comes to it */
    if (spec->s->has_queue && strcmp(spec->s->queue, "default") != 0)
        return err_coded(err, RC_INVAL, E3022,
                         "there is no queue '%.100s': jobs here wait in one, 'default'; "
                         "--priority, projects and quotas say who is next",
                         spec->s->queue);
    if (slots || !backend_capacity_read(p->dir, &total))
        rc = backend_capacity_find(slots, &total, err);
    if (rc)
        return rc;
    struct backend_queue_world w = {.total = total, .waiting = &j, .n_waiting = 1};
    backend_queue_plan(&w, &v);
    if (v.answer != QUEUE_NEVER)
        return RC_OK;
    struct buf b;
    buf_init(&b, 500);
    backend_queue_why(&w, 0, &v, &b);
    rc = err_coded(err, RC_INVAL, E3204, "%s", buf_str(&b));
    buf_release(&b);
    return rc;
}

char *backend_agent_program(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    return mem_strdup(n > 0 && access(path, X_OK) == 0 ? path : "/proc/self/exe");
}

static enum rc spawn(const struct job_place *p, const char *id, const char *log,
                     struct proc **out, struct err *err)
{
    char *self = backend_agent_program();
    char *dir = mem_printf("TRAINYARD_DIR=%s", p->dir);
    char *store = mem_printf("TRAINYARD_STORE=%s", p->where);
    /* A URL may hold a password: it goes by environment, which is nobody else's to read.
     * What a job told its own children must not reach jobs that it submits.
     */
    const char *env[] = {dir, store, "TRAINYARD_JOB_ID", "TRAINYARD_ATTEMPT", NULL};
    const char *argv[] = {self, "job", "agent", id ? "--job" : NULL, id, NULL};
    struct proc_spec spec = {.argv = argv,
                             .env_add = env,
                             .cwd = "/",
                             .in = {.kind = PROC_NULL},
                             .out = {.kind = PROC_APPEND, .path = log},
                             .err = {.kind = PROC_STDOUT},
                             .new_session = true};
    enum rc rc = proc_start(&spec, out, err);
    mem_free(store);
    mem_free(dir);
    mem_free(self);
    return rc;
}

enum rc backend_agent_start(const struct job_place *p, struct proc **out, struct err *err)
{
    char *log = fs_join(p->dir, "agent.log");
    enum rc rc = spawn(p, NULL, log, out, err);
    mem_free(log);
    return rc;
}

enum rc backend_agent_wake(const struct job_place *p, struct err *err)
{
    char *control = fs_join(p->dir, "agent.fifo"), *log = fs_join(p->dir, "agent.log");
    enum rc rc = RC_OK;
    if (!job_wake_send(control)) {
        struct proc *proc = NULL;
        rc = spawn(p, NULL, log, &proc, err);
        if (!rc)
            proc_disown(proc);
        else
            err_coded(err, rc, E3202, "cannot start the agent: %.300s", err->msg);
    }
    mem_free(log);
    mem_free(control);
    return rc;
}

static struct child *find_child(const struct agent *a, const char *id)
{
    for (size_t i = 0; i < a->children.n; i++)
        if (strcmp(a->children.at[i]->id, id) == 0)
            return a->children.at[i];
    return NULL;
}

static void drop_child(struct agent *a, struct child *c)
{
    for (size_t i = 0; i < a->children.n; i++)
        if (a->children.at[i] == c) {
            a->children.at[i] = a->children.at[--a->children.n];
            break;
        }
    proc_destroy(c->proc);
    mem_free(c);
}

static void plan(struct agent *a);

static bool has_ended(const struct agent *a, const char *id)
{
    struct store_jobs jobs = {0};
    enum job_state state = JOB_Unknown;
    if (store_get(a->p->store, id, &jobs, NULL))
        return false;
    bool ended = job_state_find(jobs.at[0].state, &state) && job_state_ended(state);
    store_jobs_release(&jobs);
    return ended;
}

static void not_running(struct agent *a, const char *id)
{
    for (size_t i = 0; i < a->q.running.n; i++)
        if (strcmp(a->q.running.at[i].id, id) == 0) {
            a->q.running.at[i] = a->q.running.at[--a->q.running.n];
            break;
        }
}

/* A crash counts: too many of them end the job, see crash.h. */
static bool note_crash(struct agent *a, const struct child *c, struct proc_exit exit)
{
    struct backend_crash crash;
    struct backend_calling in;
    char words[BACKEND_CRASH_WORDS], *dir = job_place_dir(a->p, c->id);
    int64_t now = clock_mono_ns();
    bool inside = backend_calling_read(dir, &in);
    struct backend_crash_death death = {.exit = exit,
                                        .method = in.method,
                                        .hung = inside && exit.signal == SIGABRT &&
                                                now - in.since >= a->method_patience,
                                        .lived = now - c->since,
                                        .at = clock_wall_ns()};
    if (backend_crash_weight(&death) <= 0) {
        mem_free(dir);
        return false;
    }
    backend_crash_read(dir, &crash);
    backend_crash_add(&crash, &death);
    backend_crash_write(dir, &crash);
    backend_crash_words(&crash, words);
    log_job(LOG_LEVEL_ERROR, c->id, "its supervisor crashed (%s)%s", words,
            crash.tries > 0 ? " while it gave the job up"
            : backend_crash_over(&crash)
                ? "; that was once too often, the job is given up"
                : "; another one follows");
    mem_free(dir);
    return true;
}

/* The supervisor of a job has gone; usually because the job has ended. If not, the job
 * goes on and keeps what it has: only the record says that it has ended.
 */
static void supervisor_ended(struct agent *a, struct child *c, struct proc_exit exit)
{
    bool fine = exit.signal == 0 && exit.code == 0, ended = fine && has_ended(a, c->id);
    bool crashed = !ended && note_crash(a, c, exit);
    if (ended)
        not_running(a, c->id);
    drop_child(a, c);
    if (ended)
        plan(a);
    if (ended && a->q.held.n) /* some may have waited for this one */
        loop_timer_start(a->loop, &a->soon, SOON_NS, 0, a->soon.fn, a);
    else if (ended)
        return;
    else if (!crashed && (fine || exit.signal)) /* it may need another: look closely */
        loop_timer_start(a->loop, &a->soon, SOON_NS, 0, a->soon.fn, a);
    /* Else it could not even begin: the next look tries again, not sooner. */
}

static void on_child_end(void *arg, struct proc_exit exit)
{
    struct child *c = arg;
    supervisor_ended(c->agent, c, exit);
}

/* Nobody tells us of the supervisors that it forked any more: their locks do. */
static void forkserver_gone(struct agent *a)
{
    loop_fd_stop(&a->forkserver_watch);
    a->forkserver = NULL;
    for (size_t i = a->children.n; i-- > 0;)
        if (!a->children.at[i]->proc)
            drop_child(a, a->children.at[i]);
    loop_timer_start(a->loop, &a->soon, SOON_NS, 0, a->soon.fn, a);
}

static void on_forkserver(void *arg, int fd, unsigned events)
{
    struct agent *a = arg;
    struct backend_forkserver_end e;
    enum backend_forkserver_answer answer = FORKSERVER_NOTHING;
    while (a->forkserver &&
           (answer = backend_forkserver_next(a->forkserver, &e)) == FORKSERVER_END) {
        struct child *c = find_child(a, e.id);
        if (c)
            supervisor_ended(a, c, e.exit);
    }
    if (a->forkserver && answer == FORKSERVER_GONE)
        forkserver_gone(a);
}

static enum rc supervise(struct agent *a, const char *id, struct err *err)
{
    struct child *c = mem_calloc(1, sizeof(*c));
    c->agent = a;
    c->since = clock_mono_ns();
    snprintf(c->id, sizeof(c->id), "%s", id);
    char *log = job_place_file(a->p, id, "supervisor.log");
    enum rc rc = RC_OK;
    if (!a->forkserver || !backend_forkserver_ask(a->forkserver, c->id, log)) {
        rc = spawn(a->p, c->id, log, &c->proc, err);
        if (!rc)
            rc = loop_child_start(a->loop, &c->watch, c->proc, on_child_end, c, err);
    }
    mem_free(log);
    if (rc) {
        proc_destroy(c->proc);
        mem_free(c);
        return rc;
    }
    VEC_PUSH(&a->children, c);
    return RC_OK;
}

/* GPU numbers that no running job has, `n` of them, as "0,3". */
static void pick_gpus(struct agent *a, int64_t n, struct buf *out)
{
    bool used[64] = {false};
    for (size_t i = 0; i < a->q.rows.n; i++) {
        struct doc doc = {0};
        const struct store_job *j = &a->q.rows.at[i];
        if (!j->gpu || !backend_share_holds(j))
            continue;
        const struct node *map = job_json_open(j->status, &doc);
        struct str rest = str_c(node_get_text(map, "gpus", "")), part;
        int64_t v;
        while (rest.n && str_split(&rest, ',', &part))
            if (str_to_i64(part, &v) && v >= 0 && v < 64)
                used[v] = true;
        if (doc.src)
            doc_release(&doc);
    }
    for (int64_t i = 0; i < 64 && n > 0; i++)
        if (!used[i]) {
            buf_printf(out, "%s%jd", out->n ? "," : "", (intmax_t)i);
            n--;
        }
}

static enum rc admit(struct agent *a, const struct backend_queue_job *j, struct err *err)
{
    struct job_record r = {0};
    enum rc rc = job_record_open(a->p->store, j->id, &r, err);
    if (rc)
        return rc;
    if (r.now.state != JOB_Queuing) {
        job_record_release(&r);
        return RC_CANCELED;
    }
    if (j->need.gpu && !j->away) {
        struct buf b;
        buf_init(&b, 1000);
        buf_puts(&b, "{\"gpus\": \"");
        struct buf list;
        buf_init(&list, 500);
        pick_gpus(a, j->need.gpu, &list);
        buf_printf(&b, "%s\"}", buf_str(&list));
        struct job_record_note note = {.worker = -1, .data = buf_str(&b)};
        rc = job_record_add(&r, EV_Admitted, &note, err);
        buf_release(&list);
        buf_release(&b);
    }
    if (!rc)
        rc = job_record_move(&r, JOB_EnvPreparing, WHY_Admitted, -1, 0, "", err);
    if (!rc)
        rc = job_record_flush(&r, err);
    job_record_release(&r);
    return rc;
}

static void refuse(struct agent *a, const struct backend_queue_job *j,
                   enum job_reason why, const char *text)
{
    struct job_record r = {0};
    struct err err = {0};
    enum rc rc = job_record_open(a->p->store, j->id, &r, &err);
    if (!rc && r.now.state == JOB_Queuing)
        rc = job_record_move(&r, JOB_Failed, why, -1, 0, text, &err);
    if (!rc)
        rc = job_record_flush(&r, &err);
    if (rc)
        log_job(LOG_LEVEL_WARN, j->id, "%s", err.msg);
    job_record_release(&r);
}

static void refuse_never(struct agent *a, const struct backend_queue_world *w, size_t i,
                         const struct backend_queue_verdict *v)
{
    struct buf b;
    buf_init(&b, 500);
    backend_queue_why(w, i, v, &b);
    refuse(a, &a->q.waiting.at[i], WHY_Unschedulable, buf_str(&b));
    buf_release(&b);
}

static void start_job(struct agent *a, const struct backend_queue_job *j)
{
    struct err err = {0};
    struct backend_queue_job now = *j;
    enum rc rc = admit(a, j, &err);
    if (rc == RC_CANCELED)
        return; /* stopped or suspended meanwhile */
    if (rc) {
        log_job(LOG_LEVEL_WARN, j->id, "%s", err.msg);
        return;
    }
    now.since = clock_wall_ns();
    VEC_PUSH(&a->q.running, now);
    if (supervise(a, j->id, &err)) /* the next look tries again */
        log_job(LOG_LEVEL_ERROR, j->id, "%s", err.msg);
}

/* The first in line may need the place of others. */
static void make_room(struct agent *a, const struct backend_queue_world *w,
                      const struct backend_queue_job *head)
{
    bool *victims = mem_calloc(w->n_running + 1, sizeof(*victims));
    size_t n = backend_preempt_plan(w, head, victims);
    for (size_t i = 0; n && i < w->n_running; i++) {
        struct job_request_result r;
        struct err err = {0};
        if (!victims[i])
            continue;
        a->q.running.at[i].leaving = true;
        if (job_request_preempt(a->p, w->running[i].id, head->id, &r, &err))
            log_job(LOG_LEVEL_WARN, w->running[i].id, "%s", err.msg);
    }
    mem_free(victims);
}

/* Starts what may start, according to what was read. */
static void plan_now(struct agent *a)
{
    size_t n = a->q.waiting.n, kept = 0;
    struct backend_queue_verdict *v = mem_calloc(n, sizeof(*v));
    struct backend_queue_world w =
        backend_agent_world(&a->total, &a->q, &a->share, &a->elsewhere);
    backend_queue_plan(&w, v);
    for (size_t i = 0; i < n; i++)
        if (v[i].answer == QUEUE_FULL)
            make_room(a, &w, &a->q.waiting.at[i]);
    for (size_t i = 0; i < n; i++) {
        if (v[i].answer == QUEUE_START && !backend_admission_over(&a->admission))
            start_job(a, &a->q.waiting.at[i]);
        else if (v[i].answer == QUEUE_NEVER)
            refuse_never(a, &w, i, &v[i]);
        else
            a->q.waiting.at[kept++] = a->q.waiting.at[i];
    }
    a->q.waiting.n = kept;
    mem_free(v);
}

/* A disk that is nearly full stops admissions before it hurts what runs; it is looked at
 * again with the next look at the store.
 */
static bool disk_short(struct agent *a)
{
    struct buf why;
    buf_init(&why, 1000);
    bool is = job_space_short(a->p->dir, 0, &why);
    if (is && !a->disk_told)
        log_warn("no job starts: %s", buf_str(&why));
    a->disk_told = is;
    buf_release(&why);
    return is;
}

/* Quotas hold for all machines together: one of them admits at a time, and looks at the
 * others right before.
 */
static void plan(struct agent *a)
{
    struct err err = {0};
    bool mine = true;
    if (!a->q.waiting.n || a->stop || disk_short(a))
        return;
    bool shared = a->share.limited && store_is_url(a->p->where);
    enum rc rc = RC_OK;
    if (shared)
        rc = backend_admission_take(&a->admission, a->p, &mine, &err);
    if (!rc && mine && a->share.limited) {
        backend_share_elsewhere_release(&a->elsewhere);
        rc = backend_share_elsewhere_read(a->p->store, a->p->node, &a->elsewhere, &err);
    }
    if (rc)
        log_warn("%s", err.msg);
    else if (mine)
        plan_now(a);
    else
        loop_timer_start(a->loop, &a->soon, SOON_NS, 0, a->soon.fn, a);
    if (shared)
        backend_admission_drop(&a->admission, a->p);
}

static const struct store_job *row_of(const struct agent *a, const char *id)
{
    for (size_t i = 0; i < a->q.rows.n; i++)
        if (strcmp(a->q.rows.at[i].id, id) == 0)
            return &a->q.rows.at[i];
    return NULL;
}

static bool crash_waits(const struct agent *a, const char *id)
{
    struct backend_crash crash;
    char *dir = job_place_dir(a->p, id);
    backend_crash_read(dir, &crash);
    mem_free(dir);
    return backend_crash_waits(&crash, clock_wall_ns());
}

/* Is it the process that supervises the job? Its name says so. */
static bool is_supervisor(const char *id, int64_t pid)
{
    char path[64], name[16] = "", want[16];
    snprintf(path, sizeof(path), "/proc/%jd/comm", (intmax_t)pid);
    snprintf(want, sizeof(want), "%s", id);
    FILE *f = pid > 0 ? fopen(path, "re") : NULL;
    bool is = f && fgets(name, sizeof(name), f);
    name[strcspn(name, "\n")] = '\0';
    if (f)
        fclose(f);
    return is && strcmp(name, want) == 0;
}

/* A supervisor that a method of its backend does not let go is ended: that counts as a
 * crash, and the next one goes on with the job.
 */
static void end_hung(struct agent *a)
{
    for (size_t i = 0; i < a->q.running.n; i++) {
        const char *id = a->q.running.at[i].id;
        struct backend_calling in;
        char *dir = job_place_dir(a->p, id);
        bool hung = backend_calling_read(dir, &in) &&
                    clock_mono_ns() - in.since >= a->method_patience &&
                    is_supervisor(id, in.pid);
        mem_free(dir);
        if (!hung)
            continue;
        log_job(LOG_LEVEL_ERROR, id, "%s() of its backend has not returned for %jd s",
                in.method, (intmax_t)((clock_mono_ns() - in.since) / 1000000000));
        kill((pid_t)in.pid, SIGABRT);
    }
}

/* Jobs that should have a supervisor and have none get one. */
static void adopt(struct agent *a)
{
    for (size_t i = 0; i < a->q.running.n; i++) {
        const char *id = a->q.running.at[i].id;
        struct err err = {0};
        char *lock = job_place_file(a->p, id, "lock");
        bool alone = !find_child(a, id) && !job_lock_held(lock);
        mem_free(lock);
        if (alone && !crash_waits(a, id) && supervise(a, id, &err))
            log_job(LOG_LEVEL_ERROR, id, "%s", err.msg);
    }
}

/* Has it waited for longer than it wants to? */
static bool out_of_patience(const struct store_job *row)
{
    struct doc doc = {0};
    if (!strstr(row->status, "queue_timeout_s"))
        return false;
    const struct node *map = job_json_open(row->status, &doc);
    double limit = node_get_num(node_find(map, "terms"), "queue_timeout_s", 0);
    int64_t from = node_get_int(map, "queued", row->created);
    if (doc.src)
        doc_release(&doc);
    return limit > 0 && clock_wall_ns() - from > (int64_t)(limit * 1e9);
}

static void queue_timeouts(struct agent *a)
{
    static const char text[] = "waited longer for resources than allowed";
    size_t kept = 0;
    for (size_t i = 0; i < a->q.waiting.n; i++) {
        const struct backend_queue_job *j = &a->q.waiting.at[i];
        const struct store_job *row = row_of(a, j->id);
        if (row && out_of_patience(row))
            refuse(a, j, WHY_QueueTimeout, text);
        else
            a->q.waiting.at[kept++] = *j;
    }
    a->q.waiting.n = kept;
    for (size_t i = 0; i < a->q.held.n; i++) { /* for a backend that may come back */
        const struct backend_agent_held *h = &a->q.held.at[i];
        struct backend_queue_job j = backend_share_job(h->row);
        if (h->why == WHY_BackendUnavailable && h->answer == DEPEND_WAITS &&
            out_of_patience(h->row))
            refuse(a, &j, WHY_QueueTimeout, h->text);
    }
}

/* What it waited for has ended: from now on it stands in line. */
static void let_in(struct agent *a, const struct store_job *j)
{
    struct job_record r = {0};
    struct err err = {0};
    enum rc rc = job_record_open(a->p->store, j->id, &r, &err);
    if (!rc && r.now.state == JOB_Queuing && !r.now.eligible)
        rc = job_record_add(&r, EV_Eligible, NULL, &err);
    if (!rc)
        rc = job_record_flush(&r, &err);
    if (rc)
        log_job(LOG_LEVEL_WARN, j->id, "%s", err.msg);
    job_record_release(&r);
}

/* A backend that failed long ago may work by now; that is asked before jobs of it fail. */
static bool backend_changed(struct agent *a, const struct backend_agent_held *h)
{
    return h->why == WHY_BackendUnavailable &&
           backend_probe_again(a->p->dir, &a->probes, h->row->backend);
}

static void settle_held(struct agent *a)
{
    bool changed = false;
    for (size_t i = 0; i < a->q.held.n; i++) {
        const struct backend_agent_held *h = &a->q.held.at[i];
        struct backend_queue_job j = backend_share_job(h->row);
        bool other = backend_changed(a, h);
        if (h->answer == DEPEND_MET)
            let_in(a, h->row);
        else if (h->answer == DEPEND_FAILED && !other)
            refuse(a, &j, h->why, h->text);
        changed |= other || h->answer != DEPEND_WAITS;
    }
    if (changed)
        loop_timer_start(a->loop, &a->soon, SOON_NS, 0, a->soon.fn, a);
}

static bool busy(const struct agent *a)
{
    return a->q.held.n || a->q.waiting.n || a->q.running.n || a->children.n;
}

/* Ends the agent when it had nothing to do for long enough; `patience` times that long.
 */
static void rest(struct agent *a, bool busy_now, double patience)
{
    int64_t now = clock_mono_ns();
    if (busy_now)
        a->idle_since = 0;
    else if (!a->idle_since)
        a->idle_since = now;
    else if (now - a->idle_since > (int64_t)(a->o->idle_s * patience * 1e9))
        loop_stop(a->loop);
}

/* Has the directory been removed, or replaced by another? Then these are nobody's jobs.
 */
static bool orphaned(const struct agent *a)
{
    struct stat mine, there;
    char *path = fs_join(a->p->dir, "agent.lock");
    bool same = fstat(a->lock, &mine) == 0 && stat(path, &there) == 0 &&
                mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
    mem_free(path);
    return !same;
}

static void look(void *arg)
{
    struct agent *a = arg;
    struct backend_agent_queue q;
    struct err err = {0};
    if (orphaned(a)) {
        a->stop = true;
        loop_stop(a->loop);
        return;
    }
    if (backend_agent_queue_read(a->p, &a->probes, &q, &err)) {
        log_warn("%s", err.msg);
        /* A store that stays away is nothing to wait for: the next command starts over.
         */
        rest(a, a->children.n > 0, STORE_PATIENCE);
        return;
    }
    backend_agent_queue_release(&a->q);
    a->q = q;
    backend_reserve_keep(a->p->dir);
    if (q.waiting.n && backend_share_refresh(&a->share, a->p->store, &a->total,
                                             &a->q.rows, clock_wall_ns(), &err))
        log_warn("%s", err.msg); /* what was agreed on before still holds */
    end_hung(a);
    adopt(a);
    settle_held(a);
    queue_timeouts(a);
    plan(a);
    rest(a, busy(a), 1);
}

static void on_control(void *arg, int fd, unsigned events)
{
    struct agent *a = arg;
    job_wake_drain(fd);
    if (!a->soon.loop)
        loop_timer_start(a->loop, &a->soon, SOON_NS, 0, look, a);
}

static void on_term(void *arg, int number)
{
    struct agent *a = arg;
    a->stop = true;
    loop_stop(a->loop);
}

static enum rc take_lock(struct agent *a, bool *got, struct err *err)
{
    char *path = fs_join(a->p->dir, "agent.lock");
    *got = false;
    for (int i = 0; i < LOCK_TRIES; i++) {
        a->lock = job_lock_take(path);
        if (a->lock >= 0 || errno != EWOULDBLOCK)
            break;
        char *control = fs_join(a->p->dir, "agent.fifo");
        bool heard = job_wake_send(control);
        mem_free(control);
        if (heard)
            break; /* it lives and looks again: we are not needed */
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    *got = a->lock >= 0;
    enum rc rc = RC_OK;
    if (a->lock < 0 && errno != EWOULDBLOCK && errno != EAGAIN && errno != ENXIO)
        rc = err_coded(err, RC_IO, E3201, "'%s': %s", path, strerror(errno));
    mem_free(path);
    return rc;
}

static enum rc listen_for_signs(struct agent *a, struct err *err)
{
    char *control = fs_join(a->p->dir, "agent.fifo");
    a->control = job_wake_open(control, err);
    mem_free(control);
    if (a->control < 0)
        return RC_IO;
    return loop_fd_start(a->loop, &a->control_watch, a->control, LOOP_READ, on_control, a,
                         err);
}

static void deaf(struct agent *a)
{
    loop_fd_stop(&a->control_watch);
    if (a->control >= 0)
        close(a->control);
    a->control = -1;
}

/* Until there is nothing to do even after nobody can wake us any more. */
static enum rc serve(struct agent *a, struct err *err)
{
    for (;;) {
        enum rc rc = listen_for_signs(a, err);
        if (rc)
            return rc;
        look(a);
        loop_timer_start(a->loop, &a->look, LOOK_NS, LOOK_NS, look, a);
        rc = loop_run(a->loop, err);
        loop_timer_stop(&a->look);
        loop_timer_stop(&a->soon);
        deaf(a);
        if (rc || a->stop)
            return rc;
        look(a);
        if (!busy(a) || a->idle_since)
            return RC_OK;
        a->idle_since = 0;
    }
}

/* What there is to give, and whether backends can be used: found once, kept for all. */
static enum rc take_stock(struct agent *a, struct err *err)
{
    a->method_patience =
        (int64_t)((a->o->patience_s > 0 ? a->o->patience_s : METHOD_PATIENCE_S) * 1e9);
    backend_probe_all(a->p->dir, &a->probes);
    enum rc rc = backend_call_capacity(backend_at(0), a->o->slots, &a->total, err);
    return rc ? rc : backend_capacity_write(a->p->dir, &a->total, err);
}

enum rc backend_agent_run(const struct job_place *p,
                          const struct backend_agent_options *o, struct err *err)
{
    struct agent a = {.p = p, .o = o, .lock = -1, .control = -1};
    bool got = false;
    a.soon.fn = look;
    enum rc rc = take_lock(&a, &got, err);
    if (!rc && got)
        rc = take_stock(&a, err);
    if (!rc && got)
        rc = loop_create(1, &a.loop, err);
    if (!rc && got)
        rc = loop_signal_start(a.loop, &a.term, SIGTERM, on_term, &a, err);
    if (!rc && got && o->forkserver) {
        a.forkserver = o->forkserver;
        rc = loop_fd_start(a.loop, &a.forkserver_watch,
                           backend_forkserver_fd(a.forkserver), LOOP_READ, on_forkserver,
                           &a, err);
    }
    if (!rc && got)
        rc = serve(&a, err);
    loop_fd_stop(&a.forkserver_watch);
    while (a.children.n) { /* supervisors go on by themselves */
        struct child *c = a.children.at[--a.children.n];
        loop_child_stop(&c->watch);
        if (c->proc)
            proc_disown(c->proc);
        mem_free(c);
    }
    VEC_RELEASE(&a.children);
    backend_agent_queue_release(&a.q);
    backend_share_release(&a.share);
    backend_share_elsewhere_release(&a.elsewhere);
    if (a.loop) {
        loop_signal_stop(&a.term);
        loop_destroy(a.loop);
    }
    if (a.lock >= 0)
        close(a.lock);
    return rc;
}
