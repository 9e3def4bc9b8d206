/* SPDX-License-Identifier: Apache-2.0 */
/* A training step over several shards of a batch. A shard is what a rank has in data
 * parallel training: rows, batch statistics and random numbers of its own. Here a rank
 * works on one or more of them, one after the other through the same graph:
 *
 *   lookup          distinct ids of all shards to their tables, vectors back
 *   each shard      feed, forward, backward; its loss counts by its share of the rows
 *   dense update    by sums over shards, bucket by bucket (buckets.h)
 *   lookup update   rows of tables move, by sums over shards
 *
 * With several ranks a courier carries what need not be waited for: the ids of the next
 * batch while this one is worked on, buckets of gradients while the rest of the backward
 * pass runs, gradients of vectors while dense parameters move.
 *
 * Whatever is summed over shards is summed in their order, wherever they were worked on,
 * so the result does not depend on the number of ranks.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "comm/courier.h"
#include "dist/sharded.h"
#include "train/blame.h"
#include "train/buckets.h"
#include "train/step_private.h"

/* What the shards of a batch ask the lookup for. */
struct batch_feeds {
    struct train_feed **at;            /* [shards.n] */
    const struct embed_slot_ids **ids; /* [shards.n] */
};

struct train_shard_step {
    struct batch_feeds feeds[2]; /* of the batch at hand, and of the next */
    int at;                      /* which is the former */
    /* The next one, whose ids travel; NULL: there is none. */
    const struct feature_batch *const *ahead;
    bool own_feeds;              /* none of them is the session's */
    struct embed_slot_ids *none; /* [slots]: of a shard without rows */
    struct train_buckets *buckets;
    struct comm_errand tell; /* sums of gradients of vectors to their owners */
    struct dist_notes notes;
    int most;           /* shards of a rank */
    double *own, *each; /* [most], [world][most] times (losses, finite) */
    double *losses;     /* [losses]: of all shards */
    size_t n_losses;
};

/* Feeds of a batch. Between two steps others use the session's own, so with several ranks,
 * where the next batch is taken before, there are feeds for all.
 */
static enum rc make_feeds(struct train_session *s, struct train_shard_step *x,
                          struct batch_feeds *f, struct err *err)
{
    enum rc rc = RC_OK;
    f->at = mem_calloc((size_t)s->shards.n + 1, sizeof(*f->at));
    f->ids = mem_calloc((size_t)s->shards.n + 1, sizeof(*f->ids));
    if (!x->own_feeds)
        f->at[0] = s->feed;
    for (int i = x->own_feeds ? 0 : 1; i < s->shards.n && !rc; i++)
        rc = train_feed_create(s->model, s->plan, &f->at[i], err);
    return rc;
}

static void release_feeds(const struct train_shard_step *x, struct batch_feeds *f)
{
    for (int i = x->own_feeds ? 0 : 1; f->at && (i == 0 || f->at[0]) && f->at[i]; i++)
        train_feed_destroy(f->at[i]);
    mem_free(f->at);
    mem_free(f->ids);
}

/* Shards of the rank that has most: every rank tells the losses of so many. */
static int most_shards(const struct train_session *s)
{
    int world = comm_world(s->options.comm);
    return (s->shards.total + world - 1) / world;
}

static void make_notes(struct train_session *s, struct train_shard_step *x)
{
    x->n_losses = graph_n_losses(s->model->graph);
    x->losses = mem_calloc(x->n_losses + 1, sizeof(*x->losses));
    x->most = most_shards(s);
    size_t told = (size_t)x->most * (x->n_losses + 1);
    x->own = mem_calloc(told, sizeof(*x->own));
    x->each = mem_calloc((size_t)comm_world(s->options.comm) * told, sizeof(*x->each));
    x->notes = (struct dist_notes){.n = (int64_t)told, .own = x->own, .all = x->each};
}

enum rc train_shard_step_create(struct train_session *s, struct train_shard_step **out,
                                struct err *err)
{
    struct train_shard_step *x = mem_calloc(1, sizeof(*x));
    size_t slots = (size_t)lookup_n_slots(s->model->lookup);
    enum rc rc = RC_OK;
    *out = x;
    if (s->options.half_wire)
        dist_sharded_half(s->model->lookup);
    x->own_feeds = comm_world(s->options.comm) > 1;
    x->none = mem_calloc(slots + 1, sizeof(*x->none));
    make_notes(s, x);
    for (int i = 0; i < (x->own_feeds ? 2 : 1) && !rc; i++)
        rc = make_feeds(s, x, &x->feeds[i], err);
    if (!rc && x->own_feeds)
        rc = comm_courier_create(s->options.comm, &s->courier, err);
    return rc ? rc
              : train_buckets_create(s->model->graph, s->options.comm, s->courier,
                                     s->shards, &x->buckets, err);
}

void train_shard_step_destroy(struct train_shard_step *x)
{
    if (!x)
        return;
    for (int i = 0; i < 2; i++)
        release_feeds(x, &x->feeds[i]);
    train_buckets_destroy(x->buckets);
    mem_free(x->none);
    mem_free(x->own);
    mem_free(x->each);
    mem_free(x->losses);
    mem_free(x);
}

struct dist_traffic train_shard_step_traffic(const struct train_session *s)
{
    struct dist_traffic rows = dist_sharded_traffic(s->model->lookup);
    struct dist_traffic t = train_buckets_traffic(s->split->buckets);
    return (struct dist_traffic){.sent = t.sent + rows.sent,
                                 .least = t.least + rows.least,
                                 .ids = rows.ids,
                                 .floats = rows.floats,
                                 .dense = t.dense,
                                 .written = rows.written};
}

const struct train_feed *train_shard_step_feed(const struct train_shard_step *x)
{
    return x->feeds[x->at].at[0];
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

/* at[shards.n] into feeds, and their ids; a shard without rows asks for nothing. */
static enum rc take_batch(struct train_session *s, struct batch_feeds *f,
                          const struct feature_batch *const *at, struct err *err)
{
    enum rc rc = RC_OK;
    for (int i = 0; i < s->shards.n && !rc; i++) {
        s->shard_at = i;
        if (at[i])
            rc = train_feed_take(f->at[i], at[i], err);
        f->ids[i] = at[i] ? train_feed_ids(f->at[i]) : s->split->none;
    }
    return rc;
}

/* The ids of the next batch go on their way. */
static enum rc look_ahead(struct train_session *s, struct err *err)
{
    struct train_shard_step *x = s->split;
    struct batch_feeds *next = &x->feeds[1 - x->at];
    if (!s->courier || !s->ahead.fn)
        return RC_OK;
    const struct feature_batch *const *at = s->ahead.fn(s->ahead.arg);
    enum rc rc = at ? take_batch(s, next, at, err) : RC_OK;
    x->ahead = rc ? NULL : at;
    if (x->ahead)
        dist_sharded_ahead(s->model->lookup, s->courier, next->ids, s->shards);
    return rc;
}

/* A batch without rows on any rank, the end of a pass, was taken ahead and is not worked on. */
static enum rc take_next(struct train_session *s, const struct train_session_batch *b,
                         struct err *err)
{
    struct train_shard_step *x = s->split;
    bool known = x->ahead == b->at;
    enum rc rc = RC_OK;
    if (x->ahead && !known)
        rc = dist_sharded_forget(s->model->lookup, err);
    x->ahead = NULL;
    if (!known)
        return rc ? rc : take_batch(s, &x->feeds[x->at], b->at, err);
    x->at = 1 - x->at;
    return RC_OK;
}

static enum rc look_up(struct train_session *s, const struct train_session_batch *b,
                       struct err *err)
{
    struct train_shard_step *x = s->split;
    enum rc rc = take_next(s, b, err);
    if (rc)
        return rc;
    s->shard_at = s->shards.n == 1 ? 0 : -1;
    rc =
        dist_sharded_prepare(s->model->lookup, x->feeds[x->at].ids, s->shards, true, err);
    return rc ? rc : look_ahead(s, err);
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
    model_codes(m, s->split->feeds[s->split->at].ids[i]);
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

/* Losses count by the shard's share of the rows; under Pareto weights each shard weighs them
 * by its own gradients, as a rank of TorchEasyRec does.
 */
static void seed_losses(struct train_session *s, double share)
{
    struct graph *g = s->model->graph;
    float scale = (float)(share * (double)s->scaler.scale / s->accumulate);
    if (s->pareto)
        train_pareto_seed(s->pareto, g, scale);
    for (size_t k = 0; k < graph_n_losses(g) && !s->pareto; k++)
        graph_seed(g, k, scale);
}

static void run_backward(struct train_session *s, int i, double share)
{
    struct model *m = s->model;
    struct graph *g = m->graph;
    seed_losses(s, share);
    train_buckets_shard(s->split->buckets, i);
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
    enum rc rc = train_feed_fill(s->split->feeds[s->split->at].at[i], true, err);
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
    return RC_OK;
}

/* Losses of all shards, as their ranks told them; *finite: whether all gradients of vectors
 * are.
 */
static void sum_losses(struct train_session *s, const struct train_session_batch *b,
                       double *loss, bool *finite)
{
    struct train_shard_step *x = s->split;
    int world = comm_world(s->options.comm);
    size_t words = x->n_losses + 1;
    memset(x->losses, 0, x->n_losses * sizeof(*x->losses));
    *finite = true;
    *loss = 0;
    for (int r = 0; r < world; r++) {
        struct dist_shards of = dist_shards_of(r, world, s->shards.total);
        const double *at = x->each + (size_t)r * (size_t)x->most * words;
        for (int i = of.first; i < of.first + of.n; i++, at += words) {
            for (size_t k = 0; b->rows[i] && k < x->n_losses; k++)
                x->losses[k] += at[k];
            *finite = *finite && (b->rows[i] == 0 || at[x->n_losses] > 0);
        }
    }
    for (size_t k = 0; k < x->n_losses; k++)
        *loss += x->losses[k];
}

static enum rc tell_sums(void *arg, struct err *err)
{
    struct train_session *s = arg;
    return dist_sharded_tell(s->model->lookup, &s->split->notes, err);
}

/* Dense parameters move while sums of gradients of vectors are on their way. */
static enum rc update_dense(struct train_session *s, struct err *err)
{
    enum rc rc = train_buckets_finish(s->split->buckets, err);
    if (!rc)
        train_step_dense(s);
    return rc;
}

/* Everything that is summed over shards, and the updates. A rank without rows makes its calls
 * in the order of the others: buckets, then sums of gradients of vectors.
 */
static enum rc update(struct train_session *s, const struct train_session_batch *b,
                      double *loss, struct err *err)
{
    struct train_shard_step *x = s->split;
    struct embed_row_step rows = train_step_rows(s);
    bool finite = true;
    train_buckets_rest(x->buckets);
    x->tell = (struct comm_errand){.run = tell_sums, .arg = s};
    comm_courier_post(s->courier, &x->tell);
    enum rc rc = update_dense(s, err);
    if (!rc)
        rc = comm_courier_wait(s->courier, &x->tell, err);
    if (!rc)
        sum_losses(s, b, loss, &finite);
    if (!rc && finite)
        rc = dist_sharded_update(s->model->lookup, &rows, err);
    return rc ? rc : graph_wait(s->model->graph, err);
}

/* The shard whose backward pass is the last one here; -1: none has rows. */
static int last_with_rows(const struct train_session *s,
                          const struct train_session_batch *b)
{
    for (int i = s->shards.n; i-- > 0;)
        if (b->at[i])
            return i;
    return -1;
}

enum rc train_shard_step_run(struct train_session *s, const struct train_session_batch *b,
                             double *loss, struct err *err)
{
    int64_t total = count_rows(s, b);
    enum rc rc = look_up(s, b, err);
    train_step_mark(s, MARK_FED);
    train_buckets_begin(s->split->buckets, b->rows, last_with_rows(s, b),
                        s->step % s->accumulate != 0);
    for (int i = 0; i < s->shards.n && !rc; i++)
        if (b->at[i])
            rc = run_shard(s, b, i, total, err);
    train_step_mark(s, MARK_FORWARD);
    train_step_mark(s, MARK_BACKWARD);
    return rc ? rc : update(s, b, loss, err);
}
