/* SPDX-License-Identifier: Apache-2.0 */
/* embed/row_opt.h - optimizers of embedding rows; the state lies behind the row's
 * weights.
 *
 * A row is updated once per step with the sum of the gradients of all its occurrences in
 * the batch. Rows that do not occur keep their weights and their state.
 */
#ifndef EMBED_ROW_OPT_H
#define EMBED_ROW_OPT_H

#include <stdbool.h>
#include <stdint.h>

enum embed_row_opt_kind {
#define ROW_OPT(KIND, name, first, second, corrects, each) ROW_##KIND,
#include "embed/row_opts.def"
#undef ROW_OPT
    ROW_OPT_KINDS
};

enum embed_decay { DECAY_NONE, DECAY_L2, DECAY_DECOUPLE };

struct embed_row_opt {
    enum embed_row_opt_kind kind;
    double beta1, beta2; /* adam, lamb */
    double eps;
    double weight_decay;
    enum embed_decay decay_mode; /* rowwise adagrad */
    double momentum;             /* lars */
    double rho;                  /* adadelta */
    double alpha;                /* rmsprop */
    double initial_accumulator;  /* adagrad: initial value of its state */
};

/* What changes from step to step. */
struct embed_row_step {
    double lr;
    uint64_t step; /* from 1: for bias correction */
};

/* An optimizer at a step: what is the same for all rows is worked out once. */
struct embed_row_rule {
    const struct embed_row_opt *opt; /* borrowed */
    double lr;
    uint64_t step;
    float correct1, correct2; /* of the moments of adam and lamb */
};
struct embed_row_rule embed_row_rule_at(const struct embed_row_opt *o,
                                        const struct embed_row_step *s);

const char *embed_row_opt_name(enum embed_row_opt_kind kind);
/* Its arrays of state, one behind the other. */
#define ROW_STATES_MAX 2
enum embed_row_state { ROW_STATE_NONE, ROW_STATE_EACH, ROW_STATE_ONCE };
enum embed_row_state embed_row_opt_array(enum embed_row_opt_kind kind, int array);
/* Every weight moves by its own gradient and state alone. */
bool embed_row_opt_each(enum embed_row_opt_kind kind);
/* The value that all of its state starts from. */
double embed_row_opt_initial(const struct embed_row_opt *o);
/* Floats of state behind a row of `dim` weights. */
int64_t embed_row_opt_state(const struct embed_row_opt *o, int64_t dim);
void embed_row_opt_init(const struct embed_row_opt *o, float *state, int64_t dim);
/* w[dim] -= ... by grad[dim]; `grad` may be overwritten. */
void embed_row_rule_apply(const struct embed_row_rule *r, float *w, float *state,
                          float *grad, int64_t dim);

#endif
