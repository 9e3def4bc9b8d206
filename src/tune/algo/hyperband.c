/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "text/nni/nni.h"
#include "tune/algo/halving.h"

struct hyperband {
    struct halving *halving; /* first, for the operations of halving.h */
};

static void *hyperband_create(struct tuner *t)
{
    const struct nni_HyperbandArgs *args = t->args;
    struct hyperband *self = mem_calloc(1, sizeof(*self));
    double eta = (double)args->eta;
    self->halving = halving_create(&(struct halving_conf){
        .most = (double)args->R,
        .eta = eta,
        .s_max = (int64_t)floor(log((double)args->R) / log(eta) + 1e-6),
        .one_by_one = strcmp(args->exec_mode, "serial") == 0,
    });
    return self;
}

static void hyperband_destroy(void *self_)
{
    struct hyperband *self = self_;
    halving_destroy(self->halving);
    mem_free(self);
}

static enum tuner_answer hyperband_ask(struct tuner *t, struct rng *r, double *x)
{
    struct hyperband *self = t->self;
    bool fresh = false;
    enum tuner_answer a = halving_next(self->halving, t->history.space->n, x, &fresh);
    if (a == TUNER_GIVES && fresh)
        tune_point_draw(t->history.space, r, x);
    return a;
}

const struct tuner_ops tuner_hyperband = {
    .create = hyperband_create,
    .destroy = hyperband_destroy,
    .ask = hyperband_ask,
    .issued = halving_op_issued,
    .report = halving_op_report,
    .told = halving_op_told,
    .ended = halving_op_ended,
    .extra = halving_op_extra,
    .param_id = halving_op_id,
};
