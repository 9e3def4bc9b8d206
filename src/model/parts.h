/* SPDX-License-Identifier: Apache-2.0 */
/* model/parts.h - what models are put together from: groups, nets, attention, heads. */
#ifndef MODEL_PARTS_H
#define MODEL_PARTS_H

#include "model/model.h"

/* A feature group as values. */
struct group {
    const struct pc_FeatureGroupConfig *conf;
    struct nn_val *deep; /* DEEP, WIDE: all features side by side */
    int64_t n_fields;    /* features of it (encoders not counted), */
    int64_t field_width; /* their common width, 0 when they differ */
    bool encoded;        /* holds outputs of sequence encoders */
    /* SEQUENCE: */
    struct nn_val *query, *sequence;
    int axis;
};

/* The group of that name as the model's input, or fails (with the names that there are).
 * `wide_dim` > 0: tables of that width of its own (WIDE groups).
 */
bool group_of(struct model *m, const char *name, int64_t wide_dim, const char *wide_init,
              struct group *out);
/* The sequence of that group on the axis of another: it has that one's steps, cut or filled
 * up. NULL when it failed.
 */
struct nn_val *group_along(struct model *m, const char *name, int axis);
/* The features of a group that are no sequences, as out->deep: all of a DEEP group, and of
 * a SEQUENCE or JAGGED_SEQUENCE group its query, through the tables of sequences.
 */
bool group_query(struct model *m, const char *name, struct group *out);
bool group_exists(const struct model *m, const char *name);
const char *group_first(const struct model *m); /* NULL when there is none */
/* Whether the vectors of group `name` are those in front of each row of group `of`: the
 * same features first, in order, through the same tables. Then there are *n of *width.
 */
bool group_leads(struct model *m, const char *name, const char *of, int64_t *n,
                 int64_t *width);
/* The deep value as [fields, width]; fails unless all fields have one width. */
struct nn_val *group_fields(struct model *m, const struct group *g);
/* The same with `dense` (or NULL) in front, which must be as wide as a field. */
struct nn_val *part_fields(struct model *m, const struct group *sparse,
                           struct nn_val *dense);

/* The DEEP group `deep`, whose fields have one width; NULL when it failed. */
struct nn_val *part_deep_fields(struct model *m, struct group *out);
/* x with the group `dense` behind it, when there is one. */
struct nn_val *part_with_dense(struct model *m, struct nn_val *x);
/* x with the groups `deep` and `dense` behind it, when there are such. */
struct nn_val *part_with_rest(struct model *m, struct nn_val *x);
/* The group `wide`, tables of width 1: one float per field; NULL when there is none. */
struct nn_val *part_weights(struct model *m, const char *init_fn);

/* A net as configured; parameters below `name`. NULL conf: x itself. */
struct nn_val *part_mlp(struct model *m, const char *name, const struct pc_MLP *conf,
                        struct nn_val *x);
/* On a sequence. `pad` is what stands at the padded positions of each row of the batch;
 * NULL unless the net's statistics count them.
 */
struct nn_val *part_mlp_padded(struct model *m, const char *name,
                               const struct pc_MLP *conf, struct nn_val *x,
                               struct nn_val *pad);
/* On [q, k, q - k, q * k] of a query per row and keys of positions, or on [k, q * k, q].
 * conf is not NULL and does not count padding.
 */
struct nn_val *part_mlp_pairs(struct model *m, const char *name,
                              const struct pc_MLP *conf, struct nn_val *query,
                              struct nn_val *keys, bool differences);
bool part_mlp_counts_padding(const struct pc_MLP *conf);
/* The same as part_mlp(); layers[i]: what layer i gives. */
struct nn_val *part_mlp_layers(struct model *m, const char *name,
                               const struct pc_MLP *conf, struct nn_val *x,
                               struct nn_val **layers);
/* An activation by its name in a config; parameters below `name`. */
struct nn_val *part_act(struct graph *g, const char *name, const char *text,
                        struct nn_val *x);
/* Attention of a query over a sequence; [width of the sequence] per row. */
struct nn_val *part_din(struct model *m, const char *name, const struct pc_MLP *attn_mlp,
                        struct nn_val *query, struct nn_val *sequence, int axis);
/* What it goes by: a score per position, before the softmax. */
struct nn_val *part_din_scores(struct model *m, const char *name,
                               const struct pc_MLP *attn_mlp, struct nn_val *query,
                               struct nn_val *sequence, int axis);
/* The same per window of positions, without softmax, and the query behind: [(windows + 1)
 * * width of the sequence] per row.
 */
struct nn_val *part_multi_window_din(struct model *m, const char *name,
                                     const struct pc_MLP *attn_mlp,
                                     const uint32_t *windows, int64_t n_windows,
                                     struct nn_val *query, struct nn_val *sequence,
                                     int axis);
/* What an encoder of a sequence group makes of it. */
struct nn_val *part_encoder(struct model *m, const char *name,
                            const struct pc_SeqEncoderConfig *conf, struct nn_val *query,
                            struct nn_val *sequence, int axis);
/* The longest sequence that an encoder wants; 0: any. */
int64_t part_encoder_max_length(const struct pc_SeqEncoderConfig *conf);

/* Initial values of a table: "nn.init.uniform_,a=-0.01,b=0.01"; NULL or "": uniform within
 * 1/sqrt(rows). false with `err` when the text is not understood.
 */
bool part_table_init(const char *text, struct embed_table_conf *conf, struct err *err);
/* model_config.initializers: the initial values of dense parameters. E0308. */
enum rc part_initializers(struct model *m, struct err *err) MUST_CHECK;
/* Of a feature with zch or dynamicemb: rows that belong to ids, and how they come and go;
 * after part_table_init(). Others are left alone.
 */
bool part_table_keyed(const struct pc_feature *f, struct embed_table_conf *conf,
                      struct err *err);

/* Experts, all of one width, mixed by the softmax of `gate`. */
struct nn_val *part_mix(struct model *m, struct nn_val *gate,
                        struct nn_val *const *experts, int64_t n);
/* Experts that tasks share, with one gate per task (MMoE): out[n_tasks]. false when the
 * graph has failed.
 */
struct experts_conf {
    const struct pc_MLP *expert, *gate; /* gate: NULL when it is linear alone */
    int64_t n;
};
bool part_experts(struct model *m, const char *name, const struct experts_conf *conf,
                  struct nn_val *x, int64_t n_tasks, struct nn_val **out);
/* Mask blocks with their own net (MaskNet); parameters below `name`. */
struct nn_val *part_mask_net(struct model *m, const char *name,
                             const struct pc_MaskNetModule *conf, struct nn_val *x);
/* The model's first group, which is DEEP. false when the graph has failed. */
bool part_first_group(struct model *m, struct group *out);
/* What tasks read: x through `bottom` (or NULL), then experts if conf->expert is set,
 * else the same value for all; out[n_tasks].
 */
bool part_task_inputs(struct model *m, const struct pc_MLP *bottom,
                      const struct experts_conf *conf, struct nn_val *x, int64_t n_tasks,
                      struct nn_val **out);
/* Room for a value per task. */
struct nn_val **part_vals(struct model *m, int64_t n);
#define EXPERTS_MAX 1024
bool part_can_mix(struct model *m, int64_t n); /* else graph_fail() is done */

/* The head of a single-task model: losses, outputs; `o` has num_class values. */
void head_single(struct model *m, struct nn_val *o);
/* x [1] once per class of the model, to be added to what its head puts out. */
struct nn_val *part_each_class(struct model *m, struct nn_val *x);
/* The same of o [1] and the first-order part: weights of the group `wide` added up, when
 * there is one, and with `dense` a linear layer on the group `dense`, when there is one.
 */
void head_first_order(struct model *m, const char *init_fn, bool dense, struct nn_val *o);
/* The head of one task; net and linear layer are added below `name`. */
void head_task(struct model *m, const char *name, const struct pc_TaskTower *conf,
               struct nn_val *x);
/* The same for n towers, each on its x, below _task_tower.<place>. */
void head_towers(struct model *m, const struct pc_TaskTower *const *towers, int64_t n,
                 struct nn_val *const *x);
/* What the config says about a task; the net is up to the model. A label that is not
 * named is that of the same place in data_config.label_fields.
 */
/* Of a model of one task: losses, metrics, sample weights; no label yet. */
struct model_task head_only(const struct model *m);
bool head_of_model(struct model *m, struct model_task *out); /* with its label */
struct model_task head_of_tower(const struct pc_TaskTower *conf);
struct model_task head_of_bayes(const struct model *m,
                                const struct pc_BayesTaskTower *conf, int64_t place);
struct model_task head_of_intervention(const struct model *m,
                                       const struct pc_InterventionTaskTower *conf,
                                       int64_t place);
/* A task of candidates, which are on `axis`. */
struct model_task head_of_fusion(const struct pc_FusionSubTaskConfig *conf, int axis);
/* Losses and outputs of such a task, whose raw output is `o` [num_class]. */
void head_add(struct model *m, struct model_task *t, struct nn_val *o);

/* A convolution along a sequence: `window` positions around each, those that are missing
 * zeros, then an activation; [filters] per position. Parameters `name`.weight, .bias.
 */
struct nn_val *part_text_conv(struct graph *g, const char *name, struct nn_val *x,
                              int64_t window, int64_t filters, const char *activation);

/* A tower of a match model: net, output layer of output_dim (none when 0 or below),
 * parameters below the graph's prefix; rows of length 1 when the similarity is COSINE.
 */
struct match_conf {
    int64_t output_dim;
    enum pc_Similarity similarity;
    double temperature;
    bool in_batch;
    bool logistic; /* the loss is binary_cross_entropy, of each score on its own */
    bool lists;    /* a row has several items, which a sampler takes apart */
    float eps;     /* of COSINE; 0: 1e-12 */
};
struct nn_val *part_tower(struct model *m, const struct match_conf *conf,
                          const struct pc_MLP *mlp, struct nn_val *x);
/* The group of a tower: with `own` under the tower's prefix, so that no table is shared.
 */
bool part_tower_group(struct model *m, const char *tower, const char *group, bool own,
                      struct group *out);
/* The head of a match model: scores of each user against items, their loss. */
void head_match(struct model *m, const struct match_conf *conf, struct nn_val *user,
                struct nn_val *item);

/* Items that are a vector of their own, without a net: group `group` under tower `name`,
 * with tables of its own or not. With `bias` a further value per item.
 */
struct nn_val *part_items(struct model *m, const char *name, const char *group, bool own,
                          bool bias);
/* The users that meet such items: as wide (through a layer `output` without bias, when
 * they are not), and with a further value of 1 for the items' bias.
 */
struct nn_val *part_meet(struct model *m, struct nn_val *user, struct nn_val *item,
                         bool bias);

/* A residual quantiser (of the models that give items codes): codes of x [d], layer after layer
 * from what the codes before leave of it. Parameters below `_quantizer`.
 */
struct part_sid_conf {
    const uint32_t *codebook;
    int64_t layers;
    bool normalise; /* what is left is made one long before each layer */
    bool trained;   /* codebooks are parameters of the optimizer, else buffers */
    struct nn_code_conf code;
    const struct pc_SidCandidateOutputConfig *candidates; /* NULL: none */
};
#define SID_LAYERS_MAX 32
struct part_sid_walk {
    struct nn_val *codes; /* [layers] */
    struct nn_val
        *latents[SID_LAYERS_MAX]; /* the sum of the vectors of the first codes */
    struct nn_val *rest;          /* what the last layer chose a code for */
    struct param *book;           /* of the last layer */
    struct param *started;        /* [1]: codebooks hold something */
};
bool part_sid_walk(struct model *m, const struct part_sid_conf *conf, struct nn_val *x,
                   struct part_sid_walk *out);
/* Outputs `codes` and, when they are asked for, those of candidates; metrics compare `made` with
 * `target`.
 */
void head_sid(struct model *m, const struct part_sid_conf *conf,
              const struct part_sid_walk *w, struct nn_val *made, struct nn_val *target);

/* A sequence model of transduction units (HSTU): what it makes of a user's history. Its
 * parameters are below `name`, tables below the graph's prefix.
 */
struct part_hstu_conf {
    const struct pc_HSTU *hstu;
    const char *name;
    const char *history;         /* group; its other groups are history_action, ... */
    struct nn_val *context;      /* [n_context * width] per row, or NULL */
    int64_t n_context;           /* tokens that it makes */
    struct nn_val *targets;      /* of the candidates; NULL: there are none */
    struct nn_val *target_times; /* [1] per candidate, or NULL */
    struct nn_val *query_time;   /* [1] per row, or NULL: the time of the last token */
    uint32_t max_seq_len;
    bool
        newest_first; /* the history runs from new to old; candidates are turned already */
};
/* [embedding_dim] per candidate; without candidates per row: that of the last token. */
struct nn_val *part_hstu(struct model *m, const struct part_hstu_conf *conf);
/* The context of a model: group `contextual`. false when the graph has failed. */
bool part_hstu_context(struct model *m, bool one_token, struct part_hstu_conf *out);
/* A net of two layers with norms: [out] per row; parameters below `name`.0 to .3. */
struct nn_val *part_swish_net(struct model *m, const char *name, struct nn_val *x,
                              int64_t hidden, int64_t out);
/* Weights of linear layers whose parameters came since `from` of them were there are
 * uniform within sqrt(6 / (in + out)), their biases 0.
 */
size_t part_count_params(const struct model *m);
void part_xavier(struct model *m, size_t from);
/* dlrm_hstu and ultra_hstu: n channels, the candidates and the heads. */
struct part_rank_hstu_conf {
    const struct pc_HSTU *const *hstu;
    int64_t n;
    const struct pc_FusionMTLTower *tower;
    uint32_t max_seq_len, item_hidden;
    bool global_average, ascending, one_context_token;
};
void part_rank_hstu(struct model *m, const struct part_rank_hstu_conf *conf);

#endif
