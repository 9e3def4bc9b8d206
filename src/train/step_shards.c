/* SPDX-License-Identifier: Apache-2.0 */
/* A training step over several shards of a batch. A shard is what a rank has in data
 * parallel training: rows, batch statistics and random numbers of its own. Here a rank
 * works on one or more of them, one after the other through the same graph:
 *
 *   lookup          distinct ids of all shards to their tables, vectors back
 *   each shard      feed, forward, backward; its loss counts by its share of the rows
 *   lookup update   rows of tables move, by sums over shards
 *   sum             dense gradients and running statistics of all shards
 *   dense update    the same on every rank
 *
 * Whatever is summed over shards is summed in their order, wherever they were worked on,
 * so the result does not depend on the number of ranks. A running statistic moves by the
 * mean of how the shards would move it.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "dist/sharded.h"
#include "dist/sum.h"
#include "train/blame.h"
#include "train/step_private.h"

struct train_shard_step {
    struct train_feed **feeds;         /* [shards.n]; the first is the session's */
    const struct embed_slot_ids **ids; /* [shards.n] */
    struct embed_slot_ids *none;       /* [slots]: of a shard without rows */
    struct dist_sum sum;
    int64_t n_grads, n_values; /* floats: gradients, then statistics */
    float *vector;             /* of a shard, then of all */
    float *kept;               /* gradients of earlier batches of an accumulation */
    float *start;              /* statistics before the step */
    double *own, *each;        /* [shards.n], [shards.total] times (losses, finite) */
    double *losses;            /* [losses]: of all shards */
    int64_t *counts;           /* [world] */
    size_t n_losses;
};

static void count_floats(const struct train_session *s, struct train_shard_step *x)
{
    size_t n;
    struct param *const *params = graph_params(s->model->graph, &n);
    for (size_t i = 0; i < n; i++)
        *(param_read_grad(params[i]) ? &x->n_grads : &x->n_values) += params[i]->n;
}

static enum rc make_feeds(struct train_session *s, struct train_shard_step *x,
                          struct err *err)
{
    enum rc rc = RC_OK;
    x->feeds = mem_calloc((size_t)s->shards.n + 1, sizeof(*x->feeds));
    x->feeds[0] = s->feed;
    for (int i = 1; i < s->shards.n && !rc; i++)
        rc = train_feed_create(s->model, s->plan, &x->feeds[i], err);
    return rc;
}

/* counts[r]: floats that rank r says about its shards. */
static void count_messages(const struct train_session *s, struct train_shard_step *x)
{
    int world = comm_world(s->options.comm);
    x->counts = mem_calloc((size_t)world, sizeof(*x->counts));
    for (int r = 0; r < world; r++)
        x->counts[r] =
            dist_shards_of(r, world, s->shards.total).n * (int64_t)(x->n_losses + 1);
}

enum rc train_shard_step_create(struct train_session *s, struct train_shard_step **out,
                                struct err *err)
{
    struct train_shard_step *x = mem_calloc(1, sizeof(*x));
    size_t slots = (size_t)lookup_n_slots(s->model->lookup);
    *out = x;
    count_floats(s, x);
    x->n_losses = graph_n_losses(s->model->graph);
    x->ids = mem_calloc((size_t)s->shards.n + 1, sizeof(*x->ids));
    x->none = mem_calloc(slots + 1, sizeof(*x->none));
    x->losses = mem_calloc(x->n_losses + 1, sizeof(*x->losses));
    x->own = mem_calloc((size_t)s->shards.n + 1, (x->n_losses + 1) * sizeof(*x->own));
    x->each = mem_calloc((size_t)s->shards.total, (x->n_losses + 1) * sizeof(*x->each));
    count_messages(s, x);
    int64_t n = x->n_grads + x->n_values;
    x->vector = mem_try_large((size_t)n + 1, sizeof(float));
    x->kept = mem_try_large((size_t)x->n_grads + 1, sizeof(float));
    x->start = mem_try_large((size_t)x->n_values + 1, sizeof(float));
    if (!x->vector || !x->kept || !x->start)
        return err_set(err, RC_NOMEM, "no memory for %jd dense gradients", (intmax_t)n);
    enum rc rc = dist_sum_init(&x->sum, s->options.comm, s->shards, n, err);
    return rc ? rc : make_feeds(s, x, err);
}

void train_shard_step_destroy(struct train_shard_step *x)
{
    if (!x)
        return;
    for (int i = 1; x->feeds && x->feeds[0] && x->feeds[i]; i++)
        train_feed_destroy(x->feeds[i]);
    dist_sum_release(&x->sum);
    mem_free(x->feeds);
    mem_free(x->ids);
    mem_free(x->none);
    mem_free(x->vector);
    mem_free(x->kept);
    mem_free(x->start);
    mem_free(x->own);
    mem_free(x->each);
    mem_free(x->losses);
    mem_free(x->counts);
    mem_free(x);
}

const double *train_shard_step_losses(const struct train_shard_step *x)
{
    return x->losses;
}

static int64_t count_rows(const struct train_session *s,
                          const struct train_session_batch *b)
{
    int64_t n = 0;
    for (int i = 0; i < s->shards.total; i++)
        n += b->rows[i];
    return n;
}

static enum rc look_up(struct train_session *s, const struct train_session_batch *b,
                       struct err *err)
{
    struct train_shard_step *x = s->split;
    enum rc rc = RC_OK;
    for (int i = 0; i < s->shards.n && !rc; i++) {
        s->shard_at = i;
        if (b->at[i])
            rc = train_feed_take(x->feeds[i], b->at[i], err);
        x->ids[i] = b->at[i] ? train_feed_ids(x->feeds[i]) : x->none;
    }
    if (rc)
        return rc;
    s->shard_at = s->shards.n == 1 ? 0 : -1;
    return dist_sharded_prepare(s->model->lookup, x->ids, s->shards, true, err);
}

/* --- gradients and statistics as one vector --- */

static void put_start(const struct train_session *s, bool mid)
{
    struct train_shard_step *x = s->split;
    size_t n;
    struct param *const *params = graph_params(s->model->graph, &n);
    float *grad = x->kept, *value = x->start;
    for (size_t i = 0; i < n; i++) {
        if (!param_read_grad(params[i])) {
            param_get(params[i], value);
            value += params[i]->n;
        } else if (mid) {
            param_get_grad(params[i], grad);
            grad += params[i]->n;
        }
    }
}

/* What the shard just done says; statistics are put back for the next one. */
static void take_shard(const struct train_session *s)
{
    struct train_shard_step *x = s->split;
    size_t n;
    struct param *const *params = graph_params(s->model->graph, &n);
    float *grad = x->vector, *change = x->vector + x->n_grads;
    const float *start = x->start;
    for (size_t i = 0; i < n; i++) {
        struct param *p = params[i];
        if (param_read_grad(p)) {
            param_get_grad(p, grad);
            grad += p->n;
            continue;
        }
        param_get(p, change);
        for (int64_t k = 0; k < p->n; k++)
            change[k] -= start[k];
        param_set(p, start);
        change += p->n;
        start += p->n;
    }
}

/* The sum of all shards becomes the gradients and moves the statistics. */
static void give_sum(const struct train_session *s, bool mid, int with_rows)
{
    struct train_shard_step *x = s->split;
    size_t n;
    struct param *const *params = graph_params(s->model->graph, &n);
    float *grad = x->vector, *change = x->vector + x->n_grads;
    const float *start = x->start;
    for (int64_t i = 0; mid && i < x->n_grads; i++)
        grad[i] = x->kept[i] + grad[i];
    for (size_t i = 0; i < n; i++) {
        struct param *p = params[i];
        if (param_read_grad(p)) {
            param_set_grad(p, grad);
            grad += p->n;
            continue;
        }
        for (int64_t k = 0; k < p->n; k++)
            change[k] = start[k] + change[k] / (float)with_rows;
        param_set(p, change);
        change += p->n;
        start += p->n;
    }
}

/* --- one shard --- */

static void fill_vectors(struct train_session *s, int i)
{
    struct model *m = s->model;
    for (size_t k = 0; k < m->embedded.n; k++)
        s->vectors[k] = graph_write_begin(m->graph, m->embedded.at[k]);
    dist_sharded_forward(m->lookup, i, s->vectors);
    for (size_t k = 0; k < m->embedded.n; k++)
        graph_write_end(m->graph, m->embedded.at[k]);
    model_codes(m, s->split->ids[i]);
}

/* The losses of the shard, times its share of the rows. */
static double note_losses(struct train_session *s, int i, double share)
{
    struct train_shard_step *x = s->split;
    double *own = x->own + (size_t)i * (x->n_losses + 1);
    for (size_t k = 0; k < x->n_losses; k++)
        own[k] = share * graph_loss_at(s->model->graph, k);
    own[x->n_losses] = 1;
    return graph_loss(s->model->graph);
}

/* Takes the loss scale out of the gradients of vectors. */
static void unscale_vectors(struct train_session *s, int i)
{
    const struct model *m = s->model;
    double *own = s->split->own + (size_t)i * (s->split->n_losses + 1);
    float by = (float)(1 / optim_scaler_scale(&s->scaler));
    bool good = true;
    for (size_t k = 0; k < m->embedded.n; k++)
        good = graph_scale_grad(m->graph, m->embedded.at[k], by) && good;
    own[s->split->n_losses] = good;
}

static void run_backward(struct train_session *s, int i, double share)
{
    struct model *m = s->model;
    struct graph *g = m->graph;
    for (size_t k = 0; k < graph_n_losses(g); k++)
        graph_seed(g, k, (float)(share * (double)s->scaler.scale / s->accumulate));
    graph_backward(g, true);
    if (s->scaler.on)
        unscale_vectors(s, i);
    for (size_t k = 0; k < m->embedded.n; k++)
        s->vectors[k] = graph_read_grad(g, m->embedded.at[k]);
    dist_sharded_backward(m->lookup, i, s->vectors);
}

static enum rc run_shard(struct train_session *s, const struct train_session_batch *b,
                         int i, int64_t total, struct err *err)
{
    struct graph *g = s->model->graph;
    int64_t rows = b->rows[s->shards.first + i];
    double share = (double)rows / (double)total;
    s->shard_at = i;
    enum rc rc = train_feed_fill(s->split->feeds[i], true, err);
    if (rc)
        return rc;
    fill_vectors(s, i);
    graph_training(g, true);
    graph_stream(g, (uint64_t)(s->shards.first + i));
    graph_forward(g, s->step);
    graph_stream(g, 0);
    rc = graph_wait(g, err);
    if (rc)
        return rc;
    double loss = note_losses(s, i, share);
    if (!isfinite(loss))
        return train_blame_not_finite(s, b->at[i], loss, err);
    if (s->tap.fn)
        rc = s->tap.fn(s->tap.arg, s->shards.first + i, b->at[i], err);
    if (rc)
        return rc;
    run_backward(s, i, share);
    take_shard(s);
    dist_sum_add(&s->split->sum, i, s->split->vector);
    return RC_OK;
}

/* Losses of all shards; *finite: whether all gradients of vectors are. */
static enum rc sum_losses(struct train_session *s, const struct train_session_batch *b,
                          double *loss, bool *finite, struct err *err)
{
    struct train_shard_step *x = s->split;
    struct comm_mem own = {.data = x->own, .type = COMM_F64};
    struct comm_mem each = {.data = x->each, .type = COMM_F64};
    enum rc rc = comm_all_gather(s->options.comm, own, each, x->counts, err);
    memset(x->losses, 0, x->n_losses * sizeof(*x->losses));
    *finite = true;
    *loss = 0;
    for (int i = 0; i < s->shards.total && !rc; i++) {
        const double *at = x->each + (size_t)i * (x->n_losses + 1);
        for (size_t k = 0; b->rows[i] && k < x->n_losses; k++)
            x->losses[k] += at[k];
        *finite = *finite && (b->rows[i] == 0 || at[x->n_losses] > 0);
    }
    for (size_t k = 0; k < x->n_losses; k++)
        *loss += x->losses[k];
    return rc;
}

static int count_with_rows(const struct train_session *s,
                           const struct train_session_batch *b)
{
    int n = 0;
    for (int i = 0; i < s->shards.total; i++)
        n += b->rows[i] > 0;
    return n;
}

/* Everything that is summed over shards, and the updates. */
static enum rc update(struct train_session *s, const struct train_session_batch *b,
                      bool mid, double *loss, struct err *err)
{
    struct train_shard_step *x = s->split;
    struct embed_row_step rows = train_step_rows(s);
    bool finite;
    enum rc rc = sum_losses(s, b, loss, &finite, err);
    if (!rc && finite)
        rc = dist_sharded_update(s->model->lookup, &rows, err);
    if (!rc)
        rc = dist_sum_finish(&x->sum, b->rows, x->vector, err);
    if (rc)
        return rc;
    give_sum(s, mid, count_with_rows(s, b));
    train_step_dense(s);
    return graph_wait(s->model->graph, err);
}

enum rc train_shard_step_run(struct train_session *s, const struct train_session_batch *b,
                             double *loss, struct err *err)
{
    int64_t total = count_rows(s, b);
    bool mid = s->step % s->accumulate != 0;
    enum rc rc = look_up(s, b, err);
    train_step_mark(s, MARK_FED);
    put_start(s, mid);
    for (int i = 0; i < s->shards.n && !rc; i++)
        if (b->at[i])
            rc = run_shard(s, b, i, total, err);
    train_step_mark(s, MARK_FORWARD);
    train_step_mark(s, MARK_BACKWARD);
    return rc ? rc : update(s, b, mid, loss, err);
}
