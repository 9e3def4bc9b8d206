/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/why.h"

#include <string.h>

#include "backend/agent.h"
#include "backend/capacity.h"
#include "base/clock.h"
#include "base/mem.h"
#include "job/quote.h"
#include "job/space.h"
#include "job/state.h"
#include "job/status.h"

#define FIRST_EVENTS 4 /* those of a submission */

static void put_why(const struct backend_queue_world *w, const char *id, struct buf *out)
{
    struct backend_queue_verdict *v = mem_calloc(w->n_waiting + 1, sizeof(*v));
    backend_queue_plan(w, v);
    for (size_t i = 0; i < w->n_waiting; i++)
        if (strcmp(w->waiting[i].id, id) == 0) {
            buf_printf(out, "%s waits: ", id);
            backend_queue_why(w, i, &v[i], out);
        }
    mem_free(v);
}

static enum rc say_waiting(const struct job_place *p, const char *slots,
                           const struct store_job *j, struct buf *out, struct err *err)
{
    struct backend_agent_queue q;
    struct backend_queue_need total;
    struct backend_share share = {.limited = false};
    struct backend_share_elsewhere elsewhere = {.rows = {.n = 0}};
    if (strcmp(j->node, p->node) == 0 && job_space_short(p->dir, 0, NULL)) {
        buf_printf(out, "%s waits: ", j->id);
        job_space_short(p->dir, 0, out);
        return RC_OK;
    }
    enum rc rc = backend_agent_queue_read(p, NULL, &q, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < q.held.n; i++)
        if (strcmp(q.held.at[i].row->id, j->id) == 0)
            buf_printf(out, "%s waits %s", j->id,
                       q.held.at[i].text[0] ? q.held.at[i].text : "to stand in line");
    if (!backend_capacity_read(p->dir, &total))
        rc = backend_capacity_find(slots, &total, err);
    if (!rc)
        rc = backend_share_refresh(&share, p->store, &total, &q.rows, clock_wall_ns(),
                                   err);
    if (!rc && share.limited)
        rc = backend_share_elsewhere_read(p->store, p->node, &elsewhere, err);
    if (!rc) {
        struct backend_queue_world w =
            backend_agent_world(&total, &q, &share, &elsewhere);
        put_why(&w, j->id, out);
    }
    backend_share_elsewhere_release(&elsewhere);
    backend_share_release(&share);
    backend_agent_queue_release(&q);
    return rc;
}

/* What the job itself was told about its end, beyond the meaning of the reason. */
static void put_message(const struct store_job *j, enum job_reason why, struct buf *out)
{
    struct doc doc = {0};
    const char *text = node_get_text(job_json_open(j->status, &doc), "message", "");
    if (*text && strcmp(text, job_reason_text(why)) != 0) {
        buf_puts(out, "; ");
        job_quote_terminal(str_c(text), out);
    }
    if (doc.src)
        doc_release(&doc);
}

/* What `backend: auto` went by. */
static void put_choice(const struct job_place *p, const char *id, struct buf *out)
{
    struct store_events all = {0};
    if (store_events_get(p->store, id, 0, FIRST_EVENTS, &all, NULL) != RC_OK)
        return;
    for (size_t i = 0; i < all.n; i++)
        if (strcmp(all.at[i].type, job_event_name(EV_BackendChosen)) == 0) {
            buf_puts(out, "; its backend was chosen by auto: ");
            job_quote_terminal(str_c(all.at[i].message), out);
        }
    store_events_release(&all);
}

enum rc backend_why(const struct job_place *p, const char *slots,
                    const struct store_job *j, struct buf *out, struct err *err)
{
    enum job_reason why = WHY_None;
    enum rc rc = RC_OK;
    size_t before = out->n;
    if (strcmp(j->state, "Queuing") == 0)
        rc = say_waiting(p, slots, j, out, err);
    if (!rc && out->n == before) {
        buf_printf(out, "%s is %s", j->id, j->state);
        if (job_reason_find(j->reason, &why) && why != WHY_None)
            buf_printf(out, ": %s (%s)", job_reason_text(why), j->reason);
        put_message(j, why, out);
    }
    if (!rc)
        put_choice(p, j->id, out);
    return rc;
}
