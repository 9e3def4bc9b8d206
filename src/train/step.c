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
 * With several ranks each has its own rows of one batch. Means divide by the rows of all,
 * so that what the ranks have is added up: losses after the forward pass, dense gradients
 * before their update, both in the order of ranks, which leaves the same bytes on each.
 */
#include <math.h>

#include "base/clock.h"
#include "comm/comm.h"
#include "train/blame.h"
#include "train/session.h"

/* Rows of the batch on all ranks; 0 on one rank, where they are those of the batch. */
static enum rc count_rows(const struct train_session *s, const struct feature_batch *b,
                          int64_t *total, struct err *err)
{
    *total = b->rows;
    if (comm_world(s->options.comm) > 1)
        return comm_all_reduce(s->options.comm, comm_i64(total), 1, COMM_SUM, err);
    *total = 0;
    return RC_OK;
}

/* Vectors of the batch's ids into the inputs of the graph. */
static enum rc look_up(struct train_session *s, bool training, struct err *err)
{
    struct model *m = s->model;
    enum rc rc = lookup_prepare(m->lookup, train_feed_ids(s->feed), training, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < m->embedded.n; i++)
        s->vectors[i] = graph_write_begin(m->graph, m->embedded.at[i]);
    rc = lookup_forward(m->lookup, s->vectors, err);
    for (size_t i = 0; i < m->embedded.n; i++)
        graph_write_end(m->graph, m->embedded.at[i]);
    if (!rc && training)
        model_codes(m, train_feed_ids(s->feed));
    return rc;
}

static enum rc run_forward(struct train_session *s, bool training, double *loss,
                           struct err *err)
{
    struct graph *g = s->model->graph;
    struct comm_mem sum = {.data = loss, .type = COMM_F64};
    graph_training(g, training);
    graph_forward(g, s->step);
    enum rc rc = graph_wait(g, err);
    if (rc || !loss)
        return rc;
    *loss = graph_loss(g);
    return training ? comm_all_reduce(s->options.comm, sum, 1, COMM_SUM, err) : RC_OK;
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

/* Takes the loss scale out of the gradients of vectors; *finite is false on all ranks
 * when one of them is not.
 */
static enum rc unscale_vectors(const struct train_session *s, float by, bool *finite,
                               struct err *err)
{
    const struct model *m = s->model;
    int64_t good = 1;
    for (size_t i = 0; i < m->embedded.n; i++)
        good = graph_scale_grad(m->graph, m->embedded.at[i], by) && good;
    enum rc rc = comm_all_reduce(s->options.comm, comm_i64(&good), 1, COMM_MIN, err);
    *finite = good;
    return rc;
}

/* Rows of tables; under loss scaling, gradients that are not finite move nothing. */
static enum rc update_rows(struct train_session *s, struct err *err)
{
    struct model *m = s->model;
    uint64_t at = s->step - s->schedule_step, pass = s->epoch - s->schedule_epoch;
    struct embed_row_step rows = {.lr = nn_schedule_at(&s->sparse.schedule, at, pass),
                                  .step = s->step + 1};
    bool finite = true;
    enum rc rc = RC_OK;
    if (s->scaler.on)
        rc =
            unscale_vectors(s, (float)(1 / optim_scaler_scale(&s->scaler)), &finite, err);
    if (rc || !finite)
        return rc;
    for (size_t i = 0; i < m->embedded.n; i++)
        s->vectors[i] = graph_read_grad(m->graph, m->embedded.at[i]);
    return lookup_update(m->lookup, s->vectors, &rows, err);
}

/* Adds up the dense gradients of all ranks, all parameters in one call. */
static enum rc reduce_grads(struct train_session *s, struct err *err)
{
    size_t n;
    struct param *const *params = graph_params(s->model->graph, &n);
    float *at = s->grads;
    for (size_t i = 0; i < n; i++)
        if (param_read_grad(params[i])) {
            param_get_grad(params[i], at);
            at += params[i]->n;
        }
    enum rc rc = comm_all_reduce(s->options.comm, comm_f32(s->grads), at - s->grads,
                                 COMM_SUM, err);
    at = s->grads;
    for (size_t i = 0; i < n && !rc; i++)
        if (param_read_grad(params[i])) {
            param_set_grad(params[i], at);
            at += params[i]->n;
        }
    return rc;
}

static enum rc update_dense(struct train_session *s, struct err *err)
{
    uint64_t at = s->step - s->schedule_step, pass = s->epoch - s->schedule_epoch;
    enum rc rc = RC_OK;
    if ((s->step + 1) % s->accumulate != 0)
        return RC_OK;
    if (comm_world(s->options.comm) > 1)
        rc = reduce_grads(s, err);
    if (rc)
        return rc;
    bool good = !s->scaler.on || optim_scale_grads(optim_params(s->optim),
                                                   1 / optim_scaler_scale(&s->scaler));
    if (good) {
        optim_clip_grads(&s->clip, optim_params(s->optim));
        optim_step(s->optim, at, pass);
        if (s->ema)
            optim_ema_update(s->ema);
    }
    optim_scaler_update(&s->scaler, good);
    return RC_OK;
}

static void mark(struct train_session *s, enum train_session_mark part)
{
    s->marks[part] = clock_mono_ns();
}

enum rc train_session_train(struct train_session *s, const struct feature_batch *b,
                            double *loss, struct err *err)
{
    int64_t total;
    mark(s, MARK_START);
    enum rc rc = count_rows(s, b, &total, err);
    if (!rc)
        rc = train_feed_batch(s->feed, b, total, true, err);
    if (!rc)
        rc = look_up(s, true, err);
    mark(s, MARK_FED);
    if (!rc)
        rc = run_forward(s, true, loss, err);
    mark(s, MARK_FORWARD);
    if (rc)
        return err_wrap(err, rc, "step %ju", (uintmax_t)s->step);
    if (!isfinite(*loss))
        return train_blame_not_finite(s, b, *loss, err);
    seed_losses(s);
    graph_backward(s->model->graph, s->step % s->accumulate == 0);
    mark(s, MARK_BACKWARD);
    rc = update_rows(s, err);
    if (!rc)
        rc = update_dense(s, err);
    if (!rc)
        rc = graph_wait(s->model->graph, err);
    mark(s, MARK_UPDATED);
    if (rc)
        return err_wrap(err, rc, "step %ju", (uintmax_t)s->step);
    s->step++;
    s->rows += (uint64_t)(total ? total : b->rows);
    return RC_OK;
}

enum rc train_session_forward(struct train_session *s, const struct feature_batch *b,
                              bool targets, double *loss, struct err *err)
{
    enum rc rc = train_feed_batch(s->feed, b, 0, targets, err);
    if (!rc)
        rc = look_up(s, false, err);
    return rc ? rc : run_forward(s, false, targets ? loss : NULL, err);
}
