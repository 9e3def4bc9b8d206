/* SPDX-License-Identifier: Apache-2.0 */
/* The mask is the CPU's: a function of (seed, op, step, row). */
#include "nn/op/dropout.h"

#include "base/rng.h"
#include "cuda/op/op.h"

static void drop(const struct cuda_run *r, struct cuda_rows x, struct cuda_rows y,
                 bool add)
{
    const struct op_dropout_conf *c = r->op->conf;
    const struct op_env *env = r->op->env;
    struct rng rng;
    if (!env->training) {
        cuda_put(r->cuda->stream, x, y, add);
        return;
    }
    rng_init(&rng, env->seed, r->op->id + 1, env->step, 0);
    cuda_dropout(r->cuda->stream, rng.key, c->below, c->scale, x, y, add);
}

static void dropout_forward(const struct cuda_run *r)
{
    drop(r, cuda_in(r, 0), cuda_out(r), false);
}

static void dropout_backward(const struct cuda_run *r)
{
    if (cuda_wants(r, 0))
        drop(r, cuda_d_out(r), cuda_d_in(r, 0), cuda_adds(r, 0));
}

static bool dropout_varies(const struct cuda_run *r)
{
    return r->op->env->training;
}

const struct cuda_op cuda_op_dropout = {
    .varies = dropout_varies, .forward = dropout_forward, .backward = dropout_backward};
