/* SPDX-License-Identifier: Apache-2.0 */
/* model/model.h - from a pipeline.config to a graph, tables, and what has to be filled
 * in.
 *
 * Each model is one file with a `const struct model_ops` and one line in models.def. It
 * gets its feature groups as values of the graph, calls nn_* builders, and hands its raw
 * outputs to the heads, which add losses and named predictions. No model loops over data.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "embed/lookup.h"
#include "nn/graph.h"
#include "nn/ops.h"
#include "text/pipeline/feature.h"
#include "text/pipeline/pipeline.h"

struct comm;

struct model_options {
    struct comm *comm; /* of the lookup; borrowed; NULL: one rank */
    struct graph_options graph;
    struct embed_row_opt row_opt;
    bool alone; /* no sampler is at work (export, predict): items are rows of the batch */
    float max_gradient; /* > 0: clamp gradients of embedding outputs */
    unsigned reference; /* bits of model/reference.h */
    /* Of REFERENCE_TABLES: whether a table is a parameter of the graph, all of whose rows
     * the dense optimizer updates at every step. `sequence`: of a sequence group.
     */
    bool (*dense)(const void *arg, const struct pc_feature *f, const char *table,
                  bool sequence);
    const void *dense_arg;
    const char *table_dir;           /* tables are kept in files there; NULL: in memory */
    const struct lookup_ops *lookup; /* who keeps the tables; NULL: this process */
    const struct lookup_ops *inner;  /* lookup_conf.inner of it */
    /* How many ids a feature has, where its config does not say (a vocabulary file); 0:
     * not known. May be NULL.
     */
    uint64_t (*rows)(const void *arg, const char *feature);
    const void *rows_arg;
};

/* How one feature reaches the model: through a slot of the embedding layer, or as numbers
 * into columns of a graph input.
 */
struct model_input {
    const struct pc_feature *feature;
    int axis;
    int slot;           /* -1: numbers */
    bool dense;         /* `slot` is one of model.dense, not of the lookup */
    struct nn_val *val; /* of numbers: where they go */
    int64_t col, width;
    bool first_only; /* a query of one id: further ids are left out */
    bool unweighted; /* its weights do not count there */
    bool leads;      /* of a sequence group: the feature whose lengths count */
};

/* A use of a table that is a parameter of the graph: as a slot of the lookup, which does
 * not know of it.
 */
struct model_dense {
    struct param *rows; /* [conf.rows][conf.dim] */
    struct embed_table_conf conf;
    struct embed_slot_conf slot;
};

/* Columns of an embedded input that take few values: those of a small table. */
struct model_coded {
    int output, slot;
};

/* A sequence axis: its rows follow from the lengths of one feature. */
struct model_axis {
    int axis;
    const struct pc_feature *leader;
    int64_t max_length; /* 0: no limit */
    /* Of REFERENCE_STEPS. `extends`: steps that another sequence has beyond the leader's
     * count, too, up to the leader's longest in the batch; a row that has such steps and
     * none of the leader has all of that. Graph inputs of one number per step, or NULL:
     * whether it is one of the leader's; 1 / the leader's steps, before they are cut when
     * `uncut`.
     */
    bool extends, uncut;
    struct nn_val *own, *share;
};

/* One head: a column of labels, weights, losses and metrics. */
struct model_task {
    const char *name;   /* tower name; "" for a model of one task */
    const char *suffix; /* of output names: "" or "_<name>" */
    const char *label;
    const char *sample_weight; /* column, or NULL */
    const char *indicator;     /* column of the task space, or NULL */
    double weight, in_space, out_space;
    double least_weight; /* of each of its losses, under Pareto weights */
    size_t first_loss;   /* of the graph; n_losses in a row */
    bool weighted;       /* any of the above is set: `weights` must be filled */
    uint32_t num_class;
    const struct pc_LossConfig *const *losses;
    int64_t n_losses;
    const struct pc_MetricConfig *const *metrics;
    int64_t n_metrics;
    const struct pc_TrainMetricConfig *const *train_metrics;
    int64_t n_train_metrics;
    struct nn_val *labels, *weights; /* graph inputs; weights NULL unless weighted */
    /* Of jrc_loss, else NULL: the feature whose first id names a row's session, and the
     * graph input that takes the session's number within the batch (0, 1, ... in any
     * order, each below the number of rows).
     */
    const struct pc_feature *session;
    struct nn_val *sessions;
    struct nn_val *logits, *probs, *y; /* what metrics read; NULL where there is none */
    /* Whose rows have the labels: the batch's, or candidates of its rows, one each. Of
     * candidates labels are lists, and with `masked` 1 where one of `bits` is set.
     */
    int axis;
    bool masked;
    uint64_t bits;
    bool inner;    /* what it predicts is no output of the model */
    bool training; /* its losses and metrics are excluded from evaluations */
    /* Of a match model, which has no labels: scores of all candidates of each row. */
    struct nn_val *scores;
    bool diagonal; /* the target of row i is candidate i, not the first */
};

/* A column of data_config.label_fields that the graph reads beside labels: a whole number
 * from 0 to below `below`.
 */
struct model_column {
    const char *name;
    int64_t below;
    struct nn_val *val; /* graph input */
};

/* Axes of a match model; -1 where there is none. The items' rows are dealt to those of
 * the batch evenly, whoever they belong to.
 */
struct model_match {
    int items, scores, hard;
    int own; /* of rows with several items: each meets its user by itself */
    bool in_batch;
    /* Offsets of the batch at hand; owned. own_at: where each row has one item. */
    int64_t *item_at, *score_at, *hard_at, *own_at;
    int64_t room;
};

/* Of a model that gives items codes; all NULL otherwise. */
struct model_sid {
    struct nn_val *codes;         /* [layers]: the numbers of a row's codes */
    struct nn_val *made, *target; /* what they stand for, and what they should */
    struct nn_val *flag;          /* rows above 0.5 do not count there; NULL: all do */
    const uint32_t *sizes;        /* [layers]: of the codebooks */
    int64_t layers;
    struct param *fitted; /* 0: there are no codes yet; NULL: there always are */
};

struct model_ops;

struct model {
    const struct pc_EasyRecConfig *conf; /* borrowed */
    const struct model_ops *ops;
    struct model_options options;
    struct arena arena;
    struct pc_features features;
    struct graph *graph;
    struct lookup *lookup;
    VEC(struct model_input) inputs;
    VEC(struct nn_val *)
    embedded; /* graph inputs that the embedding layer fills: slot.output */
    VEC(struct model_coded) coded; /* by output, in the order of their columns */
    VEC(struct model_dense) dense;
    VEC(struct model_axis) axes;
    VEC(struct model_task) tasks;
    VEC(struct model_column) columns;
    struct model_match match;
    struct model_sid sid;
    uint64_t groups_read; /* bit i: feature_groups[i] is an input; of the first 64 */
    const char
        *one_shard; /* what needs all rows of a batch in one place; NULL: nothing */
    bool jagged;    /* nets see positions as rows: sequences have no padding for them */
    bool one_table; /* features of one table name share it, whatever rows they have */
    const struct msg *message; /* the model's own message */
};

/* `name` is the field of the model oneof. build() reports through graph_fail(). */
struct model_ops {
    const char *name;
    void (*build)(struct model *m);
    /* Optional: what follows from all rows seen so far, before each checkpoint. With `last` it is
     * the end of the training, where RC_INVAL says that there were too few.
     */
    enum rc (*settle)(struct model *m, bool last, struct err *err);
};
#define MODEL(name) extern const struct model_ops model_##name;
#include "model/models.def"
#undef MODEL

/* `conf` must outlive the model. RC_INVAL, RC_UNSUPPORTED (a model that is not built in),
 * RC_NOMEM.
 */
enum rc model_create(const struct pc_EasyRecConfig *conf,
                     const struct model_options *options, struct model **out,
                     struct err *err) MUST_CHECK;
void model_destroy(struct model *m);
/* Before a checkpoint, and with `last` behind the last one. RC_INVAL, RC_NOMEM. */
enum rc model_settle(struct model *m, bool last, struct err *err) MUST_CHECK;
/* Whether it reads feature_groups[i]; beyond the first 64 that is not known, and true. */
bool model_reads_group(const struct model *m, int64_t i);
/* Feature groups that the model does not read: "'deep' (3 features)", or nothing. */
void model_unread_groups(const struct model *m, struct buf *out);
/* Sets the rows of a match model's axes in *rows, whose batch has rows->n[0] rows: items
 * in all, of which n_common stand against every row, and hard_at (NULL: no hard ones) and
 * own_at as in struct feature_batch. Does nothing to other models. RC_NOMEM.
 */
struct model_match_batch {
    int64_t items, n_common;
    const int64_t *hard_at, *own_at; /* own_at is used until the next batch */
};
enum rc model_match_rows(struct model *m, const struct model_match_batch *b,
                         struct nn_batch_rows *rows, struct err *err) MUST_CHECK;
/* In training, when lookup_forward() has filled the inputs from `slots`: tells the graph
 * which rows have the same vectors.
 */
void model_codes(struct model *m, const struct embed_slot_ids *slots);
/* Tables that are parameters: their initial values, once. */
void model_dense_begin(struct model *m);
/* Beside lookup_forward(); ids[m->dense.n]. RC_INVAL E1402: an id outside its table, as
 * lookup_prepare() says it.
 */
enum rc model_dense_forward(const struct model *m, const struct embed_slot_ids *ids,
                            const struct view *outputs, struct err *err) MUST_CHECK;
/* Beside lookup_update(), after graph_backward(): adds to the gradients of the parameters,
 * in the order of slots and rows.
 */
void model_dense_backward(const struct model *m, const struct embed_slot_ids *ids,
                          const struct view *grads);
const struct model_ops *const *model_all(size_t *n); /* sorted by name */

#endif
