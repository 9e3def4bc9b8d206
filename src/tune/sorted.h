/* SPDX-License-Identifier: Apache-2.0 */
/* tune/sorted.h - the trials of a history, by the value of one parameter.
 *
 * Kept in order as trials come, so that the neighbours of ten thousand values are found
 * without sorting them for every suggestion.
 */
#ifndef TUNE_SORTED_H
#define TUNE_SORTED_H

#include "base/vec.h"

struct sorted_item {
    double v;
    int64_t trial;
};

struct sorted {
    VEC(struct sorted_item) items; /* by v; equal ones as they came */
};

void sorted_add(struct sorted *s, double v, int64_t trial);
void sorted_release(struct sorted *s);

#endif
