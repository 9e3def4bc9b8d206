/* SPDX-License-Identifier: Apache-2.0 */
/* Reading fg.json: objects become messages of a pipeline.config. Keys that both know stay
 * as they are; the schema looks at them later and knows their place.
 */
#include <string.h>

#include "base/compiler.h"
#include "feature/fg_json.h"
#include "text/schema.h"

struct reader {
    struct arena *a;
    struct diags *diags;
};

/* `to` NULL: left out, because it follows from the rest. */
static const struct {
    const char *type, *from, *to;
} renamed[] = {
    {"", "feature_type", NULL},
    {"", "value_type", NULL},
    {"", "need_prefix", NULL},
    {"custom_feature", "is_sequence", NULL},
    {"kv_dot_product", "kv_delimiter", NULL},
    {"lookup_feature", "needDiscrete", "need_discrete"},
    {"lookup_feature", "needKey", "need_key"},
    {"combine_feature", "value_dim", NULL},
    {"match_feature", "category", "pkey"},
    {"match_feature", "item", "skey"},
    {"match_feature", "matchType", NULL},
    {"match_feature", "needDiscrete", "need_discrete"},
    {"match_feature", "show_category", "show_pkey"},
    {"match_feature", "show_item", "show_skey"},
    {"match_feature", "user", "nested_map"},
    {"tokenize_feature", "output_type", NULL},
};

static struct node *fail(struct reader *r, const struct node *at, const char *what)
{
    diag_add(r->diags, DIAG_ERROR, E1316, at->at, "%s", what);
    return NULL;
}

/* True when the key goes by another name, or by none, in *to. */
static bool is_renamed(const char *type, struct str key, const char **to)
{
    for (size_t i = 0; i < ARRAY_LEN(renamed); i++)
        if (str_is(key, renamed[i].from) &&
            (!*renamed[i].type || strcmp(renamed[i].type, type) == 0)) {
            *to = renamed[i].to;
            return true;
        }
    return false;
}

static const struct msg_def *message_of(const char *type)
{
    const struct field_def *f = schema_field(&pc_FeatureConfig_def, type);
    return f ? f->msg : NULL;
}

static const char *text_of(const struct node *map, const char *key)
{
    const struct node *n = node_find(map, key);
    return n && n->kind == NODE_STR ? n->text.p : "";
}

static bool is_norm(const struct node *n)
{
    const char *type = text_of(n, "feature_type");
    return strcmp(type, "text_normalizer") == 0 ||
           strcmp(type, "sequence_text_normalizer") == 0;
}

/* Parameters of an operator stand beside the feature's own keys. */
static void add_param(struct reader *r, struct node *to, const struct node_entry *e)
{
    struct node *params = node_find(to, "operator_params");
    if (!params) {
        params = node_create(r->a, NODE_MAP, e->key_at);
        node_put(r->a, to, "operator_params", params);
    }
    node_add(r->a, params, e->key, e->key_at, node_clone(r->a, e->value));
}

static struct node *read_fields(struct reader *r, const struct node *from,
                                const char *type)
{
    struct node *to = node_create(r->a, NODE_MAP, from->at);
    const struct msg_def *msg = message_of(type);
    for (size_t i = 0; i < from->map.n; i++) {
        const struct node_entry *e = &from->map.at[i];
        const char *name = arena_strndup(r->a, e->key.p, e->key.n), *new_name = name;
        if (is_renamed(type, e->key, &new_name) && !new_name)
            continue;
        if (strcmp(type, "custom_feature") == 0 && !schema_field(msg, name))
            add_param(r, to, e);
        else
            node_add(r->a, to, str_c(new_name), e->key_at, node_clone(r->a, e->value));
    }
    /* found texts that nothing turns into ids */
    if (strcmp(type, "lookup_feature") == 0 && node_find(from, "stub_type") &&
        strcmp(text_of(from, "value_type"), "string") == 0)
        node_put(r->a, to, "fg_value_type", node_str(r->a, "string", 6, from->at));
    return to;
}

/* "parameter" as the options it stands for. */
static struct node *norm_options(struct reader *r, const struct node *from)
{
    const struct node *bits = node_find(from, "parameter");
    const struct node *blanks = node_find(from, "remove_space");
    struct node *list = node_create(r->a, NODE_LIST, from->at);
    uint64_t v = 0;
    if (bits && node_u64(bits, &v))
        for (int i = 0; i < FG_NORM_OPTIONS; i++)
            if (v & fg_norm_bits[i])
                node_push(r->a, list, node_int(r->a, i, bits->at));
    if (blanks && blanks->kind == NODE_BOOL && blanks->flag)
        node_push(r->a, list,
                  node_int(r->a, pc_TextNormalizeOption_TEXT_REMOVE_SPACE, blanks->at));
    return list;
}

/* A text_normalizer becomes a part of the tokenizer that reads it. */
static void join_norm(struct reader *r, struct node *to, const struct node *list)
{
    const char *reads = text_of(to, "expression");
    for (size_t i = 0; list && str_starts(reads, "feature:") && i < list->list.n; i++) {
        const struct node *from = list->list.at[i], *given;
        if (!is_norm(from) || strcmp(text_of(from, "feature_name"), reads + 8) != 0)
            continue;
        struct node *norm = node_create(r->a, NODE_MAP, from->at);
        static const char *const same[] = {"max_length", "stop_char_file"};
        for (size_t k = 0; k < ARRAY_LEN(same); k++)
            if ((given = node_find(from, same[k])) != NULL)
                node_put(r->a, norm, same[k], node_clone(r->a, given));
        struct node *options = norm_options(r, from);
        if (options->list.n)
            node_put(r->a, norm, "norm_options", options);
        node_put(r->a, to, "text_normalizer", norm);
        const char *text = text_of(from, "expression");
        node_put(r->a, to, "expression", node_str(r->a, text, strlen(text), from->at));
        node_remove(to, "sequence_fields");
        if ((given = node_find(from, "sequence_fields")) != NULL)
            node_put(r->a, to, "sequence_fields", node_clone(r->a, given));
    }
}

/* { "<member>": { fields } } */
static struct node *read_feature(struct reader *r, const struct node *from,
                                 const struct node *all, bool grouped)
{
    if (from->kind != NODE_MAP)
        return fail(r, from, "a feature is an object");
    const char *member = text_of(from, "feature_type");
    bool sequence = str_starts(member, "sequence_");
    const char *type = sequence ? member + strlen("sequence_") : member;
    if (!message_of(type) || strcmp(member, "sequence_feature") == 0)
        return fail(r, from,
                    *member ? arena_printf(r->a, "there is no feature_type '%s'", member)
                            : "the feature has no feature_type");
    if (!sequence && !grouped && node_find(from, "sequence_length"))
        member = arena_printf(r->a, "sequence_%s", type);
    struct node *holder = node_create(r->a, NODE_MAP, from->at);
    struct node *fields = read_fields(r, from, type);
    if (strcmp(type, "tokenize_feature") == 0)
        join_norm(r, fields, all);
    node_add(r->a, holder, str_c(grouped ? type : member), from->at, fields);
    return holder;
}

static struct node *read_features(struct reader *r, const struct node *list,
                                  bool grouped);

static struct node *read_group(struct reader *r, const struct node *from)
{
    struct node *to = node_create(r->a, NODE_MAP, from->at);
    struct node *holder = node_create(r->a, NODE_MAP, from->at);
    for (size_t i = 0; i < from->map.n; i++) {
        const struct node_entry *e = &from->map.at[i];
        bool inner = str_is(e->key, "features");
        struct node *v =
            inner ? read_features(r, e->value, true) : node_clone(r->a, e->value);
        if (!v)
            return NULL;
        node_add(r->a, to, e->key, e->key_at, v);
    }
    node_add(r->a, holder, str_c("sequence_feature"), from->at, to);
    return holder;
}

static struct node *read_features(struct reader *r, const struct node *list, bool grouped)
{
    if (!list || list->kind != NODE_LIST)
        return list ? fail(r, list, "features is a list") : NULL;
    struct node *to = node_create(r->a, NODE_LIST, list->at);
    bool ok = true;
    for (size_t i = 0; i < list->list.n; i++) {
        const struct node *from = list->list.at[i];
        bool group =
            !grouped && from->kind == NODE_MAP && node_find(from, "sequence_name");
        if (is_norm(from))
            continue;
        struct node *n =
            group ? read_group(r, from) : read_feature(r, from, list, grouped);
        ok = ok && n;
        if (n)
            node_push(r->a, to, n);
    }
    return ok ? to : NULL;
}

struct node *fg_json_tree(const struct node *root, struct arena *a, struct diags *diags)
{
    struct reader r = {.a = a, .diags = diags};
    if (!root || root->kind != NODE_MAP || !node_find(root, "features")) {
        static const struct node empty;
        return fail(&r, root ? root : &empty, "fg.json is an object with features");
    }
    struct node *list = read_features(&r, node_find(root, "features"), false);
    if (!list)
        return NULL;
    struct node *conf = node_create(a, NODE_MAP, root->at);
    node_add(a, conf, str_c("feature_configs"), root->at, list);
    return conf;
}
