/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of trainyard/features.h but for tensors. A feeder of training works ahead;
 * a batch that it hands out is swapped for one that nobody uses, so that the caller may
 * keep it as long as it likes and nothing is copied. Batches hold the plan, which they
 * belong to, by a reference to the whole: the last of them to go, or
 * ty_features_close(), frees it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/mem.h"
#include "lib/features_private.h"
#include "lib/report.h"
#include "text/conf.h"
#include "train/feeder.h"
#include "train/source.h"

struct ty_features {
    _Atomic int64_t refs;
    struct conf conf;
    struct arena arena;
    struct feature_plan *plan;
    struct feature_batch *shape; /* an empty one: which targets there are */
    bool labels;
    size_t n_features, *features; /* [n_features]: of the plan, those that are no stubs */
    struct train_feeder *feeder;  /* NULL once it is closed */
    struct buf notes;
    pthread_mutex_t lock;  /* of the next one */
    struct ty_batch *free; /* those that nobody uses */
};

static void unref(struct ty_features *f)
{
    if (atomic_fetch_sub(&f->refs, 1) > 1)
        return;
    while (f->free) {
        struct ty_batch *b = f->free;
        f->free = b->next;
        feature_batch_destroy(b->features);
        mem_free(b->position);
        mem_free(b);
    }
    feature_batch_destroy(f->shape);
    feature_plan_destroy(f->plan);
    conf_release(&f->conf);
    arena_release(&f->arena);
    buf_release(&f->notes);
    mem_free(f->features);
    pthread_mutex_destroy(&f->lock);
    mem_free(f);
}

void ty_features_close(struct ty_features *f)
{
    if (!f)
        return;
    train_feeder_close(f->feeder);
    f->feeder = NULL;
    unref(f);
}

static enum rc read_config(struct ty_features *f, const struct ty_features_options *o,
                           struct diags *diags, struct err *err)
{
    const struct conf_edit edit = {.origin = "edits", .text = o->edits, .json = true};
    const struct conf_options options = {.kind = &conf_kind_pipeline,
                                         .edits = &edit,
                                         .n_edits = o->edits ? 1 : 0,
                                         .data_only = true};
    return conf_open(o->config, &options, &f->conf, diags, err);
}

static enum rc make_plan(struct ty_features *f, struct diags *diags, struct err *err)
{
    const char *farm = env_get("USE_FARM_HASH_TO_BUCKETIZE");
    const struct feature_options options = {
        .farm_hash = farm && strcmp(farm, "true") == 0, .no_labels = !f->labels};
    enum rc rc = feature_plan_create(f->conf.data, &options, &f->plan, diags, err);
    if (rc)
        return rc;
    f->shape = feature_batch_create(f->plan);
    f->features = mem_calloc(feature_plan_count(f->plan) + 1, sizeof(*f->features));
    for (size_t i = 0; i < feature_plan_count(f->plan); i++)
        if (!feature_plan_info(f->plan, i)->stub)
            f->features[f->n_features++] = i;
    return RC_OK;
}

static const char *input_of(const struct pc_EasyRecConfig *conf,
                            const struct ty_features_options *o)
{
    if (o->input)
        return o->input;
    return o->use == TY_FEATURES_TRAIN ? conf->train_input_path : conf->eval_input_path;
}

static enum rc open_feeder(struct ty_features *f, const struct ty_features_options *o,
                           struct diags *diags, struct err *err)
{
    const struct pc_EasyRecConfig *conf = f->conf.data;
    const struct train_source_share share = {.at = (int)o->worker, .of = (int)o->workers};
    const enum train_source_use use = (enum train_source_use)o->use;
    struct sampler_conf sampler;
    struct train_feeder_conf c = {
        .plan = f->plan, .epochs = o->epochs, .positions = o->keep_positions != 0};
    if (use == SOURCE_TRAIN)
        c.mask =
            train_mask_conf_of(conf->data_config, f->plan, o->seed, (uint64_t)o->worker);
    if (train_source_sampler(conf->data_config, f->plan, use, o->seed, share, &f->arena,
                             &sampler))
        c.sampler = &sampler;
    enum rc rc = train_source_conf(conf->data_config, f->plan, input_of(conf, o), use,
                                   o->seed, share, &f->arena, &c.data, err);
    if (o->batch_size > 0)
        c.data.batch_size = o->batch_size;
    c.data.cursor = o->position;
    c.data.prints = c.positions;
    return rc ? rc : train_feeder_open(&c, &f->feeder, diags, err);
}

static enum rc check_options(const struct ty_features_options *o, struct err *err)
{
    if (o->use < TY_FEATURES_TRAIN || o->use > TY_FEATURES_PREDICT)
        return err_set(err, RC_INVAL, "use: %d is none of train, eval, predict", o->use);
    if (o->batch_size < 0 || o->epochs < 0)
        return err_set(err, RC_INVAL, "batch_size and epochs are at least 0");
    if (o->workers < 0 || o->workers > INT32_MAX || o->worker < 0 ||
        o->worker >= (o->workers ? o->workers : 1))
        return err_set(err, RC_INVAL, "worker: %jd is outside [0, %jd)",
                       (intmax_t)o->worker, (intmax_t)(o->workers ? o->workers : 1));
    return RC_OK;
}

int ty_features_open(const struct ty_features_options *options, struct ty_features **out,
                     struct ty_error *error)
{
    struct err err = {0};
    struct diags diags = {0};
    struct ty_features *f = mem_calloc(1, sizeof(*f));
    f->refs = 1;
    f->labels = options->use != TY_FEATURES_PREDICT;
    pthread_mutex_init(&f->lock, NULL);
    buf_init(&f->notes, (size_t)1 << 24);
    enum rc rc = check_options(options, &err);
    if (!rc)
        rc = read_config(f, options, &diags, &err);
    if (!rc)
        rc = make_plan(f, &diags, &err);
    if (!rc)
        rc = open_feeder(f, options, &diags, &err);
    int failed = lib_report_diags(rc, &diags, &err, error);
    diags_release(&diags);
    if (failed)
        ty_features_close(f);
    else
        *out = f;
    return failed;
}

int64_t ty_features_columns(const struct ty_features *f)
{
    return (int64_t)(f->n_features + f->shape->n_labels + f->shape->n_weights);
}

static void describe_feature(const struct feature_info *info,
                             struct ty_features_column *out)
{
    *out = (struct ty_features_column){.name = info->name,
                                       .kind = TY_COLUMN_FEATURE,
                                       .sparse = info->sparse,
                                       .sequence = info->sequence,
                                       .weighted = info->weighted,
                                       .width = info->sparse ? 1 : info->value_dim,
                                       .rows = info->sparse ? (int64_t)info->rows : 0};
}

static void describe_target(const struct feature_target *t,
                            struct ty_features_column *out)
{
    *out = (struct ty_features_column){.name = t->name,
                                       .kind = t->use == FEATURE_LABEL ? TY_COLUMN_LABEL
                                                                       : TY_COLUMN_WEIGHT,
                                       .width = 1};
}

void ty_features_column(const struct ty_features *f, int64_t i,
                        struct ty_features_column *out)
{
    if ((size_t)i < f->n_features)
        describe_feature(feature_plan_info(f->plan, f->features[i]), out);
    else
        describe_target(&f->shape->targets[(size_t)i - f->n_features], out);
}

int64_t ty_features_rows(const struct ty_features *f)
{
    return train_feeder_rows(f->feeder);
}

const char *ty_features_notes(struct ty_features *f)
{
    buf_clear(&f->notes);
    train_feeder_outside(f->feeder, false, &f->notes);
    return buf_str(&f->notes);
}

static struct ty_batch *take_free(struct ty_features *f)
{
    pthread_mutex_lock(&f->lock);
    struct ty_batch *b = f->free;
    if (b)
        f->free = b->next;
    pthread_mutex_unlock(&f->lock);
    if (!b) {
        b = mem_calloc(1, sizeof(*b));
        b->from = f;
        b->features = feature_batch_create(f->plan);
    }
    atomic_fetch_add(&f->refs, 1);
    b->refs = 1;
    return b;
}

struct ty_batch *lib_batch_ref(struct ty_batch *b)
{
    atomic_fetch_add(&b->refs, 1);
    return b;
}

void ty_batch_release(struct ty_batch *b)
{
    if (!b || atomic_fetch_sub(&b->refs, 1) > 1)
        return;
    struct ty_features *f = b->from;
    pthread_mutex_lock(&f->lock);
    b->next = f->free;
    f->free = b;
    pthread_mutex_unlock(&f->lock);
    unref(f);
}

int ty_features_next(struct ty_features *f, struct ty_batch **out, struct ty_error *error)
{
    struct train_fed fed;
    struct err err = {0};
    enum rc rc = train_feeder_next(f->feeder, &fed, &err);
    *out = NULL;
    if (!rc && fed.features) {
        struct ty_batch *b = take_free(f);
        b->features = train_feeder_swap(f->feeder, b->features);
        mem_free(b->position);
        b->position = fed.position ? mem_strdup(fed.position) : NULL;
        *out = b;
    }
    return lib_report(rc, &err, error);
}

int64_t ty_batch_rows(const struct ty_batch *b)
{
    return b->features->rows;
}

int64_t ty_batch_item_rows(const struct ty_batch *b)
{
    return b->features->item_rows;
}

int64_t ty_batch_common_negatives(const struct ty_batch *b)
{
    return b->features->n_common;
}

const char *ty_batch_position(const struct ty_batch *b)
{
    return b->position ? b->position : "";
}

const struct feature_out *lib_batch_feature(const struct ty_batch *b, int64_t column,
                                            struct ty_features_column *about)
{
    const struct ty_features *f = b->from;
    if (column < 0 || column >= (int64_t)f->n_features)
        return NULL;
    describe_feature(feature_plan_info(f->plan, f->features[column]), about);
    return &b->features->at[f->features[column]];
}

const struct feature_target *lib_batch_target(const struct ty_batch *b, int64_t column)
{
    int64_t at = column - (int64_t)b->from->n_features;
    int64_t n = (int64_t)(b->features->n_labels + b->features->n_weights);
    return at >= 0 && at < n ? &b->features->targets[at] : NULL;
}
