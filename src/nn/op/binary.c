/* SPDX-License-Identifier: Apache-2.0 */
/* Two values of one shape, element by element; and x * by + plus. */
#include "nn/op/binary.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc binary_infer(const void *conf, const struct nn_shape *in, int n_in,
                            struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    if (in[0].axis != in[1].axis || nn_shape_width(&in[0]) != nn_shape_width(&in[1]))
        return err_set(err, RC_INVAL, "rows of %jd and of %jd values",
                       (intmax_t)nn_shape_width(&in[0]),
                       (intmax_t)nn_shape_width(&in[1]));
    out[0] = in[0];
    *keep_width = 0;
    return RC_OK;
}

static void binary_onnx(struct onnx *o, const struct onnx_op *op)
{
    static const char *const types[] = {[BINARY_ADD] = "Add",
                                        [BINARY_SUB] = "Sub",
                                        [BINARY_MUL] = "Mul",
                                        [BINARY_ADD_RELU] = "Add"};
    const struct op_binary_conf *c = op->conf;
    bool relu = c->kind == BINARY_ADD_RELU, more = relu || c->by != 1.0f;
    const char *y = onnx_binary(o, types[c->kind], more ? NULL : op->y[0], op->x[0],
                                onnx_reshape(o, NULL, op->x[1], &op->in[1], &op->in[0]));
    if (relu)
        onnx_unary(o, "Relu", op->y[0], y);
    else if (more)
        onnx_with(o, "Mul", op->y[0], y, c->by);
}

const struct op op_add = {
    .name = "add",
    .infer = binary_infer,
    .onnx = binary_onnx,
};

const struct op op_add_relu = {
    .name = "add and relu",
    .flags = OP_NEEDS_OUT,
    .infer = binary_infer,
    .onnx = binary_onnx,
};

const struct op op_multiply = {
    .name = "multiply",
    .flags = OP_NEEDS_IN,
    .infer = binary_infer,
    .onnx = binary_onnx,
};

static struct nn_val *binary(struct graph *g, const struct op *ops, struct nn_val *a,
                             struct nn_val *b, enum op_binary kind, float by)
{
    struct op_binary_conf conf = {.kind = kind, .by = by};
    struct nn_val *in[] = {a, b};
    return nn_op(g, ops, in, 2, NULL, 0, &conf, sizeof(conf));
}

struct nn_val *nn_add(struct graph *g, struct nn_val *a, struct nn_val *b)
{
    return binary(g, &op_add, a, b, BINARY_ADD, 1);
}

struct nn_val *nn_sub(struct graph *g, struct nn_val *a, struct nn_val *b)
{
    return binary(g, &op_add, a, b, BINARY_SUB, 1);
}

struct nn_val *nn_mul(struct graph *g, struct nn_val *a, struct nn_val *b)
{
    return binary(g, &op_multiply, a, b, BINARY_MUL, 1);
}

struct nn_val *nn_mul_by(struct graph *g, struct nn_val *a, struct nn_val *b, float by)
{
    return binary(g, &op_multiply, a, b, BINARY_MUL, by);
}

struct nn_val *nn_add_relu(struct graph *g, struct nn_val *a, struct nn_val *b)
{
    return binary(g, &op_add_relu, a, b, BINARY_ADD_RELU, 1);
}

static enum rc scale_infer(const void *conf, const struct nn_shape *in, int n_in,
                           struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    *keep_width = 0;
    return RC_OK;
}

static void scale_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_scale_conf *c = op->conf;
    onnx_with(o, "Add", op->y[0], onnx_with(o, "Mul", NULL, op->x[0], c->by), c->plus);
}

const struct op op_scale = {
    .name = "scale",
    .infer = scale_infer,
    .onnx = scale_onnx,
};

struct nn_val *nn_scale(struct graph *g, struct nn_val *x, float by, float plus)
{
    struct op_scale_conf conf = {by, plus};
    return nn_op(g, &op_scale, &x, 1, NULL, 0, &conf, sizeof(conf));
}
