/* SPDX-License-Identifier: Apache-2.0 */
/* Products with a matrix of a field's own, and with a matrix that each row of the batch
 * has for its positions.
 */
#include "nn/op/row_times.h"

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc field_infer(const void *conf, const struct nn_shape *in, int n_in,
                           struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_row_times_conf *c = conf;
    *keep_width = 0;
    out[0] = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {c->n * c->out}};
    if (nn_shape_width(&in[0]) != c->n * c->in)
        return err_set(err, RC_INVAL, "takes %jd fields of %jd values", (intmax_t)c->n,
                       (intmax_t)c->in);
    return RC_OK;
}

/* [batch, n * in] -> [n, batch, in] times [n, in, out] -> [batch, n * out] */
static void field_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_row_times_conf *c = op->conf;
    const char *flat = onnx_flat(o, op->x[0], &op->in[0]);
    struct nn_shape from = {.axis = op->in[0].axis, .n_dims = 1, .dims = {c->n * c->in}};
    struct nn_shape split = {
        .axis = op->in[0].axis, .n_dims = 3, .dims = {c->n, 1, c->in}};
    struct nn_shape made = {
        .axis = op->in[0].axis, .n_dims = 3, .dims = {c->n, 1, c->out}};
    const char *x = onnx_reshape(o, NULL, flat, &from, &split);
    x = onnx_binary(o, "MatMul", NULL, x, onnx_param(o, op->params[0]));
    x = onnx_binary(o, "Add", NULL, x, onnx_param(o, op->params[1]));
    onnx_reshape(o, op->y[0], x, &made, &op->out[0]);
}

const struct op op_field_times = {
    .name = "field times",
    .flags = OP_NEEDS_IN,
    .infer = field_infer,
    .onnx = field_onnx,
};

struct nn_val *nn_field_times(struct graph *g, struct param *w, struct param *bias,
                              struct nn_val *x)
{
    if (!w || !bias || !x)
        return NULL;
    struct op_row_times_conf conf = {
        .n = w->dims[0], .in = w->dims[1], .out = w->dims[2]};
    struct param *params[] = {w, bias};
    if (bias->n != conf.n * conf.out)
        return graph_fail(g, "field times: the bias has %jd values", (intmax_t)bias->n);
    return nn_op(g, &op_field_times, &x, 1, params, 2, &conf, sizeof(conf));
}

static enum rc seq_infer(const void *conf, const struct nn_shape *in, int n_in,
                         struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_row_times_conf *c = conf;
    *keep_width = 0;
    out[0] = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {c->out}};
    if (in[SEQ_TIMES_X].axis == AXIS_BATCH || in[SEQ_TIMES_MATRIX].axis != AXIS_BATCH ||
        in[SEQ_TIMES_BIAS].axis != AXIS_BATCH)
        return err_set(err, RC_INVAL,
                       "takes positions, and a matrix and a vector of rows");
    if (nn_shape_width(&in[SEQ_TIMES_X]) != c->in ||
        nn_shape_width(&in[SEQ_TIMES_MATRIX]) != c->in * c->out)
        return err_set(err, RC_INVAL, "%jd values do not go through a matrix of %jd",
                       (intmax_t)nn_shape_width(&in[SEQ_TIMES_X]),
                       (intmax_t)nn_shape_width(&in[SEQ_TIMES_MATRIX]));
    return RC_OK;
}

/* [batch, axis, in] times [batch, in, out] */
static void seq_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_row_times_conf *c = op->conf;
    int64_t one = 1;
    struct nn_shape flat = {.axis = AXIS_BATCH, .n_dims = 1, .dims = {c->in * c->out}};
    struct nn_shape split = {.axis = AXIS_BATCH, .n_dims = 2, .dims = {c->in, c->out}};
    const char *w = onnx_reshape(
        o, NULL, onnx_flat(o, op->x[SEQ_TIMES_MATRIX], &op->in[SEQ_TIMES_MATRIX]), &flat,
        &split);
    const char *b = onnx_flat(o, op->x[SEQ_TIMES_BIAS], &op->in[SEQ_TIMES_BIAS]);
    b = onnx_binary(o, "Unsqueeze", NULL, b, onnx_ints(o, &one, 1));
    const char *x = onnx_flat(o, op->x[SEQ_TIMES_X], &op->in[SEQ_TIMES_X]);
    onnx_binary(o, "Add", op->y[0], onnx_binary(o, "MatMul", NULL, x, w), b);
}

const struct op op_seq_times = {
    .name = "sequence times",
    .flags = OP_NEEDS_IN,
    .infer = seq_infer,
    .onnx = seq_onnx,
};

struct nn_val *nn_seq_times(struct graph *g, struct nn_val *x, struct nn_val *matrix,
                            struct nn_val *bias)
{
    if (!x || !matrix || !bias)
        return NULL;
    struct op_row_times_conf conf = {.in = nn_shape_width(&x->shape),
                                     .out = nn_shape_width(&bias->shape)};
    struct nn_val *in[] = {x, matrix, bias};
    return nn_op(g, &op_seq_times, in, 3, NULL, 0, &conf, sizeof(conf));
}
