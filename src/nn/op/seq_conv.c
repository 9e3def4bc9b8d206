/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions along positions: windows of neighbours side by side, and the largest over a
 * row.
 */
#include "nn/op/seq_conv.h"
#include "nn/onnx.h"
#include "nn/ops.h"

#define FAR 1e30f /* below every value that a position can have */

static enum rc max_infer(const void *conf, const struct nn_shape *in, int n_in,
                         struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    out[0].axis = AXIS_BATCH;
    *keep_width = nn_shape_width(&in[0]); /* which position holds the largest */
    if (in[0].axis == AXIS_BATCH)
        return err_set(err, RC_INVAL, "takes values of positions");
    return RC_OK;
}

static const char *largest(struct onnx *o, const char *x)
{
    const char *in[] = {x};
    return onnx_node(
        o,
        &(struct onnx_node){
            .type = "ReduceMax",
            .in = in,
            .n_in = 1,
            .attrs = {{.name = "axes", .kind = ONNX_ATTR_INTS, .ints = {1}, .n_ints = 1},
                      ONNX_INT("keepdims", 0)}});
}

/* Padding is far below; a row without positions gives 0. */
static void max_onnx(struct onnx *o, const struct onnx_op *op)
{
    struct nn_shape flat = {
        .axis = AXIS_BATCH, .n_dims = 1, .dims = {nn_shape_width(&op->in[0])}};
    const char *mask = onnx_mask_column(o, op->in[0].axis);
    const char *x = onnx_binary(o, "Mul", NULL, onnx_flat(o, op->x[0], &op->in[0]), mask);
    const char *below = onnx_with(
        o, "Mul", NULL, onnx_binary(o, "Sub", NULL, mask, onnx_number(o, 1)), FAR);
    const char *top = largest(o, onnx_binary(o, "Add", NULL, x, below));
    onnx_reshape(o, op->y[0], onnx_binary(o, "Mul", NULL, top, largest(o, mask)), &flat,
                 &op->out[0]);
}

const struct op op_seq_max = {
    .name = "sequence max",
    .infer = max_infer,
    .onnx = max_onnx,
};

struct nn_val *nn_seq_max(struct graph *g, struct nn_val *values)
{
    return nn_op(g, &op_seq_max, &values, 1, NULL, 0, NULL, 0);
}

static enum rc around_infer(const void *conf, const struct nn_shape *in, int n_in,
                            struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_around_conf *c = conf;
    *keep_width = 0;
    out[0] = (struct nn_shape){
        .axis = in[0].axis, .n_dims = 1, .dims = {c->count * nn_shape_width(&in[0])}};
    if (in[0].axis == AXIS_BATCH)
        return err_set(err, RC_INVAL, "takes values of positions");
    if (c->first > 0 || c->first + c->count < 1)
        return err_set(err, RC_INVAL, "a window that leaves its position out");
    return RC_OK;
}

/* The padded sequence, moved once for each place of the window. */
static void around_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_around_conf *c = op->conf;
    const char *parts[OP_INPUTS_MAX];
    int64_t pads[] = {0, -c->first, 0, 0, c->first + c->count - 1, 0}, axis = 1;
    const char *mask = onnx_mask_column(o, op->in[0].axis);
    const char *x = onnx_binary(o, "Mul", NULL, onnx_flat(o, op->x[0], &op->in[0]), mask);
    x = onnx_binary(o, "Pad", NULL, x, onnx_ints(o, pads, 6));
    for (int64_t k = 0; k < c->count; k++) {
        int64_t end = k + 1 < c->count ? k + 1 - c->count : INT64_MAX;
        const char *in[] = {x, onnx_ints(o, &k, 1), onnx_ints(o, &end, 1),
                            onnx_ints(o, &axis, 1)};
        parts[k] =
            onnx_node(o, &(struct onnx_node){.type = "Slice", .in = in, .n_in = 4});
    }
    onnx_node(o, &(struct onnx_node){.type = "Concat",
                                     .in = parts,
                                     .n_in = (int)c->count,
                                     .out = op->y[0],
                                     .attrs = {ONNX_INT("axis", 2)}});
}

const struct op op_seq_around = {
    .name = "sequence window",
    .infer = around_infer,
    .onnx = around_onnx,
};

struct nn_val *nn_seq_around(struct graph *g, struct nn_val *values, int64_t first,
                             int64_t count)
{
    struct op_around_conf conf = {.first = first, .count = count};
    if (count > OP_INPUTS_MAX)
        return graph_fail(g, "a window of %jd positions; the limit is %d",
                          (intmax_t)count, OP_INPUTS_MAX);
    return nn_op(g, &op_seq_around, &values, 1, NULL, 0, &conf, sizeof(conf));
}
