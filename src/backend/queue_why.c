/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "backend/queue.h"

static void put_amount(const char *what, int64_t n, struct buf *out)
{
    if (strcmp(what, "cpu") == 0)
        buf_printf(out, "%g processor%s", (double)n / 1000, n == 1000 ? "" : "s");
    else if (strcmp(what, "memory") == 0)
        buf_printf(out, "%.1f GiB of memory", (double)n / (1 << 30));
    else if (strcmp(what, "running") == 0)
        buf_printf(out, "%jd running job%s", (intmax_t)n, n == 1 ? "" : "s");
    else
        buf_printf(out, "%jd GPU%s", (intmax_t)n, n == 1 ? "" : "s");
}

static int64_t part(const struct backend_queue_need *n, const char *what)
{
    return strcmp(what, "cpu") == 0      ? n->cpu_milli
           : strcmp(what, "memory") == 0 ? n->memory
                                         : n->gpu;
}

static void put_never(const struct backend_queue_world *w,
                      const struct backend_queue_job *j,
                      const struct backend_queue_verdict *v, struct buf *out)
{
    buf_puts(out, "it will never start: it asks for ");
    put_amount(v->lacking, part(&j->need, v->lacking), out);
    buf_puts(out, ", and this machine has ");
    put_amount(v->lacking, part(&w->total, v->lacking), out);
    buf_puts(out, "; ask for less");
}

static void put_full(const struct backend_queue_world *w,
                     const struct backend_queue_job *j,
                     const struct backend_queue_verdict *v, struct buf *out)
{
    int64_t in_use = 0;
    for (size_t i = 0; i < w->n_running; i++)
        in_use += part(&w->running[i].need, v->lacking);
    buf_puts(out, "it is next in line and needs ");
    put_amount(v->lacking, part(&j->need, v->lacking), out);
    buf_puts(out, "; ");
    put_amount(v->lacking, in_use, out);
    buf_puts(out, " of ");
    put_amount(v->lacking, part(&w->total, v->lacking), out);
    buf_printf(out, " are in use by %zu running job%s; it waits for ", w->n_running,
               w->n_running == 1 ? "" : "s");
    put_amount(v->lacking, v->missing, out);
    buf_puts(out, " to become free");
}

static void put_quota(const struct backend_queue_job *j,
                      const struct backend_queue_verdict *v, struct buf *out)
{
    const struct backend_queue_group *g = v->group;
    bool jobs = strcmp(v->lacking, "running") == 0;
    int64_t most = jobs ? g->most_running : part(&g->most, v->lacking);
    int64_t need = jobs ? 1 : part(&j->need, v->lacking);
    buf_printf(out, "the quota of %s '%s' is ", g->project ? "project" : "user", g->name);
    put_amount(v->lacking, most, out);
    if (need > most) {
        buf_puts(out, ", and the job alone asks for ");
        put_amount(v->lacking, need, out);
        buf_puts(out, "; ask for less, or have the quota raised");
        return;
    }
    buf_puts(out, "; ");
    put_amount(v->lacking, v->used, out);
    bool one = v->used == (strcmp(v->lacking, "cpu") == 0 ? 1000 : 1);
    buf_printf(out, " count%s against it, and this job asks for ", one ? "s" : "");
    put_amount(v->lacking, need, out);
    buf_printf(out, "; it starts when a job of that %s ends, or when the quota is raised",
               g->project ? "project" : "user");
}

void backend_queue_why(const struct backend_queue_world *w, size_t i,
                       const struct backend_queue_verdict *v, struct buf *out)
{
    const struct backend_queue_job *j = &w->waiting[i];
    switch (v->answer) {
    case QUEUE_START:
        buf_puts(out, "it has all it needs and starts now");
        return;
    case QUEUE_NEVER:
        put_never(w, j, v, out);
        return;
    case QUEUE_FULL:
        put_full(w, j, v, out);
        return;
    case QUEUE_QUOTA:
        put_quota(j, v, out);
        return;
    case QUEUE_BEHIND:
        buf_printf(out,
                   "job %s goes first (priority, then the project and user with less in "
                   "use, then age); a priority above %jd, or a --timeout short enough to "
                   "fit before it, would help",
                   v->ahead, (intmax_t)j->priority);
        return;
    }
}
