/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/mem.h"
#include "nn/onnx.h"
#include "nn/op/batch_norm.h"
#include "nn/ops.h"

static enum rc norm_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_norm_conf *c = conf;
    *keep_width = 0;
    out[0] = in[0];
    if (c->pad_out)
        out[1] = in[1];
    if (n_in == 2 && (in[0].axis == AXIS_BATCH || in[1].axis != AXIS_BATCH ||
                      nn_shape_width(&in[0]) != nn_shape_width(&in[1])))
        return err_set(err, RC_INVAL, "padding is a row of the batch of the same width");
    return RC_OK;
}

/* Running statistics are constants: one factor and one summand per channel. */
static void norm_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_norm_conf *c = op->conf;
    float *by = mem_calloc((size_t)c->n * 2, sizeof(*by)), *plus = by + c->n;
    const float *mean = param_read(op->params[BATCH_NORM_MEAN]);
    const float *var = param_read(op->params[BATCH_NORM_VAR]);
    const float *weight = c->affine ? param_read(op->params[BATCH_NORM_WEIGHT]) : NULL;
    const float *bias = c->affine ? param_read(op->params[BATCH_NORM_BIAS]) : NULL;
    for (int64_t i = 0; i < c->n; i++) {
        double scale = (weight ? (double)weight[i] : 1) / sqrt((double)var[i] + EPS);
        by[i] = (float)scale;
        plus[i] = (float)((bias ? (double)bias[i] : 0) - (double)mean[i] * scale);
    }
    const char *factor = onnx_floats(o, by, &c->n, 1);
    const char *summand = onnx_floats(o, plus, &c->n, 1);
    for (int i = 0; i < op->n_out; i++)
        onnx_binary(o, "Add", op->y[i], onnx_binary(o, "Mul", NULL, op->x[i], factor),
                    summand);
    mem_free(by);
}

const struct op op_batch_norm = {
    .name = "batch norm",
    .flags = OP_NEEDS_IN,
    .infer = norm_infer,
    .onnx = norm_onnx,
};

static struct nn_val *norm(struct graph *g, const char *name, struct nn_val *const *in,
                           int n_in, bool affine, bool pad_out)
{
    const struct nn_shape *x = nn_val_shape(in[0]);
    struct op_norm_conf conf = {
        .affine = affine, .pad_out = pad_out, .n = x->dims[x->n_dims - 1]};
    struct param *params[5] = {0};
    struct nn_init zeros = {INIT_ZEROS, 0, 0}, ones = {INIT_ONES, 0, 0};
    graph_push(g, name);
    if (affine) {
        params[BATCH_NORM_WEIGHT] = nn_param(g, "weight", &conf.n, 1, ones, true);
        params[BATCH_NORM_BIAS] = nn_param(g, "bias", &conf.n, 1, zeros, true);
    }
    params[BATCH_NORM_MEAN] = nn_param(g, "running_mean", &conf.n, 1, zeros, false);
    params[BATCH_NORM_VAR] = nn_param(g, "running_var", &conf.n, 1, ones, false);
    params[BATCH_NORM_COUNT] =
        nn_param(g, "num_batches_tracked", (const int64_t[]){1}, 1, zeros, false);
    graph_pop(g);
    return nn_op(g, &op_batch_norm, in, n_in, params, affine ? 5 : 3, &conf,
                 sizeof(conf));
}

struct nn_val *nn_batch_norm(struct graph *g, const char *name, struct nn_val *x,
                             bool affine)
{
    return x ? norm(g, name, &x, 1, affine, false) : NULL;
}

struct nn_val *nn_batch_norm_padded(struct graph *g, const char *name, struct nn_val *x,
                                    struct nn_val *pad, bool affine,
                                    struct nn_val **pad_out)
{
    struct nn_val *in[] = {x, pad};
    if (!x || !pad)
        return NULL;
    struct nn_val *y = norm(g, name, in, 2, affine, pad_out != NULL);
    if (pad_out)
        *pad_out = nn_sibling(y, 1);
    return y;
}
