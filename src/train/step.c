/* SPDX-License-Identifier: Apache-2.0 */
/* What a session does with one batch. train_session_train() is the whole of a training step, in
 * the order in which it happens:
 *
 *   feed            numbers and labels into the graph, ids for the lookup
 *   lookup          vectors of the ids into the graph
 *   graph forward   and the loss
 *   graph backward  gradients of vectors and of dense parameters
 *   lookup update   rows of tables move, with every batch
 *   dense update    dense parameters move, once per `accumulate` batches
 *
 * A device may queue all of it; the loss is waited for, and what follows the loss goes on while
 * the next batch is fed. That of a batch of several shards is in step_shards.c; what takes the
 * place of the last two over parameter servers is in ps.c.
 */
#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "train/blame.h"
#include "train/ps.h"
#include "train/step_private.h"

/* Vectors into the inputs of the graph: where they are, or by way of the host. */
static enum rc fill_vectors(struct train_session *s, struct err *err)
{
    struct model *m = s->model;
    bool there = m->lookup->ops->on_device;
    for (size_t i = 0; i < m->embedded.n; i++)
        s->vectors[i] = there ? graph_device_view(m->graph, m->embedded.at[i])
                              : graph_write_begin(m->graph, m->embedded.at[i]);
    enum rc rc = lookup_forward(m->lookup, s->vectors, err);
    if (!rc)
        rc = model_dense_forward(m, train_feed_dense_ids(s->feed), s->vectors, err);
    if (!rc)
        train_feed_spread(s->feed, s->vectors);
    for (size_t i = 0; i < m->embedded.n && !there; i++)
        graph_write_end(m->graph, m->embedded.at[i]);
    return rc;
}

static enum rc look_up(struct train_session *s, bool training, struct err *err)
{
    struct model *m = s->model;
    enum rc rc = lookup_prepare(m->lookup, train_feed_ids(s->feed), training, err);
    if (!rc)
        rc = fill_vectors(s, err);
    if (!rc && training)
        model_codes(m, train_feed_ids(s->feed));
    return rc;
}

static enum rc run_forward(struct train_session *s, bool training, double *loss,
                           struct err *err)
{
    struct graph *g = s->model->graph;
    graph_training(g, training);
    graph_forward(g, s->step);
    enum rc rc = graph_wait(g, err);
    if (!rc && loss)
        *loss = graph_loss(g);
    return rc;
}

/* In an accumulation each batch counts its share, times the loss scale. */
static void seed_losses(struct train_session *s)
{
    struct graph *g = s->model->graph;
    float share = s->scaler.scale / (float)s->accumulate;
    if (s->pareto) {
        train_pareto_seed(s->pareto, g, share);
        return;
    }
    for (size_t i = 0; i < graph_n_losses(g); i++)
        graph_seed(g, i, share);
}

struct embed_row_step train_step_rows(const struct train_session *s)
{
    uint64_t at = s->step - s->schedule_step, pass = s->epoch - s->schedule_epoch;
    return (struct embed_row_step){.lr = nn_schedule_at(&s->sparse.schedule, at, pass),
                                   .step = s->step + 1};
}

/* Takes the loss scale out of the gradients of vectors; false when one is not finite. */
static bool unscale_vectors(const struct train_session *s, float by)
{
    const struct model *m = s->model;
    bool good = true;
    for (size_t i = 0; i < m->embedded.n; i++)
        good = graph_scale_grad(m->graph, m->embedded.at[i], by) && good;
    return good;
}

/* Rows of tables; under loss scaling, gradients that are not finite move nothing. */
static enum rc update_rows(struct train_session *s, struct err *err)
{
    struct model *m = s->model;
    struct embed_row_step rows = train_step_rows(s);
    if (s->scaler.on && !unscale_vectors(s, (float)(1 / optim_scaler_scale(&s->scaler))))
        return RC_OK;
    for (size_t i = 0; i < m->embedded.n; i++)
        s->vectors[i] = m->lookup->ops->on_device
                            ? graph_device_grad(m->graph, m->embedded.at[i])
                            : graph_read_grad(m->graph, m->embedded.at[i]);
    model_dense_backward(m, train_feed_dense_ids(s->feed), s->vectors);
    return lookup_update(m->lookup, s->vectors, &rows, err);
}

void train_step_dense(struct train_session *s)
{
    uint64_t at = s->step - s->schedule_step, pass = s->epoch - s->schedule_epoch;
    if ((s->step + 1) % s->accumulate != 0)
        return;
    bool good = !s->scaler.on || optim_scale_grads(optim_params(s->optim),
                                                   1 / optim_scaler_scale(&s->scaler));
    if (good) {
        optim_clip_grads(&s->clip, optim_params(s->optim));
        optim_step(s->optim, at, pass);
        if (s->ema)
            optim_ema_update(s->ema);
    }
    optim_scaler_update(&s->scaler, good);
}

void train_step_mark(struct train_session *s, enum train_session_mark part)
{
    s->marks[part] = clock_mono_ns();
}

/* A batch of one shard. */
static enum rc train_whole(struct train_session *s, const struct feature_batch *b,
                           double *loss, struct err *err)
{
    enum rc rc = train_feed_take(s->feed, b, err);
    if (!rc)
        rc = train_feed_fill(s->feed, true, err);
    if (!rc)
        rc = look_up(s, true, err);
    train_step_mark(s, MARK_FED);
    if (!rc)
        rc = run_forward(s, true, loss, err);
    train_step_mark(s, MARK_FORWARD);
    if (rc)
        return rc;
    if (!isfinite(*loss))
        return train_blame_not_finite(s, b, *loss, err);
    seed_losses(s);
    graph_backward(s->model->graph, s->step % s->accumulate == 0);
    train_step_mark(s, MARK_BACKWARD);
    rc = update_rows(s, err);
    if (!rc && s->ps)
        return train_ps_step(s->ps, err);
    if (!rc)
        train_step_dense(s);
    return rc;
}

/* A loss that is not a number does, and what another rank says of itself. */
static bool names_step(const struct err *err)
{
    return err && (err->code == E1404 || str_starts(err->msg, "rank "));
}

enum rc train_session_train(struct train_session *s, const struct train_session_batch *b,
                            double *loss, struct err *err)
{
    train_step_mark(s, MARK_START);
    enum rc rc = s->split ? train_shard_step_run(s, b, loss, err)
                          : train_whole(s, b->at[0], loss, err);
    train_step_mark(s, MARK_UPDATED);
    if (rc && !names_step(err))
        return err_wrap(err, rc, "step %ju", (uintmax_t)s->step);
    if (rc)
        return rc;
    s->step++;
    for (int i = 0; i < s->shards.total; i++)
        s->rows += (uint64_t)b->rows[i];
    return RC_OK;
}

const double *train_session_losses(const struct train_session *s)
{
    return s->split ? train_shard_step_losses(s->split) : NULL;
}

const struct train_feed *train_session_feed(const struct train_session *s)
{
    return s->split ? train_shard_step_feed(s->split) : s->feed;
}

struct dist_traffic train_session_traffic(const struct train_session *s)
{
    return s->split ? train_shard_step_traffic(s) : (struct dist_traffic){0};
}

enum rc train_session_forward(struct train_session *s, const struct feature_batch *b,
                              bool targets, double *loss, struct err *err)
{
    train_feed_share(s->feed, !targets && !s->model->lookup->ops->on_device);
    enum rc rc = train_feed_take(s->feed, b, err);
    if (!rc)
        rc = train_feed_fill(s->feed, targets, err);
    if (!rc)
        rc = look_up(s, false, err);
    train_feed_share(s->feed, false);
    return rc ? rc : run_forward(s, false, targets ? loss : NULL, err);
}

enum rc train_session_idle(struct train_session *s, struct err *err)
{
    size_t n = (size_t)lookup_n_slots(s->model->lookup);
    struct embed_slot_ids *none = mem_calloc(n + 1, sizeof(*none));
    enum rc rc = lookup_prepare(s->model->lookup, none, false, err);
    mem_free(none);
    return rc;
}
