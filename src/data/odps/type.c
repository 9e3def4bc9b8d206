/* SPDX-License-Identifier: Apache-2.0 */
/* Types of MaxCompute, from their spelling ("map<string,array<bigint>>") to a tree, and
 * from there to types of columns. A small recursive descent; its depth is bounded. Types
 * that have no column here are refused by name.
 */
#include "data/odps/type.h"

#include <string.h>
#include <strings.h>

#include "base/vec.h"

#define DEPTH_MAX 16

static const struct {
    const char *name;
    enum odps_kind kind;
} names[] = {
    {"bigint", ODPS_BIGINT},
    {"binary", ODPS_BINARY},
    {"boolean", ODPS_BOOLEAN},
    {"char", ODPS_STRING},
    {"date", ODPS_DATE},
    {"datetime", ODPS_DATETIME},
    {"decimal", ODPS_DECIMAL},
    {"double", ODPS_DOUBLE},
    {"float", ODPS_FLOAT},
    {"int", ODPS_SMALL},
    {"json", ODPS_STRING},
    {"smallint", ODPS_SMALL},
    {"string", ODPS_STRING},
    {"timestamp", ODPS_TIMESTAMP},
    {"timestamp_ntz", ODPS_TIMESTAMP_NTZ},
    {"tinyint", ODPS_SMALL},
    {"varchar", ODPS_STRING},
};

struct parser {
    struct str all, rest;
    struct arena *mem;
    struct err *err;
};

static enum rc odps_type_refuse(struct parser *p, const char *why)
{
    return err_coded(p->err, RC_UNSUPPORTED, E1706, "type '%.*s' %s",
                     (int)(p->all.n < 100 ? p->all.n : 100), p->all.p, why);
}

static void skip_blanks(struct parser *p)
{
    p->rest = str_trim(p->rest);
}

static bool take_char(struct parser *p, char c)
{
    skip_blanks(p);
    if (!p->rest.n || p->rest.p[0] != c)
        return false;
    p->rest = str_of(p->rest.p + 1, p->rest.n - 1);
    return true;
}

/* Up to a character that ends a word. */
static struct str take_word(struct parser *p)
{
    skip_blanks(p);
    size_t n = 0;
    if (p->rest.n && p->rest.p[0] == '`') {
        const char *end = memchr(p->rest.p + 1, '`', p->rest.n - 1);
        n = end ? (size_t)(end - p->rest.p) + 1 : p->rest.n;
        struct str quoted = str_of(p->rest.p + 1, n >= 2 ? n - 2 : 0);
        p->rest = str_of(p->rest.p + n, p->rest.n - n);
        return quoted;
    }
    while (n < p->rest.n && !strchr("<>(),: \t\n\r", p->rest.p[n]))
        n++;
    struct str w = str_of(p->rest.p, n);
    p->rest = str_of(p->rest.p + n, p->rest.n - n);
    return w;
}

static bool is_word(struct str w, const char *s)
{
    return w.n == strlen(s) && strncasecmp(w.p, s, w.n) == 0;
}

/* "(10)", "(10,2)" behind a name. */
static bool take_sizes(struct parser *p, struct odps_type *out)
{
    int64_t n;
    if (!take_char(p, '('))
        return true;
    if (!str_to_i64(take_word(p), &n) || n < 0 || n > 1 << 20)
        return false;
    out->precision = (int32_t)n;
    if (take_char(p, ',')) {
        if (!str_to_i64(take_word(p), &n) || n < 0 || n > 1 << 20)
            return false;
        out->scale = (int32_t)n;
    }
    return take_char(p, ')');
}

static enum rc odps_parse_type(struct parser *p, int depth, struct odps_type *out);

static enum rc parse_kids(struct parser *p, int depth, struct odps_type *out)
{
    VEC(struct odps_type) kids = {0};
    VEC(const char *) kid_names = {0};
    enum rc rc = take_char(p, '<') ? RC_OK : odps_type_refuse(p, "lacks '<'");
    while (!rc) {
        struct odps_type kid = {0};
        struct str name = {0};
        if (out->kind == ODPS_STRUCT) {
            name = take_word(p);
            if (!take_char(p, ':')) {
                rc = odps_type_refuse(p, "has a field without ':'");
                break;
            }
        }
        rc = odps_parse_type(p, depth + 1, &kid);
        if (rc)
            break;
        VEC_PUSH(&kids, kid);
        VEC_PUSH(&kid_names, arena_strndup(p->mem, name.n ? name.p : "", name.n));
        if (take_char(p, ','))
            continue;
        if (!take_char(p, '>'))
            rc = odps_type_refuse(p, "lacks '>'");
        break;
    }
    size_t want = out->kind == ODPS_ARRAY ? 1 : out->kind == ODPS_MAP ? 2 : kids.n;
    if (!rc && kids.n != want)
        rc = odps_type_refuse(p, "has another number of parts than its kind");
    if (!rc) {
        out->n_kids = kids.n;
        out->kids = arena_alloc(p->mem, kids.n * sizeof(*out->kids));
        out->names = arena_alloc(p->mem, kids.n * sizeof(*out->names));
        memcpy(out->kids, kids.at, kids.n * sizeof(*out->kids));
        memcpy(out->names, kid_names.at, kids.n * sizeof(*out->names));
    }
    VEC_RELEASE(&kids);
    VEC_RELEASE(&kid_names);
    return rc;
}

static enum rc odps_parse_type(struct parser *p, int depth, struct odps_type *out)
{
    struct str w = take_word(p);
    *out = (struct odps_type){0};
    if (depth > DEPTH_MAX)
        return odps_type_refuse(p, "is nested too deep");
    out->kind = is_word(w, "array")    ? ODPS_ARRAY
                : is_word(w, "map")    ? ODPS_MAP
                : is_word(w, "struct") ? ODPS_STRUCT
                                       : ODPS_BOOLEAN;
    if (out->kind != ODPS_BOOLEAN)
        return parse_kids(p, depth, out);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (is_word(w, names[i].name)) {
            out->kind = names[i].kind;
            return take_sizes(p, out) ? RC_OK
                                      : odps_type_refuse(p, "has malformed sizes");
        }
    return odps_type_refuse(p, "is not supported");
}

enum rc odps_type_parse(struct str text, struct arena *mem, struct odps_type *out,
                        struct err *err)
{
    struct parser p = {.all = text, .rest = text, .mem = mem, .err = err};
    enum rc rc = odps_parse_type(&p, 0, out);
    skip_blanks(&p);
    if (!rc && p.rest.n)
        rc = odps_type_refuse(&p, "has something behind its end");
    return rc;
}

static const struct {
    const char *name;
    enum type_id id;
    enum logical logical;
} kinds[] = {
    [ODPS_BOOLEAN] = {"boolean", TYPE_BOOL, LOGICAL_NONE},
    [ODPS_SMALL] = {"int", TYPE_I32, LOGICAL_NONE},
    [ODPS_BIGINT] = {"bigint", TYPE_I64, LOGICAL_NONE},
    [ODPS_FLOAT] = {"float", TYPE_F32, LOGICAL_NONE},
    [ODPS_DOUBLE] = {"double", TYPE_F64, LOGICAL_NONE},
    [ODPS_STRING] = {"string", TYPE_STR, LOGICAL_NONE},
    [ODPS_BINARY] = {"binary", TYPE_STR, LOGICAL_BINARY},
    [ODPS_DECIMAL] = {"decimal", TYPE_F64, LOGICAL_DECIMAL},
    [ODPS_DATETIME] = {"datetime", TYPE_I64, LOGICAL_TIMESTAMP_MS},
    [ODPS_DATE] = {"date", TYPE_I32, LOGICAL_DATE},
    [ODPS_TIMESTAMP] = {"timestamp", TYPE_I64, LOGICAL_TIMESTAMP_NS},
    [ODPS_TIMESTAMP_NTZ] = {"timestamp_ntz", TYPE_I64, LOGICAL_TIMESTAMP_NS},
    [ODPS_ARRAY] = {"array", TYPE_LIST, LOGICAL_NONE},
    [ODPS_MAP] = {"map", TYPE_MAP, LOGICAL_NONE},
    [ODPS_STRUCT] = {"struct", TYPE_STRUCT, LOGICAL_NONE},
};

struct type odps_type_ours(const struct odps_type *t, struct arena *mem)
{
    struct type out = type_of(kinds[t->kind].id, true);
    out.logical = kinds[t->kind].logical;
    out.utc = t->kind == ODPS_DATETIME || t->kind == ODPS_TIMESTAMP;
    if (t->kind == ODPS_DECIMAL) {
        out.precision = t->precision ? t->precision : 38;
        out.scale = t->precision ? t->scale : 18;
    }
    if (t->kind == ODPS_ARRAY)
        return type_list(mem, odps_type_ours(&t->kids[0], mem), true);
    if (t->kind == ODPS_MAP) {
        struct type key = odps_type_ours(&t->kids[0], mem);
        key.nullable = false;
        return type_map(mem, key, odps_type_ours(&t->kids[1], mem), true);
    }
    if (t->kind == ODPS_STRUCT) {
        out.kids = arena_alloc(mem, t->n_kids * sizeof(*out.kids));
        out.n_kids = t->n_kids;
        for (size_t i = 0; i < t->n_kids; i++)
            out.kids[i] = (struct data_field){.name = t->names[i],
                                              .type = odps_type_ours(&t->kids[i], mem)};
    }
    return out;
}

static bool is_whole(enum type_id id)
{
    return id == TYPE_I32 || id == TYPE_I64 || id == TYPE_U32;
}

bool odps_type_takes(const struct odps_type *to, const struct type *from)
{
    switch (to->kind) {
    case ODPS_BOOLEAN:
        return from->id == TYPE_BOOL;
    case ODPS_SMALL:
        return from->id == TYPE_I32 && from->logical == LOGICAL_NONE;
    case ODPS_BIGINT:
        return is_whole(from->id) && from->logical == LOGICAL_NONE;
    case ODPS_FLOAT:
        return from->id == TYPE_F32;
    case ODPS_DOUBLE:
        return from->id == TYPE_F32 || from->id == TYPE_F64 || from->id == TYPE_I32;
    case ODPS_STRING:
    case ODPS_BINARY:
        return from->id == TYPE_STR;
    case ODPS_ARRAY:
        return from->id == TYPE_LIST &&
               odps_type_takes(&to->kids[0], &from->kids[0].type);
    case ODPS_MAP:
        return from->id == TYPE_MAP &&
               odps_type_takes(&to->kids[0], &from->kids[0].type) &&
               odps_type_takes(&to->kids[1], &from->kids[1].type);
    default:
        return kinds[to->kind].id == from->id &&
               kinds[to->kind].logical == from->logical && to->kind != ODPS_STRUCT &&
               to->kind != ODPS_DECIMAL;
    }
}

void odps_type_print(const struct odps_type *t, struct buf *out)
{
    buf_puts(out, kinds[t->kind].name);
    if (!t->n_kids)
        return;
    buf_putc(out, '<');
    for (size_t i = 0; i < t->n_kids; i++) {
        buf_puts(out, i ? "," : "");
        if (t->kind == ODPS_STRUCT)
            buf_printf(out, "%s:", t->names[i]);
        odps_type_print(&t->kids[i], out);
    }
    buf_putc(out, '>');
}
