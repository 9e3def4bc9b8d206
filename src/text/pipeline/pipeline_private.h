/* SPDX-License-Identifier: Apache-2.0 */
/* text/pipeline/pipeline_private.h - what the checks of a pipeline.config share.
 *
 * Each check is a small function that reports what it finds with its own code; none stops
 * the others. The rules are those of TorchEasyRec; docs/compat.md lists where ours
 * differ.
 */
#ifndef TEXT_PIPELINE_PIPELINE_PRIVATE_H
#define TEXT_PIPELINE_PIPELINE_PRIVATE_H

#include "base/arena.h"
#include "base/map.h"
#include "text/conf.h"
#include "text/pipeline/feature.h"
#include "text/pipeline/pipeline.h"

/* How a model takes its losses and metrics. */
enum pc_family {
    FAMILY_NONE,  /* no model chosen */
    FAMILY_RANK,  /* one task: losses in model_config */
    FAMILY_TASKS, /* several tasks: losses in each */
    FAMILY_MATCH, /* user and item towers */
    FAMILY_SID,   /* semantic ids */
};

/* One head with its label, losses and metrics: the whole model, or one of its tasks. */
struct pc_task {
    const struct msg *msg;                    /* where losses and num_class stand */
    const char *name;                         /* NULL for a model with one task */
    const char *label, *weight, *space_label; /* NULL: has no such field; "": unset */
    const struct pc_LossConfig *const *losses;
    int64_t n_losses;
    const struct pc_MetricConfig *const *metrics;
    int64_t n_metrics;
    const struct pc_TrainMetricConfig *const *train_metrics;
    int64_t n_train_metrics;
    uint32_t num_class;
    double pareto_min;
};

struct pc_check {
    const struct pc_EasyRecConfig *conf;
    const struct pc_DataConfig *data;          /* NULL when the section is missing */
    const struct pc_ModelConfig *model_config; /* likewise */
    const struct field_def *model_field;       /* which model; NULL: none */
    const struct msg *model;
    enum pc_family family;
    enum pc_FgMode fg_mode;
    bool generates; /* features are computed here: FG_NORMAL or FG_DAG */
    struct pc_features features;
    struct map groups; /* name to struct pc_FeatureGroupConfig */
    struct map used;   /* names of features that something refers to */
    struct pc_task *tasks;
    size_t n_tasks;
    struct arena arena;
    struct diags *diags;
};

/* As schema_report(), about element `index` of the repeated field. */
struct diag *check_item(struct pc_check *x, enum severity severity, enum code code,
                        const struct msg *m, const char *field, int64_t index,
                        const char *fmt, ...) PRINTF_LIKE(7, 8);
/* Points `g` at `part` of `text`, the value of field `field` of `m`, when the file spells
 * it without escapes.
 */
void check_aim(struct diag *g, const struct msg *m, const char *field, int64_t index,
               const char *text, struct str part);
/* "did you mean ...?" when one of the names is near. */
void check_nearest(struct pc_check *x, struct diag *g, const char *word,
                   const struct map *names);
void check_nearest_in(struct pc_check *x, struct diag *g, const char *word,
                      const char *const *names, int64_t n);
bool check_listed(const char *word, const char *const *names, int64_t n);
/* Calls `visit` for every message below and including `m`. */
void check_walk(struct pc_check *x, const struct msg *m,
                void (*visit)(struct pc_check *x, const struct msg *m));
/* The group that field `field` of `m` names, an error when there is none. */
const struct pc_FeatureGroupConfig *check_group_of(struct pc_check *x,
                                                   const struct msg *m, const char *field,
                                                   const char *name);
const struct pc_FeatureGroupConfig *check_group_find(const struct pc_check *x,
                                                     const char *name);
bool check_is_sequence_group(const struct pc_FeatureGroupConfig *g);

void check_train(struct pc_check *x);
/* Numbers of an optimizer, a schedule or what else train_config holds; NULL is fine. */
void check_ranges(struct pc_check *x, const struct msg *m);
void check_nesterov(struct pc_check *x, const struct msg *m); /* of an optimizer */
void check_scaling(struct pc_check *x); /* clipping and loss scaling */
void check_export(struct pc_check *x);
void check_data(struct pc_check *x);
void check_sampler(struct pc_check *x);
void check_tree(struct pc_check *x, const struct msg *m); /* tdm_sampler */
void check_features(struct pc_check *x);
void check_ids(struct pc_check *x, const struct pc_feature *f);
void check_numbers(struct pc_check *x, const struct pc_feature *f);
void check_tables(struct pc_check *x);
/* Of one kind of feature each: features.def. */
void check_formula(struct pc_check *x, const struct pc_feature *f);
void check_tokens(struct pc_check *x, const struct pc_feature *f);
void check_operator(struct pc_check *x, const struct pc_feature *f);
void check_groups(struct pc_check *x);
void check_model(struct pc_check *x);
void check_model_groups(struct pc_check *x);
void check_model_widths(struct pc_check *x);
/* The common width of the group's features; 0 when unknown. One that differs is reported.
 */
uint32_t check_equal_width(struct pc_check *x, const struct pc_FeatureGroupConfig *g);
/* A group that the model finds by a name of its own; WIDE groups may only be WIDE. */
void check_need_group(struct pc_check *x, const char *name,
                      enum pc_FeatureGroupType type);
/* Groups of a model of field_model.def; false: it is none. */
bool check_field_model(struct pc_check *x);
void check_field_widths(struct pc_check *x);
void check_modules(struct pc_check *x);
void check_hstu(struct pc_check *x);
void check_sid(struct pc_check *x);
void check_tasks(struct pc_check *x);
void check_unused(struct pc_check *x);

/* NULL when fine, else what is wrong with it. */
const char *pc_init_fn_problem(struct pc_check *x, const char *text);
const char *normalizer_problem(struct pc_check *x, const char *text);

/* The whole of it, for conf_kind_pipeline. */
void pipeline_check(struct conf *c, struct diags *diags);

#endif
