/* SPDX-License-Identifier: Apache-2.0 */
/* The last supervisor of a job whose supervisors crash again and again. It ends the workers
 * by their backend: open(), reattach(), signal(), poll(), clean(). Where that crashes too
 * the next one calls nothing of the backend: it kills the processes of this machine that
 * carry the job in their environment. Then the record says that the job has ended, and why.
 */
#include <stdio.h>
#include <time.h>

#include "backend/call.h"
#include "backend/sup_private.h"
#include "base/proc.h"

#define ROUNDS 150 /* of SUP_TICK_NS: 30 s for all workers to end */

static bool any_runs(struct sup *s)
{
    bool runs = false;
    for (int64_t i = 0; i < s->n_workers; i++) {
        struct sup_worker *w = &s->workers[i];
        struct backend_exit exit;
        enum backend_state state = BACKEND_NONE;
        if (w->alive)
            state = backend_call_poll(&s->job, &w->b, &exit);
        w->alive = state == BACKEND_RUNNING || state == BACKEND_WAITING;
        runs |= w->alive;
    }
    return runs;
}

/* False: some may be left. */
static bool end_workers(struct sup *s)
{
    struct timespec tick = {.tv_nsec = SUP_TICK_NS};
    if (backend_call_open(&s->job, NULL))
        return false;
    attempt_find(s);
    for (int64_t i = 0; i < s->n_workers; i++)
        if (s->workers[i].alive)
            attempt_signal(s, &s->workers[i], BACKEND_DESTROY);
    bool runs = any_runs(s);
    for (int i = 0; i < ROUNDS && runs; i++) {
        nanosleep(&tick, NULL);
        attempt_refresh(s);
        runs = any_runs(s);
    }
    backend_call_clean(&s->job, -1, true);
    for (int64_t i = 0; i < s->n_workers; i++)
        if (s->workers[i].known && !s->workers[i].alive)
            attempt_take_end(s, &s->workers[i]);
    return !runs;
}

static enum rc record_end(struct sup *s, const char *text, struct err *err)
{
    struct job_record *r = &s->rec;
    enum rc rc = RC_OK;
    if (!r->now.stop)
        rc = job_record_move(r, JOB_Failed, WHY_NodeFailure, -1, 0, text, err);
    else if (r->now.state != JOB_Stopping)
        rc = job_record_move(r, JOB_Stopping, WHY_UserStopped, -1, 0, "", err);
    if (!rc && r->now.stop)
        rc = job_record_move(r, JOB_Stopped, WHY_UserStopped, -1, 0, text, err);
    return rc ? rc : job_record_flush(r, err);
}

enum rc giveup_run(struct sup *s, const struct backend_crash *c, struct err *err)
{
    char text[JOB_MESSAGE_SIZE], words[BACKEND_CRASH_WORDS];
    bool clean = c->tries == 0 && s->job.ops && end_workers(s);
    if (!clean)
        backend_shim_sweep(s->id, s->rec.now.attempt, -1);
    backend_crash_words(c, words);
    snprintf(
        text, sizeof(text),
        "its supervisors crashed again and again without getting on (%s), by a fault "
        "of the backend %.60s or of trainyard itself%s",
        words, s->rec.row.backend,
        clean ? "" : "; what the backend keeps elsewhere may still be there");
    return record_end(s, text, err);
}
