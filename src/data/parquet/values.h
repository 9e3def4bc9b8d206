/* SPDX-License-Identifier: Apache-2.0 */
/* data/parquet/values.h - the values of one page, taken out a few at a time.
 *
 * Values come as they are stored (struct pq_leaf: physical); what they mean is the leaf
 * reader's business. The page's bytes have PQ_PAD readable bytes behind them and outlive
 * the struct. Every function fails with RC_FORMAT (E1006) when the page ends too early
 * or breaks its encoding; what was written then is not to be used.
 */
#ifndef DATA_PARQUET_VALUES_H
#define DATA_PARQUET_VALUES_H

#include "base/err.h"
#include "data/column.h"
#include "data/parquet/delta.h"
#include "data/parquet/rle.h"
#include "data/parquet/schema.h"

struct pq_values {
    const struct pq_kernels *kernels;
    enum pq_encoding encoding; /* PQ_RLE_DICTIONARY for both spellings */
    enum pq_physical physical;
    size_t width;           /* bytes of a value, 0 for BYTE_ARRAY and BOOLEAN */
    const uint8_t *p, *end; /* borrowed */
    size_t at, n;           /* PLAIN booleans, BYTE_STREAM_SPLIT: index, count */
    uint32_t n_dict;        /* codes are below this */
    struct rle rle;         /* codes, booleans */
    struct delta delta;     /* integers; lengths; prefix lengths */
    struct delta suffix;    /* DELTA_BYTE_ARRAY: suffix lengths */
    struct column_mem last; /* its previous value; owned */
    size_t n_last;
};

/* A zeroed struct may be begun; begin it again for each page. */
enum rc pq_values_begin(struct pq_values *v, const struct pq_kernels *kernels,
                        const struct pq_leaf *leaf, int32_t encoding, uint32_t n_dict,
                        const uint8_t *p, size_t n, struct err *err) MUST_CHECK;
void pq_values_release(struct pq_values *v);

/* Whether values come from pq_values_text() rather than from pq_values_fixed(). */
bool pq_values_are_text(const struct pq_values *v);
bool pq_values_are_codes(const struct pq_values *v);

/* n values of `width` bytes each; booleans as bytes. */
enum rc pq_values_fixed(struct pq_values *v, size_t n, void *out,
                        struct err *err) MUST_CHECK;
/* n strings behind the first `at` of `to`, whose offsets have room; it holds no more
 * than `limit` bytes of text afterwards (RC_INVAL, E1090).
 */
enum rc pq_values_text(struct pq_values *v, size_t n, struct column *to, int64_t at,
                       size_t limit, struct err *err) MUST_CHECK;
/* n codes, each below n_dict; writes up to PQ_PAD bytes behind out[n]. */
enum rc pq_values_codes(struct pq_values *v, size_t n, uint32_t *out,
                        struct err *err) MUST_CHECK;
enum rc pq_values_skip(struct pq_values *v, size_t n, struct err *err) MUST_CHECK;

/* The strings of `codes` behind the first `at` of `to`, as above. No entry of the
 * dictionary has more than `longest` bytes.
 */
enum rc pq_text_gather(const struct column *dict, size_t longest, const uint32_t *codes,
                       size_t n, struct column *to, int64_t at, size_t limit,
                       struct err *err) MUST_CHECK;
size_t pq_text_longest(const struct column *c);

#endif
