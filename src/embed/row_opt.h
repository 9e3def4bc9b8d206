/* SPDX-License-Identifier: Apache-2.0 */
/* embed/row_opt.h - optimisers of embedding rows; the state lies behind the row's
 * weights.
 *
 * A row is updated once per step with the sum of the gradients of all its occurrences in
 * the batch. Rows that do not occur keep their weights and their state.
 */
#ifndef EMBED_ROW_OPT_H
#define EMBED_ROW_OPT_H

#include <stdbool.h>
#include <stdint.h>

enum row_opt_kind {
    ROW_SGD,
    ROW_ADAGRAD,
    ROW_ROWWISE_ADAGRAD,
    ROW_ADAM,
    ROW_PARTIAL_ROWWISE_ADAM,
    ROW_LAMB,
    ROW_PARTIAL_ROWWISE_LAMB,
    ROW_LARS_SGD,
    ROW_ADADELTA,
    ROW_RMSPROP,
    ROW_OPT_KINDS
};

enum decay_mode { DECAY_NONE, DECAY_L2, DECAY_DECOUPLE };

struct row_opt {
    enum row_opt_kind kind;
    double beta1, beta2; /* adam, lamb */
    double eps;
    double weight_decay;
    enum decay_mode decay_mode; /* rowwise adagrad */
    double momentum;            /* lars */
    double rho;                 /* adadelta */
    double alpha;               /* rmsprop */
    double initial_accumulator; /* adagrad: first value of its state */
};

/* What changes from step to step. */
struct row_step {
    double lr;
    uint64_t step; /* from 1: for bias correction */
};

/* An optimiser at a step: what is the same for all rows is worked out once. */
struct row_rule {
    const struct row_opt *opt; /* borrowed */
    double lr;
    uint64_t step;
    float correct1, correct2; /* of the moments of adam and lamb */
};
struct row_rule row_rule_at(const struct row_opt *o, const struct row_step *s);

const char *row_opt_name(enum row_opt_kind kind);
/* Floats of state behind a row of `dim` weights. */
int64_t row_opt_state(const struct row_opt *o, int64_t dim);
void row_opt_init(const struct row_opt *o, float *state, int64_t dim);
/* w[dim] -= ... by grad[dim]; `grad` may be overwritten. */
void row_rule_apply(const struct row_rule *r, float *w, float *state, float *grad,
                    int64_t dim);

#endif
