/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as JSON text, for `data head` and the writer of JSON lines. A value is printed by
 * what its type means: dates and times as ISO 8601, UUIDs in their usual form, floats
 * with the digits that they need. Lists and structs go down into their kids; keys of
 * maps become strings, since JSON has no other.
 */
#include <inttypes.h>
#include <math.h>

#include "data/batch.h"

static void print_float(double v, const char *digits, struct buf *out)
{
    if (isnan(v))
        buf_puts(out, "\"NaN\"");
    else if (isinf(v))
        buf_puts(out, v > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    else
        buf_puts(out, digits);
}

/* Days since 1970-01-01 as a proleptic Gregorian date (years shifted to start in March,
 * so that the leap day is the last of its year).
 */
static void print_date(int64_t days, struct buf *out)
{
    int64_t z = days + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    int64_t day = doy - (153 * mp + 2) / 5 + 1;
    int64_t month = mp < 10 ? mp + 3 : mp - 9;
    int64_t year = yoe + era * 400 + (month <= 2);
    buf_printf(out, "%04" PRId64 "-%02" PRId64 "-%02" PRId64, year, month, day);
}

static void print_clock(int64_t t, int64_t per_second, struct buf *out)
{
    int64_t s = t / per_second, rest = t % per_second;
    int digits = per_second == 1000 ? 3 : per_second == 1000000 ? 6 : 9;
    buf_printf(out, "%02" PRId64 ":%02" PRId64 ":%02" PRId64, s / 3600, s / 60 % 60,
               s % 60);
    if (rest)
        buf_printf(out, ".%0*" PRId64, digits, rest);
}

static void print_timestamp(int64_t t, int64_t per_second, bool utc, struct buf *out)
{
    int64_t per_day = per_second * 86400;
    int64_t day = t / per_day, rest = t % per_day;
    if (rest < 0) {
        rest += per_day;
        day--;
    }
    print_date(day, out);
    buf_putc(out, 'T');
    print_clock(rest, per_second, out);
    if (utc)
        buf_putc(out, 'Z');
}

static int64_t integer_at(const struct column *c, int64_t i)
{
    return c->type->id == TYPE_I32 ? column_i32(c, i) : column_i64(c, i);
}

static void print_time(const struct column *c, int64_t i, struct buf *out)
{
    enum logical l = c->type->logical;
    int64_t v = integer_at(c, i), per_second = 1000;
    if (l == LOGICAL_TIME_US || l == LOGICAL_TIMESTAMP_US)
        per_second = 1000000;
    if (l == LOGICAL_TIME_NS || l == LOGICAL_TIMESTAMP_NS)
        per_second = 1000000000;
    buf_putc(out, '"');
    if (l == LOGICAL_DATE)
        print_date(v, out);
    else if (l >= LOGICAL_TIMESTAMP_MS)
        print_timestamp(v, per_second, c->type->utc, out);
    else
        print_clock(v < 0 ? 0 : v, per_second, out);
    buf_putc(out, '"');
}

static void print_uuid(struct str s, struct buf *out)
{
    buf_putc(out, '"');
    for (size_t i = 0; i < s.n; i++)
        buf_printf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                   (unsigned)(unsigned char)s.p[i]);
    buf_putc(out, '"');
}

static void print_flat(const struct column *c, int64_t i, struct buf *out)
{
    char digits[32];
    struct str s;
    switch (c->type->id) {
    case TYPE_BOOL:
        buf_puts(out, column_bool(c, i) ? "true" : "false");
        break;
    case TYPE_I32:
    case TYPE_I64:
        buf_printf(out, "%" PRId64, integer_at(c, i));
        break;
    case TYPE_U32:
        buf_printf(out, "%" PRIu32, column_u32(c, i));
        break;
    case TYPE_U64:
        buf_printf(out, "%" PRIu64, column_u64(c, i));
        break;
    case TYPE_F32:
        str_from_f32(column_f32(c, i), digits);
        print_float((double)column_f32(c, i), digits, out);
        break;
    case TYPE_F64:
        str_from_f64(column_f64(c, i), digits);
        print_float(column_f64(c, i), digits, out);
        break;
    default:
        s = column_str(c, i);
        buf_json_str(out, s.p, s.n);
    }
}

/* A JSON key is always a string. */
static void print_key(const struct column *c, int64_t i, struct buf *out)
{
    bool quoted = c->type->id == TYPE_STR || (c->type->logical >= LOGICAL_DATE &&
                                              c->type->logical < LOGICAL_DECIMAL);
    if (!quoted)
        buf_putc(out, '"');
    column_print_json(c, i, out);
    if (!quoted)
        buf_putc(out, '"');
    buf_puts(out, ": ");
}

static void print_span(const struct column *c, int64_t i, struct buf *out)
{
    bool map = c->type->id == TYPE_MAP;
    buf_putc(out, map ? '{' : '[');
    for (int32_t k = c->offsets[i]; k < c->offsets[i + 1]; k++) {
        if (k > c->offsets[i])
            buf_puts(out, ", ");
        if (map)
            print_key(&c->kids[0], k, out);
        column_print_json(&c->kids[map ? 1 : 0], k, out);
    }
    buf_putc(out, map ? '}' : ']');
}

static void print_struct(const struct column *c, int64_t i, struct buf *out)
{
    buf_putc(out, '{');
    for (size_t k = 0; k < c->type->n_kids; k++) {
        if (k)
            buf_puts(out, ", ");
        buf_json_str(out, c->type->kids[k].name, strlen(c->type->kids[k].name));
        buf_puts(out, ": ");
        column_print_json(&c->kids[k], i, out);
    }
    buf_putc(out, '}');
}

void column_print_json(const struct column *c, int64_t i, struct buf *out)
{
    enum logical logical = c->type->logical;
    if (column_is_null(c, i)) {
        buf_puts(out, "null");
        return;
    }
    if (c->dict) {
        i = column_code(c, i);
        c = &c->dict->values;
    }
    if (c->type->id == TYPE_LIST || c->type->id == TYPE_MAP)
        print_span(c, i, out);
    else if (c->type->id == TYPE_STRUCT)
        print_struct(c, i, out);
    else if (logical >= LOGICAL_DATE && logical <= LOGICAL_TIMESTAMP_NS)
        print_time(c, i, out);
    else if (logical == LOGICAL_UUID)
        print_uuid(column_str(c, i), out);
    else
        print_flat(c, i, out);
}

void batch_print_json(const struct batch *b, int64_t row, struct buf *out)
{
    buf_putc(out, '{');
    for (size_t k = 0; k < b->n_cols; k++) {
        const char *name = b->schema->at[k].name;
        if (k)
            buf_puts(out, ", ");
        buf_json_str(out, name, strlen(name));
        buf_puts(out, ": ");
        column_print_json(&b->cols[k], row, out);
    }
    buf_putc(out, '}');
}
