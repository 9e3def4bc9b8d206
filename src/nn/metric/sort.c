/* SPDX-License-Identifier: Apache-2.0 */
/* Radix sorts, lowest byte first: stable, and without a worst case. Bytes in which all
 * rows agree are skipped, so small ids cost little.
 */
#include "nn/metric/sort.h"

#include <stdbool.h>

#define BYTES 256

/* Counts become places; false when all rows share the byte. */
static bool places(int64_t *count, int64_t n)
{
    int64_t at = 0;
    for (int i = 0; i < BYTES; i++) {
        int64_t c = count[i];
        if (c == n)
            return false;
        count[i] = at;
        at += c;
    }
    return true;
}

void metric_sort_u32(uint32_t *at, uint32_t *spare, int64_t n)
{
    uint32_t *from = at, *to = spare;
    for (int shift = 0; shift < 32; shift += 8) {
        int64_t count[BYTES] = {0};
        for (int64_t i = 0; i < n; i++)
            count[(from[i] >> shift) & 0xff]++;
        if (n == 0 || !places(count, n))
            continue;
        for (int64_t i = 0; i < n; i++)
            to[count[(from[i] >> shift) & 0xff]++] = from[i];
        uint32_t *t = from;
        from = to;
        to = t;
    }
    if (from != at)
        memcpy(at, from, (size_t)n * sizeof(*at));
}

static unsigned row_byte(const struct metric_sort_row *r, int byte)
{
    uint64_t word = byte < 8 ? r->second : r->first;
    return (unsigned)(word >> (8 * (byte & 7))) & 0xff;
}

void metric_sort_rows(struct metric_sort_row *at, struct metric_sort_row *spare,
                      int64_t n)
{
    struct metric_sort_row *from = at, *to = spare;
    for (int byte = 0; byte < 16; byte++) {
        int64_t count[BYTES] = {0};
        for (int64_t i = 0; i < n; i++)
            count[row_byte(&from[i], byte)]++;
        if (n == 0 || !places(count, n))
            continue;
        for (int64_t i = 0; i < n; i++)
            to[count[row_byte(&from[i], byte)]++] = from[i];
        struct metric_sort_row *t = from;
        from = to;
        to = t;
    }
    if (from != at)
        memcpy(at, from, (size_t)n * sizeof(*at));
}

/* Merges two sorted runs. When an element of the right one is taken, the elements of the
 * left one that are already out are those below it: equal ones wait.
 */
static int64_t merge(const uint32_t *left, int64_t n_left, const uint32_t *right,
                     int64_t n_right, uint32_t *out)
{
    int64_t i = 0, j = 0, pairs = 0;
    while (j < n_right) {
        if (i < n_left && left[i] < right[j]) {
            *out++ = left[i++];
        } else {
            *out++ = right[j++];
            pairs += i;
        }
    }
    while (i < n_left)
        *out++ = left[i++];
    return pairs;
}

int64_t metric_sort_count_pairs(uint32_t *at, uint32_t *spare, int64_t n)
{
    int64_t pairs = 0;
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t i = 0; i < n; i += 2 * run) {
            int64_t middle = i + run < n ? i + run : n;
            int64_t end = middle + run < n ? middle + run : n;
            pairs += merge(at + i, middle - i, at + middle, end - middle, spare + i);
        }
        uint32_t *t = at;
        at = spare;
        spare = t;
    }
    return pairs;
}
