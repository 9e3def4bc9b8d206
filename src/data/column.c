/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a column doubles when it grows. The bitmap exists only once a null was added;
 * its unused bits are zero, so that marking a row valid is one OR.
 */
#include "data/column.h"

#include <stdatomic.h>

#include "base/mem.h"

struct dict *dict_create(const struct type *flat_type)
{
    struct dict *d = mem_calloc(1, sizeof(*d));
    d->refs = 1;
    d->type = *flat_type;
    d->type.nullable = false;
    column_init(&d->values, &d->type);
    return d;
}

struct dict *dict_ref(struct dict *d)
{
    atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
    return d;
}

void dict_unref(struct dict *d)
{
    if (!d || atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) > 1)
        return;
    column_release(&d->values);
    mem_free(d);
}

bool dict_is_shared(struct dict *d)
{
    return atomic_load_explicit(&d->refs, memory_order_acquire) > 1;
}

void column_init(struct column *c, const struct type *type)
{
    *c = (struct column){.type = type};
    if (!type->n_kids)
        return;
    c->kids = mem_calloc(type->n_kids, sizeof(*c->kids));
    for (size_t i = 0; i < type->n_kids; i++)
        column_init(&c->kids[i], &type->kids[i].type);
}

void column_release(struct column *c)
{
    for (size_t i = 0; c->kids && i < c->type->n_kids; i++)
        column_release(&c->kids[i]);
    mem_free(c->kids);
    dict_unref(c->dict);
    mem_free(c->own_valid.p);
    mem_free(c->own_values.p);
    mem_free(c->own_offsets.p);
    mem_free(c->own_text.p);
    *c = (struct column){0};
}

void column_clear(struct column *c)
{
    for (size_t i = 0; c->kids && i < c->type->n_kids; i++)
        column_clear(&c->kids[i]);
    dict_unref(c->dict);
    c->dict = NULL;
    c->n = c->n_null = 0;
    c->valid = NULL;
    c->values = c->own_values.p;
    c->offsets = c->own_offsets.p;
    c->text = c->own_text.p;
    if (c->own_offsets.p)
        ((int32_t *)c->own_offsets.p)[0] = 0;
}

struct str column_str(const struct column *c, int64_t i)
{
    if (column_is_null(c, i))
        return str_of("", 0);
    if (c->dict) {
        i = column_code(c, i);
        c = &c->dict->values;
    }
    int32_t at = c->offsets[i];
    return str_of(c->text ? c->text + at : "", (size_t)(c->offsets[i + 1] - at));
}

enum rc column_mem_reserve(struct column_mem *m, size_t bytes, size_t keep,
                           struct err *err)
{
    if (m->p && bytes <= m->cap)
        return RC_OK;
    if (bytes > (size_t)PTRDIFF_MAX / 2)
        return err_set(err, RC_NOMEM, "out of memory for a column of %zu bytes", bytes);
    size_t cap = bytes < 2 * m->cap ? 2 * m->cap : bytes;
    if (cap < 64)
        cap = 64;
    void *p = mem_try_aligned(64, cap + COLUMN_PAD, 1);
    if (!p)
        return err_set(err, RC_NOMEM, "out of memory for a column of %zu bytes", bytes);
    if (m->p && keep)
        memcpy(p, m->p, keep);
    mem_free(m->p);
    m->p = p;
    m->cap = cap;
    return RC_OK;
}

static enum rc reserve_valid(struct column *c, int64_t rows, struct err *err)
{
    size_t used = c->valid ? (size_t)(c->n + 7) / 8 : 0;
    size_t old = c->own_valid.cap;
    enum rc rc = column_mem_reserve(&c->own_valid, (size_t)rows / 8 + 1, used, err);
    if (rc)
        return rc;
    if (c->own_valid.cap != old || !c->valid)
        memset((char *)c->own_valid.p + used, 0, c->own_valid.cap - used);
    return RC_OK;
}

static enum rc reserve_offsets(struct column *c, int64_t rows, struct err *err)
{
    bool first = !c->own_offsets.p;
    enum rc rc = column_mem_reserve(&c->own_offsets, ((size_t)rows + 1) * sizeof(int32_t),
                                    ((size_t)c->n + 1) * sizeof(int32_t), err);
    if (rc)
        return rc;
    if (first)
        ((int32_t *)c->own_offsets.p)[0] = 0;
    c->offsets = c->own_offsets.p;
    return RC_OK;
}

enum rc column_reserve(struct column *c, int64_t more, struct err *err)
{
    size_t width = type_width(c->type->id);
    enum rc rc = RC_OK;
    if (more < 0 || more > INT32_MAX - c->n)
        return err_coded(err, RC_INVAL, E1090, "a column holds at most %d rows per batch",
                         INT32_MAX);
    int64_t rows = c->n + more;
    if (rows <= c->cap && rows > 0)
        return RC_OK;
    if (rows < 2 * c->cap && c->cap < INT32_MAX / 2)
        rows = 2 * c->cap;
    if (rows < 16)
        rows = 16;
    if (width)
        rc = column_mem_reserve(&c->own_values, (size_t)rows * width,
                                (size_t)c->n * width, err);
    else if (c->type->id != TYPE_STRUCT)
        rc = reserve_offsets(c, rows, err);
    c->values = c->own_values.p;
    if (!rc && c->own_valid.p) {
        rc = reserve_valid(c, rows, err);
        c->valid = c->valid ? c->own_valid.p : NULL;
    }
    if (!rc)
        c->cap = rows;
    return rc;
}

enum rc column_reserve_text(struct column *c, size_t more, struct err *err)
{
    size_t used = c->n ? (size_t)c->offsets[c->n] : 0;
    if (more > (size_t)INT32_MAX - used)
        return err_coded(err, RC_INVAL, E1090,
                         "a column holds at most %d bytes of text per batch", INT32_MAX);
    enum rc rc = column_mem_reserve(&c->own_text, used + more, used, err);
    if (!rc)
        c->text = c->own_text.p;
    return rc;
}

enum rc column_need_valid(struct column *c, struct err *err)
{
    if (c->valid)
        return RC_OK;
    enum rc rc = reserve_valid(c, c->n > c->cap ? c->n : c->cap, err);
    if (rc)
        return rc;
    uint8_t *bits = c->own_valid.p;
    memset(bits, 0xff, (size_t)(c->n / 8));
    if (c->n % 8)
        bits[c->n / 8] = (uint8_t)((1u << (c->n % 8)) - 1);
    c->valid = bits;
    return RC_OK;
}

/* A row without contents: offsets repeat, fixed-width values are 0. */
static void put_empty(struct column *c)
{
    size_t width = type_width(c->type->id);
    if (width)
        memset((char *)c->own_values.p + (size_t)c->n * width, 0, width);
    else if (c->type->id != TYPE_STRUCT)
        ((int32_t *)c->own_offsets.p)[c->n + 1] = ((int32_t *)c->own_offsets.p)[c->n];
}

enum rc column_add_null(struct column *c, struct err *err)
{
    enum rc rc = column_reserve(c, 1, err);
    if (!rc)
        rc = column_need_valid(c, err);
    if (c->type->id == TYPE_STRUCT)
        for (size_t i = 0; !rc && i < c->type->n_kids; i++)
            rc = column_add_null(&c->kids[i], err);
    if (rc)
        return rc;
    put_empty(c);
    c->n++;
    c->n_null++;
    return RC_OK;
}

enum rc column_add_str(struct column *c, struct str s, struct err *err)
{
    enum rc rc = RC_OK;
    if (c->n >= c->cap)
        rc = column_reserve(c, 1, err);
    if (!rc)
        rc = column_reserve_text(c, s.n, err);
    if (rc)
        return rc;
    int32_t *offsets = c->own_offsets.p;
    if (s.n)
        memcpy((char *)c->own_text.p + offsets[c->n], s.p, s.n);
    offsets[c->n + 1] = offsets[c->n] + (int32_t)s.n;
    column_put_valid(c);
    c->n++;
    return RC_OK;
}

enum rc column_add_nested(struct column *c, struct err *err)
{
    enum rc rc = column_reserve(c, 1, err);
    if (rc)
        return rc;
    if (c->type->id != TYPE_STRUCT)
        ((int32_t *)c->own_offsets.p)[c->n + 1] = (int32_t)c->kids[0].n;
    column_put_valid(c);
    c->n++;
    return RC_OK;
}

static bool float_equal(double a, double b)
{
    return a != a ? b != b : memcmp(&a, &b, sizeof(a)) == 0;
}

static bool flat_equal(const struct column *a, int64_t ai, const struct column *b,
                       int64_t bi)
{
    size_t width = type_width(a->type->id);
    if (a->dict) {
        ai = column_code(a, ai);
        a = &a->dict->values;
    }
    if (b->dict) {
        bi = column_code(b, bi);
        b = &b->dict->values;
    }
    if (a->type->id == TYPE_F32)
        return float_equal((double)column_f32(a, ai), (double)column_f32(b, bi));
    if (a->type->id == TYPE_F64)
        return float_equal(column_f64(a, ai), column_f64(b, bi));
    if (a->type->id == TYPE_STR)
        return str_eq(column_str(a, ai), column_str(b, bi));
    return memcmp((const char *)a->values + (size_t)ai * width,
                  (const char *)b->values + (size_t)bi * width, width) == 0;
}

static bool span_equal(const struct column *a, int64_t ai, const struct column *b,
                       int64_t bi)
{
    int32_t n = a->offsets[ai + 1] - a->offsets[ai];
    if (n != b->offsets[bi + 1] - b->offsets[bi])
        return false;
    for (size_t k = 0; k < a->type->n_kids; k++)
        for (int32_t i = 0; i < n; i++)
            if (!column_row_equal(&a->kids[k], a->offsets[ai] + i, &b->kids[k],
                                  b->offsets[bi] + i))
                return false;
    return true;
}

bool column_row_equal(const struct column *a, int64_t ai, const struct column *b,
                      int64_t bi)
{
    bool null = column_is_null(a, ai);
    if (null || column_is_null(b, bi))
        return null && column_is_null(b, bi);
    if (a->type->id == TYPE_LIST || a->type->id == TYPE_MAP)
        return span_equal(a, ai, b, bi);
    if (a->type->id != TYPE_STRUCT)
        return flat_equal(a, ai, b, bi);
    for (size_t k = 0; k < a->type->n_kids; k++)
        if (!column_row_equal(&a->kids[k], ai, &b->kids[k], bi))
            return false;
    return true;
}

bool column_equal(const struct column *a, const struct column *b)
{
    if (a->n != b->n || !type_equal(a->type, b->type))
        return false;
    for (int64_t i = 0; i < a->n; i++)
        if (!column_row_equal(a, i, b, i))
            return false;
    return true;
}
