/* SPDX-License-Identifier: Apache-2.0 */
/* embed/filter.h - which ids a round of admission looks at, by how often they occurred.
 */
#ifndef EMBED_FILTER_H
#define EMBED_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum embed_filter_kind {
    FILTER_NONE,
    FILTER_ABOVE,  /* count > at */
    FILTER_MEAN,   /* count > at * mean of all counts */
    FILTER_CHANCE, /* with probability 1 - (1 - at)^count */
};

struct embed_filter {
    enum embed_filter_kind kind;
    double at;
};

/* From threshold_filtering_func: "lambda x: (x > 10, 10)",
 * "lambda x: dynamic_threshold_filter(x, 5)", "average_threshold_filter",
 * "partial(probabilistic_threshold_filter, per_id_probability=0.01)" and the like. NULL
 * or "": none. RC_UNSUPPORTED (E2302).
 */
enum rc embed_filter_parse(const char *text, struct embed_filter *out,
                           struct err *err) MUST_CHECK;

/* `mean` of all counts; `chance` in [0, 1). */
bool embed_filter_keeps(const struct embed_filter *f, int64_t count, double mean,
                        double chance);

#endif
