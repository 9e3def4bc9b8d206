/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/op/linear_front.h"
#include "nn/ops.h"

static enum rc front_infer(const void *conf, const struct nn_shape *in, int n_in,
                           struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_front_conf *c = conf;
    *keep_width = 0;
    out[0] = (struct nn_shape){.axis = in[IN_ALL].axis, .n_dims = 1, .dims = {c->out}};
    if (in[IN_FRONT].axis != in[IN_ALL].axis || in[IN_ALL].n_dims != 1 ||
        nn_shape_width(&in[IN_FRONT]) > nn_shape_width(&in[IN_ALL]))
        return err_set(err, RC_INVAL, "takes rows, and columns in front of them");
    return RC_OK;
}

static void front_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_front_conf *c = op->conf;
    const char *w = onnx_unary(o, "Transpose", NULL, onnx_param(o, op->params[0]));
    onnx_layer(o, op->y[0], op->x[IN_ALL], w, onnx_param(o, op->params[1]), c->act);
}

const struct op op_linear_front = {
    .name = "linear of columns in front",
    .flags = OP_NEEDS_IN | OP_NEEDS_OUT,
    .infer = front_infer,
    .onnx = front_onnx,
};

struct nn_val *nn_linear_front(struct graph *g, const char *name, struct nn_val *x,
                               struct nn_val *front, int64_t out, enum nn_act act)
{
    struct op_front_conf conf = {.precision = g->options.precision, .out = out};
    struct param *params[2];
    struct nn_val *in[] = {x, front};
    if (!x || !front)
        return NULL;
    if (!nn_fused_act(act, &conf.act))
        return graph_fail(g, "%s: an activation that no product can do", name);
    int64_t width = nn_shape_width(&x->shape);
    double bound = 1.0 / sqrt((double)width);
    struct nn_init init = {INIT_UNIFORM, -bound, bound};
    graph_push(g, name);
    params[0] = nn_param(g, "weight", (const int64_t[]){out, width}, 2, init, true);
    params[1] = nn_param(g, "bias", &out, 1, init, true);
    graph_pop(g);
    return nn_op(g, &op_linear_front, in, 2, params, 2, &conf, sizeof(conf));
}
