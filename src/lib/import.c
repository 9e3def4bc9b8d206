/* SPDX-License-Identifier: Apache-2.0 */
/* Columns have Arrow's shape, so numbers and the bytes of texts are borrowed. Copied are
 * offsets, which begin at 0 in a column and anywhere in a slice; validity that does not
 * begin at a byte; numbers of 8 and 16 bits, which columns widen; bits; decimals; texts behind
 * views or a dictionary. One table says for each format what it is and how its rows are taken.
 */
#include "lib/import.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/rows.h"
#include "tensor/tensor.h"

#define DEPTH 8 /* of nesting */
#define FAR 8   /* times as many values as rows: they are taken one by one */
#define MOST ((int64_t)1 << 56) /* rows: of 32 bytes each they are no address any more */

struct source {
    const struct ArrowSchema *s;
    const struct ArrowArray *a;
    int64_t at, n;        /* rows, the array's own offset included */
    const uint8_t *outer; /* validity of the struct around it, or NULL */
    int64_t outer_at;
    int depth;
};

typedef enum rc take_fn(const struct source *from, struct column *to, struct err *err);

struct format {
    const char *text; /* of ArrowSchema.format; its beginning when it ends with ':' */
    enum type_id id;
    enum logical logical;
    int64_t buffers, kids;
    take_fn *take;
};

static const struct format *format_of(const char *text);
static enum rc take_rows(const struct source *from, struct column *to, struct err *err);

static const char *name_of(const struct ArrowSchema *s)
{
    return s && s->name ? s->name : "";
}

static enum rc malformed(const struct source *from, const char *what, struct err *err)
{
    return err_coded(err, RC_FORMAT, E2032, "column '%.100s': %s", name_of(from->s),
                     what);
}

static enum rc too_long(const struct source *from, struct err *err)
{
    return err_coded(err, RC_INVAL, E1090,
                     "column '%.100s': more than 2 GiB in one batch", name_of(from->s));
}

/* Does it belong to us, and have what it counts? */
static bool is_whole(const struct ArrowArray *a)
{
    if (!a || !a->release || a->length < 0 || a->length > MOST || a->offset < 0 ||
        a->offset > MOST || a->n_buffers < 0 || (a->n_buffers > 0 && !a->buffers) ||
        a->n_children < 0 || (a->n_children > 0 && !a->children))
        return false;
    return true;
}

/* Bits [at, at + n) of `from`, moved to the beginning of `to`. */
static void copy_bits(const uint8_t *from, int64_t at, int64_t n, uint8_t *to)
{
    int shift = (int)(at & 7);
    from += at >> 3;
    for (int64_t i = 0; i < (n + 7) / 8; i++) {
        unsigned low = from[i] >> shift;
        bool more = shift && i * 8 + 8 - shift < n;
        to[i] = (uint8_t)(low | (more ? (unsigned)from[i + 1] << (8 - shift) : 0));
    }
}

static int64_t count_null(const uint8_t *valid, int64_t n)
{
    int64_t set = 0;
    for (int64_t i = 0; i < n / 8; i++)
        set += __builtin_popcount(valid[i]);
    if (n & 7)
        set += __builtin_popcount(valid[n / 8] & ((1u << (n & 7)) - 1));
    return n - set;
}

/* Bits [at, at + n) of `valid` into `own`; those alone that are set there already when
 * `both`.
 */
static enum rc own_valid(const uint8_t *valid, int64_t at, int64_t n, bool both,
                         struct column *to, struct err *err)
{
    size_t bytes = (size_t)(n + 7) / 8;
    if (!both) {
        enum rc rc = column_mem_reserve(&to->own_valid, bytes, 0, err);
        if (!rc)
            copy_bits(valid, at, n, to->own_valid.p);
        to->valid = to->own_valid.p;
        return rc;
    }
    uint8_t *out = to->own_valid.p;
    for (int64_t i = 0; i < n; i++)
        if (!(valid[(at + i) >> 3] >> ((at + i) & 7) & 1))
            out[i >> 3] &= (uint8_t) ~(1u << (i & 7));
    return RC_OK;
}

/* A row is null where it is null itself, and where the struct around it is. */
static enum rc take_valid(const struct source *from, struct column *to, struct err *err)
{
    const uint8_t *valid = from->a->n_buffers > 0 ? from->a->buffers[0] : NULL;
    enum rc rc = RC_OK;
    to->valid = NULL;
    to->n_null = 0;
    if (from->a->null_count == 0 || from->n == 0)
        valid = NULL;
    if (valid && !from->outer && !(from->at & 7))
        to->valid = valid + from->at / 8;
    else if (valid)
        rc = own_valid(valid, from->at, from->n, false, to, err);
    if (from->outer && !rc)
        rc = own_valid(from->outer, from->outer_at, from->n, valid != NULL, to, err);
    if (to->valid && !rc)
        to->n_null = count_null(to->valid, from->n);
    return rc;
}

/* A fixed-width value of a null is 0 in a column and anything in an array. */
static enum rc zero_nulls(const struct source *from, struct column *to, struct err *err)
{
    size_t width = type_width(to->type->id);
    if (to->n_null == 0)
        return RC_OK;
    if (to->values != to->own_values.p) {
        enum rc rc = column_mem_reserve(&to->own_values, (size_t)from->n * width, 0, err);
        if (rc)
            return rc;
        memcpy(to->own_values.p, to->values, (size_t)from->n * width);
        to->values = to->own_values.p;
    }
    for (int64_t i = 0; i < from->n; i++)
        if (column_is_null(to, i))
            memset((char *)to->own_values.p + (size_t)i * width, 0, width);
    return RC_OK;
}

static bool is_nan(const struct column *c, int64_t i)
{
    return c->type->id == TYPE_F32 ? isnan(((const float *)c->values)[i])
                                   : isnan(((const double *)c->values)[i]);
}

/* NaN is how tables without nulls of their own write that there is no value. */
static enum rc miss_nans(const struct source *from, struct column *to, struct err *err)
{
    int64_t i = 0;
    if (to->type->id != TYPE_F32 && to->type->id != TYPE_F64)
        return RC_OK;
    while (i < from->n && !is_nan(to, i))
        i++;
    if (i == from->n)
        return RC_OK;
    if (!to->valid || to->valid != to->own_valid.p) {
        const uint8_t *valid = to->valid;
        size_t bytes = (size_t)(from->n + 7) / 8;
        enum rc rc = column_mem_reserve(&to->own_valid, bytes, 0, err);
        if (rc)
            return rc;
        if (valid)
            memcpy(to->own_valid.p, valid, bytes);
        else
            memset(to->own_valid.p, 0xff, bytes);
        to->valid = to->own_valid.p;
    }
    uint8_t *out = to->own_valid.p;
    for (; i < from->n; i++)
        if (is_nan(to, i))
            out[i >> 3] &= (uint8_t) ~(1u << (i & 7));
    to->n_null = count_null(to->valid, from->n);
    return zero_nulls(from, to, err);
}

static enum rc take_numbers(const struct source *from, struct column *to, struct err *err)
{
    size_t width = type_width(to->type->id);
    const char *values = from->a->buffers[1];
    if (!values && from->n > 0)
        return malformed(from, "its values are missing", err);
    to->values = values ? values + (size_t)from->at * width : NULL;
    return zero_nulls(from, to, err);
}

#define TAKE_WIDER(name, FROM, TO, convert)                                            \
    static enum rc take_##name(const struct source *from, struct column *to,           \
                               struct err *err)                                        \
    {                                                                                  \
        const FROM *values = from->a->buffers[1];                                      \
        if (!values && from->n > 0)                                                    \
            return malformed(from, "its values are missing", err);                     \
        enum rc rc =                                                                   \
            column_mem_reserve(&to->own_values, (size_t)from->n * sizeof(TO), 0, err); \
        if (rc)                                                                        \
            return rc;                                                                 \
        TO *out = to->own_values.p;                                                    \
        for (int64_t i = 0; i < from->n; i++)                                          \
            out[i] = (TO)convert(values[from->at + i]);                                \
        to->values = out;                                                              \
        return zero_nulls(from, to, err);                                              \
    }
TAKE_WIDER(i8, int8_t, int32_t, )
TAKE_WIDER(u8, uint8_t, uint32_t, )
TAKE_WIDER(i16, int16_t, int32_t, )
TAKE_WIDER(u16, uint16_t, uint32_t, )
TAKE_WIDER(f16, uint16_t, float, f16_to_f32)
#undef TAKE_WIDER

static enum rc take_bools(const struct source *from, struct column *to, struct err *err)
{
    const uint8_t *bits = from->a->buffers[1];
    if (!bits && from->n > 0)
        return malformed(from, "its values are missing", err);
    enum rc rc = column_mem_reserve(&to->own_values, (size_t)from->n, 0, err);
    if (rc)
        return rc;
    uint8_t *out = to->own_values.p;
    for (int64_t i = 0; i < from->n; i++)
        out[i] = bits[(from->at + i) >> 3] >> ((from->at + i) & 7) & 1;
    to->values = out;
    return zero_nulls(from, to, err);
}

/* Of d:PRECISION,SCALE[,BITS]: 4 to 32; 0: not of this form. */
static size_t decimal_bytes(const char *format)
{
    const char *scale = strchr(format, ',');
    const char *bits = scale ? strchr(scale + 1, ',') : NULL;
    long n = bits ? strtol(bits + 1, NULL, 10) : 128;
    return scale && (n == 32 || n == 64 || n == 128 || n == 256) ? (size_t)n / 8 : 0;
}

/* A number of up to 256 bits, the lowest byte first, as the readers of files make a double
 * of it.
 */
static double whole_decimal(const uint8_t *p, size_t bytes)
{
    uint64_t word[4];
    bool negative = p[bytes - 1] >> 7;
    double v = 0;
    memset(word, negative ? 0xff : 0, sizeof(word));
    memcpy(word, p, bytes);
    for (int i = 0, carry = 1; negative && i < 4; i++) {
        word[i] = ~word[i] + (uint64_t)carry;
        carry = carry && word[i] == 0;
    }
    for (int i = 3; i >= 0; i--)
        v = v * 0x1p64 + (double)word[i];
    return negative ? -v : v;
}

static enum rc take_decimals(const struct source *from, struct column *to,
                             struct err *err)
{
    const uint8_t *values = from->a->buffers[1];
    const char *scale = strchr(from->s->format, ',');
    size_t bytes = decimal_bytes(from->s->format);
    if (!values && from->n > 0)
        return malformed(from, "its values are missing", err);
    enum rc rc =
        column_mem_reserve(&to->own_values, (size_t)from->n * sizeof(double), 0, err);
    if (rc)
        return rc;
    double *out = to->own_values.p;
    double power = pow(10, scale ? (double)strtol(scale + 1, NULL, 10) : 0);
    for (int64_t i = 0; i < from->n; i++)
        out[i] = whole_decimal(values + bytes * (size_t)(from->at + i), bytes) / power;
    to->values = out;
    return zero_nulls(from, to, err);
}

/* Seconds since 1970 as milliseconds, which is how files have them. */
static enum rc take_seconds(const struct source *from, struct column *to, struct err *err)
{
    const int64_t *values = from->a->buffers[1];
    if (!values && from->n > 0)
        return malformed(from, "its values are missing", err);
    enum rc rc =
        column_mem_reserve(&to->own_values, (size_t)from->n * sizeof(int64_t), 0, err);
    if (rc)
        return rc;
    int64_t *out = to->own_values.p;
    for (int64_t i = 0; i < from->n; i++)
        if (__builtin_mul_overflow(values[from->at + i], (int64_t)1000, &out[i]))
            out[i] = values[from->at + i] < 0 ? INT64_MIN : INT64_MAX;
    to->values = out;
    return zero_nulls(from, to, err);
}

/* Nothing but nulls, of whatever type the column is. */
static enum rc take_nulls(const struct source *from, struct column *to, struct err *err)
{
    enum rc rc = RC_OK;
    to->n = 0;
    for (int64_t i = 0; i < from->n && !rc; i++)
        rc = column_add_null(to, err);
    return rc;
}

/* Offsets from 0 of rows whose offsets have 4 or 8 bytes; where they began is *first. */
static enum rc take_offsets(const struct source *from, size_t width, struct column *to,
                            int64_t *first, struct err *err)
{
    const void *offsets = from->a->buffers[1];
    if (!offsets && from->n > 0)
        return malformed(from, "its offsets are missing", err);
    enum rc rc = column_mem_reserve(&to->own_offsets, (size_t)(from->n + 1) * 4, 0, err);
    if (rc)
        return rc;
    int32_t *out = to->own_offsets.p;
    int64_t before = 0;
    *first = 0;
    out[0] = 0;
    for (int64_t i = 0; offsets && i <= from->n; i++) {
        int64_t here = width == 4 ? ((const int32_t *)offsets)[from->at + i]
                                  : ((const int64_t *)offsets)[from->at + i];
        if (i == 0)
            *first = before = here;
        if (here < before || here < 0)
            return malformed(from, "its offsets go back", err);
        if (here - *first > INT32_MAX)
            return too_long(from, err);
        before = here;
        out[i] = (int32_t)(here - *first);
    }
    to->offsets = out;
    return RC_OK;
}

static enum rc take_texts_of(const struct source *from, size_t width, struct column *to,
                             struct err *err)
{
    int64_t first;
    enum rc rc = take_offsets(from, width, to, &first, err);
    const char *text = from->a->buffers[2];
    if (!rc && !text && to->offsets[from->n] > 0)
        rc = malformed(from, "its bytes are missing", err);
    to->text = text ? text + first : "";
    return rc;
}

static enum rc take_texts(const struct source *from, struct column *to, struct err *err)
{
    return take_texts_of(from, 4, to, err);
}

static enum rc take_large_texts(const struct source *from, struct column *to,
                                struct err *err)
{
    return take_texts_of(from, 8, to, err);
}

/* A view is a length, then 12 bytes, or 4 of them, the number of a buffer and a place. The
 * last buffer has the sizes of those before it.
 */
static enum rc text_at_view(const struct source *from, int64_t row, struct str *out,
                            struct err *err)
{
    const struct ArrowArray *a = from->a;
    const int32_t *view = (const int32_t *)a->buffers[1] + row * 4;
    int64_t n = view[0], buffer = view[2], at = view[3];
    const int64_t *sizes = a->buffers[a->n_buffers - 1];
    if (n >= 0 && n <= 12) {
        *out = str_of((const char *)(view + 1), (size_t)n);
        return RC_OK;
    }
    if (n < 0 || !sizes || buffer < 0 || buffer >= a->n_buffers - 3 || at < 0 ||
        at + n > sizes[buffer])
        return malformed(from, "a view is outside of its buffers", err);
    *out = str_of((const char *)a->buffers[2 + buffer] + at, (size_t)n);
    return RC_OK;
}

static enum rc add_view(const struct source *from, int64_t row, struct column *to,
                        struct err *err)
{
    struct str text;
    enum rc rc = text_at_view(from, row, &text, err);
    return rc ? rc : column_add_str(to, text, err);
}

static enum rc take_views(const struct source *from, struct column *to, struct err *err)
{
    const uint8_t *valid = to->valid;
    enum rc rc = RC_OK;
    if (!from->a->buffers[1] && from->n > 0)
        return malformed(from, "its views are missing", err);
    to->valid = NULL;
    to->n = to->n_null = 0;
    for (int64_t i = 0; i < from->n && !rc; i++) {
        bool null = valid && !(valid[i >> 3] >> (i & 7) & 1);
        rc = null ? column_add_null(to, err) : add_view(from, from->at + i, to, err);
    }
    return rc;
}

static enum rc take_list_of(const struct source *from, size_t width, struct column *to,
                            struct err *err)
{
    int64_t first;
    enum rc rc = take_offsets(from, width, to, &first, err);
    if (rc)
        return rc;
    const struct source kid = {.s = from->s->children[0],
                               .a = from->a->children[0],
                               .at = first,
                               .n = to->offsets[from->n],
                               .depth = from->depth + 1};
    return take_rows(&kid, &to->kids[0], err);
}

static enum rc take_list(const struct source *from, struct column *to, struct err *err)
{
    return take_list_of(from, 4, to, err);
}

static enum rc take_large_list(const struct source *from, struct column *to,
                               struct err *err)
{
    return take_list_of(from, 8, to, err);
}

/* The number behind the colon of w:N and +w:N; -1: there is none. */
static int64_t fixed_length(const char *format)
{
    int64_t n;
    const char *colon = strchr(format, ':');
    return colon && str_to_i64(str_c(colon + 1), &n) && n >= 0 && n <= INT32_MAX ? n : -1;
}

/* Rows that all have `length` values or bytes, nulls as well. */
static enum rc fixed_offsets(const struct source *from, int64_t length, struct column *to,
                             struct err *err)
{
    int64_t all;
    if (__builtin_mul_overflow(from->at + from->n, length, &all))
        return malformed(from, "it has more values than there can be", err);
    enum rc rc = column_mem_reserve(&to->own_offsets, (size_t)(from->n + 1) * 4, 0, err);
    if (rc)
        return rc;
    int32_t *out = to->own_offsets.p;
    if (from->n * length > INT32_MAX)
        return too_long(from, err);
    for (int64_t i = 0; i <= from->n; i++)
        out[i] = (int32_t)(i * length);
    to->offsets = out;
    return RC_OK;
}

static enum rc take_fixed_texts(const struct source *from, struct column *to,
                                struct err *err)
{
    int64_t length = fixed_length(from->s->format);
    const char *text = from->a->buffers[1];
    enum rc rc = fixed_offsets(from, length, to, err);
    if (!rc && !text && to->offsets[from->n] > 0)
        rc = malformed(from, "its bytes are missing", err);
    to->text = text ? text + from->at * length : "";
    return rc;
}

static enum rc take_fixed_list(const struct source *from, struct column *to,
                               struct err *err)
{
    int64_t length = fixed_length(from->s->format);
    enum rc rc = fixed_offsets(from, length, to, err);
    if (rc)
        return rc;
    const struct source kid = {.s = from->s->children[0],
                               .a = from->a->children[0],
                               .at = from->at * length,
                               .n = from->n * length,
                               .depth = from->depth + 1};
    return take_rows(&kid, &to->kids[0], err);
}

/* Entries are a struct of key and value. Those of the schema were looked at. */
static enum rc take_map(const struct source *from, struct column *to, struct err *err)
{
    int64_t first;
    const struct ArrowArray *entries = from->a->children[0];
    enum rc rc = take_offsets(from, 4, to, &first, err);
    if (!rc && (!is_whole(entries) || entries->n_children != 2))
        rc = malformed(from, "a map has keys and values", err);
    for (int i = 0; i < 2 && !rc; i++) {
        const struct source kid = {.s = from->s->children[0]->children[i],
                                   .a = entries->children[i],
                                   .at = entries->offset + first,
                                   .n = to->offsets[from->n],
                                   .depth = from->depth + 1};
        rc = take_rows(&kid, &to->kids[i], err);
    }
    return rc;
}

static const struct format formats[] = {
    {"b", TYPE_BOOL, LOGICAL_NONE, 2, 0, take_bools},
    {"c", TYPE_I32, LOGICAL_NONE, 2, 0, take_i8},
    {"C", TYPE_U32, LOGICAL_NONE, 2, 0, take_u8},
    {"s", TYPE_I32, LOGICAL_NONE, 2, 0, take_i16},
    {"S", TYPE_U32, LOGICAL_NONE, 2, 0, take_u16},
    {"i", TYPE_I32, LOGICAL_NONE, 2, 0, take_numbers},
    {"I", TYPE_U32, LOGICAL_NONE, 2, 0, take_numbers},
    {"l", TYPE_I64, LOGICAL_NONE, 2, 0, take_numbers},
    {"L", TYPE_U64, LOGICAL_NONE, 2, 0, take_numbers},
    {"e", TYPE_F32, LOGICAL_NONE, 2, 0, take_f16},
    {"f", TYPE_F32, LOGICAL_NONE, 2, 0, take_numbers},
    {"g", TYPE_F64, LOGICAL_NONE, 2, 0, take_numbers},
    {"d:", TYPE_F64, LOGICAL_NONE, 2, 0, take_decimals},
    {"n", TYPE_STR, LOGICAL_NONE, 0, 0, take_nulls},
    {"tDs", TYPE_I64, LOGICAL_NONE, 2, 0, take_numbers}, /* durations: their numbers */
    {"tDm", TYPE_I64, LOGICAL_NONE, 2, 0, take_numbers},
    {"tDu", TYPE_I64, LOGICAL_NONE, 2, 0, take_numbers},
    {"tDn", TYPE_I64, LOGICAL_NONE, 2, 0, take_numbers},
    {"tdD", TYPE_I32, LOGICAL_DATE, 2, 0, take_numbers},
    {"tdm", TYPE_I64, LOGICAL_TIMESTAMP_MS, 2, 0, take_numbers},
    {"tss:", TYPE_I64, LOGICAL_TIMESTAMP_MS, 2, 0, take_seconds},
    {"tsm:", TYPE_I64, LOGICAL_TIMESTAMP_MS, 2, 0, take_numbers},
    {"tsu:", TYPE_I64, LOGICAL_TIMESTAMP_US, 2, 0, take_numbers},
    {"tsn:", TYPE_I64, LOGICAL_TIMESTAMP_NS, 2, 0, take_numbers},
    {"u", TYPE_STR, LOGICAL_NONE, 3, 0, take_texts},
    {"z", TYPE_STR, LOGICAL_BINARY, 3, 0, take_texts},
    {"U", TYPE_STR, LOGICAL_NONE, 3, 0, take_large_texts},
    {"Z", TYPE_STR, LOGICAL_BINARY, 3, 0, take_large_texts},
    {"vu", TYPE_STR, LOGICAL_NONE, 3, 0, take_views},
    {"vz", TYPE_STR, LOGICAL_BINARY, 3, 0, take_views},
    {"w:", TYPE_STR, LOGICAL_BINARY, 2, 0, take_fixed_texts},
    {"+w:", TYPE_LIST, LOGICAL_NONE, 1, 1, take_fixed_list},
    {"+l", TYPE_LIST, LOGICAL_NONE, 2, 1, take_list},
    {"+L", TYPE_LIST, LOGICAL_NONE, 2, 1, take_large_list},
    {"+m", TYPE_MAP, LOGICAL_NONE, 2, 1, take_map},
};

/* Is what stands behind the colon of a format something that can be taken? */
static bool format_fits(const struct format *f, const char *text)
{
    if (f->take == take_decimals)
        return decimal_bytes(text) > 0;
    if (f->take == take_fixed_texts || f->take == take_fixed_list)
        return fixed_length(text) >= 0;
    return true;
}

static const struct format *format_of(const char *text)
{
    for (size_t i = 0; text && i < ARRAY_LEN(formats); i++) {
        const char *f = formats[i].text;
        if (str_ends(f, ":") ? str_starts(text, f) : strcmp(text, f) == 0)
            return format_fits(&formats[i], text) ? &formats[i] : NULL;
    }
    return NULL;
}

/* The number of the value of row i. */
static enum rc code_at(const struct source *from, const struct column *codes, int64_t i,
                       int64_t *out, struct err *err)
{
    bool wide = codes->type->id == TYPE_I64 || codes->type->id == TYPE_U64;
    *out = wide ? column_i64(codes, i) : column_i32(codes, i);
    if (*out < 0 || *out >= from->a->dictionary->length)
        return malformed(from, "a code is outside of its dictionary", err);
    return RC_OK;
}

/* Values [first, first + n) of the dictionary. */
static enum rc take_values(const struct source *from, int64_t first, int64_t n,
                           struct column *to, struct err *err)
{
    const struct source dict = {.s = from->s->dictionary,
                                .a = from->a->dictionary,
                                .at = first,
                                .n = n,
                                .depth = from->depth + 1};
    return take_rows(&dict, to, err);
}

static enum rc add_value(const struct column *values, int64_t at, struct column *to,
                         struct err *err)
{
    if (values->type->id == TYPE_STR && !column_is_null(values, at))
        return column_add_str(to, column_str(values, at), err);
    return column_append(to, values, at, 1, err);
}

/* One value of a dictionary that is much longer than the rows. */
static enum rc add_far_value(const struct source *from, int64_t code, struct column *to,
                             struct err *err)
{
    struct column one;
    column_init(&one, to->type);
    enum rc rc = take_values(from, code, 1, &one, err);
    if (!rc)
        rc = add_value(&one, 0, to, err);
    column_release(&one);
    return rc;
}

static enum rc add_encoded(const struct source *from, const struct column *codes,
                           const struct column *values, int64_t i, struct column *to,
                           struct err *err)
{
    int64_t code;
    if (column_is_null(codes, i))
        return column_add_null(to, err);
    enum rc rc = code_at(from, codes, i, &code, err);
    if (rc)
        return rc;
    return values ? add_value(values, code, to, err) : add_far_value(from, code, to, err);
}

/* Rows of a dictionary: its values once, then one of them per row. */
static enum rc take_encoded(const struct source *from, struct column *to, struct err *err)
{
    const struct format *f = format_of(from->s->format);
    const struct type codes_type = type_of(f->id, true);
    int64_t n_values = from->a->dictionary->length;
    bool far = n_values > FAR * from->n;
    struct column codes, values;
    column_init(&codes, &codes_type);
    column_init(&values, to->type);
    enum rc rc = far ? RC_OK : take_values(from, 0, n_values, &values, err);
    if (!rc)
        rc = take_valid(from, &codes, err);
    codes.n = from->n;
    if (!rc)
        rc = f->take(from, &codes, err);
    for (int64_t i = 0; i < from->n && !rc; i++)
        rc = add_encoded(from, &codes, far ? NULL : &values, i, to, err);
    column_release(&codes);
    column_release(&values);
    return rc;
}

static enum rc take_rows(const struct source *from, struct column *to, struct err *err)
{
    const struct format *f = format_of(from->s->format);
    struct source rows = *from;
    if (from->depth > DEPTH)
        return malformed(from, "it is nested too deeply", err);
    if (from->a && !from->a->release)
        return malformed(from, "the array was released: its memory is gone", err);
    if (!f || !is_whole(from->a) || from->a->n_buffers < f->buffers ||
        from->a->n_children < f->kids || from->at < 0 || from->n > from->a->length ||
        from->at > from->a->length - from->n)
        return malformed(from, "the array is not what its schema says", err);
    if (!from->s->dictionary != !from->a->dictionary)
        return malformed(from,
                         from->s->dictionary ? "its dictionary is missing"
                                             : "it has a dictionary, its schema none",
                         err);
    rows.at += from->a->offset;
    if (from->s->dictionary)
        return take_encoded(&rows, to, err);
    enum rc rc = take_valid(&rows, to, err);
    to->n = from->n;
    if (!rc)
        rc = f->take(&rows, to, err);
    return rc ? rc : miss_nans(&rows, to, err);
}

enum rc lib_import_rows(const struct ArrowSchema *s, const struct ArrowArray *a,
                        int64_t at, int64_t n, const uint8_t *outer, struct column *to,
                        struct err *err)
{
    const struct source from = {
        .s = s, .a = a, .at = at, .n = n, .outer = outer, .outer_at = at};
    return take_rows(&from, to, err);
}

enum rc lib_import_struct(const struct ArrowSchema *s, const struct ArrowArray *a,
                          const uint8_t **valid, struct err *err)
{
    if ((s && !s->release) || (a && !a->release))
        return err_coded(err, RC_FORMAT, E2032,
                         "the rows were released: Arrow's structures are read once");
    if (!s || !s->format || strcmp(s->format, "+s") != 0 || !is_whole(a) ||
        s->n_children != a->n_children || (s->n_children > 0 && !s->children))
        return err_coded(err, RC_FORMAT, E2032,
                         "rows are a struct array: one child per column");
    for (int64_t i = 0; i < s->n_children; i++)
        if (!s->children[i] || !a->children[i])
            return err_coded(err, RC_FORMAT, E2032, "column %jd of %jd is missing",
                             (intmax_t)i + 1, (intmax_t)s->n_children);
    *valid = a->n_buffers > 0 && a->null_count != 0 ? a->buffers[0] : NULL;
    return RC_OK;
}

/* The type of the elements of a list; else NULL. */
static const struct type *kid_of(const struct type *like)
{
    return like && like->id == TYPE_LIST ? &like->kids[0].type : NULL;
}

static enum rc type_at(const struct ArrowSchema *s, const struct type *like, int depth,
                       struct arena *mem, struct type *out, struct err *err);

static enum rc map_type_at(const struct ArrowSchema *s, int depth, struct arena *mem,
                           struct type *out, struct err *err)
{
    const struct ArrowSchema *entries = s->children[0];
    struct type key, value;
    if (!entries || entries->n_children != 2 || !entries->children)
        return err_coded(err, RC_FORMAT, E2032,
                         "column '%.100s': a map has keys and values", name_of(s));
    enum rc rc = type_at(entries->children[0], NULL, depth + 1, mem, &key, err);
    if (!rc)
        rc = type_at(entries->children[1], NULL, depth + 1, mem, &value, err);
    if (!rc)
        *out = type_map(mem, key, value, true);
    return rc;
}

/* What its format says; nulls alone are of the type `like`, where that is known. */
static struct type plain_type(const struct ArrowSchema *s, const struct format *f,
                              const struct type *like, struct arena *mem)
{
    if (f->take == take_nulls && like)
        return type_copy(mem, like);
    struct type type = type_of(f->id, true);
    type.logical = f->logical;
    type.utc = str_starts(s->format, "ts") && s->format[4];
    return type;
}

static enum rc type_at(const struct ArrowSchema *s, const struct type *like, int depth,
                       struct arena *mem, struct type *out, struct err *err)
{
    const struct format *f = s ? format_of(s->format) : NULL;
    const struct format *d = f && s->dictionary ? format_of(s->dictionary->format) : NULL;
    if (!s || !s->release || (s->dictionary && !s->dictionary->release))
        return err_coded(err, RC_FORMAT, E2032,
                         "column '%.100s': the schema was released, or a part is missing",
                         name_of(s));
    if (s->dictionary &&
        (!d || d->kids || !f || f->kids || f->id > TYPE_U64 || f->id == TYPE_BOOL))
        f = NULL; /* texts and numbers, by whole numbers */
    if (!f || s->n_children < f->kids || (f->kids && !s->children) || depth > DEPTH)
        return err_coded(err, RC_UNSUPPORTED, E2031,
                         "column '%.100s' has Arrow's type '%.60s', which is not read",
                         name_of(s), s->format ? s->format : "");
    if (f->id == TYPE_MAP)
        return map_type_at(s, depth, mem, out, err);
    if (f->id != TYPE_LIST) {
        *out = plain_type(s, d ? d : f, like, mem);
        return RC_OK;
    }
    struct type kid;
    enum rc rc = type_at(s->children[0], kid_of(like), depth + 1, mem, &kid, err);
    if (!rc)
        *out = type_list(mem, kid, true);
    return rc;
}

enum rc lib_import_type(const struct ArrowSchema *s, const struct type *like,
                        struct arena *mem, struct type *out, struct err *err)
{
    return type_at(s, like, 0, mem, out, err);
}
