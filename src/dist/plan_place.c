/* SPDX-License-Identifier: Apache-2.0 */
/* Gives the parts of tables to ranks, as TorchRec's greedy partitioner does: parts that all
 * ranks have first; then tables by the memory that they take, the largest first, each part
 * to the rank with the least to do that has room for it, parts of one host to the host with
 * the least to do.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dist/plan_private.h"

struct place {
    const struct dist_topology *t;
    double *device, *host; /* [world]: bytes that are left */
    double *ms;            /* [world] */
};

static bool fits(const struct place *p, const struct dist_plan_shard *s, int rank)
{
    return s->device_bytes <= p->device[rank] && s->host_bytes <= p->host[rank];
}

static void give(struct place *p, struct dist_plan_shard *s, int rank)
{
    s->rank = rank;
    p->device[rank] -= s->device_bytes;
    p->host[rank] -= s->host_bytes;
    p->ms[rank] += dist_plan_cost_sum(&s->cost);
}

/* Of ranks first, first + step, ...: the one with the least to do; -1: none has room. Of
 * equals the first of its host, then the first.
 */
static int least(const struct place *p, const struct dist_plan_shard *s, int first, int n)
{
    int best = -1;
    for (int r = first; r < first + n; r++) {
        int local = r % p->t->local;
        if (fits(p, s, r) && (best < 0 || p->ms[r] < p->ms[best] ||
                              (p->ms[r] <= p->ms[best] && local < best % p->t->local)))
            best = r;
    }
    return best;
}

static bool give_each_rank(struct place *p, struct dist_plan_option *o)
{
    for (int i = 0; i < o->n; i++) {
        if (!fits(p, &o->shards[i], i))
            return false;
        give(p, &o->shards[i], i);
    }
    return true;
}

static double busy(const struct place *p, int host)
{
    double ms = 0;
    for (int r = host * p->t->local; r < (host + 1) * p->t->local; r++)
        ms += p->ms[r];
    return ms;
}

/* Shards [from, to) on one host: rows one per rank, columns where there is least to do. */
static bool try_host(struct place *p, struct dist_plan_option *o, int from, int to,
                     int host)
{
    int first = host * p->t->local;
    bool rows = o->kind != DIST_TABLE_COLUMN_WISE, fine = true;
    size_t size = (size_t)p->t->world * sizeof(double);
    double *kept = mem_alloc(3 * size);
    memcpy(kept, p->device, size);
    memcpy(kept + p->t->world, p->host, size);
    memcpy(kept + 2 * p->t->world, p->ms, size);
    for (int i = from; i < to && fine; i++) {
        int rank = rows ? first + i - from : least(p, &o->shards[i], first, p->t->local);
        fine = rank >= 0 && fits(p, &o->shards[i], rank);
        if (fine)
            give(p, &o->shards[i], rank);
    }
    if (!fine) {
        memcpy(p->device, kept, size);
        memcpy(p->host, kept + p->t->world, size);
        memcpy(p->ms, kept + 2 * p->t->world, size);
    }
    mem_free(kept);
    return fine;
}

static bool give_host(struct place *p, struct dist_plan_option *o, int from, int to)
{
    int hosts = p->t->world / p->t->local;
    bool *tried = mem_calloc((size_t)hosts, sizeof(*tried)), done = false;
    for (int k = 0; k < hosts && !done; k++) {
        int best = -1;
        for (int h = 0; h < hosts; h++)
            if (!tried[h] && (best < 0 || busy(p, h) < busy(p, best)))
                best = h;
        tried[best] = true;
        done = try_host(p, o, from, to, best);
    }
    mem_free(tried);
    return done;
}

static bool give_ranks(struct place *p, struct dist_plan_option *o)
{
    for (int i = 0; i < o->n; i++) {
        int rank = least(p, &o->shards[i], 0, p->t->world);
        if (rank < 0)
            return false;
        give(p, &o->shards[i], rank);
    }
    return true;
}

static bool place_table(struct place *p, struct dist_plan_option *o)
{
    bool fine = true;
    switch (o->kind) {
    case DIST_DATA_PARALLEL:
    case DIST_ROW_WISE:
        return give_each_rank(p, o);
    case DIST_TABLE_COLUMN_WISE:
    case DIST_TABLE_ROW_WISE:
        return give_host(p, o, 0, o->n);
    case DIST_GRID:
        for (int i = 0; i < o->n && fine; i += p->t->local)
            fine = give_host(p, o, i, i + p->t->local);
        return fine;
    case DIST_TABLE_WISE:
    case DIST_COLUMN_WISE:
    case DIST_KINDS:
        break;
    }
    return give_ranks(p, o);
}

static bool on_all_ranks(const struct dist_plan_option *o)
{
    return o->kind == DIST_DATA_PARALLEL || o->kind == DIST_ROW_WISE;
}

struct size {
    int table;
    double bytes;
};

static int by_size(const void *a, const void *b)
{
    const struct size *x = a, *y = b;
    return x->bytes > y->bytes   ? -1
           : x->bytes < y->bytes ? 1
                                 : (x->table > y->table) - (x->table < y->table);
}

/* Tables that all ranks share, then the others by size. */
static struct size *in_order(const struct dist_plan *plan)
{
    struct size *order = mem_calloc((size_t)plan->n + 1, sizeof(*order));
    for (int i = 0; i < plan->n; i++) {
        order[i].table = i;
        for (int k = 0; k < plan->at[i].n; k++)
            order[i].bytes +=
                plan->at[i].shards[k].device_bytes + plan->at[i].shards[k].host_bytes;
        if (on_all_ranks(&plan->at[i]))
            order[i].bytes = 1e300; /* all of these, in their own order */
    }
    qsort(order, (size_t)plan->n, sizeof(*order), by_size);
    return order;
}

static void copy_choice(const struct dist_options *o, const int *choice,
                        struct dist_plan *out)
{
    for (int i = 0; i < out->n; i++) {
        const struct dist_plan_option *from = &o->all[choice[i]];
        out->at[i] = *from;
        out->at[i].shards = mem_alloc((size_t)from->n * sizeof(*from->shards));
        memcpy(out->at[i].shards, from->shards, (size_t)from->n * sizeof(*from->shards));
    }
}

static void add_cost(struct dist_plan_cost *to, const struct dist_plan_cost *c)
{
    to->forward += c->forward;
    to->forward_comm += c->forward_comm;
    to->backward += c->backward;
    to->backward_comm += c->backward_comm;
}

static void add_up(struct dist_plan *p)
{
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->at[i].n; k++) {
            const struct dist_plan_shard *s = &p->at[i].shards[k];
            add_cost(&p->costs[s->rank], &s->cost);
            p->bytes[s->rank] += s->device_bytes + s->host_bytes;
        }
    for (int r = 0; r < p->world; r++)
        if (dist_plan_cost_sum(&p->costs[r]) > dist_plan_cost_sum(&p->costs[p->slowest]))
            p->slowest = r;
    p->ms = dist_plan_cost_sum(&p->costs[p->slowest]);
}

bool dist_plan_place(const struct dist_topology *t, const struct dist_options *o,
                     const int *choice, struct dist_plan *out, int *failed)
{
    size_t world = (size_t)t->world;
    struct place p = {.t = t, .ms = mem_calloc(3 * world, sizeof(double))};
    p.device = p.ms + world;
    p.host = p.device + world;
    *out = (struct dist_plan){.n = o->n, .world = t->world};
    out->at = mem_calloc((size_t)o->n + 1, sizeof(*out->at));
    out->costs = mem_calloc(world, sizeof(*out->costs));
    out->bytes = mem_calloc(world, sizeof(*out->bytes));
    for (size_t r = 0; r < world; r++) {
        p.device[r] = t->device_bytes;
        p.host[r] = t->host_bytes;
    }
    copy_choice(o, choice, out);
    struct size *order = in_order(out);
    bool fine = true;
    for (int i = 0; i < o->n && fine; i++) {
        fine = place_table(&p, &out->at[order[i].table]);
        *failed = order[i].table;
    }
    if (fine)
        add_up(out);
    else
        dist_plan_release(out);
    mem_free(order);
    mem_free(p.ms);
    return fine;
}
