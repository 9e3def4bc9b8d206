/* SPDX-License-Identifier: Apache-2.0 */
/* Values. A text is read in the syntax of the file's family: protobuf text for messages
 * and lists of a pipeline.config (JSON objects are recognised by their quoted keys), YAML
 * for the others. What comes out is close enough for schema_normalise() to finish; here
 * only the kinds are brought together, such as a JSON string and a number field.
 */
#include <ctype.h>
#include <string.h>

#include "text/edit_private.h"
#include "text/json.h"
#include "text/prototext.h"
#include "text/yaml.h"
#include "text/yaml_scalar.h"

static struct arena *arena_of(struct editor *ed)
{
    return &ed->c->arena;
}

static struct node *edit_value_refuse(struct editor *ed, const struct edit_place *p,
                                      const struct edit_text *at, const char *hint,
                                      const char *what)
{
    const char *name = p->field ? p->field->name : p->key ? p->key : "the element";
    (void)!edit_fail(ed, E0123, at, hint, "'%s' takes %s", name, what);
    return NULL;
}

/* Spans of a parsed value: from its own source to the edit's. */
static struct span rebased(struct span at, const struct source *own,
                           const struct edit_text *text)
{
    if (at.src != own)
        return at;
    at.src = text->at.src;
    if (!text->exact) {
        at.off = text->at.off;
        at.len = text->at.len;
    }
    return at;
}

static void rebase(struct node *n, const struct source *own, const struct edit_text *text)
{
    n->at = rebased(n->at, own, text);
    if (n->kind == NODE_LIST)
        for (size_t i = 0; i < n->list.n; i++)
            rebase(n->list.at[i], own, text);
    if (n->kind == NODE_MAP)
        for (size_t i = 0; i < n->map.n; i++) {
            n->map.at[i].key_at = rebased(n->map.at[i].key_at, own, text);
            rebase(n->map.at[i].value, own, text);
        }
}

static enum rc parse_as(enum syntax syntax, struct doc *d, struct diags *diags)
{
    switch (syntax) {
    case SYNTAX_PROTOTEXT:
        return prototext_parse(d, diags);
    case SYNTAX_JSON:
        return json_parse(d, diags);
    case SYNTAX_YAML:
        break;
    }
    return yaml_parse(d, true, diags);
}

/* The text with `before` in front of it, at the same offset as in the edit, so that
 * positions found by the parser are right as they are.
 */
static enum rc padded_source(struct editor *ed, const struct edit_text *text,
                             const char *before, struct source **out)
{
    size_t pad = text->exact ? text->at.off : 0, n = strlen(before);
    struct buf b;
    struct err err = {0};
    buf_init(&b, 2 * SOURCE_MAX);
    for (size_t i = n; i < pad; i++)
        buf_putc(&b, ' ');
    buf_puts(&b, before);
    buf_add(&b, text->s.p, text->s.n);
    enum rc rc = b.failed ? err_set(&err, RC_NOMEM, "too long a value")
                          : source_from(ed->src->name, buf_str(&b), b.n, out, &err);
    buf_release(&b);
    return rc ? edit_fail(ed, E0120, text, NULL, "%s", err.msg) : RC_OK;
}

/* The root of the tree that `before` and the text give, or NULL with a diagnostic. */
static struct node *parse_text(struct editor *ed, enum syntax syntax, const char *before,
                               const struct edit_text *text)
{
    struct doc d = {.arena = *arena_of(ed)};
    size_t first = ed->diags->list.n;
    if (padded_source(ed, text, before, &d.src))
        return NULL;
    enum rc rc = parse_as(syntax, &d, ed->diags);
    *arena_of(ed) = d.arena;
    VEC_PUSH(&ed->c->sources, d.src); /* nodes may borrow its text */
    for (size_t i = first; i < ed->diags->list.n; i++)
        ed->diags->list.at[i].at = rebased(ed->diags->list.at[i].at, d.src, text);
    if (rc || !d.root)
        return NULL;
    rebase(d.root, d.src, text);
    return d.root;
}

static struct node *as_str(struct editor *ed, const struct node *n)
{
    return node_str(arena_of(ed), n->text.p, n->text.n, n->at);
}

/* A text for a field that is no string. */
static struct node *read_scalar(struct editor *ed, const struct field_def *f,
                                const struct node *n)
{
    struct node *out = yaml_scalar(arena_of(ed), str_trim(n->text), n->at);
    if (!edit_is_yaml(ed) && (out->kind == NODE_STR || out->kind == NODE_NULL))
        out->kind = ed->dialect == SCHEMA_PROTO ? NODE_WORD : NODE_STR;
    if (f->type == FIELD_ENUM && out->kind == NODE_BOOL)
        out->kind = NODE_STR;
    return out;
}

/* Brings a scalar nearer to the type of its field. */
static struct node *coerce(struct editor *ed, const struct field_def *f, struct node *n)
{
    if (!f || !node_is_scalar(n) || n->kind == NODE_NULL)
        return n;
    if (f->type == FIELD_STR)
        return n->kind == NODE_STR ? n : as_str(ed, n);
    if (n->kind == NODE_STR)
        n = read_scalar(ed, f, n);
    if (f->type == FIELD_BOOL && n->kind == NODE_INT && n->num.mag <= 1 && !n->num.neg)
        n = node_bool(arena_of(ed), n->num.mag == 1, n->at);
    return n;
}

/* In a tree of protobuf text, JSON values need its kinds: enum words, pairs for maps. */
static void to_prototext(struct editor *ed, const struct msg_def *def, struct node *map);

static struct node *to_pairs(struct editor *ed, const struct field_def *f, struct node *n)
{
    struct arena *a = arena_of(ed);
    if (n->kind != NODE_MAP || ed->dialect != SCHEMA_PROTO)
        return n;
    struct node *list = node_create(a, NODE_LIST, n->at);
    for (size_t i = 0; i < n->map.n; i++) {
        const struct node_entry *e = &n->map.at[i];
        struct node *pair = node_create(a, NODE_MAP, e->value->at);
        node_put(a, pair, "key", node_str(a, e->key.p, e->key.n, e->key_at));
        node_put(a, pair, "value", coerce(ed, f, e->value));
        node_push(a, list, pair);
    }
    return list;
}

static struct node *adapt_one(struct editor *ed, const struct field_def *f,
                              struct node *n)
{
    if (f->type == FIELD_MSG && n->kind == NODE_MAP)
        to_prototext(ed, f->msg, n);
    if (f->type == FIELD_MSG || f->type == FIELD_ANY || f->type == FIELD_UNION)
        return n;
    return coerce(ed, f, n);
}

static void to_prototext(struct editor *ed, const struct msg_def *def, struct node *map)
{
    for (size_t i = 0; i < map->map.n; i++) {
        struct node_entry *e = &map->map.at[i];
        const struct field_def *f =
            schema_field(def, arena_strndup(&ed->diags->arena, e->key.p, e->key.n));
        if (!f)
            continue;
        if (f->label == LABEL_DICT)
            e->value = to_pairs(ed, f, e->value);
        else if (e->value->kind == NODE_LIST)
            for (size_t k = 0; k < e->value->list.n; k++)
                e->value->list.at[k] = adapt_one(ed, f, e->value->list.at[k]);
        else
            e->value = adapt_one(ed, f, e->value);
    }
}

/* A message written in another syntax than the file gets its normal form by the rules of
 * its own. Warnings come again when the whole tree is checked, errors would not.
 */
static struct node *foreign_message(struct editor *ed, const struct msg_def *def,
                                    struct node *n, enum schema_dialect own)
{
    struct diags found = {0};
    if (own == ed->dialect)
        return n;
    enum rc rc = schema_normalise(def, n, own, arena_of(ed), &found);
    for (size_t i = 0; i < found.list.n; i++) {
        const struct diag *g = &found.list.at[i];
        if (g->severity != DIAG_ERROR)
            continue;
        struct diag *copy = diag_add(ed->diags, DIAG_ERROR, g->code, g->at, "%s", g->msg);
        if (g->where)
            diag_where(ed->diags, copy, "%s", g->where);
        if (g->hint)
            diag_hint(ed->diags, copy, "%s", g->hint);
    }
    diags_release(&found);
    if (rc)
        return NULL;
    if (ed->dialect == SCHEMA_PROTO)
        to_prototext(ed, def, n);
    return n;
}

/* `{"a": ...}` is JSON; names of protobuf text have no quotes. */
static bool looks_like_json(struct str s)
{
    size_t i = 1;
    if (s.n == 0 || s.p[0] != '{')
        return false;
    while (i < s.n && isspace((unsigned char)s.p[i]))
        i++;
    return i < s.n && s.p[i] == '"';
}

static struct node *message_of_yaml(struct editor *ed, const struct edit_place *p,
                                    const struct edit_text *text)
{
    struct node *n = parse_text(ed, SYNTAX_YAML, "", text);
    if (n && n->kind != NODE_MAP)
        return edit_value_refuse(ed, p, text, "write {name: value, ...}", "a mapping");
    return n;
}

static struct node *message_text(struct editor *ed, const struct edit_place *p,
                                 const struct edit_text *text)
{
    struct edit_text t = edit_trim(text);
    if (edit_is_yaml(ed))
        return message_of_yaml(ed, p, &t);
    if (looks_like_json(t.s)) {
        struct node *n = parse_text(ed, SYNTAX_JSON, "", &t);
        return n ? foreign_message(ed, p->def, n, SCHEMA_JSON) : NULL;
    }
    if (t.s.n && t.s.p[0] == '{') {
        if (t.s.n < 2 || t.s.p[t.s.n - 1] != '}')
            return edit_value_refuse(ed, p, &t, "the braces do not match", "a message");
        t = edit_part(&t, t.s.p + 1, t.s.n - 2);
    }
    struct node *n = parse_text(ed, SYNTAX_PROTOTEXT, "", &t);
    return n ? foreign_message(ed, p->def, n, SCHEMA_PROTO) : NULL;
}

/* [a, b] of either syntax; NULL with a diagnostic when it is none. */
static struct node *parse_list(struct editor *ed, const struct edit_place *p,
                               const struct edit_text *t, const char *hint)
{
    if (t->s.n == 0 || t->s.p[0] != '[')
        return edit_value_refuse(ed, p, t, hint, "a list");
    if (edit_is_yaml(ed)) {
        struct node *n = parse_text(ed, SYNTAX_YAML, "", t);
        return !n || n->kind == NODE_LIST ? n
                                          : edit_value_refuse(ed, p, t, hint, "a list");
    }
    struct node *n = parse_text(ed, SYNTAX_PROTOTEXT, "x:", t);
    if (!n)
        return NULL;
    if (n->map.n != 1 || n->map.at[0].value->kind != NODE_LIST)
        return edit_value_refuse(ed, p, t, hint, "a list and nothing behind it");
    return n->map.at[0].value;
}

static bool takes_one_as_list(const struct edit_place *p)
{
    return p->field && (p->field->flags & (FIELD_ONE_OR_LIST | FIELD_MANY));
}

/* One element of the list place p. */
static struct edit_place element_place(const struct edit_place *p)
{
    struct edit_place e = *p;
    bool msg = p->field->type == FIELD_MSG;
    bool scalar = !msg && p->field->type != FIELD_ANY && p->field->type != FIELD_UNION;
    e.shape = msg ? EDIT_MSG : scalar ? EDIT_SCALAR : EDIT_FREE;
    e.def = p->field->msg;
    return e;
}

static struct node *list_of_one(struct editor *ed, struct node *item)
{
    if (!item)
        return NULL;
    struct node *list = node_create(arena_of(ed), NODE_LIST, item->at);
    node_push(arena_of(ed), list, item);
    return list;
}

static struct node *list_text(struct editor *ed, const struct edit_place *p,
                              const struct edit_text *text)
{
    struct edit_text t = edit_trim(text);
    struct edit_place e = element_place(p);
    if (takes_one_as_list(p) && (t.s.n == 0 || t.s.p[0] != '['))
        return list_of_one(ed, edit_value_text(ed, &e, text));
    struct node *n = parse_list(ed, p, &t,
                                e.shape == EDIT_MSG ? "write [{...}, {...}]"
                                                    : "write [1, 2] or ['a', 'b']");
    for (size_t i = 0; n && i < n->list.n; i++) {
        struct node *item = n->list.at[i];
        if (e.shape == EDIT_MSG && item->kind != NODE_MAP)
            return edit_value_refuse(ed, p, text, "write [{...}, {...}]",
                                     "a list of messages");
        if (e.shape == EDIT_MSG && !edit_is_yaml(ed))
            item = foreign_message(ed, e.def, item, SCHEMA_PROTO);
        if (!item)
            return NULL;
        n->list.at[i] = coerce(ed, e.shape == EDIT_SCALAR ? p->field : NULL, item);
    }
    return n;
}

static struct node *dict_text(struct editor *ed, const struct edit_place *p,
                              const struct edit_text *text)
{
    struct edit_text t = edit_trim(text);
    if (!edit_is_yaml(ed) && !looks_like_json(t.s))
        return parse_list(ed, p, &t, "write {\"key\": value} or [{key: \"a\" value: 1}]");
    struct node *n = parse_text(ed, edit_is_yaml(ed) ? SYNTAX_YAML : SYNTAX_JSON, "", &t);
    if (n && n->kind != NODE_MAP)
        return edit_value_refuse(ed, p, &t, NULL, "a mapping");
    return n ? to_pairs(ed, p->field, n) : NULL;
}

static struct node *free_text(struct editor *ed, const struct edit_text *text)
{
    struct edit_text t = edit_trim(text);
    bool message = t.s.n >= 2 && t.s.p[0] == '{' && t.s.p[t.s.n - 1] == '}' &&
                   !looks_like_json(t.s) && !edit_is_yaml(ed);
    if (message) {
        t = edit_part(&t, t.s.p + 1, t.s.n - 2);
        return parse_text(ed, SYNTAX_PROTOTEXT, "", &t);
    }
    return parse_text(ed, SYNTAX_YAML, "", &t);
}

struct node *edit_value_text(struct editor *ed, const struct edit_place *p,
                             const struct edit_text *text)
{
    switch (p->shape) {
    case EDIT_MSG:
        return message_text(ed, p, text);
    case EDIT_LIST:
        return list_text(ed, p, text);
    case EDIT_DICT:
        return dict_text(ed, p, text);
    case EDIT_FREE:
        return free_text(ed, text);
    case EDIT_SCALAR:
        break;
    }
    struct edit_text t = edit_trim(text);
    if (p->field->type != FIELD_STR && t.s.n == 0)
        return edit_value_refuse(ed, p, text, NULL,
                                 arena_printf(&ed->diags->arena,
                                              "a value of type %s, not nothing",
                                              schema_type_name(p->field)));
    const struct edit_text *used = p->field->type == FIELD_STR ? text : &t;
    return coerce(ed, p->field, node_str(arena_of(ed), used->s.p, used->s.n, used->at));
}

static struct node *list_json(struct editor *ed, const struct edit_place *p,
                              const struct node *json, const struct edit_text *at)
{
    struct edit_place e = element_place(p);
    if (json->kind != NODE_LIST && takes_one_as_list(p))
        return list_of_one(ed, edit_value_json(ed, &e, json, at));
    if (json->kind != NODE_LIST)
        return edit_value_refuse(ed, p, at, NULL, "a list");
    struct node *list = node_create(arena_of(ed), NODE_LIST, json->at);
    for (size_t i = 0; i < json->list.n; i++) {
        struct node *item = edit_value_json(ed, &e, json->list.at[i], at);
        if (!item)
            return NULL;
        node_push(arena_of(ed), list, item);
    }
    return list;
}

struct node *edit_value_json(struct editor *ed, const struct edit_place *p,
                             const struct node *json, const struct edit_text *at)
{
    struct node *n;
    switch (p->shape) {
    case EDIT_LIST:
        return list_json(ed, p, json, at);
    case EDIT_MSG:
        if (json->kind != NODE_MAP)
            return edit_value_refuse(ed, p, at, NULL, "a message");
        n = node_clone(arena_of(ed), json);
        return edit_is_yaml(ed) ? n : foreign_message(ed, p->def, n, SCHEMA_JSON);
    case EDIT_DICT:
        if (json->kind != NODE_MAP)
            return edit_value_refuse(ed, p, at, NULL, "a mapping");
        return to_pairs(ed, p->field, node_clone(arena_of(ed), json));
    case EDIT_SCALAR:
        if (!node_is_scalar(json))
            return edit_value_refuse(
                ed, p, at, NULL,
                arena_printf(&ed->diags->arena, "a value of type %s, not %s",
                             schema_type_name(p->field), node_kind_name(json->kind)));
        return coerce(ed, p->field, node_clone(arena_of(ed), json));
    case EDIT_FREE:
        break;
    }
    return node_clone(arena_of(ed), json);
}
