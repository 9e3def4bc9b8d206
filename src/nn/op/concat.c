/* SPDX-License-Identifier: Apache-2.0 */
/* Rows side by side. Inputs that were placed inside the result (order.c) need no copy. */
#include <string.h>

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"
#include "tensor/kernel.h"

static enum rc concat_infer(const void *conf, const struct shape *in, int n_in,
                            struct shape *out, int64_t *keep_width, struct err *err)
{
    int64_t width = 0;
    for (int i = 0; i < n_in; i++) {
        if (in[i].axis != in[0].axis)
            return err_set(err, RC_INVAL,
                           "input %d has rows of another kind than the first", i);
        width += shape_width(&in[i]);
    }
    out[0] = (struct shape){.axis = in[0].axis, .n_dims = 1, .dims = {width}};
    *keep_width = 0;
    return RC_OK;
}

static void concat_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to, col = 0;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int i = 0; i < r->n_in; i++) {
        struct view part = view_cols(&r->out[0], col, r->in[i].width);
        col += part.width;
        if (part.data == r->in[i].data)
            continue;
        for (int64_t k = from; k < to; k++)
            memcpy(view_row(&part, k), view_row(&r->in[i], k),
                   (size_t)part.width * sizeof(float));
    }
}

static void concat_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to, col = 0;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int i = 0; i < r->n_in; i++) {
        struct view part = view_cols(&r->d_out[0], col, r->in[i].width);
        col += part.width;
        if (!r->d_in[i].data || part.data == r->d_in[i].data)
            continue;
        for (int64_t k = from; k < to; k++) {
            if (r->d_in_fresh[i])
                memcpy(view_row(&r->d_in[i], k), view_row(&part, k),
                       (size_t)part.width * sizeof(float));
            else
                kernels()->add(view_row(&r->d_in[i], k), view_row(&part, k), part.width);
        }
    }
}

static void concat_onnx(struct onnx *o, const struct onnx_op *op)
{
    const char *in[OP_INPUTS_MAX];
    for (int i = 0; i < op->n_in; i++)
        in[i] = onnx_flat(o, op->x[i], &op->in[i]);
    onnx_node(o, &(struct onnx_node){.type = "Concat",
                                     .in = in,
                                     .n_in = op->n_in,
                                     .out = op->y[0],
                                     .attrs = {ONNX_INT("axis", -1)}});
}

const struct op_ops op_concat = {
    .name = "concat",
    .flags = OP_WRITES | OP_STRIDED,
    .infer = concat_infer,
    .forward = concat_forward,
    .backward = concat_backward,
    .onnx = concat_onnx,
};

struct val *nn_concat(struct graph *g, struct val *const *x, int n)
{
    if (n == 1)
        return x[0];
    return nn_op(g, &op_concat, x, n, NULL, 0, NULL, 0);
}
