/* SPDX-License-Identifier: Apache-2.0 */
/* embed/filter.h - which ids a round of admission looks at, by how often they occurred.
 */
#ifndef EMBED_FILTER_H
#define EMBED_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "text/pipeline/admission.h"

enum embed_filter_kind {
    FILTER_NONE,
    FILTER_ABOVE,  /* count > at */
    FILTER_MEAN,   /* count > at * mean of all counts */
    FILTER_CHANCE, /* with probability 1 - (1 - at)^count */
    FILTER_FORMULA,
};

struct embed_filter {
    enum embed_filter_kind kind;
    double at;
    struct pc_admission formula; /* FILTER_FORMULA */
};

/* What a round knows before it looks at an id. */
struct embed_filter_round {
    double mean; /* of all counts */
    double sums[PC_ADMISSION_SUMS];
};

/* From threshold_filtering_func: "lambda x: (x > 10, 10)",
 * "lambda x: dynamic_threshold_filter(x, 5)", "average_threshold_filter",
 * "partial(probabilistic_threshold_filter, per_id_probability=0.01)" and the like, or any
 * other formula of text/pipeline/admission.h. NULL or "": none. RC_UNSUPPORTED (E2302).
 */
enum rc embed_filter_parse(const char *text, struct embed_filter *out,
                           struct err *err) MUST_CHECK;

bool embed_filter_is_random(const struct embed_filter *f);

/* counts[i * stride], n of them. A formula's random numbers are 0 in what it sums up. */
void embed_filter_begin(const struct embed_filter *f, const int64_t *counts,
                        size_t stride, int64_t n, struct embed_filter_round *out);
/* `chance` in [0, 1). */
bool embed_filter_keeps(const struct embed_filter *f, const struct embed_filter_round *r,
                        int64_t count, double chance);

#endif
