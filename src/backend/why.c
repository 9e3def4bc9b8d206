/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/why.h"

#include <string.h>

#include "backend/agent.h"
#include "backend/capacity.h"
#include "base/clock.h"
#include "base/mem.h"
#include "job/state.h"

static enum rc say_waiting(const struct place *p, const char *slots,
                           const struct store_job *j, struct buf *out, struct err *err)
{
    struct agent_queue q;
    struct queue_need total;
    enum rc rc = agent_queue_read(p, &q, err);
    if (rc)
        return rc;
    if (!capacity_read(p->dir, &total))
        rc = capacity_find(slots, &total, err);
    struct queue_verdict *v = mem_calloc(q.waiting.n + 1, sizeof(*v));
    if (!rc)
        queue_plan(&total, q.running.at, q.running.n, q.waiting.at, q.waiting.n,
                   clock_wall_ns(), v);
    for (size_t i = 0; i < q.waiting.n && !rc; i++)
        if (strcmp(q.waiting.at[i].id, j->id) == 0) {
            buf_printf(out, "%s waits: ", j->id);
            queue_why(&total, q.running.at, q.running.n, q.waiting.at, i, &v[i], out);
        }
    mem_free(v);
    agent_queue_release(&q);
    return rc;
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
    }
    return rc;
}
