/* SPDX-License-Identifier: Apache-2.0 */
/* text/pipeline/feature.h - one view of all features of a pipeline.config.
 *
 * The file has twelve feature messages that share most of their fields, and three places
 * where they may stand: on their own, on their own as a sequence, inside a grouped
 * sequence. struct pc_feature shows them alike, with the names that the rest of the file
 * and the data use. Everything is borrowed from the bound config.
 */
#ifndef TEXT_PIPELINE_FEATURE_H
#define TEXT_PIPELINE_FEATURE_H

#include "base/arena.h"
#include "base/map.h"
#include "text/pipeline/pipeline.h"

struct pc_feature;
struct pc_check;

/* A line of features.def: what the rest asks about a kind of feature. */
struct pc_feature_kind {
    const struct msg_def *msg;
    const char *member;            /* of FeatureConfig: "id_feature" */
    const char *inputs;            /* fields that name inputs: "map key" */
    size_t min_inputs, max_inputs; /* max 0: any number */
    bool ids;     /* its values are always ids; else only when told how to make some */
    bool own_ids; /* its operator makes the ids; vocab_file is the operator's */
    bool numbers; /* a value is a number before it becomes an id */
    bool keeps;   /* of a row or step value_dim values are kept, 0: all */
    bool exact;   /* a row or step has value_dim values, those that become ids too */
    bool zero_default; /* an empty default_value is 0, that of an id too */
    bool spare_row;    /* the table of a vocab_list has a row more than it has ids */
    /* What only this kind can have wrong, or NULL. */
    void (*check)(struct pc_check *x, const struct pc_feature *f);
};
/* In the order of features.def. */
extern const struct pc_feature_kind pc_feature_kinds[];
extern const size_t pc_feature_kind_count;
/* By member, without sequence_; NULL when there is none. */
const struct pc_feature_kind *pc_feature_kind_find(const char *member);

struct pc_input {
    const char *field; /* of the message: "expression", "map", ... */
    int64_t index;     /* in a repeated field, else -1 */
    const char *text;  /* "user:age" */
    /* Empty when `text` is not of the form side:name. */
    struct str side, name;
    bool ok;
};

struct pc_feature {
    const struct msg *msg;                  /* struct pc_IdFeature, ... */
    const struct pc_SequenceFeature *group; /* the grouped sequence it is in, or NULL */
    const struct pc_feature_kind *kind;
    const char *name; /* "age", or "click_seq__age" inside a grouped sequence */
    bool sequence;    /* one value, or list of values, per step */
    /* In the group whose steps are items that a sampler adds others to (struct pc_features):
     * it has no steps but a row per item; in prediction, where nothing is sampled, the first.
     */
    bool of_items;
    const struct pc_SequenceFeature *candidates; /* as in pc_features */
    struct pc_input *inputs; /* in the order of the message; ALL left out */
    size_t n_inputs;

    /* The fields of feature_view.def, has_x and n_x too, under the names that they have in
     * the messages; zero where the message has none or it has no effect. sequence_length
     * and sequence_delim are those of the group inside one; an unset value_dim is resolved.
     */
/* clang-format off */
#define SCHEMA_P(n) pc_##n
#include "text/schema_as_struct.h"
#include "text/pipeline/feature_view.def"
#include "text/schema_end.h"
#undef SCHEMA_P
    /* clang-format on */
};

struct pc_features {
    struct pc_feature *at; /* [n], in the order of the file, grouped ones in place */
    size_t n;
    struct map by_name; /* to struct pc_feature; of two the first */
    /* The grouped sequence that holds the sampler's item_id_field: a row has several items,
     * and attr_fields name its columns without their prefix. NULL: a row has one item.
     */
    const struct pc_SequenceFeature *candidates;
};

/* The features lie in `a`; pc_features_release() frees the map only. */
void pc_features_init(struct pc_features *f, const struct pc_EasyRecConfig *conf,
                      struct arena *a);
void pc_features_release(struct pc_features *f);
/* By the name that groups use; "seq_name" finds "seq__name" as well, the spelling of
 * configs made for another runtime. NULL when there is none.
 */
const struct pc_feature *pc_features_find(const struct pc_features *f, struct str name);

/* Its values are ids that look up rows of a table (rather than numbers). */
bool pc_feature_is_sparse(const struct pc_feature *f);
/* It becomes a vector of embedding_dim values, through a table or a dense embedding. */
bool pc_feature_has_vector(const struct pc_feature *f);
/* Rows of its table; 0 when it has none or when a file has to be read for it. */
uint64_t pc_feature_rows(const struct pc_feature *f);
/* Width of what the model gets, in a group that is not WIDE. */
uint32_t pc_feature_width(const struct pc_feature *f);

/* Whether the input holds one value per step; always false unless the feature is a
 * sequence.
 */
bool pc_input_is_sequence(const struct pc_feature *f, const struct pc_input *in);
/* The column that the input is read from; has the prefix of its grouped sequence. In `a`.
 */
const char *pc_input_column(const struct pc_feature *f, const struct pc_input *in,
                            struct arena *a);

/* Parameter `name` of a custom_feature's operator_params, written as a protobuf Struct or
 * as a plain key: a scalar, or NULL when there is none. `params` may be NULL.
 */
const struct node *pc_operator_param(const struct node *params, const char *name);

/* How rows are counted when a negative sampler is at work. */
enum pc_data_group { PC_BASE, PC_NEG, PC_CROSS_NEG };
/* The part of a column's name behind the prefix of that group, or NULL. */
const char *pc_behind_prefix(const struct pc_SequenceFeature *group, const char *column);
/* It reads a column of the sampler's attr_fields: it has a row per item. */
bool pc_feature_is_sampled(const struct pc_feature *f, const struct pc_DataConfig *data,
                           struct arena *a);
enum pc_data_group pc_feature_data_group(const struct pc_feature *f,
                                         const struct pc_DataConfig *data,
                                         struct arena *a);

/* The mode that counts: fg_encoded, when set, overrides fg_mode. */
enum pc_FgMode pc_fg_mode(const struct pc_DataConfig *data);
bool pc_fg_mode_masks(enum pc_FgMode mode); /* use_mask counts there */

/* A line of samplers.def: what the rest asks about a kind of negative sampler. */
struct pc_sampler_kind {
    const struct msg_def *msg;
    bool by_user; /* it knows each user's positive items, and leaves them out */
    bool hard;    /* it adds each user's hard negatives */
    bool tree;    /* it draws nodes of an item tree, positives too */
    /* What only this kind can have wrong, or NULL. */
    void (*check)(struct pc_check *x, const struct msg *m);
};
extern const struct pc_sampler_kind pc_sampler_kinds[]; /* in the order of samplers.def */
extern const size_t pc_sampler_kind_count;

struct pc_sampler {
    const struct msg *msg; /* NULL: there is no sampler */
    const struct pc_sampler_kind *kind;
    const char *name; /* "negative_sampler" */

    /* The fields of sampler_view.def, zero where the message has none. */
/* clang-format off */
#define SCHEMA_P(n) pc_##n
#include "text/schema_as_struct.h"
#include "text/pipeline/sampler_view.def"
#include "text/schema_end.h"
#undef SCHEMA_P
    /* clang-format on */
};
struct pc_sampler pc_sampler_of(const struct pc_DataConfig *data);

#endif
