/* SPDX-License-Identifier: Apache-2.0 */
/* Types of columns and the schemas made of them. Kids of nested types are copied into
 * the arena of whoever holds the type, so that a schema is freed in one piece. Looking
 * up a name is a walk: schemas have tens of columns and are looked up when files are
 * opened, not per row.
 */
#include "data/type.h"

#include <string.h>

#include "base/mem.h"

#define PARSE_DEPTH 8 /* of nested types in a text */

static const struct {
    const char *name;
    size_t width;
} ids[TYPE_COUNT] = {
    [TYPE_BOOL] = {"bool", 1},  [TYPE_I32] = {"int32", 4},    [TYPE_I64] = {"int64", 8},
    [TYPE_U32] = {"uint32", 4}, [TYPE_U64] = {"uint64", 8},   [TYPE_F32] = {"float", 4},
    [TYPE_F64] = {"double", 8}, [TYPE_STR] = {"string", 0},   [TYPE_LIST] = {"list", 0},
    [TYPE_MAP] = {"map", 0},    [TYPE_STRUCT] = {"struct", 0}};

static const char *const logical_names[LOGICAL_COUNT] = {
    [LOGICAL_BINARY] = "binary",
    [LOGICAL_DATE] = "date",
    [LOGICAL_TIME_MS] = "time[ms]",
    [LOGICAL_TIME_US] = "time[us]",
    [LOGICAL_TIME_NS] = "time[ns]",
    [LOGICAL_TIMESTAMP_MS] = "timestamp[ms]",
    [LOGICAL_TIMESTAMP_US] = "timestamp[us]",
    [LOGICAL_TIMESTAMP_NS] = "timestamp[ns]",
    [LOGICAL_DECIMAL] = "decimal",
    [LOGICAL_FLOAT16] = "float16",
    [LOGICAL_UUID] = "uuid",
    [LOGICAL_UINT8] = "uint8",
};

static struct data_field *kids_alloc(struct arena *mem, size_t n)
{
    return arena_alloc(mem, n * sizeof(struct data_field));
}

struct type type_list(struct arena *mem, struct type element, bool nullable)
{
    struct type t = {.id = TYPE_LIST, .nullable = nullable, .n_kids = 1};
    t.kids = kids_alloc(mem, 1);
    t.kids[0] = (struct data_field){.name = "element", .type = element};
    return t;
}

struct type type_map(struct arena *mem, struct type key, struct type value, bool nullable)
{
    struct type t = {.id = TYPE_MAP, .nullable = nullable, .n_kids = 2};
    t.kids = kids_alloc(mem, 2);
    t.kids[0] = (struct data_field){.name = "key", .type = key};
    t.kids[1] = (struct data_field){.name = "value", .type = value};
    return t;
}

struct type type_copy(struct arena *mem, const struct type *t)
{
    struct type copy = *t;
    if (!t->n_kids)
        return copy;
    copy.kids = kids_alloc(mem, t->n_kids);
    for (size_t i = 0; i < t->n_kids; i++) {
        copy.kids[i].name = arena_strdup(mem, t->kids[i].name);
        copy.kids[i].type = type_copy(mem, &t->kids[i].type);
    }
    return copy;
}

bool type_equal(const struct type *a, const struct type *b)
{
    if (a->id != b->id || a->logical != b->logical || a->n_kids != b->n_kids)
        return false;
    if (a->logical == LOGICAL_DECIMAL && a->scale != b->scale)
        return false;
    for (size_t i = 0; i < a->n_kids; i++) {
        if (a->id == TYPE_STRUCT && strcmp(a->kids[i].name, b->kids[i].name) != 0)
            return false;
        if (!type_equal(&a->kids[i].type, &b->kids[i].type))
            return false;
    }
    return true;
}

size_t type_width(enum type_id id)
{
    return ids[id].width;
}

bool type_is_nested(enum type_id id)
{
    return id == TYPE_LIST || id == TYPE_MAP || id == TYPE_STRUCT;
}

void type_print(const struct type *t, struct buf *out)
{
    if (t->logical != LOGICAL_NONE) {
        buf_puts(out, logical_names[t->logical]);
        if (t->logical == LOGICAL_DECIMAL)
            buf_printf(out, "(%d,%d)", (int)t->precision, (int)t->scale);
        return;
    }
    buf_puts(out, ids[t->id].name);
    if (!type_is_nested(t->id))
        return;
    buf_putc(out, '<');
    for (size_t i = 0; i < t->n_kids; i++) {
        if (i)
            buf_putc(out, ',');
        if (t->id == TYPE_STRUCT)
            buf_printf(out, "%s:", t->kids[i].name);
        type_print(&t->kids[i].type, out);
    }
    buf_putc(out, '>');
}

/* Takes `word` off the front of the text. */
static bool take_word(struct str *text, const char *word)
{
    size_t n = strlen(word);
    if (text->n < n || memcmp(text->p, word, n) != 0)
        return false;
    *text = str_of(text->p + n, text->n - n);
    return true;
}

static bool parse_part(struct str *text, struct arena *mem, int depth, struct type *out)
{
    struct type kid, value;
    if (depth > PARSE_DEPTH)
        return false;
    if (take_word(text, "list<")) {
        if (!parse_part(text, mem, depth + 1, &kid) || !take_word(text, ">"))
            return false;
        *out = type_list(mem, kid, true);
        return true;
    }
    if (take_word(text, "map<")) {
        if (!parse_part(text, mem, depth + 1, &kid) || !take_word(text, ",") ||
            !parse_part(text, mem, depth + 1, &value) || !take_word(text, ">"))
            return false;
        *out = type_map(mem, kid, value, true);
        return true;
    }
    for (int id = 0; id < TYPE_COUNT; id++)
        if (!type_is_nested((enum type_id)id) && take_word(text, ids[id].name)) {
            *out = type_of((enum type_id)id, true);
            return true;
        }
    return false;
}

bool type_parse(struct str text, struct arena *mem, struct type *out)
{
    return parse_part(&text, mem, 0, out) && text.n == 0;
}

void data_schema_release(struct data_schema *s)
{
    mem_free(s->at);
    arena_release(&s->mem);
    *s = (struct data_schema){0};
}

struct data_field *data_schema_add(struct data_schema *s, struct str name,
                                   const struct type *type)
{
    if (s->n == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 8;
        s->at = mem_realloc(s->at, s->cap, sizeof(*s->at));
    }
    struct data_field *f = &s->at[s->n++];
    *f = (struct data_field){.name = arena_strndup(&s->mem, name.p, name.n),
                             .type = type_copy(&s->mem, type)};
    return f;
}

void data_field_explain(struct data_schema *s, struct data_field *f, const char *why)
{
    f->why = why ? arena_strdup(&s->mem, why) : NULL;
}

int64_t data_schema_find(const struct data_schema *s, struct str name)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_is(name, s->at[i].name))
            return (int64_t)i;
    return -1;
}

void data_schema_copy(struct data_schema *to, const struct data_schema *from)
{
    for (size_t i = 0; i < from->n; i++) {
        struct data_field *f =
            data_schema_add(to, str_c(from->at[i].name), &from->at[i].type);
        data_field_explain(to, f, from->at[i].why);
        f->unseen = from->at[i].unseen;
    }
}

bool data_schema_equal(const struct data_schema *a, const struct data_schema *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->at[i].name, b->at[i].name) != 0 ||
            !type_equal(&a->at[i].type, &b->at[i].type))
            return false;
    return true;
}

void data_schema_print(const struct data_schema *s, struct buf *out)
{
    for (size_t i = 0; i < s->n; i++) {
        buf_printf(out, "%s: ", s->at[i].name);
        type_print(&s->at[i].type, out);
        buf_putc(out, '\n');
    }
}
