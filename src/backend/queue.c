/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct share {
    const char *owner;
    struct queue_need used;
};

struct planning {
    const struct queue_need *total;
    struct queue_need free;
    const struct queue_job *waiting, *running;
    size_t n_waiting, n_running;
    struct queue_verdict *verdicts;
    size_t *order; /* indices of waiting, by priority and age */
    bool *placed;
    struct share *shares; /* one per owner */
    size_t n_shares;
    int64_t now;
    const struct queue_job *head; /* first that did not fit */
    int64_t start_at;             /* when it surely can: wall ns, INT64_MAX unknown */
};

static void add(struct queue_need *a, const struct queue_need *b, int sign)
{
    a->cpu_milli += sign * b->cpu_milli;
    a->memory += sign * b->memory;
    a->gpu += sign * b->gpu;
}

/* NULL when `need` fits into `room`; else what is lacking, and how much of it. */
static const char *lacking(const struct queue_need *room, const struct queue_need *need,
                           int64_t *missing)
{
    const struct {
        const char *name;
        int64_t room, need;
    } parts[] = {{"gpu", room->gpu, need->gpu},
                 {"memory", room->memory, need->memory},
                 {"cpu", room->cpu_milli, need->cpu_milli}};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (parts[i].need > parts[i].room) {
            *missing = parts[i].need - parts[i].room;
            return parts[i].name;
        }
    return NULL;
}

static struct share *share_of(struct planning *p, const char *owner)
{
    for (size_t i = 0; i < p->n_shares; i++)
        if (strcmp(p->shares[i].owner, owner) == 0)
            return &p->shares[i];
    p->shares[p->n_shares] = (struct share){.owner = owner};
    return &p->shares[p->n_shares++];
}

static double ratio(int64_t a, int64_t b)
{
    return b > 0 ? (double)a / (double)b : 0;
}

/* The largest part of any one resource that the owner has. */
static double dominant(const struct planning *p, const struct queue_need *used)
{
    double cpu = ratio(used->cpu_milli, p->total->cpu_milli);
    double memory = ratio(used->memory, p->total->memory);
    double gpu = ratio(used->gpu, p->total->gpu);
    double most = cpu > memory ? cpu : memory;
    return most > gpu ? most : gpu;
}

static int by_rank(const void *a, const void *b, void *arg)
{
    const struct planning *p = arg;
    const struct queue_job *x = &p->waiting[*(const size_t *)a];
    const struct queue_job *y = &p->waiting[*(const size_t *)b];
    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    return x->num < y->num ? -1 : x->num > y->num;
}

/* The next in line: highest priority first, then the smallest share, then age. */
static const size_t *next_in_line(struct planning *p, size_t *first)
{
    const size_t *best = NULL;
    double least = 0;
    int64_t level = 0;
    while (*first < p->n_waiting && p->placed[*first])
        (*first)++;
    const char *seen[64];
    size_t n_seen = 0;
    for (size_t i = *first; i < p->n_waiting; i++) {
        const struct queue_job *j = &p->waiting[p->order[i]];
        if (p->placed[i])
            continue;
        if (best && j->priority != level)
            break;
        bool known = false; /* of each owner the oldest only */
        for (size_t k = 0; k < n_seen && !known; k++)
            known = strcmp(seen[k], j->owner) == 0;
        if (known)
            continue;
        if (n_seen < ARRAY_LEN(seen))
            seen[n_seen++] = j->owner;
        double share = dominant(p, &share_of(p, j->owner)->used);
        if (!best || share < least) {
            best = &p->order[i];
            least = share;
            level = j->priority;
        }
        if (n_seen == p->n_shares && n_seen)
            break; /* every owner that there is was met */
    }
    return best;
}

struct ending {
    int64_t at;
    const struct queue_need *need;
};

static int by_end(const void *a, const void *b)
{
    const struct ending *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* When enough running jobs will have reached their time limits for `need`. */
static int64_t surely_free(const struct planning *p, const struct queue_need *need)
{
    struct ending *ends = mem_calloc(p->n_running + 1, sizeof(*ends));
    struct queue_need room = p->free;
    int64_t at = INT64_MAX, missing;
    for (size_t i = 0; i < p->n_running; i++) {
        const struct queue_job *r = &p->running[i];
        ends[i].need = &r->need;
        ends[i].at = r->timeout_s ? r->since + r->timeout_s * 1000000000 : INT64_MAX;
    }
    qsort(ends, p->n_running, sizeof(*ends), by_end);
    for (size_t i = 0; i < p->n_running && ends[i].at < INT64_MAX; i++) {
        add(&room, ends[i].need, 1);
        if (!lacking(&room, need, &missing)) {
            at = ends[i].at;
            break;
        }
    }
    mem_free(ends);
    return at;
}

static bool may_pass(const struct planning *p, const struct queue_job *j)
{
    if (p->start_at == INT64_MAX)
        return p->now - p->head->since < (int64_t)QUEUE_PATIENCE_S * 1000000000;
    return j->timeout_s && p->now + j->timeout_s * 1000000000 <= p->start_at;
}

static void judge(struct planning *p, size_t i)
{
    const struct queue_job *j = &p->waiting[i];
    struct queue_verdict *v = &p->verdicts[i];
    int64_t missing = 0;
    const char *what = lacking(p->total, &j->need, &missing);
    if (what) {
        *v = (struct queue_verdict){QUEUE_NEVER, what, missing, NULL};
        return;
    }
    what = lacking(&p->free, &j->need, &missing);
    if (!what && (!p->head || may_pass(p, j))) {
        *v = (struct queue_verdict){.answer = QUEUE_START};
        add(&p->free, &j->need, -1);
        add(&share_of(p, j->owner)->used, &j->need, 1);
        return;
    }
    if (p->head) {
        *v = (struct queue_verdict){QUEUE_BEHIND, what, missing, p->head->id};
        return;
    }
    *v = (struct queue_verdict){QUEUE_FULL, what, missing, NULL};
    p->head = j;
    p->start_at = surely_free(p, &j->need);
}

void queue_plan(const struct queue_need *total, const struct queue_job *running,
                size_t n_running, const struct queue_job *waiting, size_t n_waiting,
                int64_t now, struct queue_verdict *verdicts)
{
    struct planning p = {.total = total,
                         .free = *total,
                         .waiting = waiting,
                         .running = running,
                         .n_waiting = n_waiting,
                         .n_running = n_running,
                         .verdicts = verdicts,
                         .now = now,
                         .start_at = INT64_MAX};
    p.order = mem_calloc(n_waiting + 1, sizeof(*p.order));
    p.placed = mem_calloc(n_waiting + 1, sizeof(*p.placed));
    p.shares = mem_calloc(n_waiting + n_running + 1, sizeof(*p.shares));
    for (size_t i = 0; i < n_running; i++) {
        add(&p.free, &running[i].need, -1);
        add(&share_of(&p, running[i].owner)->used, &running[i].need, 1);
    }
    for (size_t i = 0; i < n_waiting; i++) {
        p.order[i] = i;
        share_of(&p, waiting[i].owner);
    }
    qsort_r(p.order, n_waiting, sizeof(*p.order), by_rank, &p);
    size_t first = 0;
    for (const size_t *next; (next = next_in_line(&p, &first));) {
        p.placed[next - p.order] = true;
        judge(&p, *next);
    }
    mem_free(p.shares);
    mem_free(p.placed);
    mem_free(p.order);
}

static void put_amount(const char *what, int64_t n, struct buf *out)
{
    if (strcmp(what, "cpu") == 0)
        buf_printf(out, "%g processor%s", (double)n / 1000, n == 1000 ? "" : "s");
    else if (strcmp(what, "memory") == 0)
        buf_printf(out, "%.1f GiB of memory", (double)n / (1 << 30));
    else
        buf_printf(out, "%jd GPU%s", (intmax_t)n, n == 1 ? "" : "s");
}

static int64_t part(const struct queue_need *n, const char *what)
{
    return strcmp(what, "cpu") == 0      ? n->cpu_milli
           : strcmp(what, "memory") == 0 ? n->memory
                                         : n->gpu;
}

static int64_t in_use(const struct queue_job *running, size_t n, const char *what)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += part(&running[i].need, what);
    return sum;
}

void queue_why(const struct queue_need *total, const struct queue_job *running,
               size_t n_running, const struct queue_job *waiting, size_t i,
               const struct queue_verdict *v, struct buf *out)
{
    const struct queue_job *j = &waiting[i];
    switch (v->answer) {
    case QUEUE_START:
        buf_puts(out, "it has all it needs and starts now");
        return;
    case QUEUE_NEVER:
        buf_puts(out, "it will never start: it asks for ");
        put_amount(v->lacking, part(&j->need, v->lacking), out);
        buf_puts(out, ", and this machine has ");
        put_amount(v->lacking, part(total, v->lacking), out);
        buf_puts(out, "; ask for less");
        return;
    case QUEUE_FULL:
        buf_puts(out, "it is next in line and needs ");
        put_amount(v->lacking, part(&j->need, v->lacking), out);
        buf_puts(out, "; ");
        put_amount(v->lacking, in_use(running, n_running, v->lacking), out);
        buf_puts(out, " of ");
        put_amount(v->lacking, part(total, v->lacking), out);
        buf_printf(out, " %s in use by %zu running job%s; it starts when ", "are",
                   n_running, n_running == 1 ? "" : "s");
        put_amount(v->lacking, v->missing, out);
        buf_puts(out, " more become free");
        return;
    case QUEUE_BEHIND:
        buf_printf(out, "job %s goes first (", v->ahead);
        buf_printf(out,
                   "priority, then the user with less in use, then age); a priority "
                   "above %jd, or a --timeout short enough to fit before it, would help",
                   (intmax_t)j->priority);
        return;
    }
}
