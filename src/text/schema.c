/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to a schema: fields by name, the member of a oneof that is set, words of
 * enums, and where a message stands, for diagnostics. Tables are walked: messages have
 * tens of fields. schema_view() lets messages that have no common base in C be read
 * through one struct, by the names that they share.
 */
#include "text/schema.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct field_def *schema_field(const struct msg_def *def, const char *name)
{
    for (const struct field_def *f = def->fields(); f->name; f++)
        if (strcmp(f->name, name) == 0 || (f->alias && strcmp(f->alias, name) == 0))
            return f;
    return NULL;
}

const struct field_def *schema_oneof(const struct msg *m, const char *oneof,
                                     const struct msg **out)
{
    for (const struct field_def *f = m->def->fields(); f->name; f++) {
        if (!f->oneof || f->type != FIELD_MSG || strcmp(f->oneof, oneof) != 0)
            continue;
        const struct msg *sub = *(const struct msg *const *)((const char *)m + f->at);
        if (!sub)
            continue;
        if (out)
            *out = sub;
        return f;
    }
    return NULL;
}

const struct enum_value *schema_enum_word(const struct enum_def *e, struct str word)
{
    for (const struct enum_value *v = e->values; v->name; v++)
        if (str_is(word, v->name))
            return v;
    return NULL;
}

const struct enum_value *schema_enum_number(const struct enum_def *e, int64_t number)
{
    for (const struct enum_value *v = e->values; v->name; v++)
        if (v->number == number)
            return v;
    return NULL;
}

const char *schema_type_name(const struct field_def *f)
{
    static const char *const names[] = {
        [FIELD_BOOL] = "bool",   [FIELD_I32] = "int32",     [FIELD_I64] = "int64",
        [FIELD_U32] = "uint32",  [FIELD_U64] = "uint64",    [FIELD_FLOAT] = "float",
        [FIELD_STR] = "string",  [FIELD_DOUBLE] = "double", [FIELD_ENUM] = "enum",
        [FIELD_MSG] = "message", [FIELD_ANY] = "any value", [FIELD_UNION] = "message",
    };
    if (f->type == FIELD_MSG)
        return f->msg->name;
    if (f->type == FIELD_ENUM)
        return f->enums->name;
    return names[f->type];
}

static void put_path(const struct msg *m, struct buf *out)
{
    if (!m->field)
        return;
    if (m->parent)
        put_path(m->parent, out);
    if (out->n)
        buf_putc(out, '.');
    buf_puts(out, m->field);
    if (m->index >= 0)
        buf_printf(out, "[%jd]", (intmax_t)m->index);
}

/* The text of the field that names `m`, when it is there. */
static const struct node *title_of(const struct msg *m)
{
    const struct node *n = m->def->title ? node_find(m->node, m->def->title) : NULL;
    return n && n->kind == NODE_STR && n->text.n > 0 ? n : NULL;
}

const char *schema_where(const struct msg *m, struct arena *a)
{
    struct buf b;
    buf_init(&b, 4096);
    put_path(m, &b);
    const struct msg *named = m;
    while (named && !title_of(named))
        named = named->parent;
    const char *where = NULL;
    if (named && named->field) {
        struct str title = title_of(named)->text;
        where = arena_printf(a, "%s '%.*s' at %s", named->field, (int)title.n, title.p,
                             buf_str(&b));
    } else if (b.n) {
        where = arena_strdup(a, buf_str(&b));
    }
    buf_release(&b);
    return where;
}

/* The place of `m` itself: the name of the field that holds it, else its first character.
 */
static struct span own_span(const struct msg *m)
{
    const struct node *up = m->parent ? m->parent->node : NULL;
    if (up && up->kind == NODE_MAP && m->field) {
        const struct node_entry *e = node_entry_find(up, m->field);
        if (e && e->value == m->node)
            return e->key_at;
    }
    struct span s = m->node ? m->node->at : (struct span){0};
    if (s.len > 1 && (m->field || s.off == 0))
        s.len = 1;
    return s;
}

struct span schema_span(const struct msg *m, const char *name)
{
    const struct node_entry *e = name ? node_entry_find(m->node, name) : NULL;
    if (!e)
        return own_span(m);
    return node_is_scalar(e->value) || e->value->kind == NODE_LIST ? e->value->at
                                                                   : e->key_at;
}

struct diag *schema_report(struct diags *d, enum severity severity, enum code code,
                           const struct msg *m, const char *name, const char *fmt, ...)
{
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    struct diag *g = diag_add(d, severity, code, schema_span(m, name), "%s", text);
    g->where = schema_where(m, &d->arena);
    return g;
}

/* Bytes of a field's value; lists, messages and texts are pointers. */
static size_t size_of(const struct field_def *d)
{
    if (d->label == LABEL_REP || d->label == LABEL_DICT)
        return sizeof(void *);
    switch (d->type) {
    case FIELD_BOOL:
        return sizeof(bool);
    case FIELD_I32:
    case FIELD_U32:
        return sizeof(int32_t);
    case FIELD_I64:
    case FIELD_U64:
        return sizeof(int64_t);
    case FIELD_FLOAT:
    case FIELD_DOUBLE:
        return sizeof(double);
    case FIELD_ENUM:
        return sizeof(int);
    default:
        return sizeof(void *);
    }
}

static void copy_field(void *out, const struct field_def *to, const struct msg *m,
                       const struct field_def *from)
{
    bool list = to->label == LABEL_REP || to->label == LABEL_DICT;
    assert(from->type == to->type && list == (from->count != 0));
    memcpy((char *)out + to->at, (const char *)m + from->at, size_of(to));
    if (to->has)
        memcpy((char *)out + to->has, (const char *)m + from->has, sizeof(bool));
    if (to->count)
        memcpy((char *)out + to->count, (const char *)m + from->count, sizeof(int64_t));
}

void schema_view(const struct msg *m, const struct field_def *view, size_t n, void *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct field_def *from = schema_field(m->def, view[i].name);
        if (from && !(from->flags & FIELD_IGNORED))
            copy_field(out, &view[i], m, from);
    }
}
