/* SPDX-License-Identifier: Apache-2.0 */
/* Workers are tasks of a Slurm job, one allocation per attempt (slurm_alloc.h). The job's
 * directory must be on a file system that all nodes share: each task is the shim of its
 * worker (slurm_task.c), which writes run file, log and exit record as on one machine. So
 * starts and ends are seen in files, at once; squeue, asked once in a while for all jobs
 * together, tells why a job waits and what became of workers that left no record.
 *
 * Beside a handle lies HANDLE.verdict, too: what was once told of an end from Slurm's words,
 * which Slurm itself forgets.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/address.h"
#include "backend/shared.h"
#include "backend/slurm_alloc.h"
#include "backend/slurm_batch.h"
#include "backend/slurm_room.h"
#include "backend/task.h"
#include "backend/verdict.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/file.h"

#define SECOND_NS INT64_C(1000000000)
#define HURRY_NS (2 * SECOND_NS) /* news when something is expected */
#define HURRY_FOR_NS (30 * SECOND_NS)
#define SETTLE_NS (5 * SECOND_NS) /* a record may come behind its job on a shared disk */
#define DONE_MS 5000              /* a script whose tasks have ended ends */
#define CLEAN_NS (25 * SECOND_NS)
#define OUTPUT_MAX (1 << 20)

/* `own` of a job. */
struct slurm {
    VEC(struct slurm_alloc *) allocs;
    pid_t asker;             /* fetches news; 0: none */
    int64_t looked;          /* monotonic ns of the last look for news */
    int64_t hurry;           /* monotonic ns: until then news are fetched often */
    char *answer;            /* owned: of squeue; NULL: none yet */
    int64_t answer_at;       /* wall clock, ns */
    char away[ERR_MSG_SIZE]; /* why there is no newer one; "": it is new */
};

/* `own` of a worker. */
struct seat {
    struct slurm_alloc
        *alloc; /* borrowed from the job; NULL: its handle cannot be read */
    struct backend_verdict end;
    int64_t since; /* monotonic ns: its end was seen, Slurm's word is waited for; 0: no */
};

static enum rc slurm_probe(const char *dir, struct err *err)
{
    static const char *const programs[] = {"sbatch", "squeue", "scancel"};
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        char *path = proc_which(programs[i], NULL);
        bool here = path != NULL;
        mem_free(path);
        if (!here)
            return err_set(err, RC_NOTFOUND,
                           "submit to Slurm: no %s on PATH (see docs/clusters.md)",
                           programs[i]);
    }
    return RC_OK;
}

static enum rc slurm_open(struct backend_job *j, struct err *err)
{
    j->own = mem_calloc(1, sizeof(struct slurm));
    return RC_OK;
}

static void slurm_address(const struct backend_job *j, int64_t worker,
                          char out[BACKEND_ADDRESS_SIZE])
{
    backend_address_token(worker, out);
}

static void take_seat(struct backend_worker *w, struct slurm_alloc *a)
{
    struct seat *x = mem_calloc(1, sizeof(*x));
    x->alloc = a;
    w->own = x;
    w->fd = -1;
    w->limited = w->role->memory > 0; /* by Slurm */
}

static enum rc slurm_start(struct backend_job *j, struct backend_launch *at, size_t n,
                           struct err *err)
{
    struct slurm *s = j->own;
    struct slurm_alloc *a = NULL;
    if (j->isolation)
        return err_set(err, RC_UNSUPPORTED,
                       "jobs of a server's users are isolated, which the slurm backend "
                       "cannot do: they would run in Slurm as the server's own user");
    if (n > 1 && job_spec_roles_differ(j->spec))
        j->warn(j, "roles ask for different resources; a Slurm allocation gives each "
                   "worker what the largest asks for");
    enum rc rc = slurm_alloc_create(j, at, n, &a, err);
    if (rc)
        return rc;
    VEC_PUSH(&s->allocs, a);
    for (size_t i = 0; i < n; i++) {
        take_seat(at[i].w, a);
        at[i].started = at[i].w->waiting = true;
    }
    s->hurry = clock_mono_ns() + HURRY_FOR_NS;
    return RC_OK;
}

static struct slurm_alloc *alloc_of(struct backend_job *j, const char *handle)
{
    struct slurm *s = j->own;
    struct slurm_alloc *a = NULL;
    if (slurm_alloc_open(j, handle, &a, NULL))
        return NULL;
    for (size_t i = 0; i < s->allocs.n; i++)
        if (strcmp(s->allocs.at[i]->base, a->base) == 0) {
            slurm_alloc_destroy(a);
            return s->allocs.at[i];
        }
    VEC_PUSH(&s->allocs, a);
    slurm_alloc_advance(a, s->answer, s->answer_at);
    return a;
}

static void describe_over(const struct slurm_alloc *a, struct backend_exit *out)
{
    bool has_reason = a->reason[0] && strcmp(a->reason, "None") != 0;
    if (a->state)
        snprintf(out->text, sizeof(out->text), "Slurm job %jd %s (%s%s%.90s%s%.90s)",
                 (intmax_t)a->number, a->state->words, a->state->name,
                 a->nodes[0] ? " on " : "", a->nodes, has_reason ? ", " : "",
                 has_reason ? a->reason : "");
    else
        snprintf(out->text, sizeof(out->text), "Slurm does not know job %jd any more",
                 (intmax_t)a->number);
}

/* What script and srun wrote, NULL: nothing. The caller's. */
static char *output_of(const struct slurm_alloc *a)
{
    char *path = slurm_alloc_file(a, "out"), *text = NULL;
    size_t n = 0;
    if (!fs_exists(path) || fs_read(path, OUTPUT_MAX, &text, &n, NULL) || !n) {
        mem_free(text);
        text = NULL;
    }
    mem_free(path);
    return text;
}

/* Where Slurm's states do not tell, its daemon on the node does. */
static bool lacked_memory(const struct slurm_alloc *a)
{
    static const char *const words[] = {
        "exceeded memory limit", "Exceeded job memory limit", "oom_kill", "oom-kill"};
    char *text = output_of(a);
    bool is = a->state && a->state->why == WHY_OutOfMemory;
    for (size_t i = 0; text && i < ARRAY_LEN(words); i++)
        is = is || strstr(text, words[i]);
    mem_free(text);
    return is;
}

/* The last line, such as why a task could not be started. */
static void add_last_words(const struct slurm_alloc *a, struct backend_exit *out)
{
    char *text = output_of(a);
    size_t used = strlen(out->text);
    struct buf b;
    buf_init(&b, sizeof(out->text));
    if (text) {
        slurm_message_put(text, &b);
        snprintf(out->text + used, sizeof(out->text) - used, "; its output ends: %s",
                 buf_str(&b));
    }
    buf_release(&b);
    mem_free(text);
}

static void describe_memory(const struct slurm_alloc *a, struct backend_exit *out)
{
    out->why = WHY_OutOfMemory;
    out->out_of_memory = true;
    snprintf(out->text, sizeof(out->text),
             "Slurm job %jd needed more memory than it asked for (%s)",
             (intmax_t)a->number, a->state ? a->state->name : "unknown");
}

/* Slurm's job is over, and a worker left no record. */
static enum backend_state end_of_alloc(struct backend_worker *w, struct seat *x,
                                       struct backend_exit *out)
{
    const struct slurm_alloc *a = x->alloc;
    *out = (struct backend_exit){.code = -1, .signal = SIGKILL};
    if (a->stopped) { /* as we asked */
        out->signal = SIGTERM;
        return backend_verdict_set(&x->end, BACKEND_ENDED, out);
    }
    out->why = a->state ? a->state->why : WHY_NodeFailure;
    describe_over(a, out);
    if (lacked_memory(a))
        describe_memory(a, out);
    else if (out->why == WHY_NodeFailure)
        add_last_words(a, out);
    return backend_verdict_keep(&x->end, w->handle, BACKEND_LOST, out);
}

static void hurry(struct backend_job *j)
{
    struct slurm *s = j->own;
    s->hurry = clock_mono_ns() + HURRY_FOR_NS;
}

/* Waits for Slurm's word about an end that is recorded; false: it is there, or late. */
static bool awaits_word(struct backend_job *j, struct seat *x)
{
    int64_t now = clock_mono_ns();
    if (!x->since) {
        x->since = now;
        hurry(j);
    }
    return !x->alloc->over && now - x->since < 2 * HURRY_NS + SETTLE_NS * 2;
}

/* A recorded end that Slurm brought about. */
static enum backend_state ended_by_slurm(struct backend_job *j, struct backend_worker *w,
                                         struct seat *x, struct backend_exit *out,
                                         int told)
{
    const struct slurm_alloc *a = x->alloc;
    if (told == SIGWINCH) {
        out->why = WHY_Evicted;
        snprintf(out->text, sizeof(out->text),
                 "the time of Slurm job %jd was nearly over, so it was told to stop; "
                 "with --retries it starts again from what it saved",
                 (intmax_t)a->number);
        return backend_verdict_set(&x->end, BACKEND_ENDED, out);
    }
    if (awaits_word(j, x))
        return BACKEND_RUNNING;
    bool known = a->over && a->state && a->state->why != WHY_NodeFailure;
    if (lacked_memory(a)) {
        describe_memory(a, out);
    } else if (known) {
        out->why = a->state->why;
        describe_over(a, out);
    } else if (told != SIGTERM) {
        return backend_verdict_set(&x->end, BACKEND_ENDED, out);
    } else {
        bool preempted = slurm_news_preempted(a->number);
        out->why = preempted ? WHY_Preempted : WHY_Evicted;
        snprintf(out->text, sizeof(out->text), "Slurm told job %jd to stop%s",
                 (intmax_t)a->number,
                 preempted ? ": its nodes are for another job (preempted)" : "");
    }
    return backend_verdict_keep(&x->end, w->handle, BACKEND_ENDED, out);
}

static enum backend_state recorded_end(struct backend_job *j, struct backend_worker *w,
                                       struct seat *x, int told, struct backend_exit *out)
{
    bool ours = x->alloc->stopped || told == SIGHUP;
    bool killed = out->signal == SIGKILL && !told;
    if (!ours && (told || killed))
        return ended_by_slurm(j, w, x, out, told);
    return backend_verdict_set(&x->end, BACKEND_ENDED, out);
}

static void describe_wait(const struct backend_job *j, const struct slurm_alloc *a,
                          struct backend_exit *out)
{
    const struct slurm *s = j->own;
    struct buf b;
    buf_init(&b, sizeof(out->text));
    if (!a->number)
        buf_printf(&b, "%s", a->text);
    else if (s->away[0])
        buf_printf(&b, "Slurm job %jd; %s", (intmax_t)a->number, s->away);
    else if (!a->state)
        buf_printf(&b, "submitted as Slurm job %jd", (intmax_t)a->number);
    else if (a->state->phase != SLURM_PENDING)
        buf_printf(&b, "Slurm job %jd is starting on %s", (intmax_t)a->number, a->nodes);
    else {
        buf_printf(&b, "Slurm job %jd %s: ", (intmax_t)a->number, a->state->words);
        slurm_reason_put(a->reason, &b);
    }
    snprintf(out->text, sizeof(out->text), "%s", buf_str(&b));
    buf_release(&b);
}

/* It was started, and Slurm has it in its queue again. */
static enum backend_state requeued(struct backend_worker *w, struct seat *x,
                                   struct backend_exit *out)
{
    *out = (struct backend_exit){.code = -1, .signal = SIGKILL, .why = WHY_Evicted};
    snprintf(out->text, sizeof(out->text), "Slurm put job %jd back into its queue (%s)",
             (intmax_t)x->alloc->number, x->alloc->reason);
    slurm_alloc_signal(x->alloc, BACKEND_DESTROY, false);
    return backend_verdict_keep(&x->end, w->handle, BACKEND_LOST, out);
}

static enum backend_state waiting(struct backend_job *j, struct backend_worker *w,
                                  struct seat *x, struct backend_exit *out)
{
    struct slurm_alloc *a = x->alloc;
    bool pends = a->number && a->state && a->state->phase == SLURM_PENDING;
    describe_wait(j, a, out);
    if (!pends || a->stopped || !slurm_reason_never(a->reason))
        return BACKEND_WAITING;
    out->code = -1;
    out->why = WHY_Unschedulable;
    slurm_alloc_signal(a, BACKEND_DESTROY, false);
    return backend_verdict_keep(&x->end, w->handle, BACKEND_ENDED, out);
}

/* sbatch refused it, or it was stopped before. */
static enum backend_state never_submitted(struct backend_worker *w, struct seat *x,
                                          struct backend_exit *out)
{
    const struct slurm_alloc *a = x->alloc;
    *out = (struct backend_exit){.code = -1};
    if (a->why == WHY_UserStopped)
        out->signal = SIGTERM;
    else
        out->why = a->why;
    if (out->why != WHY_None)
        snprintf(out->text, sizeof(out->text), "Slurm does not take it: %.300s", a->text);
    return backend_verdict_keep(&x->end, w->handle, BACKEND_ENDED, out);
}

/* News that are older than the worker's start say nothing about it. */
static bool back_in_queue(const struct backend_job *j, const struct slurm_alloc *a,
                          const struct backend_worker *w)
{
    const struct slurm *s = j->own;
    struct stat st;
    char *run = mem_printf("%s.shim", w->handle);
    bool pends = a->state && a->state->phase == SLURM_PENDING && stat(run, &st) == 0;
    mem_free(run);
    return pends && s->answer_at > (int64_t)(st.st_ctim.tv_sec + 3) * SECOND_NS;
}

static enum backend_state slurm_poll(struct backend_job *j, struct backend_worker *w,
                                     struct backend_exit *out)
{
    struct seat *x = w->own;
    bool ended;
    int told = 0;
    if (!x || !x->alloc)
        return BACKEND_LOST;
    if (backend_verdict_find(&x->end, w->handle)) {
        *out = x->end.exit;
        return x->end.state;
    }
    struct slurm_alloc *a = x->alloc;
    bool runs = backend_task_look(w, &ended, &told, out);
    bool back = runs && !ended && back_in_queue(j, a, w);
    if (runs)
        backend_task_note(j, w);
    if (ended)
        return recorded_end(j, w, x, told, out);
    if (a->why != WHY_None)
        return never_submitted(w, x, out);
    if (a->over && clock_mono_ns() - a->over_at > SETTLE_NS)
        return end_of_alloc(w, x, out);
    if (back)
        return requeued(w, x, out);
    return runs ? BACKEND_RUNNING : waiting(j, w, x, out);
}

static enum backend_state slurm_reattach(struct backend_job *j, struct backend_worker *w)
{
    struct backend_exit exit = {.code = 0};
    bool there = fs_exists(w->handle);
    take_seat(w, there ? alloc_of(j, w->handle) : NULL);
    return there ? slurm_poll(j, w, &exit) : BACKEND_NONE;
}

/* In a process of its own: the supervisor must not wait for a controller. */
static pid_t start_asker(const struct backend_shared *q)
{
    pid_t pid = fork();
    if (pid)
        return pid < 0 ? 0 : pid;
    char *text = NULL;
    int64_t at;
    close_range(3, ~0U, 0);
    prctl(PR_SET_NAME, "ty-squeue");
    enum rc rc = backend_shared_get(q, &text, &at, NULL);
    _exit(rc ? 1 : 0);
}

static void read_news(struct backend_job *j, struct backend_shared q)
{
    struct slurm *s = j->own;
    struct err err = {0};
    char *text = NULL;
    int64_t at = 0;
    q.age_ns = INT64_MAX; /* whatever there is */
    if (backend_shared_get(&q, &text, &at, &err)) {
        if (err.msg[0] && s->looked)
            snprintf(s->away, sizeof(s->away), "%s", err.msg);
        return;
    }
    s->away[0] = '\0';
    mem_free(s->answer);
    s->answer = text;
    s->answer_at = at;
}

static void look_for_news(struct backend_job *j)
{
    struct slurm *s = j->own;
    int64_t now = clock_mono_ns(), age = slurm_batch_poll_ns(j);
    if (now < s->hurry && age > HURRY_NS)
        age = HURRY_NS;
    struct backend_shared q = {
        .dir = j->p->dir, .name = "slurm", .age_ns = age, .ask = slurm_news_ask};
    if (s->asker) {
        if (waitpid(s->asker, NULL, WNOHANG) == 0)
            return;
        s->asker = 0;
        read_news(j, q);
    }
    if (s->looked && now - s->looked < age)
        return;
    s->looked = now;
    s->asker = start_asker(&q);
}

static enum rc slurm_refresh(struct backend_job *j, struct err *err)
{
    struct slurm *s = j->own;
    bool wanted = !s->allocs.n; /* a supervisor that takes over: it knows none yet */
    for (size_t i = 0; i < s->allocs.n; i++)
        wanted = wanted || !s->allocs.at[i]->over;
    if (wanted)
        look_for_news(j);
    backend_task_refresh(j);
    for (size_t i = 0; i < s->allocs.n; i++)
        slurm_alloc_advance(s->allocs.at[i], s->answer, s->answer_at);
    return s->away[0] ? err_set(err, RC_CANCELED, "Slurm does not answer: %s", s->away)
                      : RC_OK;
}

static void slurm_signal(struct backend_job *j, struct backend_worker *w,
                         enum backend_signal sig)
{
    struct seat *x = w->own;
    if (!x || !x->alloc || x->end.known)
        return;
    struct backend_exit out;
    bool ended;
    int told;
    backend_task_request(w, sig);
    slurm_alloc_signal(x->alloc, sig, backend_task_look(w, &ended, &told, &out));
    hurry(j);
}

static void slurm_release(struct backend_job *j, struct backend_worker *w)
{
    mem_free(w->own);
    w->own = NULL;
    w->fd = -1;
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 50 * 1000000}, NULL);
}

/* Scripts end behind their tasks; what Slurm will say of the job is in the exit record. */
static bool await_scripts(struct slurm *s)
{
    int64_t until = clock_mono_ns() + (int64_t)DONE_MS * 1000000;
    bool all = false;
    while (!all) {
        all = true;
        for (size_t i = 0; i < s->allocs.n; i++) {
            struct slurm_alloc *a = s->allocs.at[i];
            char *done = slurm_alloc_file(a, "done");
            all = all && (a->over || a->why != WHY_None || fs_exists(done));
            mem_free(done);
        }
        if (clock_mono_ns() > until)
            break;
        if (!all)
            nap();
    }
    return all;
}

/* Is it of this job, and (worker >= 0) of that worker alone? "NAME.JOB.ATTEMPT[.W-LIFE]" */
static bool is_of(const struct backend_job *j, struct str name, int64_t worker)
{
    char *text = mem_strndup(name.p, name.n),
         *one = mem_printf(".%jd-", (intmax_t)worker);
    const char *tag = strstr(text, j->id);
    bool mine = tag && (worker < 0 || strstr(tag, one));
    mem_free(one);
    mem_free(text);
    return mine;
}

/* Cancels what there is of the job; how many there were, -1: Slurm does not answer. */
static int cancel_all(const struct backend_job *j, int64_t worker)
{
    char *answer = NULL, number[32];
    struct slurm_news n;
    int found = 0;
    if (slurm_news_ask(NULL, &answer, NULL))
        return -1;
    struct str rest = str_c(answer);
    while (slurm_news_next(&rest, &n))
        if (n.state->phase != SLURM_OVER && is_of(j, n.name, worker)) {
            const char *const argv[] = {"scancel", number, NULL};
            struct proc_output got = {0};
            snprintf(number, sizeof(number), "%jd", (intmax_t)n.number);
            enum rc rc = slurm_run(argv, 10, &got, NULL);
            (void)rc; /* the next look tells */
            proc_output_release(&got);
            found++;
        }
    mem_free(answer);
    return found;
}

static void forbid_starts(const struct slurm *s)
{
    for (size_t i = 0; i < s->allocs.n; i++) {
        char *path = slurm_alloc_file(s->allocs.at[i], "stop");
        enum rc rc = job_file_put(path, "", 0, 0600, NULL);
        (void)rc; /* it is canceled as well */
        mem_free(path);
    }
}

static void slurm_clean(struct backend_job *j, int64_t worker, bool lost)
{
    struct slurm *s = j->own;
    int64_t until = clock_mono_ns() + CLEAN_NS;
    if (!lost && await_scripts(s))
        return;
    if (worker < 0)
        forbid_starts(s);
    while (cancel_all(j, worker) > 0 && clock_mono_ns() < until)
        for (int i = 0; i < 10; i++)
            nap();
}

static void slurm_close(struct backend_job *j, bool ended)
{
    struct slurm *s = j->own;
    if (ended && !await_scripts(s))
        slurm_clean(j, -1, true);
    for (size_t i = 0; i < s->allocs.n; i++)
        slurm_alloc_destroy(s->allocs.at[i]);
    VEC_RELEASE(&s->allocs);
    if (s->asker)
        waitpid(s->asker, NULL, WNOHANG);
    mem_free(s->answer);
    mem_free(s);
    j->own = NULL;
}

const struct backend_ops backend_slurm = {
    .name = "slurm",
    .host_files = true,
    .own_queue = true,
    .probe = slurm_probe,
    .open = slurm_open,
    .prepare = backend_task_prepare,
    .address = slurm_address,
    .port = backend_task_port,
    .start = slurm_start,
    .reattach = slurm_reattach,
    .refresh = slurm_refresh,
    .poll = slurm_poll,
    .signal = slurm_signal,
    .release = slurm_release,
    .clean = slurm_clean,
    .close = slurm_close,
    .room = slurm_room,
};
