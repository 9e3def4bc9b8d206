/* SPDX-License-Identifier: Apache-2.0 */
/* The ten messages share most of their fields but are ten structs; TAKE fills what all of
 * them have, and each branch adds its own.
 */
#include "nn/optim/sparse.h"

#include "base/compiler.h"
#include "nn/optim/range.h"
#include "text/pipeline/pipeline.h"

#define EPS 1e-8 /* of all that have no such field */

struct common {
    double lr, max_gradient;
    bool clips;
};
#define TAKE(m)                                         \
    ((struct common){.lr = (m)->lr,                     \
                     .max_gradient = (m)->max_gradient, \
                     .clips = (m)->gradient_clipping})
#define MOMENTS(kind_, m)                        \
    ((struct embed_row_opt){.kind = (kind_),     \
                            .beta1 = (m)->beta1, \
                            .beta2 = (m)->beta2, \
                            .eps = EPS,          \
                            .weight_decay = (m)->weight_decay})

static struct embed_row_opt from_rowwise(const struct pc_FusedRowWiseAdagradOptimizer *m)
{
    static const enum embed_decay modes[] = {
        [pc_WeightDecayMode_NONE] = DECAY_NONE,
        [pc_WeightDecayMode_L2] = DECAY_L2,
        [pc_WeightDecayMode_DECOUPLE] = DECAY_DECOUPLE,
    };
    return (struct embed_row_opt){.kind = ROW_ROWWISE_ADAGRAD,
                                  .eps = EPS,
                                  .weight_decay = m->weight_decay,
                                  .decay_mode = modes[m->weight_decay_mode]};
}

/* The simple ones; false when it is another. */
static bool from_plain(const struct pc_SparseOptimizer *c, struct embed_row_opt *r,
                       struct common *x)
{
    if (c->sgd_optimizer) {
        *r = (struct embed_row_opt){.kind = ROW_SGD};
        *x = TAKE(c->sgd_optimizer);
    } else if (c->adagrad_optimizer) {
        *r = (struct embed_row_opt){.kind = ROW_ADAGRAD,
                                    .eps = EPS,
                                    .initial_accumulator =
                                        c->adagrad_optimizer->initial_accumulator_value};
        *x = TAKE(c->adagrad_optimizer);
    } else if (c->rowwise_adagrad_optimizer) {
        *r = from_rowwise(c->rowwise_adagrad_optimizer);
        *x = TAKE(c->rowwise_adagrad_optimizer);
    } else if (c->lars_sgd_optimizer) {
        *r = (struct embed_row_opt){.kind = ROW_LARS_SGD,
                                    .eps = EPS,
                                    .momentum = c->lars_sgd_optimizer->momentum,
                                    .weight_decay = c->lars_sgd_optimizer->weight_decay};
        *x = TAKE(c->lars_sgd_optimizer);
    } else {
        return false;
    }
    return true;
}

static bool from_averaging(const struct pc_SparseOptimizer *c, struct embed_row_opt *r,
                           struct common *x)
{
    if (c->adam_optimizer) {
        *r = MOMENTS(ROW_ADAM, c->adam_optimizer);
        *x = TAKE(c->adam_optimizer);
    } else if (c->partial_rowwise_adam_optimizer) {
        *r = MOMENTS(ROW_PARTIAL_ROWWISE_ADAM, c->partial_rowwise_adam_optimizer);
        *x = TAKE(c->partial_rowwise_adam_optimizer);
    } else if (c->lamb_optimizer) {
        *r = MOMENTS(ROW_LAMB, c->lamb_optimizer);
        *x = TAKE(c->lamb_optimizer);
    } else if (c->partial_rowwise_lamb_optimizer) {
        *r = MOMENTS(ROW_PARTIAL_ROWWISE_LAMB, c->partial_rowwise_lamb_optimizer);
        *x = TAKE(c->partial_rowwise_lamb_optimizer);
    } else if (c->adadelta_optimizer) {
        *r = (struct embed_row_opt){.kind = ROW_ADADELTA,
                                    .rho = c->adadelta_optimizer->rho,
                                    .eps = c->adadelta_optimizer->eps,
                                    .weight_decay = c->adadelta_optimizer->weight_decay};
        *x = TAKE(c->adadelta_optimizer);
    } else if (c->rmsprop_optimizer) {
        *r = (struct embed_row_opt){.kind = ROW_RMSPROP,
                                    .alpha = c->rmsprop_optimizer->alpha,
                                    .eps = c->rmsprop_optimizer->eps,
                                    .weight_decay = c->rmsprop_optimizer->weight_decay};
        *x = TAKE(c->rmsprop_optimizer);
    } else {
        return false;
    }
    return true;
}

static enum rc check_ranges(const struct embed_row_opt *r, const struct common *x,
                            const char *name, struct err *err)
{
    const struct optim_range ranges[] = {
        {"beta1", r->beta1, true},
        {"beta2", r->beta2, true},
        {"rho", r->rho, true},
        {"alpha", r->alpha, true},
        {"momentum", r->momentum, false},
        {"eps", r->eps, false},
        {"weight_decay", r->weight_decay, false},
        {"initial_accumulator_value", r->initial_accumulator, false},
    };
    enum rc rc = optim_check_ranges(name, ranges, ARRAY_LEN(ranges), err);
    if (rc)
        return rc;
    if (x->clips && !((float)x->max_gradient > 0))
        return err_set(err, RC_INVAL, "%s: max_gradient: %g must be above 0", name,
                       x->max_gradient);
    return RC_OK;
}

enum rc optim_sparse_from(const struct pc_SparseOptimizer *conf, struct optim_sparse *out,
                          struct err *err)
{
    struct optim_sparse s = {0};
    struct common x = {0};
    enum rc rc = RC_OK;
    const struct field_def *f = schema_oneof(&conf->base, "optimizer", NULL);
    if (!f || (!from_plain(conf, &s.rule, &x) && !from_averaging(conf, &s.rule, &x)))
        rc = err_coded(err, RC_INVAL, E0304, "no optimizer is named");
    if (rc == RC_OK)
        rc = check_ranges(&s.rule, &x, f->name, err);
    if (rc == RC_OK)
        rc = nn_schedule_from(&conf->base, NULL, x.lr, &s.schedule, err);
    if (rc)
        return err_wrap(err, rc, "sparse_optimizer");
    s.max_gradient = x.clips ? (float)x.max_gradient : 0.0f;
    *out = s;
    return RC_OK;
}
