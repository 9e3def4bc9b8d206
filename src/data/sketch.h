/* SPDX-License-Identifier: Apache-2.0 */
/* data/sketch.h - how many different values there are and which are frequent, in bounded
 * memory and one pass.
 */
#ifndef DATA_SKETCH_H
#define DATA_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* HyperLogLog with 2^14 registers: the standard error is 1.04 / sqrt(2^14) = 0.81 %. */
#define HLL_BITS 14
#define HLL_SIZE ((size_t)1 << HLL_BITS)
#define HLL_ERROR 0.0081

struct hll {
    uint8_t at[HLL_SIZE];
};

static inline void hll_add(struct hll *h, uint64_t hash)
{
    size_t i = (size_t)(hash >> (64 - HLL_BITS));
    uint64_t rest = hash << HLL_BITS | (uint64_t)1 << (HLL_BITS - 1);
    uint8_t rank = (uint8_t)(CLZ64(rest) + 1);
    if (rank > h->at[i])
        h->at[i] = rank;
}
void hll_merge(struct hll *to, const struct hll *from);
double hll_count(const struct hll *h);

/* Frequent values. While there are at most TOP_MAX different ones, every count is exact;
 * beyond that rare ones are dropped, and a count may be short by at most `lost`.
 */
#define TOP_MAX 1024
#define TOP_TEXT 40 /* bytes of a string that are kept */

struct top_item {
    uint64_t hash;
    int64_t count;
    uint64_t bits; /* a number's value as the caller encodes it */
    uint32_t n;    /* full length of a string */
    char text[TOP_TEXT];
};

struct top {
    struct top_item *slots; /* owned; [2 * TOP_MAX], free when count is 0 */
    size_t n;
    int64_t lost; /* 0: all counts are exact */
};

void top_init(struct top *t);
void top_release(struct top *t);
/* `count` more of a value. Numbers: s.n is 0. */
void top_add(struct top *t, uint64_t hash, int64_t count, uint64_t bits, struct str s);
/* The `n` most frequent, most frequent first, equal ones by hash; returns how many. */
size_t top_list(const struct top *t, struct top_item *out, size_t n);

#endif
