/* SPDX-License-Identifier: Apache-2.0 */
/* nn/schedule.h - learning rates as a function of how far training is.
 *
 * A schedule has no state: the rate follows from the number of finished steps, or of
 * finished passes over the data when it counts epochs. Whoever resumes at step k asks for
 * k.
 */
#ifndef NN_SCHEDULE_H
#define NN_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "text/schema.h"

enum nn_schedule_kind {
    SCHEDULE_CONSTANT,
    SCHEDULE_EXPONENTIAL,
    SCHEDULE_MANUAL,
    SCHEDULE_COSINE,
    SCHEDULE_RESTARTS,
};

struct nn_schedule {
    enum nn_schedule_kind kind;
    double base;    /* lr of the optimizer; 0 stays 0 */
    bool by_epoch;  /* k counts passes over the data; constant ones do as well */
    uint64_t size;  /* decay_size, T_max or T_0 */
    uint64_t mult;  /* T_mult */
    double factor;  /* exponential */
    bool staircase; /* exponential */
    double min_lr;
    uint64_t warmup; /* length of the linear start at warmup_lr */
    double warmup_lr;
    bool manual_warmup;
    const uint32_t *sizes; /* [n], ascending; borrowed from the message */
    const double *rates;   /* [n], likewise */
    int64_t n;
};

/* The learning_rate of `optimizer`, a bound SparseOptimizer, DenseOptimizer or
 * PartOptimizer, which must outlive `out`. `fallback` is the message whose schedule a
 * part without one of its own follows, or NULL. RC_INVAL (E0305, E0306, E0307).
 */
enum rc nn_schedule_from(const struct msg *optimizer, const struct msg *fallback,
                         double base, struct nn_schedule *out,
                         struct err *err) MUST_CHECK;

/* The rate after k finished steps (or epochs). */
double nn_schedule_lr(const struct nn_schedule *s, uint64_t k);
/* The same for whichever of the two it counts. */
static inline double nn_schedule_at(const struct nn_schedule *s, uint64_t step,
                                    uint64_t epoch)
{
    return nn_schedule_lr(s, s->by_epoch ? epoch : step);
}

#endif
