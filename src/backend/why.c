/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/why.h"

#include <string.h>

#include "backend/agent.h"
#include "backend/capacity.h"
#include "base/clock.h"
#include "base/mem.h"
#include "job/quote.h"
#include "job/state.h"
#include "job/status.h"

static void put_why(const struct queue_world *w, const char *id, struct buf *out)
{
    struct queue_verdict *v = mem_calloc(w->n_waiting + 1, sizeof(*v));
    queue_plan(w, v);
    for (size_t i = 0; i < w->n_waiting; i++)
        if (strcmp(w->waiting[i].id, id) == 0) {
            buf_printf(out, "%s waits: ", id);
            queue_why(w, i, &v[i], out);
        }
    mem_free(v);
}

static enum rc say_waiting(const struct place *p, const char *slots,
                           const struct store_job *j, struct buf *out, struct err *err)
{
    struct agent_queue q;
    struct queue_need total;
    struct share share = {.limited = false};
    struct share_elsewhere elsewhere = {.rows = {.n = 0}};
    enum rc rc = agent_queue_read(p, &q, err);
    if (rc)
        return rc;
    if (!capacity_read(p->dir, &total))
        rc = capacity_find(slots, &total, err);
    if (!rc)
        rc = share_refresh(&share, p->store, &total, &q.rows, clock_wall_ns(), err);
    if (!rc && share.limited)
        rc = share_elsewhere_read(p->store, p->node, &elsewhere, err);
    if (!rc) {
        struct queue_world w = agent_world(&total, &q, &share, &elsewhere);
        put_why(&w, j->id, out);
    }
    share_elsewhere_release(&elsewhere);
    share_release(&share);
    agent_queue_release(&q);
    return rc;
}

/* What the job itself was told about its end. */
static void put_message(const struct store_job *j, struct buf *out)
{
    struct doc doc = {0};
    const char *text = node_get_text(job_json_open(j->status, &doc), "message", "");
    if (*text) {
        buf_puts(out, "; ");
        quote_terminal(str_c(text), out);
    }
    if (doc.src)
        doc_release(&doc);
}

enum rc why_say(const struct place *p, const char *slots, const struct store_job *j,
                struct buf *out, struct err *err)
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
        put_message(j, out);
    }
    return rc;
}
