/* SPDX-License-Identifier: Apache-2.0 */
/* nn/metric/sort.h - sorting of many rows by score, and counting of pairs in order. */
#ifndef NN_METRIC_SORT_H
#define NN_METRIC_SORT_H

#include <stdint.h>
#include <string.h>

/* Unsigned numbers in the order of floats; -0 and 0 are the same. Not for NaN. */
static inline uint32_t metric_sort_key(float v)
{
    uint32_t bits;
    v += 0.0f;
    memcpy(&bits, &v, sizeof(bits));
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/* Ascending; `spare` has room for n and is overwritten. */
void metric_sort_u32(uint32_t *at, uint32_t *spare, int64_t n);

struct metric_sort_row {
    uint64_t first, second;
};
/* By `first`, then by `second`. */
void metric_sort_rows(struct metric_sort_row *at, struct metric_sort_row *spare,
                      int64_t n);

/* Pairs i < j with at[i] < at[j]. Both arrays are overwritten. */
int64_t metric_sort_count_pairs(uint32_t *at, uint32_t *spare, int64_t n);

#endif
