/* SPDX-License-Identifier: Apache-2.0 */
/* Features as struct pc_feature shows them. The messages have no common base in C, but
 * they call equal things by equal names: a view is filled from the message's table of
 * fields, name by name. What a kind has of its own is its line of features.def.
 */
#include "text/pipeline/feature.h"

#include <assert.h>
#include <string.h>

/* Where the shared fields lie in struct pc_feature. */
typedef struct pc_feature feature_self;
static const struct field_def view_fields[] = {
/* clang-format off */
#define self feature_self
#define SCHEMA_DEF(n) pc_##n##_def
#include "text/schema_as_table.h"
#include "text/pipeline/feature_view.def"
#include "text/schema_end.h"
#undef SCHEMA_DEF
#undef self
    /* clang-format on */
};

static void add_input(struct pc_feature *f, const char *field, int64_t index,
                      const char *text)
{
    struct pc_input in = {.field = field, .index = index, .text = text};
    const char *colon = strchr(text, ':');
    if (colon && !strchr(colon + 1, ':') && colon[1]) {
        static const char *const sides[] = {"user", "item", "context", "feature",
                                            "const"};
        in.side = str_of(text, (size_t)(colon - text));
        in.name = str_c(colon + 1);
        for (size_t i = 0; i < ARRAY_LEN(sides); i++)
            in.ok = in.ok || str_is(in.side, sides[i]);
    }
    f->inputs[f->n_inputs++] = in;
}

/* What field `d` of the message lists or names. ALL, where a feature has several fields,
 * means that it does without this one.
 */
static void add_inputs(struct pc_feature *f, const struct field_def *d)
{
    const char *at = (const char *)f->msg;
    if (d->label == LABEL_REP) {
        const char *const *texts = *(const char *const *const *)(at + d->at);
        for (int64_t i = 0; i < *(const int64_t *)(at + d->count); i++)
            add_input(f, d->name, i, texts[i]);
        return;
    }
    const char *text = *(const char *const *)(at + d->at);
    bool all = f->kind->max_inputs > 1 && strcmp(text, "ALL") == 0;
    if (*text && !all)
        add_input(f, d->name, -1, text);
}

static size_t count_of(const struct msg *m, const struct field_def *d)
{
    return d->count ? (size_t) * (const int64_t *)((const char *)m + d->count) : 1;
}

static void set_inputs(struct pc_feature *f, struct arena *a)
{
    struct str rest = str_c(f->kind->inputs), word;
    size_t n = 0;
    const struct field_def *fields[8];
    for (size_t i = 0; str_split(&rest, ' ', &word); i++) {
        assert(i < ARRAY_LEN(fields) - 1);
        fields[i] = schema_field(f->kind->msg, arena_strndup(a, word.p, word.n));
        fields[i + 1] = NULL;
        n += count_of(f->msg, fields[i]);
    }
    f->inputs = arena_alloc(a, n * sizeof(*f->inputs) + 1);
    for (size_t i = 0; fields[i]; i++)
        add_inputs(f, fields[i]);
}

/* Unset: one number; all ids of a row, one of a step; all tokens, or each a step. */
static uint32_t value_dim_of(const struct pc_feature *f)
{
    if (f->kind->own_ids)
        return f->tokens_as_sequence ? 1 : 0;
    if (f->has_value_dim)
        return f->value_dim;
    return f->kind->ids && !f->sequence ? 0 : 1;
}

static void set_feature(struct pc_feature *f, const struct msg *m, struct arena *a)
{
    f->msg = m;
    schema_view(m, view_fields, ARRAY_LEN(view_fields), f);
    f->sequence = f->sequence || f->tokens_as_sequence;
    f->value_dim = value_dim_of(f);
    set_inputs(f, a);
}

static bool reads_own_name(const struct pc_DataConfig *data)
{
    enum pc_FgMode mode = pc_fg_mode(data);
    return mode == pc_FgMode_FG_NONE || mode == pc_FgMode_FG_BUCKETIZE;
}

static const struct pc_feature_kind *kind_of(const struct msg_def *def)
{
    for (size_t i = 0; i < pc_feature_kind_count; i++)
        if (pc_feature_kinds[i].msg == def)
            return &pc_feature_kinds[i];
    return NULL;
}

const struct pc_feature_kind *pc_feature_kind_find(const char *member)
{
    for (size_t i = 0; i < pc_feature_kind_count; i++)
        if (strcmp(pc_feature_kinds[i].member, member) == 0)
            return &pc_feature_kinds[i];
    return NULL;
}

/* `holder` is a FeatureConfig or SeqFeatureConfig; one without a feature adds nothing. */
static void add_feature(struct pc_features *list, const struct msg *holder,
                        const struct pc_SequenceFeature *group, struct arena *a)
{
    const struct msg *m;
    const struct field_def *which = schema_oneof(holder, "feature", &m);
    const struct pc_feature_kind *kind = which ? kind_of(m->def) : NULL;
    if (!kind)
        return;
    struct pc_feature *f = &list->at[list->n++];
    *f = (struct pc_feature){.group = group, .kind = kind};
    f->sequence = group || str_starts(which->name, "sequence_");
    set_feature(f, m, a);
    f->name = f->feature_name;
    if (group) {
        f->sequence_length = group->sequence_length;
        f->sequence_delim = group->sequence_delim;
        f->name = arena_printf(a, "%s__%s", group->sequence_name, f->feature_name);
    }
    struct map_entry *e = map_put(&list->by_name, str_c(f->name));
    if (!e->value)
        e->value = f;
}

/* Whether the group holds the column that names the items of rows. */
static bool holds_items(const struct pc_feature *f, const struct pc_DataConfig *data,
                        const char *item_id_field, struct arena *a)
{
    if (reads_own_name(data))
        return strcmp(f->name, item_id_field) == 0;
    for (size_t i = 0; i < f->n_inputs; i++)
        if (pc_input_is_sequence(f, &f->inputs[i]) &&
            strcmp(pc_input_column(f, &f->inputs[i], a), item_id_field) == 0)
            return true;
    return false;
}

/* Rows of several items: what a sampler knows of items is a row of its own each, not a step. */
static void find_candidates(struct pc_features *list, const struct pc_DataConfig *data,
                            struct arena *a)
{
    struct pc_sampler s = pc_sampler_of(data);
    if (!s.msg || s.kind->tree || !s.item_id_field)
        return;
    for (size_t i = 0; i < list->n && !list->candidates; i++)
        if (list->at[i].group && holds_items(&list->at[i], data, s.item_id_field, a))
            list->candidates = list->at[i].group;
    for (size_t i = 0; i < list->n; i++) {
        struct pc_feature *f = &list->at[i];
        f->candidates = list->candidates;
        f->of_items = list->candidates && f->group == list->candidates &&
                      pc_feature_is_sampled(f, data, a);
    }
    for (size_t i = 0; i < list->n; i++)
        list->at[i].sequence = list->at[i].sequence && !list->at[i].of_items;
}

void pc_features_init(struct pc_features *list, const struct pc_EasyRecConfig *conf,
                      struct arena *a)
{
    size_t n = 0;
    *list = (struct pc_features){0};
    for (int64_t i = 0; i < conf->n_feature_configs; i++) {
        const struct pc_SequenceFeature *group =
            conf->feature_configs[i]->sequence_feature;
        n += group ? (size_t)group->n_features : 1;
    }
    list->at = arena_alloc(a, n * sizeof(*list->at) + 1);
    for (int64_t i = 0; i < conf->n_feature_configs; i++) {
        const struct pc_FeatureConfig *c = conf->feature_configs[i];
        const struct pc_SequenceFeature *group = c->sequence_feature;
        if (!group)
            add_feature(list, &c->base, NULL, a);
        for (int64_t k = 0; group && k < group->n_features; k++)
            add_feature(list, &group->features[k]->base, group, a);
    }
    find_candidates(list, conf->data_config, a);
}

void pc_features_release(struct pc_features *f)
{
    map_release(&f->by_name);
    *f = (struct pc_features){0};
}

static bool is_short_name(const struct pc_feature *f, struct str name)
{
    size_t n = f->group ? strlen(f->group->sequence_name) : 0;
    return f->group && name.n > n + 1 && name.p[n] == '_' &&
           memcmp(name.p, f->group->sequence_name, n) == 0 &&
           str_is(str_of(name.p + n + 1, name.n - n - 1), f->feature_name);
}

const struct pc_feature *pc_features_find(const struct pc_features *f, struct str name)
{
    const struct map_entry *e = map_find(&f->by_name, name);
    if (e)
        return e->value;
    for (size_t i = 0; i < f->n; i++)
        if (is_short_name(&f->at[i], name))
            return &f->at[i];
    return NULL;
}

bool pc_feature_is_sparse(const struct pc_feature *f)
{
    return f->kind->ids || f->n_boundaries > 0 || f->has_num_buckets ||
           f->has_hash_bucket_size || f->n_vocab_list > 0 || f->n_vocab_dict > 0 ||
           f->has_vocab_file || f->zch || f->dynamicemb;
}

bool pc_feature_has_vector(const struct pc_feature *f)
{
    return pc_feature_is_sparse(f) || ((f->autodis || f->mlp) && !f->sequence);
}

static uint64_t vocab_dict_rows(const struct pc_feature *f)
{
    uint64_t most = 0;
    for (int64_t i = 0; i < f->n_vocab_dict; i++)
        if (f->vocab_dict[i].value > most)
            most = f->vocab_dict[i].value;
    return most + 1;
}

uint64_t pc_feature_rows(const struct pc_feature *f)
{
    if (f->zch)
        return f->zch->zch_size;
    if (f->dynamicemb)
        return f->dynamicemb->max_capacity;
    if (f->has_hash_bucket_size)
        return f->hash_bucket_size;
    if (f->has_num_buckets)
        return f->num_buckets;
    if (f->n_vocab_list)
        return (uint64_t)f->n_vocab_list + (f->has_default_bucketize_value ? 0 : 2) +
               f->kind->spare_row;
    if (f->n_vocab_dict)
        return vocab_dict_rows(f);
    if (f->has_vocab_file || f->kind->own_ids)
        return 0;
    return f->n_boundaries ? (uint64_t)f->n_boundaries + 1 : 0;
}

uint32_t pc_feature_width(const struct pc_feature *f)
{
    if (pc_feature_has_vector(f))
        return f->embedding_dim;
    return f->value_dim ? f->value_dim : 1;
}

static bool is_attr(const struct pc_sampler *s, const char *column)
{
    for (int64_t i = 0; i < s->n_attr_fields; i++)
        if (strcmp(column, s->attr_fields[i]) == 0)
            return true;
    return false;
}

/* Of a sequence: whether the input has a value per step. */
static bool has_steps(const struct pc_feature *f, const struct pc_input *in)
{
    for (int64_t i = 0; i < f->n_sequence_fields; i++)
        if (str_is(in->name, f->sequence_fields[i]))
            return true;
    if (f->n_sequence_fields > 0)
        return false;
    return f->kind->max_inputs == 1 ? !str_is(in->side, "feature")
                                    : str_is(in->side, "item");
}

bool pc_input_is_sequence(const struct pc_feature *f, const struct pc_input *in)
{
    return f->sequence && has_steps(f, in);
}

const char *pc_input_column(const struct pc_feature *f, const struct pc_input *in,
                            struct arena *a)
{
    if (f->group && (f->sequence || f->of_items) && has_steps(f, in))
        return arena_printf(a, "%s__%.*s", f->group->sequence_name, (int)in->name.n,
                            in->name.p);
    return arena_strndup(a, in->name.p ? in->name.p : "", in->name.n);
}

const char *pc_behind_prefix(const struct pc_SequenceFeature *group, const char *column)
{
    size_t n = strlen(group->sequence_name);
    return strncmp(column, group->sequence_name, n) == 0 && column[n] == '_' &&
                   column[n + 1] == '_'
               ? column + n + 2
               : NULL;
}

/* A column to which the sampler adds those of its items. */
static bool is_item_column(const struct pc_feature *f, const struct pc_sampler *s,
                           const char *column)
{
    const char *name = f->candidates ? pc_behind_prefix(f->candidates, column) : column;
    return name && is_attr(s, name);
}

bool pc_feature_is_sampled(const struct pc_feature *f, const struct pc_DataConfig *data,
                           struct arena *a)
{
    struct pc_sampler s = pc_sampler_of(data);
    bool negative = false;
    if (!s.msg || s.kind->tree)
        return false;
    if (reads_own_name(data))
        negative = is_item_column(f, &s, f->name);
    else
        for (size_t i = 0; i < f->n_inputs; i++)
            negative =
                negative || is_item_column(f, &s, pc_input_column(f, &f->inputs[i], a));
    return negative;
}

enum pc_data_group pc_feature_data_group(const struct pc_feature *f,
                                         const struct pc_DataConfig *data,
                                         struct arena *a)
{
    if (!data || data->force_base_data_group || !pc_feature_is_sampled(f, data, a))
        return PC_BASE;
    return f->kind->max_inputs == 1 ? PC_NEG : PC_CROSS_NEG;
}

enum pc_FgMode pc_fg_mode(const struct pc_DataConfig *data)
{
    if (!data)
        return pc_FgMode_FG_NONE;
    if (!data->has_fg_encoded)
        return (enum pc_FgMode)data->fg_mode;
    if (data->fg_encoded)
        return pc_FgMode_FG_NONE;
    return data->fg_threads > 0 ? pc_FgMode_FG_DAG : pc_FgMode_FG_NORMAL;
}

bool pc_fg_mode_masks(enum pc_FgMode mode)
{
    return mode == pc_FgMode_FG_NONE || mode == pc_FgMode_FG_NORMAL;
}

typedef struct pc_sampler sampler_self;
static const struct field_def sampler_fields[] = {
/* clang-format off */
#define self sampler_self
#define SCHEMA_DEF(n) pc_##n##_def
#include "text/schema_as_table.h"
#include "text/pipeline/sampler_view.def"
#include "text/schema_end.h"
#undef SCHEMA_DEF
#undef self
    /* clang-format on */
};

struct pc_sampler pc_sampler_of(const struct pc_DataConfig *data)
{
    struct pc_sampler s = {0};
    if (!data || !schema_oneof(&data->base, "sampler", &s.msg))
        return s;
    s.name = s.msg->field;
    for (size_t i = 0; i < pc_sampler_kind_count; i++)
        if (pc_sampler_kinds[i].msg == s.msg->def)
            s.kind = &pc_sampler_kinds[i];
    schema_view(s.msg, sampler_fields, ARRAY_LEN(sampler_fields), &s);
    return s;
}

/* The text of a parameter in one `fields { key: ... value { string_value: ... } }`. */
static const struct node *in_field(const struct node *field, const char *name)
{
    const struct node *key = node_find(field, "key");
    if (!key || !node_is_scalar(key) || !str_is(key->text, name))
        return NULL;
    return node_find(node_find(field, "value"), "string_value");
}

const struct node *pc_operator_param(const struct node *params, const char *name)
{
    const struct node *found = node_find(params, name);
    if (found || !params || params->kind != NODE_MAP)
        return found;
    for (size_t i = 0; i < params->map.n && !found; i++) {
        const struct node *v = params->map.at[i].value;
        if (!str_is(params->map.at[i].key, "fields"))
            continue;
        if (v->kind != NODE_LIST)
            found = in_field(v, name);
        for (size_t k = 0; v->kind == NODE_LIST && k < v->list.n && !found; k++)
            found = in_field(v->list.at[k], name);
    }
    return found;
}
