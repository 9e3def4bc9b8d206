/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a session: first the plan of features, which says how many ids there are, then
 * the model with its graph and tables, then what trains it. What a session does with a
 * batch is in step.c.
 */
#include "train/session.h"

#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "comm/courier.h"
#include "dist/sharded.h"
#include "train/dense_tables.h"
#include "train/row_dump.h"
#include "train/score.h"
#include "train/source.h"
#include "train/step_private.h"

static enum rc make_optimizers(struct train_session *s, struct err *err)
{
    const struct pc_TrainConfig *t = s->conf->train_config;
    struct optim_options options = {.pool = s->options.pool};
    size_t n;
    struct param *const *params = graph_params(s->model->graph, &n);
    enum rc rc = optim_create(t->dense_optimizer, params, n, &options, &s->optim, err);
    if (!rc)
        rc = optim_clip_from(t->grad_clipping, &s->clip, err);
    if (!rc)
        rc = optim_scaler_from(t->grad_scaler, &s->scaler, err);
    if (!rc && t->dense_optimizer->ema)
        rc = optim_ema_create(t->dense_optimizer->ema->decay, optim_params(s->optim),
                              &s->ema, err);
    if (!rc)
        rc = train_pareto_create(s->model, &s->pareto, err);
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

static const struct lookup_ops *lookup_of(const struct train_session *s)
{
    const struct device *device = s->options.device;
    if (s->shards.total > 1)
        return &dist_sharded_ops;
    return s->options.lookup || !device ? s->options.lookup : device->ops->lookup;
}

/* `rows` of `arg`: how many ids a feature has, where the config does not say. */
static enum rc build_model(struct train_session *s,
                           uint64_t (*rows)(const void *arg, const char *feature),
                           const void *arg, struct err *err)
{
    const struct pc_TrainConfig *t = s->conf->train_config;
    const struct pc_ExportConfig *x = s->conf->export_config;
    bool training = s->options.training;
    const char *mixed = training && t ? t->mixed_precision : x ? x->mixed_precision : "";
    bool pareto = s->options.training && s->conf->model_config &&
                  s->conf->model_config->use_pareto_loss_weight;
    struct model_options options = {
        .comm = s->options.comm,
        .graph = {.pool = s->options.pool,
                  .device = s->options.device,
                  .precision = mixed[0] ? GEMM_BF16 : GEMM_F32,
                  .tf32 = training ? t && t->cuda_matmul_allow_tf32
                                   : x && x->cuda_matmul_allow_tf32,
                  .training = training,
                  .fixed = !training,
                  .keep = pareto,
                  .memory = s->options.device ? 0 : s->options.memory,
                  .seed = s->options.seed},
        .row_opt = s->sparse.rule,
        .max_gradient = s->sparse.max_gradient,
        .reference = s->options.reference,
        .dense = train_dense_tables_are,
        .dense_arg = s,
        .table_dir = s->options.table_dir,
        .lookup = lookup_of(s),
        .inner = s->shards.total > 1 ? s->options.lookup : NULL,
        .alone = !training || s->options.alone,
        .rows = rows,
        .rows_arg = arg};
    return model_create(s->conf, &options, &s->model, err);
}

static enum rc make_model(struct train_session *s, struct err *err)
{
    enum rc rc = build_model(s, rows_of, s->plan, err);
    if (!rc && s->model->one_shard && s->shards.total > 1)
        rc = err_coded(err, RC_UNSUPPORTED, E0395,
                       "%s needs all rows of a batch in one place, and this run has %d "
                       "shards; use one rank and --shards 1",
                       s->model->one_shard, s->shards.total);
    if (!rc)
        rc = train_feed_create(s->model, s->plan, &s->feed, err);
    if (!rc && s->model->dense.n)
        rc = train_dense_tables_check(s, err);
    if (!rc)
        model_dense_begin(s->model);
    if (!rc)
        s->vectors = mem_calloc(s->model->embedded.n + 1, sizeof(*s->vectors));
    return rc;
}

enum rc train_session_create(const struct pc_EasyRecConfig *conf,
                             const struct train_session_options *options,
                             struct train_session **out, struct diags *diags,
                             struct err *err)
{
    struct train_session *s = mem_calloc(1, sizeof(*s));
    struct feature_options features = {.farm_hash = options->farm_hash,
                                       .no_labels = options->no_labels,
                                       .no_places = options->no_places,
                                       .dir = options->dir};
    s->conf = conf;
    s->options = *options;
    s->shards =
        dist_shards_of(comm_rank(options->comm), comm_world(options->comm),
                       options->shards > 0 ? options->shards : comm_world(options->comm));
    enum rc rc = feature_plan_create(conf, &features, &s->plan, diags, err);
    if (!rc && options->training && !conf->train_config)
        rc = err_set(err, RC_INVAL, "the config has no train_config");
    if (!rc && options->training)
        rc = optim_sparse_from(conf->train_config->sparse_optimizer, &s->sparse, err);
    if (!rc)
        rc = make_model(s, err);
    if (!rc)
        rc = lookup_finish(s->model->lookup, err);
    if (!rc && options->training)
        rc = make_optimizers(s, err);
    if (!rc && options->training && s->shards.total > 1)
        rc = train_shard_step_create(s, &s->split, err);
    if (rc)
        train_session_destroy(s);
    else
        *out = s;
    return rc;
}

static uint64_t one_row(const void *arg, const char *feature)
{
    return 1;
}

/* A file that a feature reads and that is not here may be where training will run. */
static void excuse_files(struct diags *diags)
{
    for (size_t i = 0; i < diags->list.n; i++) {
        struct diag *g = &diags->list.at[i];
        bool file = g->code == E1309 || g->code == E1312 || g->code == E1313;
        if (!file || g->severity != DIAG_ERROR || !strstr(g->msg, "No such file"))
            continue;
        g->severity = DIAG_WARNING;
        diags->n_errors--;
        diags->n_warnings++;
    }
}

/* The features and how their columns are read. */
static enum rc try_features(struct train_session *s, struct diags *diags, struct err *err)
{
    struct feature_options features = {.farm_hash = s->options.farm_hash};
    struct dataset_conf read;
    struct arena a = {0};
    enum rc rc = feature_plan_create(s->conf, &features, &s->plan, diags, err);
    excuse_files(diags);
    if (rc)
        return diags->n_errors ? rc : RC_OK;
    rc = train_source_conf(s->conf->data_config, s->plan, "", SOURCE_TRAIN, 0,
                           (struct train_source_share){0}, &a, &read, err);
    arena_release(&a);
    return rc;
}

/* What is made beside the model: scores and dumps. */
static enum rc try_rest(struct train_session *s, struct err *err)
{
    const struct pc_DeltaEmbeddingDumpConfig *dump =
        s->conf->train_config->delta_embedding_dump_config;
    struct train_score *score = NULL;
    struct train_row_dump *rows = NULL;
    enum rc rc = train_score_create(s, true, &score, err);
    train_score_destroy(score);
    score = NULL;
    if (!rc)
        rc = train_score_create(s, false, &score, err);
    train_score_destroy(score);
    if (!rc && dump)
        rc = train_row_dump_create(dump, s->conf->model_dir, s->model, NULL, &rows, err);
    train_row_dump_destroy(rows);
    return rc;
}

/* Groups that the model leaves out, and their features with them. */
static void warn_unread(const struct train_session *s, struct diags *diags)
{
    const struct pc_ModelConfig *mc = s->conf->model_config;
    for (int64_t i = 0; i < mc->n_feature_groups; i++) {
        const struct pc_FeatureGroupConfig *g = mc->feature_groups[i];
        if (model_reads_group(s->model, i))
            continue;
        schema_report(
            diags, DIAG_WARNING, E0208, &g->base, "group_name",
            "%s does not read the group '%s': its %jd feature%s no effect there",
            s->model->ops->name, g->group_name, (intmax_t)g->n_feature_names,
            g->n_feature_names == 1 ? " has" : "s have");
    }
}

enum rc train_session_try(const struct pc_EasyRecConfig *conf, struct pool *pool,
                          struct diags *diags, struct err *err)
{
    struct train_session *s = mem_calloc(1, sizeof(*s));
    s->conf = conf;
    s->options =
        (struct train_session_options){.pool = pool, .seed = 1, .training = true};
    enum rc rc = try_features(s, diags, err);
    if (!rc)
        rc = optim_sparse_from(conf->train_config->sparse_optimizer, &s->sparse, err);
    if (!rc)
        rc = build_model(s, one_row, NULL, err);
    if (!rc)
        rc = make_optimizers(s, err);
    if (!rc && s->plan)
        rc = try_rest(s, err);
    if (!rc)
        warn_unread(s, diags);
    train_session_destroy(s);
    return rc;
}

void train_session_quit(struct train_session *s)
{
    if (!s)
        return;
    comm_courier_destroy(s->courier);
    s->courier = NULL;
}

void train_session_destroy(struct train_session *s)
{
    if (!s)
        return;
    train_session_quit(s);
    train_feed_destroy(s->feed);
    mem_free(s->vectors);
    train_shard_step_destroy(s->split);
    train_pareto_destroy(s->pareto);
    optim_ema_destroy(s->ema);
    optim_destroy(s->optim);
    model_destroy(s->model);
    if (!s->shared)
        feature_plan_destroy(s->plan);
    data_schema_release(&s->columns);
    mem_free(s->outside);
    mem_free(s);
}

enum rc train_session_share(const struct train_session *from, struct train_session **out,
                            struct err *err)
{
    struct train_session *s = mem_calloc(1, sizeof(*s));
    size_t n, n_from;
    s->conf = from->conf;
    s->options = from->options;
    s->options.pool = NULL;
    s->shared = true;
    s->shards = from->shards;
    s->plan = from->plan;
    s->step = from->step;
    enum rc rc = make_model(s, err);
    if (!rc)
        rc = lookup_share(s->model->lookup, from->model->lookup, err);
    if (rc) {
        train_session_destroy(s);
        return rc;
    }
    struct param *const *params = graph_params(s->model->graph, &n);
    struct param *const *values = graph_params(from->model->graph, &n_from);
    for (size_t i = 0; i < n && i < n_from; i++)
        param_set(params[i], param_read(values[i]));
    rc = graph_wait(from->model->graph, err);
    if (rc)
        train_session_destroy(s);
    else
        *out = s;
    return rc;
}

void train_session_bytes(const struct train_session *s, size_t *tables, size_t *dense,
                         size_t *activations)
{
    size_t n;
    struct param *const *params = graph_params(s->model->graph, &n);
    *tables = *dense = 0;
    for (int i = 0; i < lookup_n_tables(s->model->lookup); i++) {
        struct lookup_memory memory;
        lookup_memory(s->model->lookup, i, &memory);
        *tables += memory.weights + memory.state + memory.ids;
    }
    for (size_t i = 0; i < n; i++)
        *dense += (size_t)params[i]->n * sizeof(float);
    *activations = graph_bytes(s->model->graph);
}
