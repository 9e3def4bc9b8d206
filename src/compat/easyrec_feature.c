/* SPDX-License-Identifier: Apache-2.0 */
/* Features in three ways. Without fg.json each feature of the config reads its inputs as
 * they are, with the side user. With fg.json and old_fg the features are still those of
 * the config, and fg.json says what they read. Else fg.json is the list of features, its
 * keys become the fields that our messages have, and the config gives sizes and widths.
 */
#include <stdio.h>
#include <string.h>

#include "compat/easyrec_private.h"
#include "text/pipeline/feature.h"

static const char *name_of(const struct node *cfg)
{
    const char *name = easyrec_text(cfg, "feature_name");
    return name[0] ? name : easyrec_text(cfg, "input_names");
}

/* The i-th feature of the config: feature_configs, or feature_config { features }. */
static const struct node *config_at(const struct compat_easyrec *x, size_t i)
{
    const struct node *v = easyrec_at(x->from, "feature_configs", i);
    return v || easyrec_at(x->from, "feature_configs", 0)
               ? v
               : easyrec_at(node_find(x->from, "feature_config"), "features", i);
}

static const struct node *config_named(const struct compat_easyrec *x, const char *name)
{
    const struct node *cfg;
    for (size_t i = 0; (cfg = config_at(x, i)) != NULL; i++)
        if (strcmp(name_of(cfg), name) == 0)
            return cfg;
    return NULL;
}

/* Width and ids of a feature of the config, as far as ours has such fields. */
static void put_sizes(struct compat_easyrec *x, const struct node *cfg,
                      const struct msg_def *def, struct node *to)
{
    static const char *const keys[] = {"embedding_dim", "hash_bucket_size", "num_buckets",
                                       "boundaries",    "vocab_list",       "vocab_file",
                                       "embedding_name"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (schema_field(def, keys[i]) && !node_find(to, keys[i]))
            easyrec_copy(x, cfg, keys[i], to, keys[i]);
    const char *combiner = easyrec_text(cfg, "combiner");
    if (schema_field(def, "pooling") &&
        (strcmp(combiner, "mean") == 0 || strcmp(combiner, "sum") == 0) &&
        !node_find(to, "pooling"))
        easyrec_put_text(x, to, "pooling", combiner);
}

/* --- the features of the config --- */

/* What a feature of the config becomes, and the field that holds its input. */
struct easyrec_kind {
    const char *type, *member;
};
static const struct easyrec_kind kinds[] = {{"IdFeature", "id_feature"},
                                            {"TagFeature", "id_feature"},
                                            {"RawFeature", "raw_feature"},
                                            {"ComboFeature", "combo_feature"},
                                            {"LookupFeature", "lookup_feature"}};

static const struct node *fg_named(const struct compat_easyrec *x, const char *name)
{
    const struct node *f, *list = node_find(x->fg, "features");
    for (size_t i = 0; list && list->kind == NODE_LIST && i < list->list.n; i++) {
        f = list->list.at[i];
        if (strcmp(easyrec_text(f, "feature_name"), name) == 0)
            return f;
    }
    return NULL;
}

/* "user:input", or what fg.json reads for it. */
static const char *expression_of(struct compat_easyrec *x, const char *feature,
                                 const char *input)
{
    const struct node *fg = fg_named(x, feature);
    if (!fg)
        fg = fg_named(x, input);
    const char *text = easyrec_text(fg, "expression");
    if (text[0])
        return text;
    if (x->fg)
        easyrec_note(x,
                     "feature '%s': fg.json does not say what it reads; user:%s is taken",
                     feature, input);
    return arena_printf(x->arena, "user:%s", input);
}

static void put_lookup(struct compat_easyrec *x, const struct node *cfg, const char *name,
                       struct node *to)
{
    static const char *const fields[] = {"map", "key"};
    const struct node *fg = fg_named(x, name);
    for (size_t i = 0; i < 2; i++) {
        const struct node *input = easyrec_at(cfg, "input_names", i);
        const char *own = easyrec_text(fg, fields[i]);
        const char *text = input && input->kind == NODE_STR ? input->text.p : "";
        easyrec_put_text(x, to, fields[i], own[0] ? own : expression_of(x, text, text));
    }
}

/* The inputs of a feature, each under its own name in fg.json. */
static void put_inputs(struct compat_easyrec *x, const struct node *cfg, const char *name,
                       const char *member, struct node *to)
{
    const struct node *input;
    bool many = strcmp(member, "combo_feature") == 0;
    if (strcmp(member, "lookup_feature") == 0) {
        put_lookup(x, cfg, name, to);
        return;
    }
    for (size_t i = 0; (input = easyrec_at(cfg, "input_names", i)) != NULL; i++) {
        if (input->kind != NODE_STR || (i && !many))
            break;
        easyrec_put_text(x, to, "expression",
                         expression_of(x, many ? input->text.p : name, input->text.p));
    }
}

static void put_sequence(struct compat_easyrec *x, const struct node *cfg,
                         struct node *feature)
{
    const struct node *length = easyrec_at(cfg, "sequence_length", 0);
    const char *separator = easyrec_text(cfg, "separator");
    if (length)
        easyrec_put(x, feature, "sequence_length", length);
    else
        easyrec_note(x, "feature '%s': a sequence without sequence_length", name_of(cfg));
    if (separator[0])
        easyrec_put_text(x, feature, "sequence_delim", separator);
}

static const char *member_of(const char *type)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].type, type) == 0)
            return kinds[i].member;
    return NULL;
}

/* The members of a grouped sequence of fg.json are made with the group. */
static bool is_grouped(const struct compat_easyrec *x, const char *name)
{
    const struct node *list = node_find(x->fg, "features");
    for (size_t i = 0; list && list->kind == NODE_LIST && i < list->list.n; i++) {
        const char *group = easyrec_text(list->list.at[i], "sequence_name");
        size_t n = strlen(group);
        if (n && strncmp(name, group, n) == 0 && strncmp(name + n, "__", 2) == 0)
            return true;
    }
    return false;
}

static void convert_feature(struct compat_easyrec *x, const struct node *cfg)
{
    const char *type = easyrec_text(cfg, "feature_type"), *name = name_of(cfg);
    const char *sub = easyrec_text(cfg, "sub_feature_type");
    bool sequence = strcmp(type, "SequenceFeature") == 0;
    if (is_grouped(x, name))
        return;
    const char *member = member_of(sequence ? (sub[0] ? sub : "IdFeature")
                                            : (type[0] ? type : "IdFeature"));
    if (strcmp(easyrec_text(fg_named(x, name), "feature_type"), "lookup_feature") == 0 &&
        strcmp(type, "RawFeature") == 0)
        member = "lookup_feature"; /* its number comes out of a map */
    const struct pc_feature_kind *kind = member ? pc_feature_kind_find(member) : NULL;
    if (!kind) {
        easyrec_note(x, "feature '%s': %s is not converted", name, type);
        return;
    }
    struct node *entry = easyrec_sub(x, x->to, "feature_configs");
    struct node *f = easyrec_sub(
        x, entry, sequence ? arena_printf(x->arena, "sequence_%s", member) : member);
    easyrec_put_text(x, f, "feature_name", name);
    put_inputs(x, cfg, name, member, f);
    put_sizes(x, cfg, kind->msg, f);
    if (sequence)
        put_sequence(x, cfg, f);
    if (strcmp(type, "TagFeature") == 0) {
        if (easyrec_at(cfg, "kv_separator", 0))
            easyrec_put_word(x, f, "weighted", "true");
        if (easyrec_text(cfg, "separator")[0])
            easyrec_put_text(x, f, "separator", easyrec_text(cfg, "separator"));
    }
}

/* --- the features of fg.json --- */

static const struct {
    const char *from, *to;
} renamed[] = {{"value_dimension", "value_dim"},
               {"needDiscrete", "need_discrete"},
               {"user", "nested_map"},
               {"category", "pkey"},
               {"item", "skey"},
               {"show_category", "show_pkey"},
               {"show_item", "show_skey"}};

static const char *field_of(const struct msg_def *def, struct str key)
{
    static const char *const skipped[] = {"feature_type", "value_type", "combiner"};
    for (size_t i = 0; i < ARRAY_LEN(skipped); i++)
        if (str_is(key, skipped[i]) && !(i == 2 && schema_field(def, "combiner")))
            return NULL;
    for (size_t i = 0; i < ARRAY_LEN(renamed); i++)
        if (str_is(key, renamed[i].from))
            return schema_field(def, renamed[i].to) ? renamed[i].to : NULL;
    return schema_field(def, key.p) ? key.p : NULL;
}

/* A text field may be a number in fg.json. */
static void put_field(struct compat_easyrec *x, const struct field_def *f,
                      const struct node *v, struct node *to, const char *as)
{
    bool text = strcmp(schema_type_name(f), "string") == 0;
    if (v->kind == NODE_LIST) {
        for (size_t i = 0; i < v->list.n; i++)
            put_field(x, f, v->list.at[i], to, as);
    } else if (text && v->kind != NODE_STR && v->kind != NODE_NULL) {
        easyrec_put_text(x, to, as, arena_strndup(x->arena, v->text.p, v->text.n));
    } else if (v->kind != NODE_NULL) {
        easyrec_put(x, to, as, v);
    }
}

static void put_fields(struct compat_easyrec *x, const struct node *fg,
                       const struct pc_feature_kind *kind, struct node *to)
{
    bool custom = strcmp(kind->member, "custom_feature") == 0;
    struct node *params = custom ? easyrec_map(x) : NULL;
    for (size_t i = 0; i < fg->map.n; i++) {
        struct str key = fg->map.at[i].key;
        const char *as = field_of(kind->msg, key);
        if (as)
            put_field(x, schema_field(kind->msg, as), fg->map.at[i].value, to, as);
        else if (custom && !str_is(key, "feature_type") && !str_is(key, "value_type"))
            easyrec_put(x, params, key.p, fg->map.at[i].value);
    }
    const char *combiner = easyrec_text(fg, "combiner");
    if (strcmp(kind->member, "id_feature") == 0 && combiner[0])
        easyrec_put_text(x, to, "pooling", combiner);
    if (params && params->map.n)
        easyrec_put(x, to, "operator_params", params);
}

static void convert_fg(struct compat_easyrec *x, const struct node *fg, const char *full,
                       struct node *holder)
{
    const char *type = easyrec_text(fg, "feature_type");
    const struct pc_feature_kind *kind = pc_feature_kind_find(type);
    if (!kind) {
        easyrec_note(x, "feature '%s': %s of fg.json is not converted", full, type);
        return;
    }
    struct node *f = easyrec_sub(x, holder, kind->member);
    const struct node *cfg = config_named(x, full);
    put_fields(x, fg, kind, f);
    if (cfg)
        put_sizes(x, cfg, kind->msg, f);
    else
        easyrec_note(
            x, "feature '%s' is in fg.json and not in the config: it has no size", full);
}

static void convert_group(struct compat_easyrec *x, const struct node *fg)
{
    static const char *const keys[] = {"sequence_name", "sequence_length",
                                       "sequence_delim", "sequence_pk"};
    const char *name = easyrec_text(fg, "sequence_name");
    struct node *entry = easyrec_sub(x, x->to, "feature_configs");
    struct node *group = easyrec_sub(x, entry, "sequence_feature");
    const struct node *list = node_find(fg, "features");
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        easyrec_put(x, group, keys[i], node_find(fg, keys[i]));
    for (size_t i = 0; list && list->kind == NODE_LIST && i < list->list.n; i++) {
        const struct node *f = list->list.at[i];
        const char *full =
            arena_printf(x->arena, "%s__%s", name, easyrec_text(f, "feature_name"));
        if (x->old_fg && !config_named(x, full))
            continue;
        convert_fg(x, f, full, easyrec_sub(x, group, "features"));
    }
}

void easyrec_features(struct compat_easyrec *x)
{
    const struct node *cfg, *list = node_find(x->fg, "features");
    for (size_t i = 0; (!x->fg || x->old_fg) && (cfg = config_at(x, i)) != NULL; i++)
        convert_feature(x, cfg);
    for (size_t i = 0; list && list->kind == NODE_LIST && i < list->list.n; i++) {
        const struct node *fg = list->list.at[i];
        if (node_find(fg, "sequence_name"))
            convert_group(x, fg);
        else if (!x->old_fg)
            convert_fg(x, fg, easyrec_text(fg, "feature_name"),
                       easyrec_sub(x, x->to, "feature_configs"));
    }
}
