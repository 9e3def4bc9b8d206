/* SPDX-License-Identifier: Apache-2.0 */
/* One column of a slice of rows at a time: the loop knows its type, its output lies in
 * registers, and the slice with its table stays in the first-level cache while the
 * columns take turns. Whatever is not plain (quotes, blanks around numbers, words for
 * null, more than eight digits) leaves the loop through a slow way that may branch.
 */
#include <string.h>

#include "base/compiler.h"
#include "base/cpu.h"
#include "base/utf8.h"
#include "data/csv/csv_private.h"
#include "data/csv/num.h"

#define LARGE_LENGTH 15 /* no longer: a double holds it, if it is whole */

struct str csv_number_text(const unsigned char *p, size_t n, char quote)
{
    if (n >= 2 && p[0] == (unsigned char)quote && p[n - 1] == (unsigned char)quote) {
        p++;
        n -= 2;
    }
    while (n && (p[0] == ' ' || p[0] == '\t')) {
        p++;
        n--;
    }
    while (n && (p[n - 1] == ' ' || p[n - 1] == '\t'))
        n--;
    return str_of((const char *)p, n);
}

bool csv_is_null_word(struct str s)
{
    static const char *const words[] = {
        "#N/A",    "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND",
        "1.#QNAN", "N/A",      "NA",  "NULL",    "NaN",      "n/a",  "nan",  "null"};
    if (s.n == 0)
        return true;
    if (s.p[s.n - 1] <= '9') /* as numbers end; every word ends in a letter */
        return false;
    for (size_t i = 0; s.n <= 9 && i < ARRAY_LEN(words); i++)
        if (str_is(s, words[i]))
            return true;
    return false;
}

bool csv_unquote(const unsigned char **p, size_t *n, char quote, unsigned char *room)
{
    const unsigned char *from = *p + 1, *end = *p + *n;
    unsigned char q = (unsigned char)quote;
    if (*n < 2 || end[-1] != q)
        return false;
    end--;
    const unsigned char *next = memchr(from, q, (size_t)(end - from));
    if (!next) {
        *p = from;
        *n = (size_t)(end - from);
        return true;
    }
    unsigned char *to = room;
    while (next) {
        if (next + 1 >= end || next[1] != q)
            return false;
        size_t k = (size_t)(next + 1 - from);
        memcpy(to, from, k);
        to += k;
        from = next + 2;
        next = memchr(from, q, (size_t)(end - from));
    }
    memcpy(to, from, (size_t)(end - from));
    *n = (size_t)(to - room) + (size_t)(end - from);
    *p = room;
    return true;
}

static void csv_field_note(struct csv_faults *f, size_t row, enum csv_fault fault)
{
    if (f->at[row].fault)
        return;
    f->n++;
    f->at[row].fault = fault;
    f->at[row].col = f->col;
}

enum cell { CELL_VALUE, CELL_NULL, CELL_BAD, CELL_RANGE };

static enum cell cell_of(enum num r)
{
    return r == NUM_OK ? CELL_VALUE : r == NUM_RANGE ? CELL_RANGE : CELL_BAD;
}

static enum cell slow_number(const unsigned char *p, size_t n, char quote,
                             enum type_id type, void *out)
{
    struct str s = csv_number_text(p, n, quote);
    if (csv_is_null_word(s))
        return CELL_NULL;
    switch (type) {
    case TYPE_I32:
        return cell_of(num_i32(s.p, s.n, out));
    case TYPE_I64:
        return cell_of(num_i64(s.p, s.n, out));
    case TYPE_F32:
        return cell_of(num_f32(s.p, s.n, out));
    default:
        return cell_of(num_f64(s.p, s.n, out));
    }
}

/* The slow way for row i of a number column. */
static void slow_cell(const struct csv_rows *rows, size_t i, enum type_id type, void *out,
                      uint64_t *valid, struct csv_faults *faults)
{
    const uint32_t *t = rows->table + i * rows->stride;
    size_t width = type_width(type);
    enum cell cell = slow_number(rows->text + t[0], t[1] - t[0] - 1, rows->quote, type,
                                 (char *)out + i * width);
    if (cell == CELL_VALUE) {
        valid[i / 64] |= (uint64_t)1 << i % 64;
        return;
    }
    memset((char *)out + i * width, 0, width);
    valid[i / 64] &= ~((uint64_t)1 << i % 64);
    if (cell != CELL_NULL)
        csv_field_note(faults, i, cell == CELL_RANGE ? CSV_FAULT_RANGE : CSV_FAULT_VALUE);
}

/* Without branches on the data: an empty field is eight zeros with its bit clear. */
#define INTS(name, T)                                                                    \
    size_t name(const struct csv_rows *rows, void *values, uint64_t *valid,              \
                uint32_t *slow)                                                          \
    {                                                                                    \
        const unsigned char *text = rows->text;                                          \
        const uint32_t *t = rows->table;                                                 \
        size_t stride = rows->stride, n = rows->n, n_slow = 0;                           \
        T *out = values;                                                                 \
        uint64_t bits = 0;                                                               \
        for (size_t i = 0; i < n; i++, t += stride) {                                    \
            uint32_t start = t[0], len = t[1] - start - 1;                               \
            uint64_t w = num_load8(text + start);                                        \
            uint32_t minus = (w & 0xff) == ('-' ^ '0');                                  \
            uint32_t digits = len - minus;                                               \
            w = digits ? w >> 8 * minus << (8 * (8 - digits) & 63) : 0;                  \
            bool plain = digits <= 8 - minus && (digits || !minus) && num_all_digits(w); \
            uint64_t v = num_eight(w);                                                   \
            out[i] = (T)(minus ? 0 - v : v);                                             \
            slow[n_slow] = (uint32_t)i;                                                  \
            n_slow += !plain;                                                            \
            bits |= (uint64_t)(len != 0) << i % 64;                                      \
            if (i % 64 == 63) {                                                          \
                valid[i / 64] = bits;                                                    \
                bits = 0;                                                                \
            }                                                                            \
        }                                                                                \
        if (n % 64)                                                                      \
            valid[n / 64] = bits;                                                        \
        return n_slow;                                                                   \
    }
INTS(csv_ints_i32_ref, int32_t)
INTS(csv_ints_i64_ref, int64_t)

static csv_ints_fn *ints_for(enum type_id type)
{
#ifdef CSV_SCAN_X86
    if (cpu_level() >= CPU_LEVEL_AVX512)
        return type == TYPE_I32 ? csv_ints_i32_avx512 : csv_ints_i64_avx512;
#endif
    return type == TYPE_I32 ? csv_ints_i32_ref : csv_ints_i64_ref;
}

static void read_ints(const struct csv_rows *rows, enum type_id type, void *out,
                      uint64_t *valid, struct csv_faults *faults)
{
    uint32_t slow[CSV_SLICE + 1];
    size_t n = ints_for(type)(rows, out, valid, slow);
    for (size_t i = 0; i < n; i++)
        slow_cell(rows, slow[i], type, out, valid, faults);
}

#define FLOATS(name, T, parse, id)                                                       \
    static void name(const struct csv_rows *rows, T *out, uint64_t *valid,               \
                     struct csv_faults *faults)                                          \
    {                                                                                    \
        const uint32_t *t = rows->table;                                                 \
        memset(valid, 0, (rows->n + 63) / 64 * sizeof(*valid));                          \
        for (size_t i = 0; i < rows->n; i++, t += rows->stride) {                        \
            uint32_t len = t[1] - t[0] - 1;                                              \
            T v = 0;                                                                     \
            enum num r = len ? parse((const char *)rows->text + t[0], len, &v) : NUM_OK; \
            out[i] = v;                                                                  \
            valid[i / 64] |= (uint64_t)(len != 0) << i % 64;                             \
            if (UNLIKELY(r != NUM_OK || v != v))                                         \
                slow_cell(rows, i, id, out, valid, faults);                              \
        }                                                                                \
    }
FLOATS(read_f32, float, num_f32_padded, TYPE_F32)
FLOATS(read_f64, double, num_f64_padded, TYPE_F64)

/* A quoted field into `to`; its bytes. */
static size_t put_quoted(const struct csv_rows *rows, size_t i, size_t start, size_t len,
                         char *to, struct csv_faults *faults)
{
    const unsigned char *p = rows->text + start;
    if (!csv_unquote(&p, &len, rows->quote, (unsigned char *)to)) {
        csv_field_note(faults, i, CSV_FAULT_QUOTE);
        return 0;
    }
    if (p != (unsigned char *)to)
        memcpy(to, p, len);
    return len;
}

/* Sixteen bytes are copied whatever the length: the pads allow it, and most values need
 * no more.
 */
static inline void put_plain(const unsigned char *from, uint32_t len, char *to)
{
    memcpy(to, from, 16);
    if (UNLIKELY(len > 16))
        memcpy(to + 16, from + 16, len - 16);
}

/* No field has quotes: nothing is asked per row, since empty fields come at random. */
static void read_plain_text(const struct csv_rows *rows, struct column *c)
{
    const unsigned char *text = rows->text;
    const uint32_t *t = rows->table;
    size_t stride = rows->stride, n = rows->n;
    int32_t *offsets = (int32_t *)c->own_offsets.p + c->n;
    char *base = c->own_text.p;
    size_t i = 0;
#ifdef CSV_SCAN_X86
    if (cpu_level() >= CPU_LEVEL_AVX512)
        i = csv_eights_avx512(rows, base, offsets);
#endif
    uint32_t at = (uint32_t)offsets[i];
    for (t += i * stride; i < n; i++, t += stride) {
        uint32_t start = t[0], len = t[1] - start - 1;
        put_plain(text + start, len, base + at);
        at += len;
        offsets[i + 1] = (int32_t)at;
    }
}

static void read_quoted_text(const struct csv_rows *rows, struct column *c,
                             struct csv_faults *faults)
{
    const uint32_t *t = rows->table;
    int32_t *offsets = (int32_t *)c->own_offsets.p + c->n;
    char *base = c->own_text.p;
    uint32_t at = (uint32_t)offsets[0];
    for (size_t i = 0; i < rows->n; i++, t += rows->stride) {
        uint32_t start = t[0], len = t[1] - start - 1;
        if (len && rows->text[start] == (unsigned char)rows->quote)
            len = (uint32_t)put_quoted(rows, i, start, len, base + at, faults);
        else
            put_plain(rows->text + start, len, base + at);
        at += len;
        offsets[i + 1] = (int32_t)at;
    }
}

static bool is_utf8(const char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint64_t w;
        if (n - i >= 8 && (memcpy(&w, p + i, 8), !(w & 0x8080808080808080u))) {
            i += 8;
            continue;
        }
        size_t k = (unsigned char)p[i] < 0x80 ? 1 : utf8_len(p + i, n - i);
        if (k == 0)
            return false;
        i += k;
    }
    return true;
}

static void check_utf8(const struct csv_rows *rows, const struct column *c,
                       struct csv_faults *faults)
{
    const int32_t *offsets = (const int32_t *)c->own_offsets.p + c->n;
    const char *text = c->own_text.p;
    for (size_t i = 0; i < rows->n; i++)
        if (!is_utf8(text + offsets[i], (size_t)(offsets[i + 1] - offsets[i])))
            csv_field_note(faults, i, CSV_FAULT_UTF8);
}

static void null_where_empty(const struct csv_rows *rows, uint64_t *valid)
{
    const uint32_t *t = rows->table;
    memset(valid, 0, (rows->n + 63) / 64 * sizeof(*valid));
    for (size_t i = 0; i < rows->n; i++, t += rows->stride)
        valid[i / 64] |= (uint64_t)(t[1] - t[0] != 1) << i % 64;
}

/* Appends n bits behind the column's rows; those behind them stay zero. */
static enum rc add_valid(struct column *c, const uint64_t *valid, size_t n,
                         struct err *err)
{
    int64_t set = 0;
    for (size_t i = 0; i < (n + 63) / 64; i++)
        set += POPCOUNT64(valid[i]);
    if (set == (int64_t)n && !c->valid)
        return RC_OK;
    enum rc rc = column_need_valid(c, err);
    if (rc)
        return rc;
    uint8_t *bits = c->own_valid.p;
    for (size_t i = 0; i < n; i += 64) {
        uint8_t *to = bits + ((size_t)c->n + i) / 8;
        unsigned shift = (unsigned)c->n % 8;
        uint64_t w, low = valid[i / 64] << shift;
        memcpy(&w, to, sizeof(w));
        w |= low;
        memcpy(to, &w, sizeof(w));
        if (shift)
            to[8] = (uint8_t)(to[8] | valid[i / 64] >> (64 - shift));
    }
    c->n_null += (int64_t)n - set;
    return RC_OK;
}

/* The last field of a line that ends in CRLF stops before the '\r'. */
static void without_cr(struct csv_rows *rows, uint32_t *table)
{
    for (size_t i = 0; i < rows->n; i++) {
        const uint32_t *t = rows->table + i * rows->stride;
        bool cr = t[1] - t[0] >= 2 && rows->text[t[1] - 2] == '\r';
        table[2 * i] = t[0];
        table[2 * i + 1] = t[1] - cr;
    }
    rows->table = table;
    rows->stride = 2;
}

/* A glance at the first byte tells almost every field that is as it would be written. */
void csv_field_exact(const struct csv_rows *all, size_t col, bool last, enum type_id type,
                     struct csv_faults *faults)
{
    const uint32_t *t = all->table + col;
    faults->col = (uint32_t)col;
    for (size_t i = 0; i < all->n; i++, t += all->stride) {
        const unsigned char *p = all->text + t[0];
        size_t n = t[1] - t[0] - 1;
        bool glance = n == 0 || (p[0] >= '1' && p[0] <= '9') || (n == 1 && p[0] == '0');
        if (LIKELY(glance && (type == TYPE_I64 || n <= LARGE_LENGTH)))
            continue;
        n -= last && n && p[n - 1] == '\r';
        struct str s = csv_number_text(p, n, all->quote);
        if (!csv_is_plain_number(s) || (type == TYPE_F64 && csv_is_large_number(s)))
            csv_field_note(faults, i, CSV_FAULT_EXACT);
    }
}

enum rc csv_field_read(const struct csv_rows *all, size_t col, bool last,
                       bool empty_is_null, struct column *c, struct csv_faults *faults,
                       struct err *err)
{
    uint64_t valid[CSV_SLICE / 64];
    uint32_t table[2 * CSV_SLICE];
    struct csv_rows rows = *all;
    enum type_id type = c->type->id;
    bool has_valid = true;
    rows.table += col;
    faults->col = (uint32_t)col;
    if (last && rows.crlf)
        without_cr(&rows, table);
    if (type == TYPE_STR) {
        if (rows.quotes)
            read_quoted_text(&rows, c, faults);
        else
            read_plain_text(&rows, c);
        if (rows.high)
            check_utf8(&rows, c, faults);
        if (empty_is_null)
            null_where_empty(&rows, valid);
        has_valid = empty_is_null;
    } else if (type == TYPE_F32) {
        read_f32(&rows, (float *)c->own_values.p + c->n, valid, faults);
    } else if (type == TYPE_F64) {
        read_f64(&rows, (double *)c->own_values.p + c->n, valid, faults);
    } else {
        read_ints(&rows, type, (char *)c->own_values.p + (size_t)c->n * type_width(type),
                  valid, faults);
    }
    enum rc rc = has_valid ? add_valid(c, valid, rows.n, err) : RC_OK;
    if (rc == RC_OK)
        c->n += (int64_t)rows.n;
    return rc;
}
