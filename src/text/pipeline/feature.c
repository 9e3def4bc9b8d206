/* SPDX-License-Identifier: Apache-2.0 */
/* The messages have no common base in C, so each kind copies its fields into the view
 * with the macros below; a field that a message lacks does not compile there.
 */
#include "text/pipeline/feature.h"

#include <string.h>

#define TAKE_COMMON(f, m)                                              \
    do {                                                               \
        (f)->msg = &(m)->base;                                         \
        (f)->feature_name = (m)->feature_name;                         \
        (f)->embedding_name = (m)->embedding_name;                     \
        (f)->embedding_dim = (m)->embedding_dim;                       \
        (f)->has_embedding_dim = (m)->has_embedding_dim;               \
        (f)->pooling = (m)->pooling;                                   \
        (f)->init_fn = (m)->init_fn;                                   \
        (f)->has_init_fn = (m)->has_init_fn;                           \
        (f)->use_mask = (m)->use_mask;                                 \
        (f)->fg_encoded_default_value = (m)->fg_encoded_default_value; \
        (f)->trainable = (m)->trainable;                               \
        (f)->data_type = (m)->data_type;                               \
        (f)->stub_type = (m)->stub_type;                               \
        (f)->sequence_length = (m)->sequence_length;                   \
        (f)->sequence_delim = (m)->sequence_delim;                     \
        (f)->sequence_fields = (m)->sequence_fields;                   \
        (f)->n_sequence_fields = (m)->n_sequence_fields;               \
    } while (0)
#define TAKE_IDS(f, m)                                                       \
    do {                                                                     \
        (f)->has_hash_bucket_size = (m)->has_hash_bucket_size;               \
        (f)->hash_bucket_size = (m)->hash_bucket_size;                       \
        (f)->vocab_list = (m)->vocab_list;                                   \
        (f)->n_vocab_list = (m)->n_vocab_list;                               \
        (f)->vocab_dict = (m)->vocab_dict;                                   \
        (f)->n_vocab_dict = (m)->n_vocab_dict;                               \
        (f)->has_vocab_file = (m)->has_vocab_file;                           \
        (f)->vocab_file = (m)->vocab_file;                                   \
        (f)->asset_dir = (m)->asset_dir;                                     \
        (f)->has_default_bucketize_value = (m)->has_default_bucketize_value; \
        (f)->default_bucketize_value = (m)->default_bucketize_value;         \
        (f)->zch = (m)->zch;                                                 \
        (f)->dynamicemb = (m)->dynamicemb;                                   \
    } while (0)
#define TAKE_NUM_BUCKETS(f, m)                       \
    do {                                             \
        (f)->has_num_buckets = (m)->has_num_buckets; \
        (f)->num_buckets = (m)->num_buckets;         \
    } while (0)
#define TAKE_NUMBERS(f, m)                     \
    do {                                       \
        (f)->boundaries = (m)->boundaries;     \
        (f)->n_boundaries = (m)->n_boundaries; \
        (f)->autodis = (m)->autodis;           \
        (f)->mlp = (m)->mlp;                   \
    } while (0)
#define TAKE_TEXT(f, m)                          \
    do {                                         \
        (f)->default_value = (m)->default_value; \
        (f)->separator = (m)->separator;         \
    } while (0)

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

static void one_input(struct pc_feature *f, struct arena *a, const char *text)
{
    f->inputs = arena_alloc(a, sizeof(*f->inputs));
    if (*text)
        add_input(f, "expression", -1, text);
}

static void list_inputs(struct pc_feature *f, struct arena *a, const char *field,
                        const char *const *texts, int64_t n)
{
    f->inputs = arena_alloc(a, (size_t)n * sizeof(*f->inputs) + 1);
    for (int64_t i = 0; i < n; i++)
        add_input(f, field, i, texts[i]);
}

/* `names` and `texts` end with NULL in `names`; unset ones and ALL are no inputs. */
static void named_inputs(struct pc_feature *f, struct arena *a, const char *const *names,
                         const char *const *texts)
{
    f->inputs = arena_alloc(a, 3 * sizeof(*f->inputs));
    for (size_t i = 0; names[i]; i++)
        if (*texts[i] && strcmp(texts[i], "ALL") != 0)
            add_input(f, names[i], -1, texts[i]);
}

static void view_id(struct pc_feature *f, const void *msg, struct arena *a)
{
    const struct pc_IdFeature *m = msg;
    f->kind = PC_ID;
    f->weighted = m->weighted;
    TAKE_COMMON(f, m);
    TAKE_IDS(f, m);
    TAKE_NUM_BUCKETS(f, m);
    TAKE_TEXT(f, m);
    f->value_dim = m->has_value_dim ? m->value_dim : f->sequence ? 1 : 0;
    one_input(f, a, m->expression);
}

static void view_raw(struct pc_feature *f, const void *msg, struct arena *a)
{
    const struct pc_RawFeature *m = msg;
    f->kind = PC_RAW;
    TAKE_COMMON(f, m);
    TAKE_NUMBERS(f, m);
    TAKE_TEXT(f, m);
    f->normalizer = m->normalizer;
    f->value_dim = m->value_dim;
    one_input(f, a, m->expression);
}

static void view_combo(struct pc_feature *f, const void *msg, struct arena *a)
{
    const struct pc_ComboFeature *m = msg;
    f->kind = PC_COMBO;
    TAKE_COMMON(f, m);
    TAKE_IDS(f, m);
    TAKE_TEXT(f, m);
    f->value_dim = m->has_value_dim ? m->value_dim : f->sequence ? 1 : 0;
    list_inputs(f, a, "expression", m->expression, m->n_expression);
}

static void view_combine(struct pc_feature *f, const void *msg, struct arena *a)
{
    const struct pc_CombineFeature *m = msg;
    f->kind = PC_COMBINE;
    TAKE_COMMON(f, m);
    TAKE_NUMBERS(f, m);
    TAKE_NUM_BUCKETS(f, m);
    TAKE_TEXT(f, m);
    f->normalizer = m->normalizer;
    f->value_dim = 1;
    one_input(f, a, m->expression);
}

static void view_lookup(struct pc_feature *f, const void *msg, struct arena *a)
{
    const struct pc_LookupFeature *m = msg;
    f->kind = PC_LOOKUP;
    TAKE_COMMON(f, m);
    TAKE_IDS(f, m);
    TAKE_NUMBERS(f, m);
    TAKE_NUM_BUCKETS(f, m);
    TAKE_TEXT(f, m);
    f->normalizer = m->normalizer;
    f->value_dim = m->has_value_dim ? m->value_dim : 1;
    named_inputs(f, a, (const char *const[]){"map", "key", NULL},
                 (const char *const[]){m->map, m->key});
}

static void view_match(struct pc_feature *f, const void *msg, struct arena *a)
{
    const struct pc_MatchFeature *m = msg;
    f->kind = PC_MATCH;
    TAKE_COMMON(f, m);
    TAKE_IDS(f, m);
    TAKE_NUMBERS(f, m);
    TAKE_NUM_BUCKETS(f, m);
    TAKE_TEXT(f, m);
    f->normalizer = m->normalizer;
    f->value_dim = m->has_value_dim ? m->value_dim : 1;
    named_inputs(f, a, (const char *const[]){"nested_map", "pkey", "skey", NULL},
                 (const char *const[]){m->nested_map, m->pkey, m->skey});
}

static void view_expr(struct pc_feature *f, const void *msg, struct arena *a)
{
    const struct pc_ExprFeature *m = msg;
    f->kind = PC_EXPR;
    TAKE_COMMON(f, m);
    TAKE_NUMBERS(f, m);
    TAKE_TEXT(f, m);
    f->value_dim = m->has_value_dim ? m->value_dim : 1;
    list_inputs(f, a, "variables", m->variables, m->n_variables);
}

static void view_overlap(struct pc_feature *f, const void *msg, struct arena *a)
{
    const struct pc_OverlapFeature *m = msg;
    f->kind = PC_OVERLAP;
    TAKE_COMMON(f, m);
    TAKE_NUMBERS(f, m);
    f->separator = m->separator;
    f->normalizer = m->normalizer;
    f->value_dim = 1;
    named_inputs(f, a, (const char *const[]){"query", "title", NULL},
                 (const char *const[]){m->query, m->title});
}

static void view_tokenize(struct pc_feature *f, const void *msg, struct arena *a)
{
    const struct pc_TokenizeFeature *m = msg;
    f->kind = PC_TOKENIZE;
    TAKE_COMMON(f, m);
    f->default_value = m->default_value;
    f->has_vocab_file = m->has_vocab_file;
    f->vocab_file = m->vocab_file;
    f->asset_dir = m->asset_dir;
    f->value_dim = m->tokens_as_sequence ? 1 : 0;
    f->sequence = f->sequence || m->tokens_as_sequence;
    one_input(f, a, m->expression);
}

static void view_kv_dot_product(struct pc_feature *f, const void *msg, struct arena *a)
{
    const struct pc_KvDotProduct *m = msg;
    f->kind = PC_KV_DOT_PRODUCT;
    TAKE_COMMON(f, m);
    TAKE_NUMBERS(f, m);
    TAKE_TEXT(f, m);
    f->value_dim = 1;
    named_inputs(f, a, (const char *const[]){"query", "document", NULL},
                 (const char *const[]){m->query, m->document});
}

static void view_custom(struct pc_feature *f, const void *msg, struct arena *a)
{
    const struct pc_CustomFeature *m = msg;
    f->kind = PC_CUSTOM;
    TAKE_COMMON(f, m);
    TAKE_IDS(f, m);
    TAKE_NUMBERS(f, m);
    TAKE_NUM_BUCKETS(f, m);
    TAKE_TEXT(f, m);
    f->normalizer = m->normalizer;
    f->value_dim = m->has_value_dim ? m->value_dim : 1;
    list_inputs(f, a, "expression", m->expression, m->n_expression);
}

static void view_bool_mask(struct pc_feature *f, const void *msg, struct arena *a)
{
    const struct pc_BoolMaskFeature *m = msg;
    f->kind = PC_BOOL_MASK;
    TAKE_COMMON(f, m);
    TAKE_IDS(f, m);
    TAKE_NUM_BUCKETS(f, m);
    TAKE_TEXT(f, m);
    f->value_dim = m->has_value_dim ? m->value_dim : f->sequence ? 1 : 0;
    list_inputs(f, a, "expression", m->expression, m->n_expression);
}

static const struct {
    const struct msg_def *def;
    void (*view)(struct pc_feature *, const void *, struct arena *);
} views[] = {
    {&pc_IdFeature_def, view_id},
    {&pc_RawFeature_def, view_raw},
    {&pc_ComboFeature_def, view_combo},
    {&pc_CombineFeature_def, view_combine},
    {&pc_LookupFeature_def, view_lookup},
    {&pc_MatchFeature_def, view_match},
    {&pc_ExprFeature_def, view_expr},
    {&pc_OverlapFeature_def, view_overlap},
    {&pc_TokenizeFeature_def, view_tokenize},
    {&pc_KvDotProduct_def, view_kv_dot_product},
    {&pc_CustomFeature_def, view_custom},
    {&pc_BoolMaskFeature_def, view_bool_mask},
};

/* `holder` is a FeatureConfig or SeqFeatureConfig; one without a feature adds nothing. */
static void add_feature(struct pc_features *list, const struct msg *holder,
                        const struct pc_SequenceFeature *group, struct arena *a)
{
    const struct msg *m;
    const struct field_def *which = schema_oneof(holder, "feature", &m);
    if (!which)
        return;
    for (size_t i = 0; i < ARRAY_LEN(views); i++) {
        if (views[i].def != m->def)
            continue;
        struct pc_feature *f = &list->at[list->n++];
        *f = (struct pc_feature){.group = group};
        f->sequence = group || str_starts(which->name, "sequence_");
        views[i].view(f, m, a);
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
    switch (f->kind) {
    case PC_ID:
    case PC_COMBO:
    case PC_TOKENIZE:
    case PC_BOOL_MASK:
        return true;
    default:
        return f->n_boundaries > 0 || f->has_num_buckets || f->has_hash_bucket_size ||
               f->n_vocab_list > 0 || f->n_vocab_dict > 0 || f->has_vocab_file ||
               f->zch || f->dynamicemb;
    }
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
               (f->kind == PC_MATCH ? 1 : 0);
    if (f->n_vocab_dict)
        return vocab_dict_rows(f);
    if (f->has_vocab_file || f->kind == PC_TOKENIZE)
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

static bool is_single_input(const struct pc_feature *f)
{
    return f->kind == PC_ID || f->kind == PC_RAW || f->kind == PC_TOKENIZE ||
           f->kind == PC_COMBINE;
}

bool pc_input_is_sequence(const struct pc_feature *f, const struct pc_input *in)
{
    if (!f->sequence)
        return false;
    for (int64_t i = 0; i < f->n_sequence_fields; i++)
        if (str_is(in->name, f->sequence_fields[i]))
            return true;
    if (f->n_sequence_fields > 0)
        return false;
    return is_single_input(f) ? !str_is(in->side, "feature") : str_is(in->side, "item");
}

const char *pc_input_column(const struct pc_feature *f, const struct pc_input *in,
                            struct arena *a)
{
    if (f->group && pc_input_is_sequence(f, in))
        return arena_printf(a, "%s__%.*s", f->group->sequence_name, (int)in->name.n,
                            in->name.p);
    return arena_strndup(a, in->name.p ? in->name.p : "", in->name.n);
}

bool pc_feature_is_sampled(const struct pc_feature *f, const struct pc_DataConfig *data,
                           struct arena *a)
{
    struct pc_sampler s = pc_sampler_of(data);
    bool negative = false;
    if (!s.msg || data->tdm_sampler)
        return false;
    enum pc_FgMode mode = pc_fg_mode(data);
    if (mode == pc_FgMode_FG_NONE || mode == pc_FgMode_FG_BUCKETIZE)
        negative = is_attr(&s, f->name);
    else
        for (size_t i = 0; i < f->n_inputs; i++)
            negative = negative || is_attr(&s, pc_input_column(f, &f->inputs[i], a));
    return negative;
}

enum pc_data_group pc_feature_data_group(const struct pc_feature *f,
                                         const struct pc_DataConfig *data,
                                         struct arena *a)
{
    if (!data || data->force_base_data_group || !pc_feature_is_sampled(f, data, a))
        return PC_BASE;
    return is_single_input(f) ? PC_NEG : PC_CROSS_NEG;
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

#define TAKE_SAMPLER(s, m)                      \
    do {                                        \
        (s).msg = &(m)->base;                   \
        (s).name = (m)->base.field;             \
        (s).attr_fields = (m)->attr_fields;     \
        (s).n_attr_fields = (m)->n_attr_fields; \
        (s).item_id_field = (m)->item_id_field; \
    } while (0)
#define TAKE_USER_SAMPLER(s, m)                 \
    do {                                        \
        TAKE_SAMPLER(s, m);                     \
        (s).num_sample = (m)->num_sample;       \
        (s).user_id_field = (m)->user_id_field; \
    } while (0)

struct pc_sampler pc_sampler_of(const struct pc_DataConfig *data)
{
    struct pc_sampler s = {0};
    if (!data)
        return s;
    if (data->negative_sampler) {
        TAKE_SAMPLER(s, data->negative_sampler);
        s.num_sample = data->negative_sampler->num_sample;
    } else if (data->negative_sampler_v2) {
        TAKE_USER_SAMPLER(s, data->negative_sampler_v2);
    } else if (data->hard_negative_sampler) {
        TAKE_USER_SAMPLER(s, data->hard_negative_sampler);
    } else if (data->hard_negative_sampler_v2) {
        TAKE_USER_SAMPLER(s, data->hard_negative_sampler_v2);
    } else if (data->tdm_sampler) {
        TAKE_SAMPLER(s, data->tdm_sampler);
    }
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
