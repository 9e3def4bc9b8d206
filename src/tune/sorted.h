/* SPDX-License-Identifier: Apache-2.0 */
/* tune/sorted.h - the trials of a history, by the value of one parameter.
 *
 * Kept in order as trials come, so that the neighbours of ten thousand values are found
 * without sorting them for every suggestion.
 */
#ifndef TUNE_SORTED_H
#define TUNE_SORTED_H

#include "base/vec.h"

struct tune_sorted_item {
    double v;
    int64_t trial;
};

struct tune_sorted {
    VEC(struct tune_sorted_item) items; /* by v; equal ones as they came */
};

void tune_sorted_add(struct tune_sorted *s, double v, int64_t trial);
void tune_sorted_release(struct tune_sorted *s);

#endif
