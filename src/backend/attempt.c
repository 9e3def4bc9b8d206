/* SPDX-License-Identifier: Apache-2.0 */
/* Workers of one attempt: all start together, and all are gone before the next attempt.
 * The supervisor's phase decides what is allowed; here s->workers follows it, one entry
 * per worker with its handle, its log and how it ended. Everything done to a worker goes
 * through the table of its backend (s->job.ops); starts and exits become events.
 *
 * One end decides about the others: the last one ends the attempt; a failure, unless only
 * the chief counts, stops the rest; and where `restart` is `worker` the failed one starts
 * again alone after a delay, with a new handle (its "life") and the same log. A
 * supervisor that takes over an attempt finds its workers again by those handles.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "backend/call.h"
#include "backend/sup_private.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/retry.h"

#define EXTRA_GRACE_NS (5 * INT64_C(1000000000)) /* behind the job's own */

static void name_files(struct sup *s, struct sup_worker *w)
{
    mem_free(w->handle);
    mem_free(w->log);
    w->handle = mem_printf("%s/run/%jd.%jd", s->dir, (intmax_t)w->b.index,
                           (intmax_t)s->rec.now.attempt);
    if (w->b.life) {
        char *first = w->handle;
        w->handle = mem_printf("%s-%jd", first, (intmax_t)w->b.life);
        mem_free(first);
    }
    w->log = job_place_log(s->p, s->id, w->b.index, s->rec.now.attempt);
    w->b.handle = w->handle;
    w->b.log = w->log;
}

static void release_worker(struct sup *s, struct sup_worker *w)
{
    loop_fd_stop(&w->watch);
    backend_call_release(&s->job, &w->b);
    backend_log_close(&w->sink);
    buf_release(&w->line);
    mem_free(w->handle);
    mem_free(w->log);
}

void attempt_create(struct sup *s)
{
    s->n_workers = s->spec.workers;
    s->workers = mem_calloc((size_t)s->n_workers, sizeof(*s->workers));
    for (int64_t i = 0; i < s->n_workers; i++) {
        s->workers[i] = (struct sup_worker){.sup = s, .b = {.index = i, .fd = -1}};
        s->workers[i].b.role = job_spec_role_of(&s->spec, i, NULL);
        buf_init(&s->workers[i].line, 1 << 20);
    }
}

void attempt_release(struct sup *s)
{
    for (int64_t i = 0; i < s->n_workers; i++)
        release_worker(s, &s->workers[i]);
    mem_free(s->workers);
    s->workers = NULL;
    s->n_workers = 0;
}

static void reset_workers(struct sup *s)
{
    attempt_release(s);
    attempt_create(s);
    s->job.attempt = s->rec.now.attempt;
    s->job.gpus = s->rec.now.gpus;
    s->job.launch_status = 0;
    for (int64_t i = 0; i < s->n_workers; i++)
        name_files(s, &s->workers[i]);
    s->ending = WHY_None;
    s->ending_text[0] = '\0';
    s->kill_at = 0;
    s->suspended = false;
}

static void note_started(struct sup *s, const struct sup_worker *w, int64_t port)
{
    char *data =
        mem_printf("{\"role\": \"%s\", \"pid\": %jd, \"port\": %jd, \"view\": \"%s\"%s}",
                   w->b.role->name, (intmax_t)w->b.pid, (intmax_t)port, s->job.view,
                   !w->b.role->memory ? ""
                   : w->b.limited     ? ", \"memory\": \"cgroup\""
                                      : ", \"memory\": \"measured\"");
    struct job_record_note note = {.worker = w->b.index, .data = data};
    enum rc rc = job_record_add(&s->rec, EV_WorkerStarted, &note, NULL);
    (void)rc; /* can always follow */
    mem_free(data);
}

/* Some learn only later where a worker is. */
static void note_place(struct sup *s, struct sup_worker *w)
{
    const struct job_status *st = &s->rec.now;
    const char *known = w->b.index < st->n_workers ? st->workers[w->b.index].node : "";
    if (!w->b.node[0] || strcmp(w->b.node, known) == 0)
        return;
    struct buf b;
    buf_init(&b, 1000);
    buf_puts(&b, "{\"node\": ");
    buf_json_str(&b, w->b.node, strlen(w->b.node));
    buf_putc(&b, '}');
    struct job_record_note note = {.worker = w->b.index, .data = buf_str(&b)};
    enum rc rc = job_record_add(&s->rec, EV_WorkerPlaced, &note, NULL);
    (void)rc; /* can always follow */
    buf_release(&b);
}

/* Starts `n` workers, which stand side by side. */
static enum rc start_workers(struct sup *s, struct sup_worker *w, int64_t n, int64_t port,
                             struct err *err)
{
    struct launch *l = mem_calloc((size_t)n, sizeof(*l));
    struct backend_launch *at = mem_calloc((size_t)n, sizeof(*at));
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < n && !rc; i++) {
        rc = launch_fill(s, &w[i], port, &l[i], err);
        at[i] = l[i].at;
    }
    s->job.launch_status = 126;
    if (!rc)
        rc = backend_call_start(&s->job, at, (size_t)n, err);
    for (int64_t i = 0; i < n; i++) {
        w[i].alive = at[i].started;
        w[i].waiting = at[i].started && w[i].b.waiting;
        if (at[i].started) {
            note_started(s, &w[i], port);
            note_place(s, &w[i]);
        }
        launch_release(&l[i]);
    }
    mem_free(at);
    mem_free(l);
    return rc;
}

static bool any_waiting(const struct sup *s)
{
    for (int64_t i = 0; i < s->n_workers; i++)
        if (s->workers[i].alive && s->workers[i].waiting)
            return true;
    return false;
}

/* The job runs when all its programs do. */
static void all_run(struct sup *s)
{
    struct err err = {0};
    if (!sup_on(s, PHASE_ON_STARTED))
        return;
    s->last_sign = clock_mono_ns();
    enum rc rc =
        job_record_move(&s->rec, JOB_Running, WHY_WorkersStarted, -1, 0, "", &err);
    (void)rc;
    sup_flush(s);
}

void attempt_started(struct sup *s)
{
    if (any_waiting(s))
        sup_on(s, PHASE_ON_ACCEPTED);
    else
        all_run(s);
}

/* What a start that failed means. */
static enum job_reason start_reason(enum rc rc, const struct err *err)
{
    if (rc == RC_CANCELED)
        return WHY_NodeFailure;
    return err->code == E3208 ? WHY_BackendFault : WHY_LaunchFailure;
}

void attempt_start(struct sup *s)
{
    struct err err = {0};
    int64_t port = 0;
    reset_workers(s);
    enum rc rc = backend_call_port(&s->job, &port, &err);
    if (!rc)
        rc = start_workers(s, s->workers, s->n_workers, port, &err);
    if (rc) {
        /* All or none: those that did start are stopped, then the attempt has failed. */
        attempt_stop(s, start_reason(rc, &err), true, err.msg);
        if (rc == RC_CANCELED)
            backend_call_clean(&s->job, -1, true);
        attempt_watch(s);
        if (!attempt_alive(s))
            sup_attempt_over(s);
        return;
    }
    attempt_started(s);
    attempt_watch(s);
}

static void on_end(void *arg, int fd, unsigned events)
{
    struct sup_worker *w = arg;
    loop_fd_stop(&w->watch);
    attempt_settle(w->sup, w);
}

void attempt_watch(struct sup *s)
{
    for (int64_t i = 0; i < s->n_workers; i++) {
        struct sup_worker *w = &s->workers[i];
        if (!w->alive || w->watch.loop || w->b.fd < 0)
            continue;
        enum rc rc =
            loop_fd_start(s->loop, &w->watch, w->b.fd, LOOP_READ, on_end, w, NULL);
        (void)rc; /* the tick looks as well */
    }
}

/* The last time that it was started, as its handles tell. */
static void find_life(struct sup *s, struct sup_worker *w)
{
    bool there = true;
    while (there && w->b.life < s->spec.s->retries) {
        w->b.life++;
        name_files(s, w);
        there = fs_exists(w->handle);
        w->b.life -= !there;
    }
    name_files(s, w);
}

int64_t attempt_find(struct sup *s)
{
    int64_t found = 0;
    reset_workers(s);
    attempt_refresh(s);
    for (int64_t i = 0; i < s->n_workers; i++) {
        struct sup_worker *w = &s->workers[i];
        find_life(s, w);
        enum backend_state state = backend_call_reattach(&s->job, &w->b);
        w->waiting = state == BACKEND_WAITING;
        w->alive = w->waiting || state == BACKEND_RUNNING;
        w->known = state != BACKEND_NONE;
        found += w->known;
    }
    return found;
}

bool attempt_alive(const struct sup *s)
{
    for (int64_t i = 0; i < s->n_workers; i++)
        if (s->workers[i].alive || s->workers[i].again_at)
            return true;
    return false;
}

static bool good(const struct sup_worker *w)
{
    return w->over && w->exit.code == 0 && !w->unseen;
}

static bool restarts_alone(const struct sup *s)
{
    return strcmp(s->spec.s->restart, "worker") == 0;
}

enum job_reason attempt_reason(const struct sup_worker *w)
{
    if (w->exit.why != WHY_None)
        return w->exit.why;
    return job_retry_reason(w->exit.code, w->exit.signal, w->exit.out_of_memory,
                            w->unseen);
}

bool attempt_alone(struct sup *s, struct sup_worker *w)
{
    enum job_reason why = attempt_reason(w);
    if (!restarts_alone(s) || s->phase != PHASE_RUNNING || s->rec.now.stop ||
        !job_retry_wanted(&s->spec, why, w->exit.code, w->exit.signal,
                          s->rec.now.restarts))
        return false;
    double delay = job_retry_delay(&s->spec, s->rec.now.restarts);
    char *data = mem_printf("{\"delay_s\": %g}", delay);
    struct job_record_note note = {.reason = why, .worker = w->b.index, .data = data};
    enum rc rc = job_record_add(&s->rec, EV_RestartScheduled, &note, NULL);
    (void)rc; /* can always follow */
    mem_free(data);
    loop_fd_stop(&w->watch);
    w->again_at = clock_mono_ns() + (int64_t)(delay * 1e9);
    sup_flush(s);
    return true;
}

/* Its log goes on; everything else is new. */
static void start_again(struct sup *s, struct sup_worker *w)
{
    struct err err = {0};
    backend_call_release(&s->job, &w->b);
    w->again_at = 0;
    w->b.life++;
    w->over = w->unseen = w->first = false;
    name_files(s, w);
    enum rc rc = s->job.root ? RC_OK : prepare_again(s, &err);
    if (!rc)
        rc = start_workers(s, w, 1, s->rec.now.port, &err);
    if (rc == RC_CANCELED) { /* killed from outside, as it might have been later */
        w->over = w->unseen = true;
        w->exit = (struct backend_exit){.code = -1, .signal = SIGKILL};
        backend_call_clean(&s->job, w->b.index, true);
        if (!attempt_alone(s, w))
            attempt_stop(s, WHY_NodeFailure, false, err.msg);
        return;
    }
    if (rc) {
        w->over = true;
        w->exit = (struct backend_exit){.code = s->job.launch_status};
        attempt_stop(s, start_reason(rc, &err), false, err.msg);
        return;
    }
    s->last_sign = clock_mono_ns();
    sup_flush(s);
    attempt_watch(s);
}

void attempt_again(struct sup *s)
{
    int64_t now = clock_mono_ns();
    for (int64_t i = 0; i < s->n_workers; i++)
        if (s->phase == PHASE_RUNNING && !s->suspended && s->workers[i].again_at &&
            s->workers[i].again_at <= now)
            start_again(s, &s->workers[i]);
}

void attempt_signal(struct sup *s, struct sup_worker *w, enum backend_signal what)
{
    backend_call_signal(&s->job, &w->b, what);
}

/* A request that comes when all have ended well already changes nothing: their ends are
 * only not recorded yet.
 */
static bool ended_before(struct sup *s)
{
    struct backend_exit exit = {.code = 0};
    if (s->phase != PHASE_RUNNING)
        return false;
    for (int64_t i = 0; i < s->n_workers; i++) {
        struct sup_worker *w = &s->workers[i];
        if (w->again_at || (w->over && !good(w)))
            return false;
        if (w->alive &&
            (backend_call_poll(&s->job, &w->b, &exit) != BACKEND_ENDED || exit.code != 0))
            return false;
    }
    return true;
}

void attempt_stop(struct sup *s, enum job_reason why, bool now, const char *text)
{
    if (why != WHY_None && ended_before(s))
        return;
    if (s->ending == WHY_None && why != WHY_None) {
        s->ending = why;
        snprintf(s->ending_text, sizeof(s->ending_text), "%s", text);
    }
    if (s->suspended)
        attempt_pause(s, false);
    for (int64_t i = 0; i < s->n_workers; i++) {
        s->workers[i].again_at = 0; /* its last end counts */
        if (s->workers[i].alive)
            attempt_signal(s, &s->workers[i], now ? BACKEND_KILL : BACKEND_STOP);
    }
    int64_t grace = now ? 0 : (int64_t)(s->spec.grace_s * 1e9);
    int64_t at = clock_mono_ns() + grace + EXTRA_GRACE_NS;
    if (!s->kill_at || at < s->kill_at)
        s->kill_at = at;
    sup_on(s, PHASE_ON_TOLD);
}

void attempt_pause(struct sup *s, bool pause)
{
    for (int64_t i = 0; i < s->n_workers; i++)
        if (s->workers[i].alive)
            attempt_signal(s, &s->workers[i], pause ? BACKEND_PAUSE : BACKEND_RESUME);
    s->suspended = pause;
    s->last_sign = clock_mono_ns();
}

static void note_exit(struct sup *s, const struct sup_worker *w)
{
    char *data = mem_printf(
        "{\"code\": %d, \"signal\": %d, \"cpu_s\": %.3f, \"rss_bytes\": %jd%s}",
        w->exit.code, w->exit.signal, w->exit.cpu_s, (intmax_t)w->exit.rss_bytes,
        w->unseen               ? ", \"unseen\": 1"
        : w->exit.out_of_memory ? ", \"out_of_memory\": 1"
                                : "");
    struct job_record_note note = {.worker = w->b.index,
                                   .reason = w->exit.why,
                                   .message = w->exit.text,
                                   .data = data};
    enum rc rc = job_record_add(&s->rec, EV_WorkerExited, &note, NULL);
    (void)rc; /* can always follow */
    mem_free(data);
}

static bool only_chief(const struct sup *s)
{
    return strcmp(s->spec.s->success, "chief") == 0;
}

bool attempt_good(const struct sup *s)
{
    for (int64_t i = 0; i < s->n_workers; i++) {
        const struct sup_worker *w = &s->workers[i];
        if (only_chief(s))
            return good(w);
        if (!w->b.role->serves && !good(w))
            return false;
    }
    return true;
}

/* One worker's end decides about the others. */
static void after_end(struct sup *s, struct sup_worker *w)
{
    bool chief = only_chief(s);
    if (!good(w) && attempt_alone(s, w))
        return;
    if (!attempt_alive(s)) {
        sup_attempt_over(s);
        return;
    }
    if (s->phase == PHASE_ENDING)
        return;
    if ((chief && w->b.index == 0) || attempt_good(s))
        attempt_stop(s, WHY_None, false, ""); /* nobody needs those that serve any more */
    else if (!good(w) && !(chief && w->b.index != 0))
        attempt_stop(s, WHY_None, false, "");
}

/* What `state` says about a worker that is not there any more is recorded. */
static void take_end(struct sup *s, struct sup_worker *w, enum backend_state state)
{
    const struct job_status *st = &s->rec.now;
    const struct job_worker *known =
        w->b.index < st->n_workers ? &st->workers[w->b.index] : NULL;
    w->alive = w->waiting = false;
    w->over = true;
    w->unseen = state != BACKEND_ENDED;
    if (w->unseen) {
        w->exit.code = -1; /* nobody saw it; what the backend says of it is kept */
        w->exit.signal = SIGKILL;
        backend_call_clean(&s->job, restarts_alone(s) ? w->b.index : -1, true);
    }
    if (w->exit.log_cut)
        sup_warn(s, "a log could not be written to its end: is the disk full?");
    w->first = (s->phase == PHASE_RUNNING || s->phase == PHASE_STARTING) && !good(w);
    if (!known || !known->exited || known->attempt != st->attempt)
        note_exit(s, w);
}

void attempt_take_end(struct sup *s, struct sup_worker *w)
{
    w->exit = (struct backend_exit){.code = 0};
    take_end(s, w, backend_call_poll(&s->job, &w->b, &w->exit));
}

void attempt_refresh(struct sup *s)
{
    struct err err = {0};
    enum rc rc = backend_call_refresh(&s->job, &err);
    if (rc && !s->away)
        sup_warn(s, err.msg);
    s->away = rc != RC_OK;
}

/* The first worker that waits speaks for all. */
static void note_waiting(struct sup *s, const struct backend_exit *exit)
{
    if (!exit->text[0] || s->phase != PHASE_STARTING)
        return;
    char *text = mem_printf("the backend %s does not run it yet: %s", s->job.ops->name,
                            exit->text);
    sup_waits(s, text);
    mem_free(text);
}

static bool first_waiting(const struct sup *s, const struct sup_worker *w)
{
    for (const struct sup_worker *o = s->workers; o < w; o++)
        if (o->alive && o->waiting)
            return false;
    return true;
}

void attempt_settle(struct sup *s, struct sup_worker *w)
{
    struct backend_exit exit = {.code = 0};
    if (!w->alive)
        return;
    enum backend_state state = backend_call_poll(&s->job, &w->b, &exit);
    note_place(s, w);
    if (state == BACKEND_WAITING) {
        if (first_waiting(s, w))
            note_waiting(s, &exit);
        return;
    }
    bool came = w->waiting;
    w->waiting = false;
    if (state != BACKEND_RUNNING) {
        w->exit = exit;
        take_end(s, w, state);
        after_end(s, w);
    } else if (came && s->phase == PHASE_STARTING) {
        attempt_started(s);
    }
}
