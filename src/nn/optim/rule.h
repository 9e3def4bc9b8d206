/* SPDX-License-Identifier: Apache-2.0 */
/* nn/optim/rule.h - the formulas of the dense optimisers, element by element. */
#ifndef NN_OPTIM_RULE_H
#define NN_OPTIM_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "text/schema.h"

enum rule_kind {
    RULE_SGD,
    RULE_ADAGRAD,
    RULE_ADAM,
    RULE_ADAMW,
    RULE_ADADELTA,
    RULE_RMSPROP,
};

#define RULE_STATES_MAX 3

struct rule {
    enum rule_kind kind;
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
enum rc rule_from(const struct msg *optimizer, struct rule *out, double *lr,
                  struct err *err) MUST_CHECK;

const char *rule_name(const struct rule *r);
/* Arrays of state beside each parameter, each as long as it, and their names. */
int rule_states(const struct rule *r);
const char *rule_state_name(const struct rule *r, int i);
float rule_state_init(const struct rule *r); /* first value of all of them */

/* The numbers of one step, worked out once for a parameter. */
struct rule_step {
    float lr;
    float mix1, take1, mix2, take2; /* averages: mix * old + take * new */
    float root;                     /* 1 / sqrt(1 - beta2^t) */
    float keep;                     /* adamw: 1 - lr * weight_decay */
    float eps, weight_decay;
};

/* `t` counts this parameter's updates from 1. */
struct rule_step rule_step_of(const struct rule *r, double lr, int64_t t);
/* w[n] by g[n]; state[i] points to the same elements of the i-th array. */
void rule_apply(const struct rule *r, const struct rule_step *s, float *w, const float *g,
                float *const *state, int64_t n);

#endif
