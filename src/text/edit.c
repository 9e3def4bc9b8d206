/* SPDX-License-Identifier: Apache-2.0 */
/* One edit is one or more assignments in order. The tree is changed as they go, with a
 * log of what each changed list or map was before, so that a failed edit leaves nothing
 * behind and a large tree need not be copied.
 */
#include "text/edit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text/edit_private.h"
#include "text/json.h"

struct edit_text edit_part(const struct edit_text *t, const char *p, size_t n)
{
    struct edit_text part = {.s = str_of(p, n), .at = t->at, .exact = t->exact};
    if (t->exact) {
        part.at.off += (uint32_t)(p - t->s.p);
        part.at.len = (uint32_t)n;
    }
    return part;
}

struct edit_text edit_trim(const struct edit_text *t)
{
    struct str s = str_trim(t->s);
    return edit_part(t, s.p, s.n);
}

enum rc edit_fail(struct editor *ed, enum code code, const struct edit_text *at,
                  const char *hint, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    struct diag *g = diag_add(ed->diags, DIAG_ERROR, code, at->at, "%s", text);
    if (hint)
        diag_hint(ed->diags, g, "%s", hint);
    return RC_FORMAT;
}

bool edit_is_yaml(const struct editor *ed)
{
    return ed->dialect == SCHEMA_YAML || ed->dialect == SCHEMA_FOLDED;
}

void edit_touch(struct editor *ed, struct node *n)
{
    struct edit_undo u = {.node = n, .before = *n};
    if (n->kind == NODE_MAP && n->map.n) {
        u.before.map.at = arena_alloc(&ed->c->arena, n->map.n * sizeof(*n->map.at));
        memcpy(u.before.map.at, n->map.at, n->map.n * sizeof(*n->map.at));
        u.before.map.cap = n->map.n;
    } else if (n->kind == NODE_LIST && n->list.n) {
        u.before.list.at = arena_alloc(&ed->c->arena, n->list.n * sizeof(*n->list.at));
        memcpy(u.before.list.at, n->list.at, n->list.n * sizeof(*n->list.at));
        u.before.list.cap = n->list.n;
    }
    VEC_PUSH(&ed->undo, u);
}

static void roll_back(struct editor *ed)
{
    while (ed->undo.n) {
        struct edit_undo *u = &ed->undo.at[--ed->undo.n];
        *u->node = u->before;
    }
}

/* JSON null takes the field or the element away. */
static void remove_all(struct editor *ed, const struct edit_places *places)
{
    for (size_t i = places->n; i-- > 0;) {
        const struct edit_place *p = &places->at[i];
        edit_touch(ed, p->parent);
        if (p->key) {
            node_remove(p->parent, p->key);
        } else if (p->index < p->parent->list.n) {
            struct node **at = p->parent->list.at + p->index;
            memmove(at, at + 1, (p->parent->list.n - p->index - 1) * sizeof(*at));
            p->parent->list.n--;
        }
    }
}

/* What is assigned: a text, or a JSON value that is no text. */
struct value {
    struct edit_text text;
    const struct node *json; /* or NULL */
};

static enum rc put_all(struct editor *ed, const struct edit_places *places,
                       const struct value *v)
{
    struct node *made = NULL;
    for (size_t i = 0; i < places->n; i++) {
        const struct edit_place *p = &places->at[i], *before = i ? p - 1 : NULL;
        bool same = before && before->field == p->field && before->def == p->def &&
                    before->shape == p->shape;
        if (same)
            made = node_clone(&ed->c->arena, made);
        else if (v->json)
            made = edit_value_json(ed, p, v->json, &v->text);
        else
            made = edit_value_text(ed, p, &v->text);
        if (!made)
            return RC_FORMAT;
        place_set(ed, p, made);
    }
    return RC_OK;
}

static enum rc edit_assign(struct editor *ed, const struct edit_text *path,
                           const struct value *v)
{
    struct edit_steps steps = {0};
    struct edit_places places = {0};
    ed->removing = v->json && v->json->kind == NODE_NULL;
    enum rc rc = edit_parse_path(ed, path, &steps);
    if (!rc)
        rc = edit_select(ed, &steps, &places);
    if (!rc && ed->removing)
        remove_all(ed, &places);
    else if (!rc)
        rc = put_all(ed, &places, v);
    VEC_RELEASE(&steps);
    VEC_RELEASE(&places);
    return rc;
}

/* The first '=' outside brackets, where conditions have theirs; *open is a bracket that
 * is not closed, or NULL.
 */
static const char *find_equals(struct str s, const char **open)
{
    *open = NULL;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '[' && !*open)
            *open = s.p + i;
        else if (s.p[i] == ']')
            *open = NULL;
        else if (s.p[i] == '=' && !*open)
            return s.p + i;
    }
    return NULL;
}

static enum rc apply_set(struct editor *ed)
{
    struct edit_text all = {.s = str_of(ed->src->text, ed->src->n),
                            .at = {.src = ed->src, .len = (uint32_t)ed->src->n},
                            .exact = true};
    const char *open, *equals = find_equals(all.s, &open);
    if (open) {
        struct edit_text at = edit_part(&all, open, 1);
        return edit_fail(ed, E0120, &at, "a path is written a.b[0].c",
                         "the '[' is never closed");
    }
    if (!equals)
        return edit_fail(ed, E0120, &all, "write PATH=VALUE", "there is no '=' in '%.*s'",
                         (int)(all.s.n > 200 ? 200 : all.s.n), all.s.p);
    size_t n = (size_t)(equals - all.s.p);
    struct edit_text path = edit_part(&all, all.s.p, n);
    struct value v = {.text = edit_part(&all, equals + 1, all.s.n - n - 1)};
    path = edit_trim(&path);
    return edit_assign(ed, &path, &v);
}

/* A JSON string without its quotes. With escapes in it positions are only rough. */
static struct edit_text string_at(struct str s, struct span at)
{
    struct edit_text t = {.s = s, .at = at};
    if (at.len == s.n + 2 && memcmp(at.src->text + at.off + 1, s.p, s.n) == 0) {
        t.at.off++;
        t.at.len -= 2;
        t.exact = true;
    }
    return t;
}

static size_t count_parts(struct str s)
{
    size_t n = 1;
    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == ';';
    return n;
}

/* "a;b": "1;2" pairs paths and values; a single path takes its value whole. */
static enum rc apply_entry(struct editor *ed, const struct node_entry *e)
{
    struct edit_text path = string_at(e->key, e->key_at);
    bool text = e->value->kind == NODE_STR;
    struct value v = {.text = {.s = e->value->text, .at = e->value->at},
                      .json = text ? NULL : e->value};
    if (text)
        v.text = string_at(e->value->text, e->value->at);
    size_t n = count_parts(path.s);
    if (n == 1) {
        path = edit_trim(&path);
        return edit_assign(ed, &path, &v);
    }
    size_t values = text ? count_parts(v.text.s) : 1;
    if (n != values)
        return edit_fail(ed, E0120, &v.text,
                         "write the values as one string, separated by ';'",
                         "%zu paths but %zu value%s", n, values, values == 1 ? "" : "s");
    struct str paths = path.s, rest = v.text.s, one, val;
    while (str_split(&paths, ';', &one) && str_split(&rest, ';', &val)) {
        struct edit_text p = edit_part(&path, one.p, one.n);
        struct value part = {.text = edit_part(&v.text, val.p, val.n)};
        p = edit_trim(&p);
        part.text = edit_trim(&part.text);
        enum rc rc = edit_assign(ed, &p, &part);
        if (rc)
            return rc;
    }
    return RC_OK;
}

static enum rc apply_json(struct editor *ed, struct source *src)
{
    struct doc d = {.src = src, .arena = ed->c->arena};
    enum rc rc = json_parse(&d, ed->diags);
    ed->c->arena = d.arena;
    if (rc)
        return rc;
    if (d.root->kind != NODE_MAP) {
        struct edit_text at = {.at = d.root->at};
        return edit_fail(ed, E0120, &at, "write {\"path\": value}",
                         "expected a JSON object of paths and values, not %s",
                         node_kind_name(d.root->kind));
    }
    for (size_t i = 0; i < d.root->map.n && !rc; i++)
        rc = apply_entry(ed, &d.root->map.at[i]);
    return rc;
}

enum rc edit_apply(struct conf *c, const struct conf_edit *edit, struct diags *diags)
{
    struct source *src = NULL;
    struct err err = {0};
    if (source_from(edit->origin, edit->text, strlen(edit->text), &src, &err)) {
        diag_add(diags, DIAG_ERROR, E0120, (struct span){0}, "%s: %s", edit->origin,
                 err.msg);
        return RC_FORMAT;
    }
    VEC_PUSH(&c->sources, src);
    struct editor ed = {
        .c = c, .diags = diags, .src = src, .dialect = c->kind->dialect(c->syntax)};
    enum rc rc = edit->json ? apply_json(&ed, src) : apply_set(&ed);
    if (rc)
        roll_back(&ed);
    VEC_RELEASE(&ed.undo);
    return rc;
}
