/* SPDX-License-Identifier: Apache-2.0 */
/* Reading items. The schema decides which columns are kept, the first row the width of its
 * vectors; later rows must agree. Vectors go into one array of floats that doubles as it
 * fills; ids are indexed at the end, when their number is known. Every message names the row
 * and the column.
 */
#include "recall/items.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "data/rows.h"

struct reading {
    struct recall_items *x;
    const struct recall_items_conf *conf;
    const struct data_schema *schema;
    size_t id, vector;
    size_t *from; /* [rows.n_cols]: column of the data */
};

void recall_value_print(const struct column *c, int64_t i, struct buf *out)
{
    char text[32];
    if (column_is_null(c, i))
        return;
    if (c->type->id == TYPE_STR) {
        struct str s = column_str(c, i);
        buf_add(out, s.p, s.n);
        return;
    }
    if (c->dict) {
        i = column_code(c, i);
        c = &c->dict->values;
    }
    switch (c->type->id) {
    case TYPE_F32:
        str_from_f32(column_f32(c, i), text);
        buf_puts(out, text);
        break;
    case TYPE_F64:
        str_from_f64(column_f64(c, i), text);
        buf_puts(out, text);
        break;
    case TYPE_U64:
        buf_printf(out, "%ju", (uintmax_t)column_u64(c, i));
        break;
    case TYPE_I64:
        buf_printf(out, "%jd", (intmax_t)column_i64(c, i));
        break;
    default:
        buf_printf(out, "%jd", (intmax_t)column_number(c, i));
        break;
    }
}

static enum rc recall_items_find(const struct reading *r, const char *name, size_t *out,
                                 struct err *err)
{
    int64_t at = data_schema_find(r->schema, str_c(name));
    if (at < 0)
        return err_coded(err, RC_INVAL, E2401, "%s: there is no column '%s'",
                         r->conf->what, name);
    *out = (size_t)at;
    return RC_OK;
}

static enum rc bad_type(const struct reading *r, size_t col, const char *wants,
                        struct err *err)
{
    struct buf type;
    buf_init(&type, 256);
    type_print(&r->schema->at[col].type, &type);
    enum rc rc = err_coded(err, RC_INVAL, E2401, "%s: column '%s' is of type %s, %s",
                           r->conf->what, r->schema->at[col].name, buf_str(&type), wants);
    buf_release(&type);
    return rc;
}

static bool is_flat(const struct type *t)
{
    return t->id == TYPE_STR || column_is_number(t);
}

static bool is_vector(const struct type *t)
{
    if (t->id == TYPE_LIST && t->kids[0].type.id == TYPE_LIST)
        t = &t->kids[0].type;
    return t->id == TYPE_STR ||
           (t->id == TYPE_LIST && column_is_number(&t->kids[0].type));
}

/* A column of the data that is kept. */
static enum rc recall_items_keep(struct reading *r, const char *name, bool lists,
                                 int64_t *at, struct err *err)
{
    size_t col = 0;
    enum rc rc = recall_items_find(r, name, &col, err);
    const struct type *t = rc ? NULL : &r->schema->at[col].type;
    if (!rc && lists && t->id == TYPE_LIST)
        t = &t->kids[0].type;
    if (!rc && !is_flat(t))
        rc = bad_type(r, col, "values here are numbers or texts", err);
    if (rc)
        return rc;
    *at = data_schema_find(&r->x->schema, str_c(name));
    if (*at >= 0)
        return RC_OK;
    *at = (int64_t)r->x->schema.n;
    r->from[*at] = col;
    data_schema_add(&r->x->schema, str_c(name), &r->schema->at[col].type);
    return RC_OK;
}

static enum rc recall_items_choose(struct reading *r, struct err *err)
{
    const struct recall_items_conf *c = r->conf;
    struct recall_items *x = r->x;
    int64_t at;
    enum rc rc = recall_items_find(r, c->id, &r->id, err);
    if (!rc && !id_column(&r->schema->at[r->id].type))
        rc = bad_type(r, r->id, "ids are integers or texts", err);
    if (!rc)
        rc = recall_items_keep(r, c->id, false, &at, err);
    for (size_t i = 0; i < c->n_attrs && !rc; i++)
        rc = recall_items_keep(r, c->attrs[i], false, &x->attr_at[i], err);
    x->text_at = -1;
    if (!rc && c->text)
        rc = recall_items_keep(r, c->text, false, &x->text_at, err);
    x->list_at = -1;
    if (!rc && c->list)
        rc = recall_items_keep(r, c->list, true, &x->list_at, err);
    if (!rc && c->vector)
        rc = recall_items_find(r, c->vector, &r->vector, err);
    if (!rc && c->vector && !is_vector(&r->schema->at[r->vector].type))
        rc = bad_type(r, r->vector, "vectors are lists of numbers or texts of them", err);
    x->kind = !rc && r->schema->at[r->id].type.id == TYPE_STR ? ID_TEXT : ID_NUMBER;
    return rc;
}

static enum rc bad_vector(const struct reading *r, int64_t row, const char *what,
                          int64_t have, struct err *err)
{
    return err_coded(err, RC_INVAL, E2402, "%s, row %jd: '%s' has %jd %s, not %jd",
                     r->conf->what, (intmax_t)row + 1, r->conf->vector, (intmax_t)have,
                     what, (intmax_t)(r->x->width * r->x->per_row));
}

/* The next number of a text; false when there is none or it is none. */
static bool next_number(struct str *s, double *out, bool *bad)
{
    static const char between[] = ",; \t[]";
    while (s->n && memchr(between, *s->p, sizeof(between) - 1)) {
        s->p++;
        s->n--;
    }
    struct str word = {.p = s->p};
    while (s->n && !memchr(between, *s->p, sizeof(between) - 1)) {
        s->p++;
        s->n--;
        word.n++;
    }
    if (word.n == 0)
        return false;
    *bad = !str_to_f64(word, out);
    return !*bad;
}

/* Numbers of a row's vectors, up to `most`; -1: one of them is none. */
static int64_t read_numbers(const struct column *c, int64_t row, float *to, int64_t most)
{
    int64_t n = 0;
    bool bad = false;
    double v;
    if (c->type->id == TYPE_STR) {
        struct str s = column_str(c, row);
        for (; next_number(&s, &v, &bad); n++)
            if (n < most)
                to[n] = (float)v;
        return bad ? -1 : n;
    }
    int64_t from = c->offsets[row], end = c->offsets[row + 1];
    const struct column *kid = &c->kids[0];
    if (kid->type->id == TYPE_LIST) {
        from = kid->offsets[from];
        end = kid->offsets[end];
        kid = &kid->kids[0];
    }
    for (; from + n < end; n++)
        if (n < most)
            to[n] = (float)column_number(kid, from + n);
    return n;
}

static enum rc first_width(struct reading *r, int64_t n, int64_t row, struct err *err)
{
    struct recall_items *x = r->x;
    x->per_row = r->conf->vectors > 1 ? r->conf->vectors : 1;
    x->width = n / x->per_row;
    if (n < 1 || n > VECTOR_WIDTH_MAX || n % x->per_row)
        return err_coded(err, RC_INVAL, E2402,
                         "%s, row %jd: '%s' has %jd numbers, which are no %jd vectors",
                         r->conf->what, (intmax_t)row + 1, r->conf->vector, (intmax_t)n,
                         (intmax_t)x->per_row);
    return RC_OK;
}

static enum rc add_vector(struct reading *r, const struct column *c, int64_t i,
                          struct err *err)
{
    struct recall_items *x = r->x;
    int64_t row = x->n + i;
    enum rc rc = RC_OK;
    if (x->width == 0)
        rc = first_width(r, read_numbers(c, i, NULL, 0), row, err);
    int64_t all = x->width * x->per_row;
    if (!rc && (row + 1) * all > x->room) {
        int64_t room = 2 * x->room + 4096 * all;
        float *wider = mem_try_realloc(x->vectors, (size_t)room, sizeof(*wider));
        if (!wider)
            return err_set(err, RC_NOMEM, "no memory for %jd vectors",
                           (intmax_t)(row + 1));
        x->vectors = wider;
        x->room = room;
    }
    if (rc)
        return rc;
    float *to = x->vectors + row * all;
    int64_t n = read_numbers(c, i, to, all);
    for (int64_t k = 0; k < all && n == all; k++)
        if (!isfinite(to[k]))
            n = -1;
    if (n < 0)
        return err_coded(err, RC_INVAL, E2402,
                         "%s, row %jd: '%s' holds what is not a finite number",
                         r->conf->what, (intmax_t)row + 1, r->conf->vector);
    return n == all ? RC_OK : bad_vector(r, row, "numbers", n, err);
}

static enum rc add_batch(struct reading *r, const struct batch *b, struct err *err)
{
    struct recall_items *x = r->x;
    enum rc rc = RC_OK;
    for (size_t i = 0; i < x->rows.n_cols && !rc; i++)
        rc = column_append(&x->rows.cols[i], &b->cols[r->from[i]], 0, b->n, err);
    for (int64_t i = 0; i < b->n && !rc && r->conf->vector; i++)
        rc = add_vector(r, &b->cols[r->vector], i, err);
    x->n += b->n;
    return rc;
}

static enum rc index_ids(struct recall_items *x, const struct recall_items_conf *c,
                         struct err *err)
{
    enum rc rc = keymap_init(&x->index, x->n, err);
    for (int64_t i = 0; i < x->n && !rc; i++) {
        int64_t key;
        id_key(recall_items_ids(x), i, x->kind, &key);
        int64_t first = keymap_add(&x->index, key, i);
        if (first != i && c->unique)
            rc =
                err_coded(err, RC_INVAL, E2402, "%s: rows %jd and %jd have the same '%s'",
                          c->what, (intmax_t)first + 1, (intmax_t)i + 1, c->id);
    }
    return rc;
}

enum rc recall_items_read(struct dataset *d, const struct recall_items_conf *conf,
                          struct recall_items *out, struct err *err)
{
    *out = (struct recall_items){0};
    struct reading r = {.x = out, .conf = conf, .schema = dataset_schema(d)};
    const struct batch *b = NULL;
    out->attr_at = mem_calloc(conf->n_attrs + 1, sizeof(*out->attr_at));
    r.from = mem_calloc(conf->n_attrs + 3, sizeof(*r.from));
    enum rc rc = recall_items_choose(&r, err);
    batch_init(&out->rows, &out->schema);
    if (!rc)
        rc = dataset_next(d, &b, err);
    while (!rc && b) {
        rc = add_batch(&r, b, err);
        if (!rc)
            rc = dataset_next(d, &b, err);
    }
    out->rows.n = out->n;
    if (!rc && out->n == 0)
        rc = err_coded(err, RC_INVAL, E2402, "%s: there are no rows", conf->what);
    if (!rc)
        rc = index_ids(out, conf, err);
    if (rc)
        recall_items_release(out);
    mem_free(r.from);
    return rc;
}

void recall_items_release(struct recall_items *x)
{
    keymap_release(&x->index);
    batch_release(&x->rows);
    data_schema_release(&x->schema);
    mem_free(x->attr_at);
    mem_free(x->vectors);
    *x = (struct recall_items){0};
}
