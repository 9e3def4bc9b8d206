/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/sorted.h"

#include <stdint.h>
#include <string.h>

void tune_sorted_add(struct tune_sorted *s, double v, int64_t trial)
{
    size_t lo = 0, hi = s->items.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (s->items.at[mid].v <= v)
            lo = mid + 1;
        else
            hi = mid;
    }
    struct tune_sorted_item item = {.v = v, .trial = trial};
    VEC_PUSH(&s->items, item);
    memmove(s->items.at + lo + 1, s->items.at + lo,
            (s->items.n - 1 - lo) * sizeof(*s->items.at));
    s->items.at[lo] = item;
}

void tune_sorted_release(struct tune_sorted *s)
{
    VEC_RELEASE(&s->items);
}
