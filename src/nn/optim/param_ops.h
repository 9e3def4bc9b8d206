/* SPDX-License-Identifier: Apache-2.0 */
/* nn/optim/param_ops.h - what optimizers ask of a device: loops over all parameters.
 *
 * Values, gradients, optimizer state and averages are arrays of the device; a set lists
 * the parameters (nn/optim/params.h). Sums are taken in double, in one order.
 */
#ifndef NN_OPTIM_PARAM_OPS_H
#define NN_OPTIM_PARAM_OPS_H

#include <stdbool.h>

#include "nn/optim/rule.h"

struct optim_param_set;

/* One step of one parameter. */
struct param_update {
    const struct optim_rule *rule;
    struct optim_rule_step step;
    float *state
        [OPTIM_RULE_STATES_MAX]; /* [n] each, the device's; NULL: the rule has fewer */
};

struct param_ops {
    /* values by gradients; u: [s->n] */
    void (*update)(const struct optim_param_set *s, const struct param_update *u);
    /* The p-norm of all gradients, p above 0 or infinite; NaN when one of them is. */
    double (*norm)(const struct optim_param_set *s, double p);
    /* Each gradient to within +-max; times `by`; that and whether all are finite. */
    void (*clamp)(const struct optim_param_set *s, float max);
    void (*multiply)(const struct optim_param_set *s, float by);
    bool (*multiply_finite)(const struct optim_param_set *s, float by);
    /* avg [total] = keep * avg + take * values, or the values when `first`. */
    void (*average)(const struct optim_param_set *s, float *avg, float keep, float take,
                    bool first);
    void (*exchange)(const struct optim_param_set *s, float *avg); /* with the values */
};

#endif
