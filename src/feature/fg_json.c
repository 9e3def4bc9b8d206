/* SPDX-License-Identifier: Apache-2.0 */
/* Writing fg.json: what every feature says, then what each kind adds. */
#include "feature/fg_json.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "text/json.h"
#include "text/pipeline/feature.h"

static const struct span nowhere;

struct writer {
    struct arena *a;
    const struct pc_feature *f;
    struct node *to;
};

static void put(struct writer *w, const char *key, struct node *value)
{
    node_add(w->a, w->to, str_c(key), nowhere, value);
}

static void put_text(struct writer *w, const char *key, const char *text)
{
    put(w, key, node_str(w->a, text, strlen(text), nowhere));
}

static void put_count(struct writer *w, const char *key, uint64_t v)
{
    put(w, key, node_uint(w->a, v, nowhere));
}

static void put_flag(struct writer *w, const char *key, bool v)
{
    put(w, key, node_bool(w->a, v, nowhere));
}

static void put_texts(struct writer *w, const char *key, const char *const *texts,
                      int64_t n)
{
    struct node *list = node_create(w->a, NODE_LIST, nowhere);
    for (int64_t i = 0; i < n; i++)
        node_push(w->a, list, node_str(w->a, texts[i], strlen(texts[i]), nowhere));
    put(w, key, list);
}

/* An empty default of a sequence is "0". */
static const char *default_of(const struct pc_feature *f)
{
    const char *text = f->default_value ? f->default_value : "";
    return !*text && f->sequence ? "0" : text;
}

static void put_default(struct writer *w)
{
    put_text(w, "default_value", default_of(w->f));
}

static void put_separator(struct writer *w)
{
    if (w->f->separator && strcmp(w->f->separator, "\x1d") != 0)
        put_text(w, "separator", w->f->separator);
}

static void put_normalizer(struct writer *w)
{
    if (w->f->normalizer && *w->f->normalizer)
        put_text(w, "normalizer", w->f->normalizer);
}

static void put_boundaries(struct writer *w)
{
    if (!w->f->n_boundaries)
        return;
    struct node *list = node_create(w->a, NODE_LIST, nowhere);
    for (int64_t i = 0; i < w->f->n_boundaries; i++)
        node_push(w->a, list, node_real(w->a, w->f->boundaries[i], nowhere));
    put(w, "boundaries", list);
}

static void put_vocab_list(struct writer *w)
{
    const struct pc_feature *f = w->f;
    struct node *list = node_create(w->a, NODE_LIST, nowhere);
    bool given = f->has_default_bucketize_value;
    if (!given) {
        const char *def = default_of(f);
        node_push(w->a, list, node_str(w->a, def, strlen(def), nowhere));
        node_push(w->a, list, node_str(w->a, "<OOV>", 5, nowhere));
    }
    for (int64_t i = 0; i < f->n_vocab_list; i++)
        node_push(w->a, list,
                  node_str(w->a, f->vocab_list[i], strlen(f->vocab_list[i]), nowhere));
    put(w, "vocab_list", list);
}

static void put_vocab_dict(struct writer *w)
{
    const struct pc_feature *f = w->f;
    struct node *map = node_create(w->a, NODE_MAP, nowhere);
    const char *def = default_of(f);
    bool adds = !f->has_default_bucketize_value && *def;
    for (int64_t i = 0; i < f->n_vocab_dict; i++)
        if (!adds || strcmp(f->vocab_dict[i].key, def) != 0)
            node_add(w->a, map, str_c(f->vocab_dict[i].key), nowhere,
                     node_uint(w->a, f->vocab_dict[i].value, nowhere));
    if (adds)
        node_add(w->a, map, str_c(def), nowhere, node_uint(w->a, 0, nowhere));
    put(w, "vocab_dict", map);
}

static void put_bucket(struct writer *w)
{
    const struct pc_feature *f = w->f;
    bool vocab = f->n_vocab_list || f->n_vocab_dict || f->has_vocab_file;
    if (f->zch || f->dynamicemb)
        put_count(w, "hash_bucket_size", INT64_MAX);
    else if (f->has_hash_bucket_size)
        put_count(w, "hash_bucket_size", f->hash_bucket_size);
    else if (f->n_vocab_list)
        put_vocab_list(w);
    else if (f->n_vocab_dict)
        put_vocab_dict(w);
    else if (f->has_vocab_file)
        put_text(w, "vocab_file", f->vocab_file);
    else if (f->has_num_buckets)
        put_count(w, "num_buckets", f->num_buckets);
    else
        put_boundaries(w);
    if (vocab)
        put_count(w, "default_bucketize_value",
                  f->has_default_bucketize_value ? f->default_bucketize_value : 1);
}

static void write_id(struct writer *w)
{
    const struct pc_IdFeature *m = (const void *)w->f->msg;
    put_default(w);
    put_text(w, "expression", m->expression);
    put_text(w, "value_type", m->has_fg_value_type ? m->fg_value_type : "string");
    put_flag(w, "need_prefix", false);
    put_count(w, "value_dim", w->f->value_dim);
    put_separator(w);
    if (m->weighted)
        put_flag(w, "weighted", true);
    put_bucket(w);
}

static void write_raw(struct writer *w)
{
    const struct pc_RawFeature *m = (const void *)w->f->msg;
    put_default(w);
    put_text(w, "expression", m->expression);
    put_text(w, "value_type", "float");
    if (w->f->value_dim > 1) {
        put_count(w, "value_dim", w->f->value_dim);
        put_separator(w);
    }
    put_normalizer(w);
    put_boundaries(w);
}

static void write_combo(struct writer *w)
{
    const struct pc_ComboFeature *m = (const void *)w->f->msg;
    put_default(w);
    put_texts(w, "expression", m->expression, m->n_expression);
    put_text(w, "value_type", "string");
    put_flag(w, "need_prefix", false);
    put_count(w, "value_dim", w->f->value_dim);
    put_separator(w);
    put_bucket(w);
}

static void write_combine(struct writer *w)
{
    const struct pc_CombineFeature *m = (const void *)w->f->msg;
    struct node *map = node_create(w->a, NODE_MAP, nowhere);
    put_default(w);
    put_text(w, "expression", m->expression);
    put_text(w, "value_type", w->f->has_num_buckets ? "int64" : "float");
    put_flag(w, "need_prefix", false);
    put_text(w, "combiner", m->combiner);
    put_separator(w);
    put_normalizer(w);
    for (int64_t i = 0; i < m->n_value_map; i++)
        node_add(w->a, map, str_c(m->value_map[i].key), nowhere,
                 node_real(w->a, m->value_map[i].value, nowhere));
    if (m->n_value_map)
        put(w, "value_map", map);
    put_bucket(w);
    if (pc_feature_is_sparse(w->f))
        put_count(w, "value_dim", 1);
}

static const char *value_type(const struct pc_feature *f, bool set, const char *given)
{
    bool text = f->zch || f->dynamicemb || f->has_hash_bucket_size ||
                f->has_num_buckets || f->n_vocab_list || f->n_vocab_dict ||
                f->has_vocab_file;
    return set ? given : text ? "string" : "float";
}

static void write_lookup(struct writer *w)
{
    const struct pc_LookupFeature *m = (const void *)w->f->msg;
    const char *type = value_type(w->f, m->has_fg_value_type, m->fg_value_type);
    bool discrete = m->need_discrete || strcmp(type, "string") == 0;
    put_text(w, "map", m->map);
    put_text(w, "key", m->key);
    put_default(w);
    put_text(w, "value_type", type);
    put_flag(w, "needDiscrete", discrete);
    put_flag(w, "needKey", m->need_key);
    put_text(w, "combiner", discrete ? "" : m->combiner);
    put_separator(w);
    put_normalizer(w);
    put_bucket(w);
    if (m->has_value_dim)
        put_count(w, "value_dim", m->value_dim);
}

/* A lookup of several numbers is written as two features: the text that was found, and
 * the numbers in it. */
static bool is_split_lookup(const struct pc_feature *f)
{
    const struct pc_LookupFeature *m = (const void *)f->msg;
    return f->kind == PC_LOOKUP && m->has_value_dim && m->value_dim > 1;
}

static const char *found_name(struct writer *w)
{
    return arena_printf(w->a, "%s__lookup", w->f->feature_name);
}

static void write_found(struct writer *w)
{
    const struct pc_LookupFeature *m = (const void *)w->f->msg;
    struct buf text;
    buf_init(&text, 1 << 20);
    for (uint32_t i = 0; i < m->value_dim; i++)
        buf_printf(&text, "%s%s", i ? m->value_separator : "", default_of(w->f));
    put_text(w, "map", m->map);
    put_text(w, "key", m->key);
    put_text(w, "default_value", buf_str(&text));
    put_text(w, "value_type", "string");
    put_flag(w, "needDiscrete", true);
    put_flag(w, "needKey", m->need_key);
    put_text(w, "combiner", "");
    put_count(w, "value_dim", 1);
    buf_release(&text);
}

static void write_split_lookup(struct writer *w)
{
    const struct pc_LookupFeature *m = (const void *)w->f->msg;
    put_default(w);
    put_text(w, "expression", arena_printf(w->a, "feature:%s", found_name(w)));
    put_text(w, "value_type", "float");
    put_count(w, "value_dim", m->value_dim);
    put_text(w, "separator", m->value_separator);
    put_normalizer(w);
    put_boundaries(w);
}

static void write_match(struct writer *w)
{
    const struct pc_MatchFeature *m = (const void *)w->f->msg;
    const char *type = value_type(w->f, m->has_fg_value_type, m->fg_value_type);
    bool multi = strcmp(m->pkey, "ALL") == 0 || strcmp(m->skey, "ALL") == 0;
    put_text(w, "user", m->nested_map);
    put_text(w, "category", m->pkey);
    put_text(w, "item", m->skey);
    put_text(w, "matchType", multi ? "multihit" : "hit");
    put_default(w);
    put_text(w, "value_type", type);
    put_flag(w, "needDiscrete", m->need_discrete || strcmp(type, "string") == 0);
    put_flag(w, "show_category", m->show_pkey);
    put_flag(w, "show_item", m->show_skey);
    put_separator(w);
    put_normalizer(w);
    put_bucket(w);
    if (m->has_value_dim)
        put_count(w, "value_dim", m->value_dim);
}

static void write_expr(struct writer *w)
{
    const struct pc_ExprFeature *m = (const void *)w->f->msg;
    put_default(w);
    put_text(w, "expression", m->expression);
    put_texts(w, "variables", m->variables, m->n_variables);
    put_text(w, "value_type", "float");
    put_separator(w);
    if (m->has_fill_missing)
        put(w, "fill_missing", node_real(w->a, m->fill_missing, nowhere));
    put_boundaries(w);
    if (m->has_value_dim)
        put_count(w, "value_dim", m->value_dim);
}

static void write_overlap(struct writer *w)
{
    const struct pc_OverlapFeature *m = (const void *)w->f->msg;
    put_text(w, "query", m->query);
    put_text(w, "title", m->title);
    put_text(w, "method", m->method);
    put_text(w, "value_type", "float");
    put_text(w, "separator", m->separator);
    put_normalizer(w);
    put_boundaries(w);
}

const uint16_t fg_norm_bits[FG_NORM_OPTIONS] = {
    [pc_TextNormalizeOption_TEXT_LOWER2UPPER] = 2,
    [pc_TextNormalizeOption_TEXT_UPPER2LOWER] = 4,
    [pc_TextNormalizeOption_TEXT_SBC2DBC] = 8,
    [pc_TextNormalizeOption_TEXT_CHT2CHS] = 16,
    [pc_TextNormalizeOption_TEXT_FILTER] = 32,
    [pc_TextNormalizeOption_TEXT_SPLITCHRS] = 512,
};

static const char *normal_name(struct writer *w)
{
    return arena_printf(w->a, "%s__text_norm", w->f->feature_name);
}

static void write_tokenize(struct writer *w)
{
    const struct pc_TokenizeFeature *m = (const void *)w->f->msg;
    put_default(w);
    put_text(w, "vocab_file", m->vocab_file);
    put_text(w, "expression",
             m->text_normalizer ? arena_printf(w->a, "feature:%s", normal_name(w))
                                : m->expression);
    put_text(w, "tokenizer_type", m->tokenizer_type);
    put_text(w, "output_type", "word_id");
}

/* Stands before the tokenizer that reads it. */
static void write_text_norm(struct writer *w)
{
    const struct pc_TokenizeFeature *m = (const void *)w->f->msg;
    const struct pc_TextNormalizer *t = m->text_normalizer;
    uint64_t bits = 0;
    put_text(w, "expression", m->expression);
    put_flag(w, "is_gbk_input", false);
    put_flag(w, "is_gbk_output", false);
    put_flag(w, "stub_type", true);
    if (t->has_max_length)
        put_count(w, "max_length", t->max_length);
    if (t->has_stop_char_file && *t->stop_char_file)
        put_text(w, "stop_char_file", t->stop_char_file);
    for (int64_t i = 0; i < t->n_norm_options; i++) {
        bits |= fg_norm_bits[t->norm_options[i]];
        if (t->norm_options[i] == pc_TextNormalizeOption_TEXT_REMOVE_SPACE)
            put_flag(w, "remove_space", true);
    }
    if (t->n_norm_options)
        put_count(w, "parameter", bits);
}

static void write_kv(struct writer *w)
{
    const struct pc_KvDotProduct *m = (const void *)w->f->msg;
    put_default(w);
    put_text(w, "query", m->query);
    put_text(w, "document", m->document);
    put_separator(w);
    put_boundaries(w);
}

static void write_mask(struct writer *w)
{
    const struct pc_BoolMaskFeature *m = (const void *)w->f->msg;
    put_default(w);
    put_texts(w, "expression", m->expression, m->n_expression);
    put_count(w, "value_dim", m->has_value_dim ? m->value_dim : 0);
    put_separator(w);
    put_bucket(w);
    if (m->has_fg_value_type)
        put_text(w, "value_type", m->fg_value_type);
}

static void write_custom(struct writer *w)
{
    const struct pc_CustomFeature *m = (const void *)w->f->msg;
    const struct node *params = m->operator_params;
    put_default(w);
    put_text(w, "operator_name", m->operator_name);
    put_text(w, "operator_lib_file", m->operator_lib_file);
    put_flag(w, "is_op_thread_safe", m->is_op_thread_safe);
    put_texts(w, "expression", m->expression, m->n_expression);
    put_text(w, "value_type",
             w->f->has_num_buckets ? "int64" : value_type(w->f, false, NULL));
    put_count(w, "value_dim", w->f->value_dim);
    for (size_t i = 0; params && params->kind == NODE_MAP && i < params->map.n; i++) {
        char key[200];
        snprintf(key, sizeof(key), "%.*s", (int)params->map.at[i].key.n,
                 params->map.at[i].key.p);
        put(w, key, node_clone(w->a, params->map.at[i].value));
    }
    put_separator(w);
    put_normalizer(w);
    put_bucket(w);
    if (w->f->sequence)
        put_flag(w, "is_sequence", true);
}

static const struct {
    const char *type;
    void (*write)(struct writer *w);
} kinds[] = {
    [PC_ID] = {"id_feature", write_id},
    [PC_RAW] = {"raw_feature", write_raw},
    [PC_COMBO] = {"combo_feature", write_combo},
    [PC_COMBINE] = {"combine_feature", write_combine},
    [PC_LOOKUP] = {"lookup_feature", write_lookup},
    [PC_MATCH] = {"match_feature", write_match},
    [PC_EXPR] = {"expr_feature", write_expr},
    [PC_OVERLAP] = {"overlap_feature", write_overlap},
    [PC_TOKENIZE] = {"tokenize_feature", write_tokenize},
    [PC_KV_DOT_PRODUCT] = {"kv_dot_product", write_kv},
    [PC_CUSTOM] = {"custom_feature", write_custom},
    [PC_BOOL_MASK] = {"bool_mask_feature", write_mask},
};

static void put_sequence(struct writer *w, bool own)
{
    if (!own)
        return;
    put_text(w, "sequence_delim", w->f->sequence_delim);
    put_count(w, "sequence_length", w->f->sequence_length);
}

static void put_fields(struct writer *w)
{
    if (w->f->n_sequence_fields)
        put_texts(w, "sequence_fields", w->f->sequence_fields, w->f->n_sequence_fields);
}

static struct writer begin(const struct pc_feature *f, struct arena *a, const char *type,
                           const char *name)
{
    struct writer w = {.a = a, .f = f, .to = node_create(a, NODE_MAP, nowhere)};
    put_text(&w, "feature_type", type);
    put_text(&w, "feature_name", name);
    return w;
}

/* What a feature reads that is a feature of its own in fg.json; NULL: nothing. */
static struct node *write_before(const struct pc_feature *f, struct arena *a, bool own)
{
    struct writer w = {.a = a, .f = f};
    const struct pc_TokenizeFeature *t = (const void *)f->msg;
    if (is_split_lookup(f)) {
        w = begin(f, a, own ? "sequence_lookup_feature" : "lookup_feature",
                  found_name(&w));
        write_found(&w);
        put_flag(&w, "stub_type", true);
    } else if (f->kind == PC_TOKENIZE && t->text_normalizer) {
        w = begin(f, a, own ? "sequence_text_normalizer" : "text_normalizer",
                  normal_name(&w));
        write_text_norm(&w);
    } else {
        return NULL;
    }
    put_sequence(&w, own);
    put_fields(&w);
    return w.to;
}

/* One object, or two of which the second reads the first. */
static void write_feature(const struct pc_feature *f, struct arena *a, struct node *list)
{
    const struct pc_TokenizeFeature *t = (const void *)f->msg;
    bool tokens = f->kind == PC_TOKENIZE && t->tokens_as_sequence,
         split = is_split_lookup(f);
    bool own = f->sequence && !f->group && !tokens;
    bool prefix = own && f->kind != PC_CUSTOM && f->kind != PC_BOOL_MASK;
    struct node *before = write_before(f, a, own);
    struct writer w = begin(f, a,
                            arena_printf(a, "%s%s", prefix ? "sequence_" : "",
                                         split ? "raw_feature" : kinds[f->kind].type),
                            f->feature_name);
    if (split)
        write_split_lookup(&w);
    else
        kinds[f->kind].write(&w);
    put_sequence(&w, own);
    if (!before)
        put_fields(&w);
    else if (f->group)
        put_texts(&w, "sequence_fields",
                  (const char *const[]){split ? found_name(&w) : normal_name(&w)}, 1);
    if (f->stub_type)
        put_flag(&w, "stub_type", true);
    if (before)
        node_push(a, list, before);
    node_push(a, list, w.to);
}

static struct node *write_group(const struct pc_SequenceFeature *g, struct arena *a)
{
    struct writer w = {.a = a, .to = node_create(a, NODE_MAP, nowhere)};
    put_text(&w, "sequence_name", g->sequence_name);
    put_count(&w, "sequence_length", g->sequence_length);
    put_text(&w, "sequence_delim", g->sequence_delim);
    put_text(&w, "sequence_pk",
             g->has_sequence_pk ? g->sequence_pk
                                : arena_printf(a, "user:%s", g->sequence_name));
    put(&w, "features", node_create(a, NODE_LIST, nowhere));
    return w.to;
}

void fg_json_print(const struct pc_EasyRecConfig *conf, struct buf *out)
{
    struct arena a = {0};
    struct pc_features features;
    struct node *root = node_create(&a, NODE_MAP, nowhere);
    struct node *list = node_create(&a, NODE_LIST, nowhere), *group = NULL;
    const struct pc_SequenceFeature *at = NULL;
    pc_features_init(&features, conf, &a);
    node_add(&a, root, str_c("features"), nowhere, list);
    for (size_t i = 0; i < features.n; i++) {
        const struct pc_feature *f = &features.at[i];
        if (f->group && f->group != at) {
            at = f->group;
            group = write_group(at, &a);
            node_push(&a, list, group);
        }
        write_feature(f, &a, f->group ? node_find(group, "features") : list);
    }
    json_print(root, 4, out);
    pc_features_release(&features);
    arena_release(&a);
}
