/* SPDX-License-Identifier: Apache-2.0 */
/* Messages: the entries of a map are first grouped by field, so that merging, "last one
 * wins" and oneofs are decided with all occurrences in sight, and then converted one
 * field at a time.
 */
#include "text/normalise.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct diag *normalise_report(struct normaliser *x, const struct msg *m,
                              enum severity severity, enum code code, struct span at,
                              const char *fmt, ...)
{
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    struct diag *g = diag_add(x->diags, severity, code, at, "%s", text);
    if (x->diags->list.n < DIAGS_MAX) /* each look goes through the message */
        g->where = schema_where(m, &x->diags->arena);
    return g;
}

static void normalise_message(struct normaliser *x, struct msg *m, struct node *map);

/* Key `key` as `name`, without regard to case and '_'. */
static bool folded_equal(struct str key, const char *name)
{
    size_t i = 0;
    for (;; i++, name++) {
        while (i < key.n && key.p[i] == '_')
            i++;
        while (*name == '_')
            name++;
        if (i == key.n || !*name)
            return i == key.n && !*name;
        if (tolower((unsigned char)key.p[i]) != tolower((unsigned char)*name))
            return false;
    }
}

/* `embedding_dim` written as embeddingDim. */
static bool camel_equal(struct str key, const char *name)
{
    size_t i = 0;
    for (bool upper = false; *name; name++) {
        if (*name == '_') {
            upper = true;
            continue;
        }
        int c = upper ? toupper((unsigned char)*name) : *name;
        if (i == key.n || key.p[i] != c)
            return false;
        upper = false;
        i++;
    }
    return i == key.n;
}

static bool key_matches(const struct normaliser *x, struct str key, const char *name)
{
    if (str_is(key, name))
        return true;
    if (x->dialect == SCHEMA_JSON)
        return camel_equal(key, name);
    return x->dialect == SCHEMA_FOLDED && folded_equal(key, name);
}

static const struct field_def *field_of(const struct normaliser *x,
                                        const struct msg_def *def, struct str key)
{
    for (const struct field_def *f = def->fields(); f->name; f++)
        if (key_matches(x, key, f->name) || (f->alias && key_matches(x, key, f->alias)))
            return f;
    return NULL;
}

const struct field_def *normalise_field(const struct msg_def *def,
                                        enum schema_dialect dialect, struct str key)
{
    struct normaliser x = {.dialect = dialect};
    return field_of(&x, def, key);
}

const char *normalise_nearest(const struct msg_def *def, struct str key)
{
    const char *names[128];
    size_t n = 0;
    for (const struct field_def *f = def->fields(); f->name && n < ARRAY_LEN(names); f++)
        names[n++] = f->name;
    return str_nearest(key, names, n);
}

/* true: the entry stays as the user's own. */
static bool unknown_field(struct normaliser *x, const struct msg *m,
                          const struct node_entry *e)
{
    const char *near =
        x->diags->list.n < DIAGS_MAX ? normalise_nearest(m->def, e->key) : NULL;
    if (m->def->flags & MSG_OPEN) {
        if (near) {
            struct diag *g = normalise_report(x, m, DIAG_WARNING, E0212, e->key_at,
                                              "'%.*s' is not a field of %s",
                                              (int)e->key.n, e->key.p, m->def->name);
            diag_hint(x->diags, g, "did you mean '%s'?", near);
        }
        return true;
    }
    if (x->ignore_unknown)
        return false;
    struct diag *g =
        normalise_report(x, m, DIAG_ERROR, E0201, e->key_at, "%s has no field '%.*s'",
                         m->def->name, (int)e->key.n, e->key.p);
    if (near)
        diag_hint(x->diags, g, "did you mean '%s'?", near);
    else
        diag_hint(x->diags, g, "`trainyard explain %s` lists its fields", m->def->name);
    return false;
}

/* All occurrences of one field in one message. */
struct group {
    const struct field_def *field;
    struct node_entry *first; /* entries[0]; each later one is linked by index */
    size_t *entries;          /* indices into the map */
    size_t n, cap;
};

static void group_add(struct normaliser *x, struct group *g, size_t index)
{
    if (g->n == g->cap) {
        size_t cap = g->cap ? g->cap * 2 : 4;
        size_t *at = arena_alloc(x->arena, cap * sizeof(*at));
        if (g->n)
            memcpy(at, g->entries, g->n * sizeof(*at));
        g->entries = at;
        g->cap = cap;
    }
    g->entries[g->n++] = index;
}

static void note_flags(struct normaliser *x, const struct msg *m,
                       const struct field_def *f, const struct node_entry *e)
{
    struct diag *g = NULL;
    if (f->flags & FIELD_DEPRECATED)
        g = normalise_report(x, m, DIAG_WARNING, E0207, e->key_at, "'%s' is deprecated",
                             f->name);
    else if (f->flags & FIELD_IGNORED)
        g = normalise_report(x, m, DIAG_WARNING, E0208, e->key_at, "'%s' has no effect",
                             f->name);
    if (g && f->note)
        diag_hint(x->diags, g, "%s", f->note);
}

static bool is_many(const struct field_def *f)
{
    return f->label == LABEL_REP || f->label == LABEL_DICT || (f->flags & FIELD_MANY);
}

static void warn_set_twice(struct normaliser *x, const struct msg *m,
                           const struct group *g, const struct node *map,
                           const char *what)
{
    const struct node_entry *last = &map->map.at[g->entries[g->n - 1]];
    const struct node_entry *first = &map->map.at[g->entries[0]];
    uint32_t line = 0, col;
    if (first->key_at.src)
        source_locate(first->key_at.src, first->key_at.off, &line, &col);
    struct diag *d = normalise_report(x, m, DIAG_WARNING, E0205, last->key_at,
                                      "'%s' is set twice; %s", g->field->name, what);
    diag_hint(x->diags, d, "line %u sets it too", line);
}

static struct node *convert_message(struct normaliser *x, const struct msg *up,
                                    const struct field_def *f, struct node *n,
                                    int64_t index)
{
    if (n->kind != NODE_MAP) {
        struct diag *g = normalise_report(x, up, DIAG_ERROR, E0202, n->at,
                                          "'%s' takes a message, not %s", f->name,
                                          node_kind_name(n->kind));
        if (x->dialect == SCHEMA_PROTO)
            diag_hint(x->diags, g, "write %s { ... }", f->name);
        return NULL;
    }
    struct msg m = {
        .def = f->msg, .node = n, .parent = up, .field = f->name, .index = index};
    normalise_message(x, &m, n);
    return n;
}

static const struct schema_variant *variant_of(const struct field_def *f, struct str word)
{
    for (const struct schema_variant *v = f->variants; v->word; v++)
        if (strlen(v->word) == word.n && strncasecmp(v->word, word.p, word.n) == 0)
            return v;
    return NULL;
}

const struct msg_def *normalise_variant(const struct field_def *f, struct str word)
{
    const struct schema_variant *v = variant_of(f, word);
    return v ? v->msg : NULL;
}

static struct node *convert_union(struct normaliser *x, const struct msg *up,
                                  const struct field_def *f, struct node *n,
                                  int64_t index)
{
    const struct node *tag = NULL;
    if (n->kind == NODE_MAP)
        for (size_t i = 0; i < n->map.n; i++)
            if (key_matches(x, n->map.at[i].key, f->tag))
                tag = n->map.at[i].value;
    if (!tag || !node_is_scalar(tag)) {
        normalise_report(x, up, DIAG_ERROR, n->kind == NODE_MAP ? E0209 : E0202, n->at,
                         "'%s' needs a key '%s' that tells its kind", f->name, f->tag);
        return NULL;
    }
    const struct schema_variant *v = variant_of(f, tag->text);
    if (!v) {
        const char *words[64];
        size_t n_words = 0;
        for (v = f->variants; v->word && n_words < ARRAY_LEN(words); v++)
            words[n_words++] = v->word;
        struct diag *g = normalise_report(x, up, DIAG_ERROR, E0204, tag->at,
                                          "'%s': '%.*s' is not a kind of %s", f->tag,
                                          (int)tag->text.n, tag->text.p, f->name);
        const char *near = str_nearest(tag->text, words, n_words);
        if (near)
            diag_hint(x->diags, g, "did you mean '%s'?", near);
        return NULL;
    }
    struct msg m = {
        .def = v->msg, .node = n, .parent = up, .field = f->name, .index = index};
    normalise_message(x, &m, n);
    return n;
}

static struct node *convert_one(struct normaliser *x, const struct msg *m,
                                const struct field_def *f, struct node *n, int64_t index)
{
    if (f->type == FIELD_MSG)
        return convert_message(x, m, f, n, index);
    if (f->type == FIELD_UNION)
        return convert_union(x, m, f, n, index);
    return normalise_scalar(x, m, f, n);
}

/* One { key: ..., value: ... } of a map field in protobuf text format. */
static struct node *convert_pair(struct normaliser *x, const struct msg *m,
                                 const struct field_def *f, struct node *n)
{
    const struct field_def key = {.name = "key", .type = FIELD_STR};
    struct field_def value = *f;
    value.name = "value";
    value.label = LABEL_OPT;
    if (n->kind != NODE_MAP) {
        normalise_report(x, m, DIAG_ERROR, E0202, n->at,
                         "'%s' takes entries { key: ... value: ... }, not %s", f->name,
                         node_kind_name(n->kind));
        return NULL;
    }
    for (size_t i = 0; i < n->map.n; i++) {
        struct node_entry *e = &n->map.at[i];
        bool is_key = str_is(e->key, "key");
        if (!is_key && !str_is(e->key, "value")) {
            normalise_report(x, m, DIAG_ERROR, E0201, e->key_at,
                             "an entry of '%s' has 'key' and 'value', not '%.*s'",
                             f->name, (int)e->key.n, e->key.p);
            return NULL;
        }
        e->value = normalise_scalar(x, m, is_key ? &key : &value, e->value);
        if (!e->value)
            return NULL;
    }
    return n;
}

/* A map field: protobuf text keeps its list of pairs, the other dialects their mapping.
 */
static struct node *convert_dict(struct normaliser *x, const struct msg *m,
                                 const struct group *g, struct node *map)
{
    struct node *out = NULL;
    const struct field_def *f = g->field;
    for (size_t k = 0; k < g->n; k++) {
        struct node *v = map->map.at[g->entries[k]].value;
        if (x->dialect != SCHEMA_PROTO && v->kind == NODE_MAP) {
            struct field_def one = *f;
            one.label = LABEL_OPT;
            for (size_t i = 0; i < v->map.n; i++) {
                struct node *item = normalise_scalar(x, m, &one, v->map.at[i].value);
                if (!item)
                    return NULL;
                v->map.at[i].value = item;
            }
            out = v;
            continue;
        }
        if (!out)
            out = node_create(x->arena, NODE_LIST, v->at);
        size_t n = v->kind == NODE_LIST ? v->list.n : 1;
        for (size_t i = 0; i < n; i++) {
            struct node *item =
                convert_pair(x, m, f, v->kind == NODE_LIST ? v->list.at[i] : v);
            if (item)
                node_push(x->arena, out, item);
        }
    }
    return out;
}

static struct node *convert_many(struct normaliser *x, const struct msg *m,
                                 const struct group *g, struct node *map)
{
    const struct field_def *f = g->field;
    struct node *first = map->map.at[g->entries[0]].value;
    struct node *out = node_create(x->arena, NODE_LIST, first->at);
    for (size_t k = 0; k < g->n; k++) {
        struct node *v = map->map.at[g->entries[k]].value;
        if (v->kind != NODE_LIST && x->dialect != SCHEMA_PROTO &&
            !(f->flags & (FIELD_MANY | FIELD_ONE_OR_LIST))) {
            normalise_report(x, m, DIAG_ERROR, E0202, v->at, "'%s' takes a list, not %s",
                             f->name, node_kind_name(v->kind));
            return NULL;
        }
        size_t n = v->kind == NODE_LIST ? v->list.n : 1;
        for (size_t i = 0; i < n; i++) {
            struct node *item = v->kind == NODE_LIST ? v->list.at[i] : v;
            item = convert_one(x, m, f, item, (int64_t)out->list.n);
            if (item)
                node_push(x->arena, out, item);
        }
    }
    return out;
}

/* Occurrences of a singular message become one, field by field. */
static struct node *merged(struct normaliser *x, const struct msg *m,
                           const struct group *g, struct node *map)
{
    struct node *all = map->map.at[g->entries[0]].value;
    if (g->n > 1 && all->kind == NODE_MAP) {
        warn_set_twice(x, m, g, map, "the two are merged");
        for (size_t k = 1; k < g->n; k++) {
            struct node *more = map->map.at[g->entries[k]].value;
            if (more->kind != NODE_MAP)
                return more;
            for (size_t i = 0; i < more->map.n; i++)
                node_add(x->arena, all, more->map.at[i].key, more->map.at[i].key_at,
                         more->map.at[i].value);
        }
    }
    return all;
}

static struct node *convert_group(struct normaliser *x, const struct msg *m,
                                  const struct group *g, struct node *map)
{
    const struct field_def *f = g->field;
    if (f->label == LABEL_DICT)
        return convert_dict(x, m, g, map);
    if (is_many(f))
        return convert_many(x, m, g, map);
    if (f->type == FIELD_MSG)
        return convert_message(x, m, f, merged(x, m, g, map), -1);
    if (g->n > 1)
        warn_set_twice(x, m, g, map, "the last one counts");
    struct node *last = map->map.at[g->entries[g->n - 1]].value;
    return f->type == FIELD_ANY ? last : convert_one(x, m, f, last, -1);
}

/* Of each oneof only the member that comes last stays. */
static void settle_oneofs(struct normaliser *x, const struct msg *m, struct group *groups,
                          size_t n, const struct node *map)
{
    for (size_t i = 0; i < n; i++) {
        if (groups[i].n == 0 || !groups[i].field->oneof)
            continue;
        for (size_t k = 0; k < n; k++) {
            struct group *a = &groups[i], *b = &groups[k];
            if (k == i || b->n == 0 || a->n == 0 || !b->field->oneof ||
                strcmp(a->field->oneof, b->field->oneof) != 0)
                continue;
            if (b->entries[b->n - 1] < a->entries[a->n - 1])
                continue; /* met again from the other side */
            struct diag *d = normalise_report(
                x, m, DIAG_WARNING, E0206, map->map.at[b->entries[b->n - 1]].key_at,
                "'%s' replaces '%s': only one %s can be set", b->field->name,
                a->field->name, a->field->oneof);
            diag_hint(x->diags, d, "remove the one that is not meant");
            a->n = 0;
        }
    }
}

struct ordered {
    size_t index; /* of the first occurrence */
    struct node_entry entry;
};

/* Fills groups[] (one per field) and keeps free entries; returns how many of those. */
static size_t normalise_collect(struct normaliser *x, const struct msg *m,
                                struct node *map, struct group *groups,
                                struct ordered *out)
{
    const struct field_def *fields = m->def->fields();
    size_t n_free = 0;
    for (size_t i = 0; i < map->map.n; i++) {
        struct node_entry *e = &map->map.at[i];
        const struct field_def *f = field_of(x, m->def, e->key);
        if (!f) {
            if (unknown_field(x, m, e))
                out[n_free++] = (struct ordered){.index = i, .entry = *e};
            continue;
        }
        if (e->value->kind == NODE_NULL && x->dialect != SCHEMA_PROTO)
            continue; /* null is the same as absent */
        struct group *g = &groups[f - fields];
        g->field = f;
        if (g->n == 0)
            note_flags(x, m, f, e);
        group_add(x, g, i);
    }
    return n_free;
}

/* Into the order of the file; runs are long already, so insertion is enough. */
static void sort_by_index(struct ordered *at, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct ordered moving = at[i];
        size_t k = i;
        for (; k > 0 && at[k - 1].index > moving.index; k--)
            at[k] = at[k - 1];
        at[k] = moving;
    }
}

static void normalise_message(struct normaliser *x, struct msg *m, struct node *map)
{
    size_t n_fields = 0;
    for (const struct field_def *f = m->def->fields(); f->name; f++)
        n_fields++;
    struct group *groups = arena_alloc(x->arena, (n_fields + 1) * sizeof(*groups));
    struct ordered *out = arena_alloc(x->arena, (map->map.n + 1) * sizeof(*out));
    size_t n = normalise_collect(x, m, map, groups, out);
    settle_oneofs(x, m, groups, n_fields, map);
    for (size_t i = 0; i < n_fields; i++) {
        if (groups[i].n == 0)
            continue;
        struct node_entry *first = &map->map.at[groups[i].entries[0]];
        struct node *value = convert_group(x, m, &groups[i], map);
        if (!value)
            continue;
        struct span at = is_many(groups[i].field)
                             ? first->key_at
                             : map->map.at[groups[i].entries[groups[i].n - 1]].key_at;
        out[n++] = (struct ordered){
            .index = groups[i].entries[0],
            .entry = {.key = str_c(groups[i].field->name), .key_at = at, .value = value}};
    }
    sort_by_index(out, n);
    for (size_t i = 0; i < n; i++)
        map->map.at[i] = out[i].entry;
    map->map.n = n;
}

enum rc schema_normalise_with(const struct msg_def *def, struct node *root,
                              enum schema_dialect dialect, bool ignore_unknown,
                              struct arena *a, struct diags *diags)
{
    struct normaliser x = {
        .dialect = dialect, .arena = a, .diags = diags, .ignore_unknown = ignore_unknown};
    size_t before = diags->n_errors;
    struct msg m = {.def = def, .node = root, .index = -1};
    if (root->kind != NODE_MAP)
        diag_add(diags, DIAG_ERROR, E0202, root->at,
                 "%s: the top level is %s, not a mapping", def->name,
                 node_kind_name(root->kind));
    else
        normalise_message(&x, &m, root);
    return diags->n_errors > before ? RC_FORMAT : RC_OK;
}

enum rc schema_normalise(const struct msg_def *def, struct node *root,
                         enum schema_dialect dialect, struct arena *a,
                         struct diags *diags)
{
    return schema_normalise_with(def, root, dialect, false, a, diags);
}
