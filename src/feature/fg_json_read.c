/* SPDX-License-Identifier: Apache-2.0 */
/* Reading fg.json: objects become messages of a pipeline.config. Keys that both know stay
 * as they are; the schema looks at them later and knows their place.
 */
#include <string.h>

#include "feature/feature_private.h"
#include "feature/fg_json.h"

/* What every kind leaves out. */
static const struct fg_json_key common_keys[] = {
    {"feature_type", NULL}, {"value_type", NULL}, {"need_prefix", NULL}, {0}};

static struct node *fg_json_read_fail(struct fg_json_reader *r, const struct node *at,
                                      const char *what)
{
    diag_add(r->diags, DIAG_ERROR, E1316, at->at, "%s", what);
    return NULL;
}

static const struct fg_json_key *find_key(const struct fg_json_key *keys, struct str key)
{
    for (; keys && keys->from; keys++)
        if (str_is(key, keys->from))
            return keys;
    return NULL;
}

const char *fg_json_text_of(const struct node *map, const char *key)
{
    const struct node *n = node_find(map, key);
    return n && n->kind == NODE_STR ? n->text.p : "";
}

bool fg_json_is_norm(const struct node *n)
{
    const char *type = fg_json_text_of(n, "feature_type");
    return strcmp(type, "text_normalizer") == 0 ||
           strcmp(type, "sequence_text_normalizer") == 0;
}

/* Parameters of an operator stand beside the feature's own keys. */
static void add_param(struct fg_json_reader *r, struct node *to, const char *field,
                      const struct node_entry *e)
{
    struct node *params = node_find(to, field);
    if (!params) {
        params = node_create(r->a, NODE_MAP, e->key_at);
        node_put(r->a, to, field, params);
    }
    node_add(r->a, params, e->key, e->key_at, node_clone(r->a, e->value));
}

static struct node *read_fields(struct fg_json_reader *r, const struct node *from,
                                const struct pc_feature_kind *kind)
{
    const struct fg_json_ops *ops = &fg_ops_of(kind)->json;
    struct node *to = node_create(r->a, NODE_MAP, from->at);
    for (size_t i = 0; i < from->map.n; i++) {
        const struct node_entry *e = &from->map.at[i];
        const char *name = arena_strndup(r->a, e->key.p, e->key.n);
        const struct fg_json_key *key = find_key(common_keys, e->key);
        if (!key)
            key = find_key(ops->keys, e->key);
        if (key && !key->to)
            continue;
        if (ops->others && !schema_field(kind->msg, name))
            add_param(r, to, ops->others, e);
        else
            node_add(r->a, to, str_c(key ? key->to : name), e->key_at,
                     node_clone(r->a, e->value));
    }
    return to;
}

/* { "<member>": { fields } } */
static struct node *read_feature(struct fg_json_reader *r, const struct node *from,
                                 const struct node *all, bool grouped)
{
    if (from->kind != NODE_MAP)
        return fg_json_read_fail(r, from, "a feature is an object");
    const char *member = fg_json_text_of(from, "feature_type");
    bool sequence = str_starts(member, "sequence_");
    const char *type = sequence ? member + strlen("sequence_") : member;
    const struct pc_feature_kind *kind = pc_feature_kind_find(type);
    if (!kind)
        return fg_json_read_fail(
            r, from,
            *member ? arena_printf(r->a, "there is no feature_type '%s'", member)
                    : "the feature has no feature_type");
    if (!sequence && !grouped && node_find(from, "sequence_length"))
        member = arena_printf(r->a, "sequence_%s", type);
    struct node *holder = node_create(r->a, NODE_MAP, from->at);
    struct node *fields = read_fields(r, from, kind);
    if (fg_ops_of(kind)->json.read)
        fg_ops_of(kind)->json.read(r, from, all, fields);
    node_add(r->a, holder, str_c(grouped ? type : member), from->at, fields);
    return holder;
}

static struct node *read_features(struct fg_json_reader *r, const struct node *list,
                                  bool grouped);

static struct node *read_group(struct fg_json_reader *r, const struct node *from)
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

static struct node *read_features(struct fg_json_reader *r, const struct node *list,
                                  bool grouped)
{
    if (!list || list->kind != NODE_LIST)
        return list ? fg_json_read_fail(r, list, "features is a list") : NULL;
    struct node *to = node_create(r->a, NODE_LIST, list->at);
    bool ok = true;
    for (size_t i = 0; i < list->list.n; i++) {
        const struct node *from = list->list.at[i];
        bool group =
            !grouped && from->kind == NODE_MAP && node_find(from, "sequence_name");
        if (fg_json_is_norm(from))
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
    struct fg_json_reader r = {.a = a, .diags = diags};
    if (!root || root->kind != NODE_MAP || !node_find(root, "features")) {
        static const struct node empty;
        return fg_json_read_fail(&r, root ? root : &empty,
                                 "fg.json is an object with features");
    }
    struct node *list = read_features(&r, node_find(root, "features"), false);
    if (!list)
        return NULL;
    struct node *conf = node_create(a, NODE_MAP, root->at);
    node_add(a, conf, str_c("feature_configs"), root->at, list);
    return conf;
}
