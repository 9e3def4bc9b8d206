/* SPDX-License-Identifier: Apache-2.0 */
/* Short strings are copied 16 bytes at a time, whatever their length: all buffers have
 * room for that, and a fixed-size copy costs less than asking.
 */
#include "data/parquet/values.h"

#include "base/mem.h"

#define BLOCK 256
#define SHORT 64

static enum rc too_short(const struct pq_values *v, size_t n, struct err *err)
{
    return err_coded(err, RC_FORMAT, E1006,
                     "%s data of %s ends or is malformed within the next %zu values",
                     pq_encoding_name((int32_t)v->encoding),
                     pq_physical_name((int32_t)v->physical), n);
}

static enum rc too_much_text(size_t limit, struct err *err)
{
    return err_coded(err, RC_INVAL, E1090,
                     "more than %zu bytes of text in one batch: use a smaller one",
                     limit);
}

static bool is_dictionary(int32_t encoding)
{
    return encoding == PQ_PLAIN_DICTIONARY || encoding == PQ_RLE_DICTIONARY;
}

static bool is_allowed(int32_t encoding, enum pq_physical t)
{
    bool text = t == PQ_BYTE_ARRAY || t == PQ_FIXED;
    switch (encoding) {
    case PQ_PLAIN:
        return true;
    case PQ_PLAIN_DICTIONARY:
    case PQ_RLE_DICTIONARY:
        return true;
    case PQ_RLE:
        return t == PQ_BOOLEAN;
    case PQ_DELTA_BINARY_PACKED:
        return t == PQ_INT32 || t == PQ_INT64;
    case PQ_DELTA_LENGTH_BYTE_ARRAY:
        return t == PQ_BYTE_ARRAY;
    case PQ_DELTA_BYTE_ARRAY:
        return text;
    case PQ_BYTE_STREAM_SPLIT:
        return t == PQ_INT32 || t == PQ_INT64 || t == PQ_FLOAT || t == PQ_DOUBLE ||
               t == PQ_FIXED;
    default:
        return false;
    }
}

static size_t width_of(const struct pq_leaf *leaf)
{
    static const uint8_t widths[PQ_PHYSICAL_COUNT] = {
        [PQ_INT32] = 4, [PQ_INT64] = 8, [PQ_INT96] = 12, [PQ_FLOAT] = 4, [PQ_DOUBLE] = 8};
    return leaf->physical == PQ_FIXED ? (size_t)leaf->type_length
                                      : widths[leaf->physical];
}

void pq_values_release(struct pq_values *v)
{
    mem_free(v->last.p);
    *v = (struct pq_values){0};
}

static enum rc begin_deltas(struct pq_values *v, struct err *err)
{
    size_t n = (size_t)(v->end - v->p);
    const uint8_t *next;
    if (!delta_init(&v->delta, v->kernels, v->p, n))
        return too_short(v, 1, err);
    if (v->encoding == PQ_DELTA_BINARY_PACKED)
        return RC_OK;
    next = delta_end(&v->delta);
    if (next && v->encoding == PQ_DELTA_BYTE_ARRAY) {
        if (!delta_init(&v->suffix, v->kernels, next, (size_t)(v->end - next)))
            return too_short(v, 1, err);
        next = delta_end(&v->suffix);
    }
    if (!next)
        return too_short(v, 1, err);
    v->p = next; /* the bytes of the strings */
    v->n_last = 0;
    return RC_OK;
}

static enum rc begin_codes(struct pq_values *v, struct err *err)
{
    unsigned width = v->p < v->end ? *v->p : 1; /* no bytes: no codes */
    if (width > 32)
        return err_coded(err, RC_FORMAT, E1006, "dictionary codes of %u bits", width);
    if (v->p < v->end)
        v->p++;
    rle_init(&v->rle, v->kernels, v->p, (size_t)(v->end - v->p), width);
    return RC_OK;
}

static enum rc begin_rle_bools(struct pq_values *v, struct err *err)
{
    size_t n = (size_t)(v->end - v->p);
    if (n < 4 || pq_load32(v->p) > n - 4)
        return too_short(v, 1, err);
    rle_init(&v->rle, v->kernels, v->p + 4, pq_load32(v->p), 1);
    return RC_OK;
}

enum rc pq_values_begin(struct pq_values *v, const struct pq_kernels *kernels,
                        const struct pq_leaf *leaf, int32_t encoding, uint32_t n_dict,
                        const uint8_t *p, size_t n, struct err *err)
{
    if (!is_allowed(encoding, leaf->physical))
        return err_coded(err, RC_UNSUPPORTED, E1009, "%s (%d) is not an encoding of %s",
                         pq_encoding_name(encoding), (int)encoding,
                         pq_physical_name((int32_t)leaf->physical));
    v->kernels = kernels;
    v->encoding =
        is_dictionary(encoding) ? PQ_RLE_DICTIONARY : (enum pq_encoding)encoding;
    v->physical = leaf->physical;
    v->width = width_of(leaf);
    v->p = p;
    v->end = p + n;
    v->at = v->n = 0;
    v->n_dict = n_dict;
    v->delta = v->suffix = (struct delta){0}; /* nothing of the page before */
    v->n_last = 0;
    switch (v->encoding) {
    case PQ_RLE_DICTIONARY:
        return begin_codes(v, err);
    case PQ_RLE:
        return begin_rle_bools(v, err);
    case PQ_DELTA_BINARY_PACKED:
    case PQ_DELTA_LENGTH_BYTE_ARRAY:
    case PQ_DELTA_BYTE_ARRAY:
        return n ? begin_deltas(v, err) : RC_OK;
    case PQ_BYTE_STREAM_SPLIT:
        v->n = n / v->width;
        return n % v->width ? too_short(v, v->n + 1, err) : RC_OK;
    default:
        v->n = v->physical == PQ_BOOLEAN ? n * 8 : 0;
        return RC_OK;
    }
}

bool pq_values_are_text(const struct pq_values *v)
{
    return v->encoding == PQ_DELTA_BYTE_ARRAY || v->physical == PQ_BYTE_ARRAY;
}

bool pq_values_are_codes(const struct pq_values *v)
{
    return v->encoding == PQ_RLE_DICTIONARY;
}

static enum rc plain_bools(struct pq_values *v, size_t n, uint8_t *out, struct err *err)
{
    if (n > v->n - v->at)
        return too_short(v, n, err);
    for (size_t i = 0; i < n; i++) {
        size_t bit = v->at + i;
        out[i] = v->p[bit >> 3] >> (bit & 7) & 1;
    }
    v->at += n;
    return RC_OK;
}

static enum rc delta_fixed(struct pq_values *v, size_t n, uint8_t *out, struct err *err)
{
    int64_t block[BLOCK];
    while (n) {
        size_t k = n < BLOCK ? n : BLOCK;
        if (delta_i64(&v->delta, block, k) != k)
            return too_short(v, n, err);
        if (v->width == 8) {
            memcpy(out, block, k * 8);
        } else {
            for (size_t i = 0; i < k; i++)
                ((uint32_t *)(void *)out)[i] = (uint32_t)block[i];
        }
        out += k * v->width;
        n -= k;
    }
    return RC_OK;
}

static enum rc split_fixed(struct pq_values *v, size_t n, uint8_t *out, struct err *err)
{
    if (n > v->n - v->at)
        return too_short(v, n, err);
    const uint8_t *in = v->p + v->at;
    if (v->width == 4) {
        for (size_t i = 0; i < n; i++) {
            uint32_t x = (uint32_t)in[i] | (uint32_t)in[v->n + i] << 8 |
                         (uint32_t)in[2 * v->n + i] << 16 |
                         (uint32_t)in[3 * v->n + i] << 24;
            memcpy(out + 4 * i, &x, 4);
        }
    } else {
        for (size_t b = 0; b < v->width; b++)
            for (size_t i = 0; i < n; i++)
                out[i * v->width + b] = in[b * v->n + i];
    }
    v->at += n;
    return RC_OK;
}

enum rc pq_values_fixed(struct pq_values *v, size_t n, void *out, struct err *err)
{
    switch (v->encoding) {
    case PQ_DELTA_BINARY_PACKED:
        return delta_fixed(v, n, out, err);
    case PQ_BYTE_STREAM_SPLIT:
        return split_fixed(v, n, out, err);
    case PQ_RLE:
        return rle_u8(&v->rle, out, n) == n ? RC_OK : too_short(v, n, err);
    default:
        break;
    }
    if (v->physical == PQ_BOOLEAN)
        return plain_bools(v, n, out, err);
    if (n > (size_t)(v->end - v->p) / v->width)
        return too_short(v, n, err);
    memcpy(out, v->p, n * v->width);
    v->p += n * v->width;
    return RC_OK;
}

/* Copies n bytes; may read and write up to 32 of which the last ones mean nothing. */
static inline void copy_text(char *to, const void *from, size_t n)
{
    if (n <= 16) {
        memcpy(to, from, 16);
    } else if (n <= 32) {
        memcpy(to, from, 32);
    } else {
        memcpy(to, from, n);
    }
}

/* Bytes of the next n PLAIN strings, or SIZE_MAX when the page ends. */
static size_t plain_text_size(const struct pq_values *v, size_t n)
{
    const uint8_t *p = v->p;
    size_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        size_t left = (size_t)(v->end - p);
        if (left < 4 || pq_load32(p) > left - 4)
            return SIZE_MAX;
        sum += pq_load32(p);
        p += 4 + pq_load32(p);
    }
    return sum;
}

static size_t text_used(const struct column *to, int64_t at)
{
    return (size_t)((const int32_t *)to->own_offsets.p)[at];
}

static enum rc text_room(struct column *to, int64_t at, size_t more, size_t limit,
                         struct err *err)
{
    size_t used = text_used(to, at);
    if (more > limit - used)
        return too_much_text(limit, err);
    return column_mem_reserve(&to->own_text, used + more, used, err);
}

static enum rc plain_text(struct pq_values *v, size_t n, struct column *to, int64_t at,
                          size_t limit, struct err *err)
{
    size_t used = text_used(to, at), more = (size_t)(v->end - v->p);
    if (more > limit - used) {
        more = plain_text_size(v, n);
        if (more == SIZE_MAX)
            return too_short(v, n, err);
    }
    enum rc rc = text_room(to, at, more, limit, err);
    if (rc)
        return rc;
    char *text = to->own_text.p, *out = text + used;
    int32_t *ends = (int32_t *)to->own_offsets.p + at + 1;
    const uint8_t *p = v->p, *end = v->end;
    for (size_t i = 0; i < n; i++) {
        if (UNLIKELY(end - p < 4))
            return too_short(v, n, err);
        size_t len = pq_load32(p);
        p += 4;
        if (UNLIKELY(len > (size_t)(end - p)))
            return too_short(v, n, err);
        copy_text(out, p, len);
        p += len;
        out += len;
        ends[i] = (int32_t)(out - text);
    }
    v->p = p;
    return RC_OK;
}

/* DELTA_LENGTH_BYTE_ARRAY: the strings lie behind each other already. */
static enum rc delta_length_text(struct pq_values *v, size_t n, struct column *to,
                                 int64_t at, size_t limit, struct err *err)
{
    int64_t len[BLOCK];
    while (n) {
        size_t k = n < BLOCK ? n : BLOCK, sum = 0;
        if (delta_i64(&v->delta, len, k) != k)
            return too_short(v, n, err);
        size_t left = (size_t)(v->end - v->p);
        for (size_t i = 0; i < k; i++) {
            if (len[i] < 0 || (uint64_t)len[i] > left - sum)
                return too_short(v, n, err);
            sum += (size_t)len[i];
        }
        enum rc rc = text_room(to, at, sum, limit, err);
        if (rc)
            return rc;
        int32_t *ends = (int32_t *)to->own_offsets.p + at;
        memcpy((char *)to->own_text.p + ends[0], v->p, sum);
        for (size_t i = 0; i < k; i++)
            ends[i + 1] = ends[i] + (int32_t)len[i];
        v->p += sum;
        at += (int64_t)k;
        n -= k;
    }
    return RC_OK;
}

/* One value: the first `prefix` bytes of the one before, then `suffix` new ones. The
 * value is kept apart because the batch that it went to may be gone when the next one
 * comes.
 */
static enum rc delta_byte_one(struct pq_values *v, size_t prefix, size_t suffix,
                              struct err *err)
{
    enum rc rc = column_mem_reserve(&v->last, prefix + suffix, v->n_last, err);
    if (rc)
        return rc;
    memcpy((char *)v->last.p + prefix, v->p, suffix);
    v->p += suffix;
    v->n_last = prefix + suffix;
    return RC_OK;
}

static enum rc delta_byte_text(struct pq_values *v, size_t n, struct column *to,
                               int64_t at, size_t limit, struct err *err)
{
    int64_t prefix[BLOCK], suffix[BLOCK];
    while (n) {
        size_t k = n < BLOCK ? n : BLOCK;
        if (delta_i64(&v->delta, prefix, k) != k || delta_i64(&v->suffix, suffix, k) != k)
            return too_short(v, n, err);
        for (size_t i = 0; i < k; i++, at++) {
            if (prefix[i] < 0 || (uint64_t)prefix[i] > v->n_last || suffix[i] < 0 ||
                (uint64_t)suffix[i] > (uint64_t)(v->end - v->p))
                return too_short(v, n, err);
            enum rc rc = delta_byte_one(v, (size_t)prefix[i], (size_t)suffix[i], err);
            if (!rc && to)
                rc = text_room(to, at, v->n_last, limit, err);
            if (rc)
                return rc;
            if (!to)
                continue;
            int32_t *ends = (int32_t *)to->own_offsets.p + at;
            memcpy((char *)to->own_text.p + ends[0], v->last.p, v->n_last);
            ends[1] = ends[0] + (int32_t)v->n_last;
        }
        n -= k;
    }
    return RC_OK;
}

enum rc pq_values_text(struct pq_values *v, size_t n, struct column *to, int64_t at,
                       size_t limit, struct err *err)
{
    if (limit > INT32_MAX)
        limit = INT32_MAX;
    if (text_used(to, at) > limit)
        return too_much_text(limit, err);
    if (v->encoding == PQ_DELTA_LENGTH_BYTE_ARRAY)
        return delta_length_text(v, n, to, at, limit, err);
    if (v->encoding == PQ_DELTA_BYTE_ARRAY)
        return delta_byte_text(v, n, to, at, limit, err);
    return plain_text(v, n, to, at, limit, err);
}

enum rc pq_values_codes(struct pq_values *v, size_t n, uint32_t *out, struct err *err)
{
    if (rle_u32(&v->rle, out, n) != n)
        return too_short(v, n, err);
    uint32_t max = v->kernels->max(out, n);
    if (n && max >= v->n_dict)
        return err_coded(err, RC_FORMAT, E1006,
                         "code %u points outside of a dictionary of %u entries",
                         (unsigned)max, (unsigned)v->n_dict);
    return RC_OK;
}

static enum rc skip_plain(struct pq_values *v, size_t n, struct err *err)
{
    if (v->physical == PQ_BOOLEAN) {
        if (n > v->n - v->at)
            return too_short(v, n, err);
        v->at += n;
        return RC_OK;
    }
    if (v->physical != PQ_BYTE_ARRAY) {
        if (n > (size_t)(v->end - v->p) / v->width)
            return too_short(v, n, err);
        v->p += n * v->width;
        return RC_OK;
    }
    size_t bytes = plain_text_size(v, n);
    if (bytes == SIZE_MAX)
        return too_short(v, n, err);
    v->p += bytes + 4 * n;
    return RC_OK;
}

static enum rc skip_deltas(struct pq_values *v, size_t n, struct err *err)
{
    int64_t len[BLOCK];
    if (v->encoding == PQ_DELTA_BYTE_ARRAY)
        return delta_byte_text(v, n, NULL, 0, 0, err);
    while (n) {
        size_t k = n < BLOCK ? n : BLOCK;
        if (delta_i64(&v->delta, len, k) != k)
            return too_short(v, n, err);
        for (size_t i = 0; v->encoding != PQ_DELTA_BINARY_PACKED && i < k; i++) {
            if (len[i] < 0 || (uint64_t)len[i] > (uint64_t)(v->end - v->p))
                return too_short(v, n, err);
            v->p += len[i];
        }
        n -= k;
    }
    return RC_OK;
}

enum rc pq_values_skip(struct pq_values *v, size_t n, struct err *err)
{
    switch (v->encoding) {
    case PQ_RLE:
    case PQ_RLE_DICTIONARY:
        return rle_skip(&v->rle, n) == n ? RC_OK : too_short(v, n, err);
    case PQ_BYTE_STREAM_SPLIT:
        if (n > v->n - v->at)
            return too_short(v, n, err);
        v->at += n;
        return RC_OK;
    case PQ_PLAIN:
        return skip_plain(v, n, err);
    default:
        return skip_deltas(v, n, err);
    }
}

size_t pq_text_longest(const struct column *c)
{
    int32_t max = 0;
    for (int64_t i = 0; i < c->n; i++) {
        int32_t n = c->offsets[i + 1] - c->offsets[i];
        max = n > max ? n : max;
    }
    return (size_t)max;
}

/* Bytes of the strings of `codes`; an upper bound when they are all short, which saves
 * looking at each twice.
 */
static size_t gathered_size(const int32_t *offsets, size_t longest, const uint32_t *codes,
                            size_t n, size_t room)
{
    size_t sum = 0;
    if (longest <= SHORT && n * longest <= room)
        return n * longest;
    for (size_t i = 0; i < n; i++)
        sum += (uint32_t)(offsets[codes[i] + 1] - offsets[codes[i]]);
    return sum;
}

enum rc pq_text_gather(const struct column *dict, size_t longest, const uint32_t *codes,
                       size_t n, struct column *to, int64_t at, size_t limit,
                       struct err *err)
{
    const int32_t *offsets = dict->offsets;
    const char *from = dict->text;
    if (limit > INT32_MAX)
        limit = INT32_MAX;
    if (text_used(to, at) > limit)
        return too_much_text(limit, err);
    size_t more = gathered_size(offsets, longest, codes, n, limit - text_used(to, at));
    enum rc rc = text_room(to, at, more, limit, err);
    if (rc)
        return rc;
    char *text = to->own_text.p, *out = text + text_used(to, at);
    int32_t *ends = (int32_t *)to->own_offsets.p + at + 1;
    for (size_t i = 0; i < n; i++) {
        int32_t start = offsets[codes[i]];
        size_t len = (size_t)(offsets[codes[i] + 1] - start);
        copy_text(out, from + start, len);
        out += len;
        ends[i] = (int32_t)(out - text);
    }
    return RC_OK;
}
