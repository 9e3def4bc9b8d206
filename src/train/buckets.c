/* SPDX-License-Identifier: Apache-2.0 */
/* The graph says how far its backward pass has come (graph_watch_grads()): parameters that
 * no op before that place has are done. Buckets are filled in this order, so the first one
 * is the output side of the model; statistics come with the last. What a bucket holds does
 * not change what is added to what: each float is summed over shards for itself.
 */
#include "train/buckets.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "dist/sum.h"

struct item {
    struct param *param;
    bool is_grad; /* else a running statistic */
    size_t op;    /* graph_param_op() */
    int64_t at;   /* in `kept` or `start` */
};

struct bucket {
    struct train_buckets *of;
    size_t first, n; /* items */
    struct dist_sum sum;
    float *vector; /* of a shard, then of all */
    float *made;   /* the same, where it is not the sum's own memory */
    struct comm_errand errand;
};

struct train_buckets {
    struct graph *graph;
    struct comm *comm;
    struct comm_courier *courier;
    struct dist_shards shards;
    struct item *items;
    size_t n_items;
    struct bucket *at;
    size_t n;
    float *kept;  /* gradients of earlier batches of an accumulation */
    float *start; /* statistics before the step */
    int64_t n_kept, n_start;
    /* Of the step: */
    const int64_t *rows;
    int shard, last;
    bool mid;
    size_t posted; /* buckets of the last shard */
};

/* --- which parameter is where --- */

/* In the order of completion; equal ones as the graph has them, statistics at the end. */
static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->is_grad != y->is_grad)
        return x->is_grad ? -1 : 1;
    if (x->is_grad && x->op != y->op)
        return x->op > y->op ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void list_items(struct train_buckets *b)
{
    struct param *const *params = graph_params(b->graph, &b->n_items);
    b->items = mem_calloc(b->n_items + 1, sizeof(*b->items));
    for (size_t i = 0; i < b->n_items; i++) {
        bool is_grad = param_read_grad(params[i]) != NULL;
        int64_t *next = is_grad ? &b->n_kept : &b->n_start;
        b->items[i] = (struct item){.param = params[i],
                                    .is_grad = is_grad,
                                    .op = graph_param_op(b->graph, params[i]),
                                    .at = *next};
        *next += params[i]->n;
    }
    qsort(b->items, b->n_items, sizeof(*b->items), compare_items);
}

static enum rc make_bucket(struct train_buckets *b, size_t first, size_t n,
                           int64_t floats, struct err *err)
{
    struct bucket *x = &b->at[b->n];
    *x = (struct bucket){.of = b, .first = first, .n = n};
    enum rc rc = dist_sum_init(&x->sum, b->comm, b->shards, floats, err);
    if (rc)
        return rc;
    b->n++;
    x->vector = dist_sum_room(&x->sum);
    if (!x->vector)
        x->vector = x->made = mem_try_large((size_t)floats + 1, sizeof(float));
    return x->vector ? RC_OK
                     : err_set(err, RC_NOMEM, "no memory for %jd dense gradients",
                               (intmax_t)floats);
}

/* One bucket at least: every rank takes part in the sums. */
static enum rc make_buckets(struct train_buckets *b, struct err *err)
{
    size_t first = 0;
    int64_t floats = 0, least = dist_sum_least(comm_world(b->comm));
    enum rc rc = RC_OK;
    b->at = mem_calloc(b->n_items + 1, sizeof(*b->at));
    for (size_t i = 0; i < b->n_items && !rc; i++) {
        floats += b->items[i].param->n;
        if (floats < least || i + 1 == b->n_items)
            continue;
        rc = make_bucket(b, first, i + 1 - first, floats, err);
        first = i + 1;
        floats = 0;
    }
    return rc ? rc : make_bucket(b, first, b->n_items - first, floats, err);
}

static void on_backward(void *arg, size_t from);

enum rc train_buckets_create(struct graph *g, struct comm *comm,
                             struct comm_courier *courier, struct dist_shards shards,
                             struct train_buckets **out, struct err *err)
{
    struct train_buckets *b = mem_calloc(1, sizeof(*b));
    *b = (struct train_buckets){
        .graph = g, .comm = comm, .courier = courier, .shards = shards, .shard = -1};
    list_items(b);
    b->kept = mem_try_large((size_t)b->n_kept + 1, sizeof(float));
    b->start = mem_try_large((size_t)b->n_start + 1, sizeof(float));
    enum rc rc = b->kept && b->start
                     ? make_buckets(b, err)
                     : err_set(err, RC_NOMEM, "no memory for %jd dense gradients",
                               (intmax_t)(b->n_kept + b->n_start));
    if (rc) {
        train_buckets_destroy(b);
        return rc;
    }
    graph_watch_grads(g, on_backward, b);
    *out = b;
    return RC_OK;
}

void train_buckets_destroy(struct train_buckets *b)
{
    if (!b)
        return;
    graph_watch_grads(b->graph, NULL, NULL);
    for (size_t i = 0; i < b->n; i++) {
        dist_sum_release(&b->at[i].sum);
        mem_free(b->at[i].made);
    }
    mem_free(b->at);
    mem_free(b->items);
    mem_free(b->kept);
    mem_free(b->start);
    mem_free(b);
}

struct dist_traffic train_buckets_traffic(const struct train_buckets *b)
{
    struct dist_traffic t = {0};
    for (size_t i = 0; i < b->n; i++) {
        t.sent += b->at[i].sum.traffic.sent;
        t.least += b->at[i].sum.traffic.least;
        t.dense += b->at[i].sum.n;
    }
    return t;
}

/* --- a step --- */

void train_buckets_begin(struct train_buckets *b, const int64_t *rows, int last, bool mid)
{
    b->rows = rows;
    b->last = last;
    b->mid = mid;
    b->posted = 0;
    for (size_t i = 0; i < b->n_items; i++) {
        const struct item *it = &b->items[i];
        if (!it->is_grad)
            param_get(it->param, b->start + it->at);
        else if (mid)
            param_get_grad(it->param, b->kept + it->at);
    }
}

void train_buckets_shard(struct train_buckets *b, int shard)
{
    b->shard = shard;
}

/* How a shard moved a statistic, which is put back for the next one. */
static void take_statistic(struct param *p, const float *start, float *change)
{
    param_get(p, change);
    for (int64_t k = 0; k < p->n; k++)
        change[k] -= start[k];
    param_set(p, start);
}

/* What the shard whose backward pass is under way says. */
static void take_bucket(const struct train_buckets *b, struct bucket *x)
{
    float *to = x->vector;
    for (size_t i = x->first; i < x->first + x->n; i++) {
        const struct item *it = &b->items[i];
        if (it->is_grad)
            param_get_grad(it->param, to);
        else
            take_statistic(it->param, b->start + it->at, to);
        to += it->param->n;
    }
    dist_sum_add(&x->sum, b->shard, x->vector);
}

static enum rc sum_bucket(void *arg, struct err *err)
{
    struct bucket *x = arg;
    return dist_sum_finish(&x->sum, x->of->rows, x->vector, err);
}

static void post(struct train_buckets *b)
{
    struct bucket *x = &b->at[b->posted++];
    x->errand = (struct comm_errand){.run = sum_bucket, .arg = x};
    comm_courier_post(b->courier, &x->errand);
}

/* All its gradients are there; statistics are when the pass is over. */
static bool is_full(const struct train_buckets *b, const struct bucket *x, size_t from)
{
    if (from == 0)
        return true;
    const struct item *last = x->n ? &b->items[x->first + x->n - 1] : NULL;
    return last && last->is_grad && last->op >= from;
}

static void on_backward(void *arg, size_t from)
{
    struct train_buckets *b = arg;
    bool last = b->shard == b->last;
    if (b->shard < 0)
        return;
    for (size_t i = 0; !last && from == 0 && i < b->n; i++)
        take_bucket(b, &b->at[i]);
    while (last && b->posted < b->n && is_full(b, &b->at[b->posted], from)) {
        take_bucket(b, &b->at[b->posted]);
        post(b);
    }
    if (from == 0)
        b->shard = -1;
}

/* The sum of all shards becomes the gradients and moves the statistics. */
static void give_bucket(const struct train_buckets *b, const struct bucket *x,
                        int with_rows)
{
    float *from = x->vector;
    for (size_t i = x->first; i < x->first + x->n; i++) {
        const struct item *it = &b->items[i];
        int64_t n = it->param->n;
        const float *was = (it->is_grad ? b->kept : b->start) + it->at;
        for (int64_t k = 0; it->is_grad && b->mid && k < n; k++)
            from[k] = was[k] + from[k];
        for (int64_t k = 0; !it->is_grad && k < n; k++)
            from[k] = was[k] + from[k] / (float)with_rows;
        if (it->is_grad)
            param_set_grad(it->param, from);
        else
            param_set(it->param, from);
        from += n;
    }
}

void train_buckets_rest(struct train_buckets *b)
{
    while (b->posted < b->n)
        post(b);
}

enum rc train_buckets_finish(struct train_buckets *b, struct err *err)
{
    int with_rows = 0;
    enum rc rc = RC_OK;
    for (int i = 0; i < b->shards.total; i++)
        with_rows += b->rows[i] > 0;
    for (size_t i = 0; i < b->n && !rc; i++) {
        rc = comm_courier_wait(b->courier, &b->at[i].errand, err);
        if (!rc)
            give_bucket(b, &b->at[i], with_rows);
    }
    return rc;
}
