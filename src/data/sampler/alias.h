/* SPDX-License-Identifier: Apache-2.0 */
/* data/sampler/alias.h - draws from a fixed distribution in constant time (Vose's alias
 * method): a cell per entry holds the entry itself with some probability and one other
 * entry else.
 */
#ifndef DATA_SAMPLER_ALIAS_H
#define DATA_SAMPLER_ALIAS_H

#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"

struct alias_cell {
    uint32_t other;
    float own; /* probability of the cell's own entry */
};

struct alias {
    struct alias_cell *cells; /* [n], owned */
    int64_t n;
};

/* Weights are finite and not negative, and at least one is above 0; n < 2^32. RC_NOMEM.
 */
enum rc alias_init(struct alias *a, const double *weights, int64_t n,
                   struct err *err) MUST_CHECK;
void alias_release(struct alias *a);
/* Entry i with probability weights[i] / sum; never one of weight 0. */
int64_t alias_draw(const struct alias *a, struct rng *r);

#endif
