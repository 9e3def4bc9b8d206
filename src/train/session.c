/* SPDX-License-Identifier: Apache-2.0 */
#include "train/session.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tensor/kernel.h"
#include "train/blame.h"

static enum rc make_optimisers(struct session *s, struct err *err)
{
    const struct pc_TrainConfig *t = s->conf->train_config;
    struct optim_options options = {.pool = s->options.pool};
    size_t n;
    struct param *const *params = graph_params(s->model->graph, &n);
    enum rc rc = optim_create(t->dense_optimizer, params, n, &options, &s->optim, err);
    if (!rc)
        rc = clip_from(t->grad_clipping, &s->clip, err);
    if (!rc)
        rc = scaler_from(t->grad_scaler, &s->scaler, err);
    if (!rc && t->dense_optimizer->ema)
        rc = ema_create(t->dense_optimizer->ema->decay, optim_params(s->optim), &s->ema,
                        err);
    if (!rc)
        rc = pareto_create(s->model, &s->pareto, err);
    s->accumulate =
        t->gradient_accumulation_steps > 1 ? t->gradient_accumulation_steps : 1;
    return rc;
}

static uint64_t rows_of(const void *arg, const char *feature)
{
    const struct feature_plan *plan = arg;
    int64_t at = feature_plan_find(plan, str_c(feature));
    return at < 0 ? 0 : feature_plan_info(plan, (size_t)at)->rows;
}

static enum rc make_model(struct session *s, struct err *err)
{
    const struct pc_TrainConfig *t = s->conf->train_config;
    const struct pc_ExportConfig *x = s->conf->export_config;
    bool training = s->options.training;
    const char *mixed = training && t ? t->mixed_precision : x ? x->mixed_precision : "";
    bool pareto = s->options.training && s->conf->model_config &&
                  s->conf->model_config->use_pareto_loss_weight;
    struct model_options options = {
        .graph = {.pool = s->options.pool,
                  .precision = mixed[0] ? GEMM_BF16 : GEMM_F32,
                  .training = training,
                  .fixed = !training,
                  .keep = pareto,
                  .seed = s->options.seed},
        .row_opt = s->sparse.rule,
        .max_gradient = s->sparse.max_gradient,
        .table_dir = s->options.table_dir,
        .alone = !training,
        .rows = rows_of,
        .rows_arg = s->plan};
    return model_create(s->conf, &options, &s->model, err);
}

enum rc session_create(const struct pc_EasyRecConfig *conf,
                       const struct session_options *options, struct session **out,
                       struct diags *diags, struct err *err)
{
    struct session *s = mem_calloc(1, sizeof(*s));
    struct feature_options features = {.farm_hash = options->farm_hash,
                                       .no_labels = options->no_labels,
                                       .dir = options->dir};
    s->conf = conf;
    s->options = *options;
    enum rc rc = feature_plan_create(conf, &features, &s->plan, diags, err);
    if (!rc && options->training && !conf->train_config)
        rc = err_set(err, RC_INVAL, "the config has no train_config");
    if (!rc && options->training)
        rc = sparse_optim_from(conf->train_config->sparse_optimizer, &s->sparse, err);
    if (!rc)
        rc = make_model(s, err);
    if (!rc && options->training)
        rc = make_optimisers(s, err);
    if (!rc)
        rc = feed_create(s->model, s->plan, &s->feed, err);
    if (rc)
        session_destroy(s);
    else
        *out = s;
    return rc;
}

void session_destroy(struct session *s)
{
    if (!s)
        return;
    feed_destroy(s->feed);
    pareto_destroy(s->pareto);
    ema_destroy(s->ema);
    optim_destroy(s->optim);
    model_destroy(s->model);
    if (!s->shared)
        feature_plan_destroy(s->plan);
    mem_free(s);
}

enum rc session_share(const struct session *from, struct session **out, struct err *err)
{
    struct session *s = mem_calloc(1, sizeof(*s));
    size_t n, n_from;
    s->conf = from->conf;
    s->options = from->options;
    s->options.pool = NULL;
    s->shared = true;
    s->plan = from->plan;
    s->step = from->step;
    enum rc rc = make_model(s, err);
    if (!rc)
        rc = feed_create(s->model, s->plan, &s->feed, err);
    if (rc) {
        session_destroy(s);
        return rc;
    }
    embed_share(s->model->embed, from->model->embed);
    struct param *const *params = graph_params(s->model->graph, &n);
    struct param *const *values = graph_params(from->model->graph, &n_from);
    for (size_t i = 0; i < n && i < n_from; i++)
        param_set(params[i], param_read(values[i]));
    *out = s;
    return RC_OK;
}

/* Takes the loss scale out of the gradients of vectors; false when one is not finite. */
static bool unscale_vectors(const struct session *s, float by)
{
    const struct model *m = s->model;
    bool finite = true;
    for (size_t i = 0; i < m->embedded.n; i++)
        finite = graph_scale_grad(m->graph, m->embedded.at[i], by) && finite;
    return finite;
}

/* Dense parameters move once per `accumulate` batches; rows of tables with every batch.
 * Under loss scaling, gradients that are not finite move nothing.
 */
static void update(struct session *s)
{
    uint64_t at = s->step - s->schedule_step, pass = s->epoch - s->schedule_epoch;
    struct embed_row_step rows = {.lr = schedule_at(&s->sparse.schedule, at, pass),
                                  .step = s->step + 1};
    double by = 1 / scaler_scale(&s->scaler);
    if (!s->scaler.on || unscale_vectors(s, (float)by))
        feed_update(s->feed, &rows);
    if ((s->step + 1) % s->accumulate != 0)
        return;
    bool good = !s->scaler.on || scale_grads(optim_params(s->optim), by);
    if (good) {
        clip_grads(&s->clip, optim_params(s->optim));
        optim_step(s->optim, at, pass);
        if (s->ema)
            ema_update(s->ema);
    }
    scaler_update(&s->scaler, good);
}

/* In an accumulation each batch counts its share, times the loss scale. */
static void seed(struct session *s, double *loss)
{
    struct graph *g = s->model->graph;
    float share = s->scaler.scale / (float)s->accumulate;
    if (s->pareto) {
        *loss = pareto_seed(s->pareto, g, share);
        return;
    }
    for (size_t i = 0; i < graph_n_losses(g); i++)
        graph_seed(g, i, share);
}

enum rc session_train(struct session *s, const struct feature_batch *b, double *loss,
                      struct err *err)
{
    struct graph *g = s->model->graph;
    s->marks[MARK_START] = clock_mono_ns();
    enum rc rc = feed_batch(s->feed, b, true, true, err);
    if (rc)
        return err_wrap(err, rc, "step %ju", (uintmax_t)s->step);
    s->marks[MARK_FED] = clock_mono_ns();
    graph_training(g, true);
    graph_forward(g, s->step);
    *loss = graph_loss(g);
    s->marks[MARK_FORWARD] = clock_mono_ns();
    if (!isfinite(*loss))
        return blame_not_finite(s, b, *loss, err);
    seed(s, loss);
    graph_backward(g, s->step % s->accumulate == 0);
    s->marks[MARK_BACKWARD] = clock_mono_ns();
    update(s);
    s->marks[MARK_UPDATED] = clock_mono_ns();
    s->step++;
    s->rows += (uint64_t)b->rows;
    return RC_OK;
}

enum rc session_forward(struct session *s, const struct feature_batch *b, bool targets,
                        double *loss, struct err *err)
{
    enum rc rc = feed_batch(s->feed, b, false, targets, err);
    if (rc)
        return rc;
    graph_training(s->model->graph, false);
    graph_forward(s->model->graph, s->step);
    if (targets)
        *loss = graph_loss(s->model->graph);
    return RC_OK;
}

void session_bytes(const struct session *s, size_t *tables, size_t *dense,
                   size_t *activations)
{
    size_t n;
    struct param *const *params = graph_params(s->model->graph, &n);
    *tables = *dense = 0;
    for (int i = 0; i < embed_n_tables(s->model->embed); i++) {
        const struct embed_table *t = embed_table_at(s->model->embed, i);
        *tables += embed_table_bytes(t) + (t->keyed ? embed_keyed_bytes(t->keyed) : 0);
    }
    for (size_t i = 0; i < n; i++)
        *dense += (size_t)params[i]->n * sizeof(float);
    *activations = graph_bytes(s->model->graph);
}
