/* SPDX-License-Identifier: Apache-2.0 */
/* feature/combiner.h - several numbers become one. */
#ifndef FEATURE_COMBINER_H
#define FEATURE_COMBINER_H

#include <stdbool.h>
#include <stdint.h>

enum combiner {
    COMBINE_NONE, /* keep all */
    COMBINE_SUM,
    COMBINE_MEAN,
    COMBINE_MIN,
    COMBINE_MAX,
    COMBINE_COUNT,
    COMBINE_GAP_MIN, /* smallest distance of two neighbours; 0 for one number */
    COMBINE_GAP_MAX,
};

/* False for a word that is none. */
bool combiner_find(const char *word, enum combiner *out);

/* Numbers so far; a zeroed one has none. */
struct combined {
    int64_t n;
    double sum, min, max, gap_min, gap_max, last;
};
void combined_add(struct combined *c, double v);
double combined_value(const struct combined *c, enum combiner how); /* n > 0 */

#endif
