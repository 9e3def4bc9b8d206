/* SPDX-License-Identifier: Apache-2.0 */
/* nn/optim/rule.h - the formulas of the dense optimizers, element by element. */
#ifndef NN_OPTIM_RULE_H
#define NN_OPTIM_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "text/schema.h"

enum optim_rule_kind {
    OPTIM_RULE_SGD,
    OPTIM_RULE_ADAGRAD,
    OPTIM_RULE_ADAM,
    OPTIM_RULE_ADAMW,
    OPTIM_RULE_ADADELTA,
    OPTIM_RULE_RMSPROP,
};

#define OPTIM_RULE_STATES_MAX 3

struct optim_rule {
    enum optim_rule_kind kind;
    double momentum, dampening; /* sgd */
    bool nesterov;
    double beta1, beta2; /* adam, adamw */
    bool amsgrad;
    double rho;                 /* adadelta */
    double alpha;               /* rmsprop */
    double initial_accumulator; /* adagrad */
    double eps;
    double weight_decay;
};

/* The optimizer of a bound DenseOptimizer or PartOptimizer. RC_INVAL: it names none
 * (E0304), or a setting is out of range.
 */
enum rc optim_rule_from(const struct msg *optimizer, struct optim_rule *out, double *lr,
                        struct err *err) MUST_CHECK;

const char *optim_rule_name(const struct optim_rule *r);
/* Arrays of state beside each parameter, each as long as it, and their names. */
int optim_rule_states(const struct optim_rule *r);
const char *optim_rule_state_name(const struct optim_rule *r, int i);
float optim_rule_state_init(
    const struct optim_rule *r); /* initial value of all of them */

/* The numbers of one step, worked out once for a parameter. */
struct optim_rule_step {
    float lr;
    float mix1, take1, mix2, take2; /* averages: mix * old + take * new */
    float root;                     /* 1 / sqrt(1 - beta2^t) */
    float keep;                     /* adamw: 1 - lr * weight_decay */
    float eps, weight_decay;
};

/* `t` counts this parameter's updates from 1. */
struct optim_rule_step optim_rule_step_of(const struct optim_rule *r, double lr,
                                          int64_t t);
/* w[n] by g[n]; state[i] points to the same elements of the i-th array. */
void optim_rule_apply(const struct optim_rule *r, const struct optim_rule_step *s,
                      float *w, const float *g, float *const *state, int64_t n);

#endif
