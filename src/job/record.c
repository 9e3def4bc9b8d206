/* SPDX-License-Identifier: Apache-2.0 */
/* What others have written is folded into `known`, what we want to write on top of it into
 * `now`. A flush writes behind the last event that was seen; if another writer was first, its
 * events are read and folded, ours are folded again behind them, and it is tried again. Ours
 * may not fit any more then, which the caller is told.
 */
#include "job/record.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

#define TRIES 50
#define EVENT_TEXT_MAX 2000 /* bytes of a message */

static void status_copy(struct job_status *to, const struct job_status *from)
{
    job_status_release(to);
    *to = *from;
    to->workers = NULL;
    to->terms = from->terms ? mem_strdup(from->terms) : NULL;
    if (from->n_workers) {
        to->workers = mem_alloc((size_t)from->n_workers * sizeof(*to->workers));
        memcpy(to->workers, from->workers,
               (size_t)from->n_workers * sizeof(*to->workers));
    }
}

static enum rc refold(struct job_record *r, struct err *err)
{
    status_copy(&r->now, &r->known);
    enum rc rc = RC_OK;
    for (size_t i = 0; i < r->pending.n && !rc; i++)
        rc = job_fold(&r->now, &r->pending.at[i], err);
    return rc;
}

static enum rc read_new(struct job_record *r, struct err *err)
{
    for (;;) {
        struct store_events ev = {0};
        enum rc rc = store_events_get(r->store, r->row.id, r->known.seq, 1000, &ev, err);
        for (size_t i = 0; i < ev.n && !rc; i++)
            rc = job_fold(&r->known, &ev.at[i], err);
        size_t n = ev.n;
        store_events_release(&ev);
        if (rc || n < 1000)
            return rc;
    }
}

static void row_copy(struct job_record *r, const struct store_job *j)
{
    const char **texts[] = {&r->row.id,    &r->row.name,   &r->row.owner, &r->row.token,
                            &r->row.state, &r->row.reason, &r->row.queue, &r->row.backend,
                            &r->row.node,  &r->row.project};
    r->row = *j;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *texts[i] = arena_strdup(&r->arena, *texts[i]);
    r->row.status = "";
}

enum rc job_record_open(struct store *s, const char *id, struct job_record *out,
                        struct err *err)
{
    struct job_record r = {.store = s};
    struct store_jobs jobs = {0};
    job_status_init(&r.known);
    job_status_init(&r.now);
    enum rc rc = store_get(s, id, &jobs, err);
    if (rc)
        return rc;
    row_copy(&r, &jobs.at[0]);
    store_jobs_release(&jobs);
    rc = read_new(&r, err);
    if (rc) {
        job_record_release(&r);
        return err_wrap(err, rc, "job '%s'", id);
    }
    status_copy(&r.now, &r.known);
    *out = r;
    return RC_OK;
}

void job_record_release(struct job_record *r)
{
    job_status_release(&r->known);
    job_status_release(&r->now);
    VEC_RELEASE(&r->pending);
    arena_release(&r->pending_arena);
    arena_release(&r->arena);
    *r = (struct job_record){0};
}

void job_record_drop(struct job_record *r)
{
    r->pending.n = 0;
    arena_reset(&r->pending_arena);
    status_copy(&r->now, &r->known);
}

enum rc job_record_add(struct job_record *r, enum job_event_type type,
                       const struct job_record_note *note, struct err *err)
{
    static const struct job_record_note none = {.worker = -1};
    const struct job_record_note *n = note ? note : &none;
    struct arena *a = &r->pending_arena;
    const char *message = n->message ? n->message : "";
    size_t length = strnlen(message, EVENT_TEXT_MAX);
    struct store_event e = {.time = clock_wall_ns(),
                            .type = job_event_name(type),
                            .reason = job_reason_name(n->reason),
                            .worker = n->worker,
                            .attempt = r->now.attempt,
                            .message = arena_strndup(a, message, length),
                            .data = n->data ? arena_strdup(a, n->data) : ""};
    enum rc rc = job_fold(&r->now, &e, err);
    if (!rc)
        VEC_PUSH(&r->pending, e);
    return rc;
}

enum rc job_record_move(struct job_record *r, enum job_state to, enum job_reason why,
                        int code, int signal, const char *message, struct err *err)
{
    char *data = code < 0 && !signal
                     ? mem_printf("{\"state\": \"%s\"}", job_state_name(to))
                     : mem_printf("{\"state\": \"%s\", \"code\": %d, \"signal\": %d}",
                                  job_state_name(to), code, signal);
    struct job_record_note note = {
        .reason = why, .worker = -1, .message = message, .data = data};
    /* A new attempt begins when the environment is made. */
    int64_t attempt = r->now.attempt;
    if (to == JOB_EnvPreparing)
        r->now.attempt++;
    enum rc rc = job_record_add(r, EV_StateChanged, &note, err);
    if (rc)
        r->now.attempt = attempt;
    mem_free(data);
    return rc;
}

/* The index row that goes with the pending events. */
static void fill_row(struct job_record *r, struct buf *status, struct store_job *row)
{
    job_status_json(&r->now, status);
    *row = r->row;
    row->seq = r->known.seq;
    row->state = job_state_name(r->now.state);
    row->reason = job_reason_name(r->now.reason);
    row->attempt = r->now.attempt;
    row->started = r->now.started;
    row->finished = r->now.finished;
    row->status = buf_str(status);
}

static enum rc write_pending(struct job_record *r, struct err *err)
{
    struct store_job row;
    struct buf status;
    buf_init(&status, 1 << 20);
    fill_row(r, &status, &row);
    enum rc rc = store_append(r->store, &row, r->pending.at, r->pending.n, err);
    buf_release(&status);
    return rc;
}

enum rc job_record_flush(struct job_record *r, struct err *err)
{
    for (int i = 0; i < TRIES && r->pending.n; i++) {
        enum rc rc = write_pending(r, err);
        if (rc == RC_OK) {
            status_copy(&r->known, &r->now);
            r->row.state = job_state_name(r->now.state);
            r->row.reason = job_reason_name(r->now.reason);
            r->pending.n = 0;
            arena_reset(&r->pending_arena);
            return RC_OK;
        }
        if (rc != RC_CANCELED)
            return rc;
        rc = read_new(r, err);
        if (rc)
            return rc;
        if (refold(r, err)) { /* ours cannot follow what came in between */
            job_record_drop(r);
            return err_coded(err, RC_CANCELED, E3104, "job '%s' is %s by now", r->row.id,
                             job_state_name(r->now.state));
        }
    }
    return RC_OK;
}

enum rc job_record_refresh(struct job_record *r, struct err *err)
{
    int64_t seq = 0;
    enum rc rc = store_seq(r->store, r->row.id, &seq, err);
    if (rc || seq == r->known.seq)
        return rc;
    rc = read_new(r, err);
    if (rc)
        return rc;
    if (refold(r, err))
        job_record_drop(r);
    return RC_OK;
}
