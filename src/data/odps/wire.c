/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as the tunnel service sends and takes them: fields of protobuf, each numbered by
 * its column, a mark behind every row, counts and checksums behind all. Two CRC-32C are
 * kept, one over the values of the row and one over the checksums of all rows, and
 * compared with what was sent: a row that was damaged on the way is an error. Columns
 * that are not wanted are read past, since the checksum covers them. The second half of
 * the file writes the same form.
 */
#include "data/odps/wire.h"

#include <string.h>

#include "base/hash.h"

#define TAG_ROW_END 33553408u
#define TAG_METRICS_END 33554176u
#define TAG_COUNT 33554430u
#define TAG_CHECKSUM 33554431u

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

void odps_wire_init(struct odps_wire *w, const void *p, size_t n)
{
    *w = (struct odps_wire){.start = p, .p = p, .end = (const uint8_t *)p + n};
}

static enum rc odps_damaged(const struct odps_wire *w, const char *why, struct err *err)
{
    return err_coded(err, RC_FORMAT, E1707, "damaged rows near byte %zu, row %jd: %s",
                     (size_t)(w->p - w->start), (intmax_t)w->rows, why);
}

static bool get_varint(struct odps_wire *w, uint64_t *out)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70 && w->p < w->end; shift += 7) {
        uint8_t b = *w->p++;
        v |= shift < 64 ? (uint64_t)(b & 0x7f) << shift : 0;
        if (!(b & 0x80)) {
            *out = v;
            return true;
        }
    }
    return false;
}

static bool get_u32(struct odps_wire *w, uint32_t *out)
{
    uint64_t v;
    if (!get_varint(w, &v) || v > UINT32_MAX)
        return false;
    *out = (uint32_t)v;
    return true;
}

/* Some writers take a checksum for a signed number and extend its sign. */
static bool get_crc(struct odps_wire *w, uint32_t *out)
{
    uint64_t v;
    if (!get_varint(w, &v))
        return false;
    *out = (uint32_t)v;
    return true;
}

static bool get_signed(struct odps_wire *w, int64_t *out)
{
    uint64_t v;
    if (!get_varint(w, &v))
        return false;
    *out = (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
    return true;
}

static bool get_bytes(struct odps_wire *w, struct str *out)
{
    uint32_t n;
    if (!get_u32(w, &n) || n > (size_t)(w->end - w->p))
        return false;
    *out = str_of((const char *)w->p, n);
    w->p += n;
    return true;
}

static void add_crc(uint32_t *crc, const void *p, size_t n)
{
    *crc = hash_crc32c(*crc, p, n);
}

/* The machine is little-endian, as the wire is. */
static void crc_i32(uint32_t *crc, uint32_t v)
{
    add_crc(crc, &v, sizeof(v));
}

static enum rc get_whole(struct odps_wire *w, struct column *c, struct err *err)
{
    int64_t v;
    if (!get_signed(w, &v))
        return odps_damaged(w, "a number is cut short", err);
    add_crc(&w->row_crc, &v, sizeof(v));
    if (!c)
        return RC_OK;
    if (c->type->id == TYPE_I64)
        return column_add_i64(c, v, err);
    if (v != (int32_t)v)
        return odps_damaged(w, "a number does not fit its type", err);
    return column_add_i32(c, (int32_t)v, err);
}

static enum rc get_float(struct odps_wire *w, struct column *c, size_t n, struct err *err)
{
    float f;
    double d;
    if ((size_t)(w->end - w->p) < n)
        return odps_damaged(w, "a number is cut short", err);
    add_crc(&w->row_crc, w->p, n);
    if (n == sizeof(f))
        memcpy(&f, w->p, sizeof(f));
    else
        memcpy(&d, w->p, sizeof(d));
    w->p += n;
    if (!c)
        return RC_OK;
    return n == sizeof(f) ? column_add_f32(c, f, err) : column_add_f64(c, d, err);
}

static enum rc get_bool(struct odps_wire *w, struct column *c, struct err *err)
{
    uint64_t v;
    if (!get_varint(w, &v))
        return odps_damaged(w, "a boolean is cut short", err);
    uint8_t b = v != 0;
    add_crc(&w->row_crc, &b, 1);
    return c ? column_add_bool(c, b, err) : RC_OK;
}

static enum rc get_text(struct odps_wire *w, struct column *c, struct err *err)
{
    struct str s;
    if (!get_bytes(w, &s))
        return odps_damaged(w, "a text is cut short", err);
    add_crc(&w->row_crc, s.p, s.n);
    return c ? column_add_str(c, s, err) : RC_OK;
}

static enum rc get_decimal(struct odps_wire *w, struct column *c, struct err *err)
{
    struct str s;
    double d;
    if (!get_bytes(w, &s))
        return odps_damaged(w, "a decimal is cut short", err);
    add_crc(&w->row_crc, s.p, s.n);
    if (!str_to_f64(str_trim(s), &d))
        return odps_damaged(w, "a decimal is not a number", err);
    return c ? column_add_f64(c, d, err) : RC_OK;
}

static enum rc get_timestamp(struct odps_wire *w, struct column *c, struct err *err)
{
    int64_t s, ns;
    if (!get_signed(w, &s) || !get_signed(w, &ns))
        return odps_damaged(w, "a timestamp is cut short", err);
    add_crc(&w->row_crc, &s, sizeof(s));
    crc_i32(&w->row_crc, (uint32_t)ns);
    if (s > INT64_MAX / 1000000000 - 1 || s < INT64_MIN / 1000000000 + 1 || ns < 0 ||
        ns >= 1000000000)
        return odps_damaged(w, "a timestamp is out of range", err);
    return c ? column_add_i64(c, s * 1000000000 + ns, err) : RC_OK;
}

static enum rc get_value(struct odps_wire *w, const struct odps_type *t, struct column *c,
                         struct err *err);

static enum rc get_optional(struct odps_wire *w, const struct odps_type *t,
                            struct column *c, struct err *err)
{
    uint64_t null;
    if (!get_varint(w, &null))
        return odps_damaged(w, "a list is cut short", err);
    if (null)
        return c ? column_add_null(c, err) : RC_OK;
    return get_value(w, t, c, err);
}

static enum rc get_elements(struct odps_wire *w, const struct odps_type *t,
                            struct column *c, uint32_t *n, struct err *err)
{
    enum rc rc = RC_OK;
    if (!get_u32(w, n) || *n > (size_t)(w->end - w->p))
        return odps_damaged(w, "a list is cut short", err);
    for (uint32_t i = 0; !rc && i < *n; i++)
        rc = get_optional(w, t, c, err);
    return rc;
}

static enum rc get_nested(struct odps_wire *w, const struct odps_type *t,
                          struct column *c, struct err *err)
{
    uint32_t n = 0, n_values = 0;
    enum rc rc = RC_OK;
    if (t->kind == ODPS_STRUCT) {
        for (size_t i = 0; !rc && i < t->n_kids; i++)
            rc = get_optional(w, &t->kids[i], c ? &c->kids[i] : NULL, err);
    } else {
        rc = get_elements(w, &t->kids[0], c ? &c->kids[0] : NULL, &n, err);
        if (!rc && t->kind == ODPS_MAP)
            rc = get_elements(w, &t->kids[1], c ? &c->kids[1] : NULL, &n_values, err);
        if (!rc && t->kind == ODPS_MAP && n != n_values)
            rc = odps_damaged(w, "a map has other numbers of keys and values", err);
    }
    if (rc || !c)
        return rc;
    return column_add_nested(c, err);
}

static enum rc get_value(struct odps_wire *w, const struct odps_type *t, struct column *c,
                         struct err *err)
{
    switch (t->kind) {
    case ODPS_BOOLEAN:
        return get_bool(w, c, err);
    case ODPS_SMALL:
    case ODPS_BIGINT:
    case ODPS_DATETIME:
    case ODPS_DATE:
        return get_whole(w, c, err);
    case ODPS_FLOAT:
        return get_float(w, c, sizeof(float), err);
    case ODPS_DOUBLE:
        return get_float(w, c, sizeof(double), err);
    case ODPS_STRING:
    case ODPS_BINARY:
        return get_text(w, c, err);
    case ODPS_DECIMAL:
        return get_decimal(w, c, err);
    case ODPS_TIMESTAMP:
    case ODPS_TIMESTAMP_NTZ:
        return get_timestamp(w, c, err);
    default:
        return get_nested(w, t, c, err);
    }
}

/* Behind the tag of the count: a message for the server's own measurements may stand
 * before the checksum.
 */
static enum rc get_end(struct odps_wire *w, struct err *err)
{
    int64_t count;
    uint32_t tag, crc;
    struct str metrics;
    if (!get_signed(w, &count) || !get_u32(w, &tag))
        return odps_damaged(w, "the end is cut short", err);
    if (count != w->rows)
        return odps_damaged(w, "the number of rows at the end is another one", err);
    if (tag >> 3 != TAG_CHECKSUM) {
        if ((tag & 7) != WIRE_BYTES || !get_bytes(w, &metrics) || !get_u32(w, &tag) ||
            tag >> 3 != TAG_METRICS_END || !get_crc(w, &crc) || !get_u32(w, &tag))
            return odps_damaged(w, "the end is malformed", err);
    }
    if (tag >> 3 != TAG_CHECKSUM || !get_crc(w, &crc))
        return odps_damaged(w, "the end is malformed", err);
    if (crc != w->all_crc)
        return odps_damaged(w, "the checksum over all rows does not fit", err);
    w->ended = true;
    return RC_OK;
}

static enum rc end_row(struct odps_wire *w, struct column *const *cols, size_t n,
                       int64_t before, struct err *err)
{
    uint32_t crc;
    enum rc rc = RC_OK;
    if (!get_crc(w, &crc))
        return odps_damaged(w, "a row is cut short", err);
    if (crc != w->row_crc)
        return odps_damaged(w, "the checksum of a row does not fit", err);
    for (size_t k = 0; !rc && k < n; k++)
        if (cols[k] && cols[k]->n == before)
            rc = column_add_null(cols[k], err);
    crc_i32(&w->all_crc, crc);
    w->row_crc = 0;
    w->rows++;
    return rc;
}

enum rc odps_wire_row(struct odps_wire *w, const struct odps_type *types,
                      struct column *const *cols, size_t n, struct err *err)
{
    int64_t before = 0;
    uint32_t tag, last = 0;
    for (size_t k = 0; k < n; k++)
        before = cols[k] ? cols[k]->n : before;
    for (;;) {
        if (!get_u32(w, &tag))
            return odps_damaged(w, "they end without a count", err);
        uint32_t number = tag >> 3;
        if (number == TAG_ROW_END)
            return end_row(w, cols, n, before, err);
        if (number == TAG_COUNT && last == 0)
            return get_end(w, err);
        if (number <= last || number > n)
            return odps_damaged(w, "a value of no column", err);
        last = number;
        crc_i32(&w->row_crc, number);
        enum rc rc = get_value(w, &types[number - 1], cols[number - 1], err);
        if (rc)
            return rc;
    }
}

void odps_out_init(struct odps_out *o, size_t max)
{
    *o = (struct odps_out){0};
    buf_init(&o->bytes, max);
}

void odps_out_release(struct odps_out *o)
{
    buf_release(&o->bytes);
}

void odps_out_clear(struct odps_out *o)
{
    buf_clear(&o->bytes);
    o->row_crc = o->all_crc = 0;
    o->rows = 0;
}

static void put_varint(struct odps_out *o, uint64_t v)
{
    char bytes[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        bytes[n++] = (char)(v | 0x80);
    bytes[n++] = (char)v;
    buf_add(&o->bytes, bytes, n);
}

static void put_tag(struct odps_out *o, uint32_t number, unsigned wire)
{
    put_varint(o, (uint64_t)number << 3 | wire);
}

static void put_signed(struct odps_out *o, int64_t v)
{
    put_varint(o, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static void put_long(struct odps_out *o, int64_t v)
{
    add_crc(&o->row_crc, &v, sizeof(v));
    put_signed(o, v);
}

static int64_t whole_of(const struct column *c, int64_t i)
{
    return c->type->id == TYPE_I64   ? column_i64(c, i)
           : c->type->id == TYPE_U32 ? (int64_t)column_u32(c, i)
                                     : column_i32(c, i);
}

static double real_of(const struct column *c, int64_t i)
{
    return c->type->id == TYPE_F64   ? column_f64(c, i)
           : c->type->id == TYPE_F32 ? (double)column_f32(c, i)
                                     : (double)column_i32(c, i);
}

static void put_value(struct odps_out *o, const struct odps_type *t,
                      const struct column *c, int64_t i);

static void put_elements(struct odps_out *o, const struct odps_type *t,
                         const struct column *c, int32_t from, int32_t to)
{
    put_varint(o, (uint64_t)(to - from));
    for (int32_t j = from; j < to; j++) {
        bool null = column_is_null(c, j);
        put_varint(o, null);
        if (!null)
            put_value(o, t, c, j);
    }
}

static void put_time(struct odps_out *o, int64_t ns)
{
    int64_t s = ns / 1000000000, rest = ns % 1000000000;
    if (rest < 0) {
        s--;
        rest += 1000000000;
    }
    put_long(o, s);
    crc_i32(&o->row_crc, (uint32_t)rest);
    put_signed(o, rest);
}

static void put_text(struct odps_out *o, struct str s)
{
    add_crc(&o->row_crc, s.p, s.n);
    put_varint(o, s.n);
    buf_add(&o->bytes, s.p, s.n);
}

static void put_fixed(struct odps_out *o, const void *p, size_t n)
{
    add_crc(&o->row_crc, p, n);
    buf_add(&o->bytes, p, n);
}

static void put_value(struct odps_out *o, const struct odps_type *t,
                      const struct column *c, int64_t i)
{
    float f;
    double d;
    uint8_t b;
    if (c->dict) {
        i = column_code(c, i);
        c = &c->dict->values;
    }
    switch (t->kind) {
    case ODPS_BOOLEAN:
        b = column_bool(c, i);
        add_crc(&o->row_crc, &b, 1);
        put_varint(o, b);
        break;
    case ODPS_FLOAT:
        f = column_f32(c, i);
        put_fixed(o, &f, sizeof(f));
        break;
    case ODPS_DOUBLE:
        d = real_of(c, i);
        put_fixed(o, &d, sizeof(d));
        break;
    case ODPS_STRING:
    case ODPS_BINARY:
        put_text(o, column_str(c, i));
        break;
    case ODPS_TIMESTAMP:
    case ODPS_TIMESTAMP_NTZ:
        put_time(o, column_i64(c, i));
        break;
    case ODPS_ARRAY:
    case ODPS_MAP:
        for (size_t k = 0; k < t->n_kids; k++)
            put_elements(o, &t->kids[k], &c->kids[k], c->offsets[i], c->offsets[i + 1]);
        break;
    default:
        put_long(o, whole_of(c, i));
    }
}

static unsigned wire_of(enum odps_kind kind)
{
    switch (kind) {
    case ODPS_BOOLEAN:
    case ODPS_SMALL:
    case ODPS_BIGINT:
    case ODPS_DATETIME:
    case ODPS_DATE:
        return WIRE_VARINT;
    case ODPS_FLOAT:
        return WIRE_FIXED32;
    case ODPS_DOUBLE:
        return WIRE_FIXED64;
    default:
        return WIRE_BYTES;
    }
}

void odps_out_value(struct odps_out *o, size_t k, const struct odps_type *type,
                    const struct column *c, int64_t i)
{
    if (column_is_null(c, i))
        return;
    uint32_t number = (uint32_t)k + 1;
    crc_i32(&o->row_crc, number);
    put_tag(o, number, wire_of(type->kind));
    put_value(o, type, c, i);
}

void odps_out_row(struct odps_out *o)
{
    put_tag(o, TAG_ROW_END, WIRE_VARINT);
    put_varint(o, o->row_crc);
    crc_i32(&o->all_crc, o->row_crc);
    o->row_crc = 0;
    o->rows++;
}

enum rc odps_out_end(struct odps_out *o, struct err *err)
{
    put_tag(o, TAG_COUNT, WIRE_VARINT);
    put_signed(o, o->rows);
    put_tag(o, TAG_CHECKSUM, WIRE_VARINT);
    put_varint(o, o->all_crc);
    return buf_check(&o->bytes, err);
}
