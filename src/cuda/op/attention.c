/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of positions, or of the fields of a row, to each other. */
#include "nn/op/attention.h"

#include "base/rng.h"
#include "cuda/op/op.h"

static int64_t positions_of(const struct op_attention_conf *c)
{
    return c->fields ? c->fields : 1;
}

static bool attention_fits(const void *conf, const struct nn_shape *in, int n_in)
{
    const struct op_attention_conf *c = conf;
    return nn_shape_width(&in[0]) / positions_of(c) / c->heads <= CUDA_HEAD_MAX;
}

/* With a row per position; none: none. */
static struct cuda_rows positions(const struct cuda_run *r, const struct view *v)
{
    const struct op_attention_conf *c = r->op->conf;
    struct cuda_rows all = cuda_view(v);
    int64_t width = all.width / positions_of(c);
    return !c->fields || !all.at
               ? all
               : (struct cuda_rows){all.at, all.rows * c->fields, width, width};
}

static struct cuda_attention attention_of(const struct cuda_run *r)
{
    const struct op_attention_conf *c = r->op->conf;
    const struct op_env *env = r->op->env;
    struct rng rng;
    rng_init(&rng, env->seed, r->op->id + 1, env->step, 0);
    return (struct cuda_attention){
        .at = r->offsets[r->op->out_axis[0]],
        .fields = c->fields,
        .heads = c->heads,
        .width = r->op->in[0].width / positions_of(c) / c->heads,
        .scale = c->scale,
        .drops = env->training && c->below > 0,
        .key = {rng.key[0], rng.key[1]},
        .below = c->below,
        .kept = c->kept,
    };
}

static void attention_forward(const struct cuda_run *r)
{
    const struct view *in = r->op->in;
    cuda_attention_forward(
        r->cuda->stream, attention_of(r), r->op->env->rows.n[AXIS_BATCH],
        positions(r, &in[ATTENTION_QUERY]), positions(r, &in[ATTENTION_KEY]),
        positions(r, &in[ATTENTION_VALUE]), positions(r, &r->op->keep),
        positions(r, &r->op->out[0]));
}

static struct cuda_attention_back back_of(const struct cuda_run *r)
{
    const struct view *in = r->op->in;
    return (struct cuda_attention_back){
        .query = positions(r, &in[ATTENTION_QUERY]),
        .key = positions(r, &in[ATTENTION_KEY]),
        .value = positions(r, &in[ATTENTION_VALUE]),
        .keep = positions(r, &r->op->keep),
        .y = positions(r, &r->op->out[0]),
        .dy = positions(r, &r->op->d_out[0]),
    };
}

static void attention_backward(const struct cuda_run *r)
{
    const struct view *d_in = r->op->d_in;
    int64_t batch = r->op->env->rows.n[AXIS_BATCH];
    struct cuda_attention a = attention_of(r);
    struct cuda_attention_back b = back_of(r);
    if (cuda_wants(r, ATTENTION_QUERY))
        cuda_attention_back_query(r->cuda->stream, a, batch, b,
                                  positions(r, &d_in[ATTENTION_QUERY]),
                                  cuda_adds(r, ATTENTION_QUERY));
    if (cuda_wants(r, ATTENTION_KEY) || cuda_wants(r, ATTENTION_VALUE))
        cuda_attention_back_keys(
            r->cuda->stream, a, batch, b, positions(r, &d_in[ATTENTION_KEY]),
            cuda_adds(r, ATTENTION_KEY), positions(r, &d_in[ATTENTION_VALUE]),
            cuda_adds(r, ATTENTION_VALUE));
}

/* Its masks are those of the step. */
static bool attention_varies(const struct cuda_run *r)
{
    return attention_of(r).drops;
}

const struct cuda_op cuda_op_attention = {.fits = attention_fits,
                                          .varies = attention_varies,
                                          .forward = attention_forward,
                                          .backward = attention_backward};
