/* SPDX-License-Identifier: Apache-2.0 */
/* nn/metric/codes.h - metrics of codes (semantic ids). */
#ifndef NN_METRIC_CODES_H
#define NN_METRIC_CODES_H

#include "nn/metric/metric.h"

enum metric_codes {
    METRIC_CODES_MSE,        /* mean square of pred - label; rows are single values */
    METRIC_CODES_RELATIVE,   /* mean of |label - pred| / (max of both + 1e-4); the same */
    METRIC_CODES_UNIQUE,     /* mean over batches of distinct rows of codes / rows */
    METRIC_CODES_COLLISIONS, /* 1 - distinct rows / rows, over all; keeps 8 bytes per row */
    METRIC_CODES_USE,        /* codes of a layer that were given / its codes */
    METRIC_CODES_ENTROPY,    /* of a layer's codes / that of codes given evenly */
};

/* `layer` and its `size` matter to the last two, whose names end in "_<layer>". Of rows of codes
 * pred is [n][layers], and label any [n]. RC_NOMEM.
 */
enum rc metric_create_codes(enum metric_codes kind, int64_t layer, int64_t size,
                            const struct metric_options *options, struct metric **out,
                            struct err *err) MUST_CHECK;

#endif
