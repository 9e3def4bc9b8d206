/* SPDX-License-Identifier: Apache-2.0 */
/* Feature vectors as the specification writes them: a config, columns, what comes out.
 *
 * Columns, one per line: `name type row / row / row`. Types: str, lit (a text taken as it
 * is), i32, i64, f32, f64, bool, u32, days, ms, us, ns, clock (dates and times), [str], [i64], [f64], [[i64]], [[str]], {str,f32} and so on. N
 * is a null, "" an empty text, [a,b] a list, {k:v,k:v} a map. In texts ^ is byte 0x1d and
 * ~ byte 0x03. A column line of one row may be followed by `*`: it stands for all rows.
 *
 * Results: `v` ids, `L` ids per row, `K` ids per step, `S` steps per row, `w` weights,
 * `d` numbers; only what is named is compared.
 */
#ifndef VECTOR_H
#define VECTOR_H

#include <ctype.h>
#include <stdlib.h>

#include "base/mem.h"
#include "feature/feature.h"
#include "tap.h"
#include "text/pipeline/pipeline.h"
#include "text/prototext.h"

struct bound {
    struct doc doc;
    struct arena arena;
    struct diags diags;
    const struct pc_EasyRecConfig *conf; /* NULL: diags say why */
};

static inline bool bound_init(struct bound *b, const char *text)
{
    struct err err = {0};
    *b = (struct bound){0};
    if (source_from("t", text, strlen(text), &b->doc.src, &err) ||
        prototext_parse(&b->doc, &b->diags) ||
        schema_normalise(&pc_EasyRecConfig_def, b->doc.root, SCHEMA_PROTO, &b->arena,
                         &b->diags))
        return false;
    b->conf = schema_bind(&pc_EasyRecConfig_def, b->doc.root, &b->arena);
    return true;
}

static inline void bound_release(struct bound *b)
{
    diags_release(&b->diags);
    doc_release(&b->doc);
    arena_release(&b->arena);
}

static inline void bound_print(const struct bound *b)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    diags_print(&b->diags, &out, false);
    struct str rest = str_c(buf_str(&out)), line;
    while (str_split(&rest, '\n', &line))
        printf("#   %.*s\n", (int)line.n, line.p);
    buf_release(&out);
}

/* ---- columns ---- */

static inline struct type flat_type(struct str name)
{
    static const struct {
        const char *name;
        enum type_id id;
        enum logical logical;
    } types[] = {
        {"str", TYPE_STR, LOGICAL_NONE},        {"lit", TYPE_STR, LOGICAL_NONE},
        {"i32", TYPE_I32, LOGICAL_NONE},        {"i64", TYPE_I64, LOGICAL_NONE},
        {"f32", TYPE_F32, LOGICAL_NONE},        {"f64", TYPE_F64, LOGICAL_NONE},
        {"bool", TYPE_BOOL, LOGICAL_NONE},      {"u32", TYPE_U32, LOGICAL_NONE},
        {"days", TYPE_I32, LOGICAL_DATE},       {"ms", TYPE_I64, LOGICAL_TIMESTAMP_MS},
        {"us", TYPE_I64, LOGICAL_TIMESTAMP_US}, {"ns", TYPE_I64, LOGICAL_TIMESTAMP_NS},
        {"clock", TYPE_I64, LOGICAL_TIME_US}};
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_is(name, types[i].name)) {
            struct type type = type_of(types[i].id, true);
            type.logical = types[i].logical;
            return type;
        }
    printf("# no type '%.*s'\n", (int)name.n, name.p);
    abort();
}

static inline struct type vector_type(struct arena *a, struct str s)
{
    if (*s.p == '[')
        return type_list(a, vector_type(a, str_of(s.p + 1, s.n - 2)), true);
    if (*s.p != '{')
        return flat_type(s);
    struct str value = str_of(s.p + 1, s.n - 2), key;
    str_split(&value, ',', &key);
    return type_map(a, flat_type(key), flat_type(value), true);
}

static inline void vector_flat(struct column *c, struct str s, bool lit)
{
    char text[512];
    size_t n = 0;
    double v = 0;
    enum rc rc = RC_OK;
    if (str_is(s, "N")) {
        CHECK(column_add_null(c, NULL) == RC_OK);
        return;
    }
    if (str_is(s, "\"\""))
        s.n = 0;
    for (size_t i = 0; i < s.n && n < sizeof(text) - 1; i++)
        text[n++] = lit             ? s.p[i]
                    : s.p[i] == '^' ? '\x1d'
                    : s.p[i] == '~' ? '\x03'
                                    : s.p[i];
    text[n] = '\0';
    int64_t whole = strtoll(text, NULL, 10);
    if (c->type->id != TYPE_STR && !str_to_f64(str_of(text, n), &v))
        printf("# '%.*s' is not a number\n", (int)n, text);
    switch (c->type->id) {
    case TYPE_STR:
        rc = column_add_str(c, str_of(text, n), NULL);
        break;
    case TYPE_I32:
        rc = column_add_i32(c, (int32_t)v, NULL);
        break;
    case TYPE_U32:
        rc = column_add_u32(c, (uint32_t)v, NULL);
        break;
    case TYPE_BOOL:
        rc = column_add_bool(c, v != 0, NULL);
        break;
    case TYPE_I64:
        rc = column_add_i64(c, whole, NULL);
        break;
    case TYPE_F32:
        rc = column_add_f32(c, (float)v, NULL);
        break;
    default:
        rc = column_add_f64(c, v, NULL);
        break;
    }
    CHECK_INT(rc, RC_OK);
}

/* The part before `sep` that is not inside brackets. */
static inline bool vector_cut(struct str *rest, char sep, struct str *part)
{
    int depth = 0;
    size_t i = 0;
    if (!rest->p)
        return false;
    for (; i < rest->n && (depth || rest->p[i] != sep); i++)
        depth += (rest->p[i] == '[' || rest->p[i] == '{') -
                 (rest->p[i] == ']' || rest->p[i] == '}');
    *part = str_of(rest->p, i);
    *rest = i < rest->n ? str_of(rest->p + i + 1, rest->n - i - 1) : str_of(NULL, 0);
    return true;
}

static inline void vector_cell(struct column *c, struct str s, bool lit)
{
    struct str part;
    if (!type_is_nested(c->type->id)) {
        vector_flat(c, s, lit);
        return;
    }
    if (str_is(s, "N")) {
        CHECK(column_add_null(c, NULL) == RC_OK);
        return;
    }
    struct str rest = str_of(s.p + 1, s.n - 2);
    while (rest.n && vector_cut(&rest, ',', &part)) {
        part = str_trim(part);
        if (c->type->id == TYPE_LIST) {
            vector_cell(&c->kids[0], part, lit);
            continue;
        }
        struct str value = part, key;
        str_split(&value, ':', &key);
        vector_flat(&c->kids[0], key, lit);
        vector_flat(&c->kids[1], value, lit);
    }
    CHECK(column_add_nested(c, NULL) == RC_OK);
}

struct table {
    struct data_schema schema;
    struct batch batch;
};

static inline void table_line(struct table *t, size_t col, struct str line)
{
    struct str rest = line, name, type, row;
    str_split(&rest, ' ', &name);
    str_split(&rest, ' ', &type);
    struct column *c = &t->batch.cols[col];
    bool lit = memmem(type.p, type.n, "lit", 3) != NULL;
    for (;;) {
        const char *end = rest.n ? memmem(rest.p, rest.n, " / ", 3) : NULL;
        row = end ? str_of(rest.p, (size_t)(end - rest.p)) : rest;
        row = str_trim(row);
        if (str_ends(name.p, "*") || (row.n > 2 && row.p[row.n - 1] == '*'))
            row = str_trim(str_of(row.p, row.n - 1));
        vector_cell(c, row, lit);
        if (!end)
            break;
        rest = str_of(end + 3, rest.n - row.n - 3 - (size_t)(row.p - rest.p));
    }
    if (c->n > t->batch.n)
        t->batch.n = c->n;
}

static inline void table_init(struct table *t, const char *text)
{
    struct str rest = str_c(text), line, part, type;
    *t = (struct table){0};
    while (str_split(&rest, '\n', &line)) {
        struct str more = line;
        str_split(&more, ' ', &part);
        str_split(&more, ' ', &type);
        struct type ty = vector_type(&t->schema.mem, type);
        data_schema_add(&t->schema, part, &ty);
    }
    batch_init(&t->batch, &t->schema);
    rest = str_c(text);
    for (size_t i = 0; str_split(&rest, '\n', &line); i++)
        table_line(t, i, line);
}

static inline void table_release(struct table *t)
{
    batch_release(&t->batch);
    data_schema_release(&t->schema);
}

/* Texts become codes of a dictionary, also those inside lists. */
static inline void encode(struct column *c)
{
    for (size_t i = 0; i < c->type->n_kids; i++)
        encode(&c->kids[i]);
    if (c->type->id != TYPE_STR || c->dict)
        return;
    struct dict *d = dict_create(c->type);
    uint32_t *codes = mem_alloc(((size_t)c->n + 1) * sizeof(*codes));
    for (int64_t i = 0; i < c->n; i++) {
        struct str s = column_str(c, i);
        int64_t k = 0;
        while (k < d->values.n && !str_eq(column_str(&d->values, k), s))
            k++;
        if (k == d->values.n && !column_is_null(c, i))
            CHECK(column_add_str(&d->values, s, NULL) == RC_OK);
        codes[i] = column_is_null(c, i) ? 0 : (uint32_t)k;
    }
    CHECK(column_mem_reserve(&c->own_values, ((size_t)c->n + 1) * 4, 0, NULL) == RC_OK);
    memcpy(c->own_values.p, codes, (size_t)c->n * 4);
    mem_free(codes);
    c->values = c->own_values.p;
    c->offsets = NULL;
    c->text = NULL;
    c->dict = d;
}

/* ---- results ---- */

static inline void print_lengths(struct buf *out, const char *what, const int64_t *at,
                                 int64_t n)
{
    buf_printf(out, "%s", what);
    for (int64_t i = 0; i < n; i++)
        buf_printf(out, " %jd", (intmax_t)(at[i + 1] - at[i]));
    buf_puts(out, ", ");
}

static inline void print_floats(struct buf *out, const char *what, const float *v,
                                int64_t n)
{
    buf_printf(out, "%s", what);
    for (int64_t i = 0; i < n; i++)
        buf_printf(out, " %.9g", (double)v[i]);
    buf_puts(out, ", ");
}

static inline void print_out(struct buf *out, const struct feature_info *f,
                             const struct feature_out *o)
{
    if (f->sparse) {
        buf_puts(out, "v");
        for (int64_t i = 0; i < o->n_ids; i++)
            buf_printf(out, " %jd", (intmax_t)o->ids[i]);
        buf_puts(out, ", ");
        print_lengths(out, "L", o->offsets, o->rows);
        if (o->weights)
            print_floats(out, "w", o->weights, o->n_ids);
    } else {
        print_floats(out, "d", o->values,
                     (f->sequence ? o->steps : o->rows) * f->value_dim);
    }
    if (f->sequence && f->sparse)
        print_lengths(out, "K", o->step_offsets, o->steps);
    if (f->sequence)
        print_lengths(out, "S", o->seq_offsets, o->rows);
}

/* The part of `all` that begins with letter `what`. */
static inline struct str section(struct str all, char what)
{
    struct str rest = all, part;
    while (str_split(&rest, ',', &part)) {
        part = str_trim(part);
        if (part.n && *part.p == what)
            return part;
    }
    return str_of(NULL, 0);
}

static inline bool same_numbers(struct str got, struct str want, double tol)
{
    struct str a, b;
    double x, y;
    for (;;) {
        bool more = str_split(&got, ' ', &a), more2 = str_split(&want, ' ', &b);
        if (more != more2)
            return false;
        if (!more)
            return true;
        if (str_eq(a, b))
            continue;
        if (!str_to_f64(a, &x) || !str_to_f64(b, &y))
            return false;
        if (!(fabs(x - y) <= tol * (1 + fabs(y))))
            return false;
    }
}

static inline bool same_result(const char *got, const char *want, double tol)
{
    struct str rest = str_c(want), part;
    while (str_split(&rest, ',', &part)) {
        part = str_trim(part);
        if (part.n && !same_numbers(section(str_c(got), *part.p), part, tol))
            return false;
    }
    return true;
}

/* ---- running ---- */

/* `mode` FG_NONE...; `config` the inside of feature_configs, several separated by "|||".
 * The result of the last feature that is no stub, or "error: ...".
 */
static inline void vector_run(const char *mode, const char *config, struct table *t,
                              const uint8_t *mask, const struct feature_options *options,
                              struct buf *out)
{
    struct buf text;
    struct bound b;
    struct err err = {0};
    struct feature_plan *p = NULL;
    buf_init(&text, 1 << 20);
    buf_printf(&text, "data_config { fg_mode: %s\n", mode);
    const char *data = strstr(config, "&&&");
    if (data)
        buf_printf(&text, "%.*s", (int)(data - config), config);
    buf_puts(&text, "}\n");
    struct str rest = str_c(data ? data + 3 : config);
    while (rest.p) {
        const char *end = memmem(rest.p, rest.n, "|||", 3);
        size_t n = end ? (size_t)(end - rest.p) : rest.n;
        buf_printf(&text, "feature_configs { %.*s }\n", (int)n, rest.p);
        rest = end ? str_of(end + 3, rest.n - n - 3) : str_of(NULL, 0);
    }
    bool ok = bound_init(&b, buf_str(&text));
    enum rc rc =
        ok ? feature_plan_create(b.conf, options, &p, &b.diags, &err) : RC_FORMAT;
    if (rc) {
        buf_printf(out, "error: %s", b.diags.list.n ? b.diags.list.at[0].msg : err.msg);
    } else {
        struct feature_scratch *s = feature_scratch_create(p);
        struct feature_batch *o = feature_batch_create(p);
        rc = feature_run(p, s, &t->batch, mask, o, &err);
        if (!rc) /* a second time: nothing may be left over from the first */
            rc = feature_run(p, s, &t->batch, mask, o, &err);
        size_t last = feature_plan_count(p) - 1;
        while (last > 0 && feature_plan_info(p, last)->stub)
            last--;
        if (rc)
            buf_printf(out, "error: %s", err.msg);
        else
            print_out(out, feature_plan_info(p, last), &o->at[last]);
        feature_batch_destroy(o);
        feature_scratch_destroy(s);
    }
    feature_plan_destroy(p);
    bound_release(&b);
    buf_release(&text);
}

struct vector {
    const char *config, *columns, *want;
};

static inline void vector_check(const struct vector *v, const char *mode, bool encoded,
                                const uint8_t *mask,
                                const struct feature_options *options)
{
    struct buf out;
    struct table t;
    buf_init(&out, 1 << 20);
    table_init(&t, v->columns);
    for (size_t i = 0; encoded && i < t.batch.n_cols; i++)
        encode(&t.batch.cols[i]);
    vector_run(mode, v->config, &t, mask, options, &out);
    bool error = str_starts(v->want, "error:");
    bool ok = error ? strcmp(buf_str(&out), v->want) == 0
                    : same_result(buf_str(&out), v->want, 2e-7);
    if (!ok) {
        tap_failed++;
        printf("# %s%s: %s\n#   columns %s\n#   got  %s\n#   want %s\n", mode,
               encoded ? " (encoded)" : "", v->config, v->columns, buf_str(&out),
               v->want);
    }
    table_release(&t);
    buf_release(&out);
}

#define VECTORS(mode, rows)                                      \
    do {                                                         \
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {           \
            vector_check(&(rows)[i], (mode), false, NULL, NULL); \
            vector_check(&(rows)[i], (mode), true, NULL, NULL);  \
        }                                                        \
    } while (0)

/* The two modes that generate, with plain and with encoded columns. */
#define FG_VECTORS(rows)            \
    do {                            \
        VECTORS("FG_NORMAL", rows); \
        VECTORS("FG_DAG", rows);    \
    } while (0)

#endif
