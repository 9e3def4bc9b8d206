/* SPDX-License-Identifier: Apache-2.0 */
/* Copying rows between columns: ranges (append) and any rows (gather). What a type needs
 * is decided once per call, and then bytes are moved: fixed widths by memcpy, texts with
 * their offsets shifted, bitmaps bit by bit, nested columns by their kids. Dictionary-
 * encoded columns are decoded on the way.
 */
#include "data/rows.h"

static enum rc append_valid(struct column *to, const struct column *from, int64_t at,
                            int64_t n, struct err *err)
{
    if (!from->valid && !to->valid)
        return RC_OK;
    enum rc rc = column_need_valid(to, err);
    if (rc)
        return rc;
    uint8_t *bits = to->own_valid.p;
    for (int64_t i = 0; i < n; i++) {
        int64_t k = to->n + i;
        bool null = column_is_null(from, at + i);
        if (!null)
            bits[k >> 3] |= (uint8_t)(1u << (k & 7));
        to->n_null += null;
    }
    return RC_OK;
}

static enum rc append_text(struct column *to, const struct column *from, int64_t at,
                           int64_t n, struct err *err)
{
    int32_t first = from->offsets ? from->offsets[at] : 0;
    int32_t last = from->offsets ? from->offsets[at + n] : 0;
    enum rc rc = column_reserve_text(to, (size_t)(last - first), err);
    if (rc)
        return rc;
    int32_t *offsets = to->own_offsets.p, base = offsets[to->n];
    if (last > first)
        memcpy((char *)to->own_text.p + base, from->text + first, (size_t)(last - first));
    for (int64_t i = 1; i <= n; i++)
        offsets[to->n + i] = base + (from->offsets[at + i] - first);
    return RC_OK;
}

/* One row at a time; the room for offsets and bits is there. */
static enum rc append_coded_text(struct column *to, const struct column *from, int64_t at,
                                 int64_t n, struct err *err)
{
    size_t bytes = 0;
    for (int64_t i = 0; i < n; i++)
        bytes += column_str(from, at + i).n;
    enum rc rc = column_reserve_text(to, bytes, err);
    if (rc)
        return rc;
    int32_t *offsets = to->own_offsets.p, end = offsets[to->n];
    for (int64_t i = 0; i < n; i++) {
        struct str s = column_str(from, at + i);
        if (s.n)
            memcpy((char *)to->own_text.p + end, s.p, s.n);
        end += (int32_t)s.n;
        offsets[to->n + i + 1] = end;
    }
    return RC_OK;
}

static void append_coded_values(struct column *to, const struct column *from, int64_t at,
                                int64_t n, size_t width)
{
    const char *values = from->dict->values.values;
    char *out = (char *)to->own_values.p + (size_t)to->n * width;
    for (int64_t i = 0; i < n; i++)
        if (column_is_null(from, at + i))
            memset(out + (size_t)i * width, 0, width);
        else
            memcpy(out + (size_t)i * width,
                   values + (size_t)column_code(from, at + i) * width, width);
}

static enum rc append_nested(struct column *to, const struct column *from, int64_t at,
                             int64_t n, struct err *err)
{
    int64_t first = at, count = n;
    if (to->type->id != TYPE_STRUCT) {
        first = from->offsets[at];
        count = from->offsets[at + n] - first;
        int32_t *offsets = to->own_offsets.p, base = offsets[to->n];
        if (count > INT32_MAX - base)
            return err_coded(err, RC_INVAL, E1090,
                             "a column holds at most %d list elements per batch",
                             INT32_MAX);
        for (int64_t i = 1; i <= n; i++)
            offsets[to->n + i] = base + (from->offsets[at + i] - (int32_t)first);
    }
    for (size_t k = 0; k < to->type->n_kids; k++) {
        enum rc rc = column_append(&to->kids[k], &from->kids[k], first, count, err);
        if (rc)
            return rc;
    }
    return RC_OK;
}

enum rc column_append(struct column *to, const struct column *from, int64_t at, int64_t n,
                      struct err *err)
{
    size_t width = type_width(to->type->id);
    if (n == 0)
        return RC_OK;
    enum rc rc = column_reserve(to, n, err);
    if (rc)
        return rc;
    if (width && from->dict)
        append_coded_values(to, from, at, n, width);
    else if (width)
        memcpy((char *)to->own_values.p + (size_t)to->n * width,
               (const char *)from->values + (size_t)at * width, (size_t)n * width);
    else if (to->type->id != TYPE_STR)
        rc = append_nested(to, from, at, n, err);
    else
        rc = from->dict ? append_coded_text(to, from, at, n, err)
                        : append_text(to, from, at, n, err);
    if (!rc)
        rc = append_valid(to, from, at, n, err);
    if (!rc)
        to->n += n;
    return rc;
}

static void gather_values(struct column *to, const struct column *from, const int64_t *at,
                          int64_t n, size_t width)
{
    if (width == 8) {
        const uint64_t *x = from->values;
        uint64_t *y = (uint64_t *)to->own_values.p + to->n;
        for (int64_t i = 0; i < n; i++)
            y[i] = x[at[i]];
    } else if (width == 4) {
        const uint32_t *x = from->values;
        uint32_t *y = (uint32_t *)to->own_values.p + to->n;
        for (int64_t i = 0; i < n; i++)
            y[i] = x[at[i]];
    } else {
        const uint8_t *x = from->values;
        uint8_t *y = (uint8_t *)to->own_values.p + to->n;
        for (int64_t i = 0; i < n; i++)
            y[i] = x[at[i]];
    }
}

static enum rc gather_text(struct column *to, const struct column *from,
                           const int64_t *at, int64_t n, struct err *err)
{
    size_t bytes = 0;
    for (int64_t i = 0; i < n; i++)
        bytes += (size_t)(from->offsets[at[i] + 1] - from->offsets[at[i]]);
    enum rc rc = column_reserve_text(to, bytes, err);
    if (rc)
        return rc;
    int32_t *offsets = to->own_offsets.p, end = offsets[to->n];
    for (int64_t i = 0; i < n; i++) {
        int32_t first = from->offsets[at[i]], len = from->offsets[at[i] + 1] - first;
        if (len)
            memcpy((char *)to->own_text.p + end, from->text + first, (size_t)len);
        end += len;
        offsets[to->n + i + 1] = end;
    }
    return RC_OK;
}

static enum rc gather_valid(struct column *to, const struct column *from,
                            const int64_t *at, int64_t n, struct err *err)
{
    if (!from->valid && !to->valid)
        return RC_OK;
    enum rc rc = column_need_valid(to, err);
    uint8_t *bits = to->own_valid.p;
    for (int64_t i = 0; i < n && !rc; i++) {
        int64_t k = to->n + i;
        bool null = column_is_null(from, at[i]);
        if (!null)
            bits[k >> 3] |= (uint8_t)(1u << (k & 7));
        to->n_null += null;
    }
    return rc;
}

enum rc column_gather(struct column *to, const struct column *from, const int64_t *at,
                      int64_t n, struct err *err)
{
    size_t width = type_width(to->type->id);
    enum rc rc = n ? column_reserve(to, n, err) : RC_OK;
    if (rc || n == 0)
        return rc;
    if (from->dict || (!width && to->type->id != TYPE_STR)) {
        for (int64_t i = 0; i < n && !rc; i++)
            rc = column_append(to, from, at[i], 1, err);
        return rc;
    }
    if (width)
        gather_values(to, from, at, n, width);
    else
        rc = gather_text(to, from, at, n, err);
    if (!rc)
        rc = gather_valid(to, from, at, n, err);
    if (!rc)
        to->n += n;
    return rc;
}

enum rc batch_append(struct batch *to, const struct batch *from, int64_t at, int64_t n,
                     struct err *err)
{
    for (size_t i = 0; i < to->n_cols; i++) {
        enum rc rc = column_append(&to->cols[i], &from->cols[i], at, n, err);
        if (rc)
            return err_wrap(err, rc, "column '%s'", to->schema->at[i].name);
    }
    to->n += n;
    return RC_OK;
}

bool column_is_number(const struct type *t)
{
    return t->id <= TYPE_F64;
}

double column_number(const struct column *c, int64_t i)
{
    if (column_is_null(c, i))
        return 0;
    if (c->dict) {
        i = column_code(c, i);
        c = &c->dict->values;
    }
    switch (c->type->id) {
    case TYPE_BOOL:
        return column_bool(c, i);
    case TYPE_I32:
        return column_i32(c, i);
    case TYPE_I64:
        return (double)column_i64(c, i);
    case TYPE_U32:
        return column_u32(c, i);
    case TYPE_U64:
        return (double)column_u64(c, i);
    case TYPE_F32:
        return (double)column_f32(c, i);
    case TYPE_F64:
        return column_f64(c, i);
    default:
        return 0;
    }
}
