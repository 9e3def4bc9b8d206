/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout. The mask is a function of (seed, op, step, row): backward draws it again. */
#include "base/rng.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

struct dropout_conf {
    uint32_t below; /* of 2^32: dropped when the random word is less */
    float scale;
};

static enum rc dropout_infer(const void *conf, const struct shape *in, int n_in,
                             struct shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    *keep_width = 0;
    return RC_OK;
}

/* y (+)= x * mask */
static void masked_row(const struct op_run *r, int64_t row, const float *x, float *y,
                       bool add)
{
    const struct dropout_conf *c = r->conf;
    struct rng rng;
    rng_init(&rng, r->env->seed, r->id + 1, r->env->step, (uint64_t)row);
    for (int64_t i = 0; i < r->in[0].width; i++) {
        float v = rng_u32(&rng) < c->below ? 0.0f : x[i] * c->scale;
        y[i] = add ? y[i] + v : v;
    }
}

static void plain_row(const float *x, float *y, int64_t n, bool add)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = add ? y[i] + x[i] : x[i];
}

static void dropout_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        if (r->env->training)
            masked_row(r, k, view_row(&r->in[0], k), view_row(&r->out[0], k), false);
        else
            plain_row(view_row(&r->in[0], k), view_row(&r->out[0], k), r->in[0].width,
                      false);
    }
}

static void dropout_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        if (r->env->training)
            masked_row(r, k, view_row(&r->d_out[0], k), view_row(&r->d_in[0], k), true);
        else
            plain_row(view_row(&r->d_out[0], k), view_row(&r->d_in[0], k), r->in[0].width,
                      true);
    }
}

static const struct op_ops op_dropout = {.name = "dropout",
                                         .flags = OP_STRIDED,
                                         .infer = dropout_infer,
                                         .forward = dropout_forward,
                                         .backward = dropout_backward,
                                         .onnx = onnx_same};

struct val *nn_dropout(struct graph *g, struct val *x, double p)
{
    if (p <= 0)
        return x;
    if (p >= 1)
        return graph_fail(g, "dropout: %g is outside [0, 1)", p);
    struct dropout_conf conf = {.below = (uint32_t)(p * 4294967296.0),
                                .scale = (float)(1.0 / (1.0 - p))};
    return nn_op(g, &op_dropout, &x, 1, NULL, 0, &conf, sizeof(conf));
}
