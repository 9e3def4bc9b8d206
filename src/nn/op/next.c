/* SPDX-License-Identifier: Apache-2.0 */
/* What a state says of what follows it: close to what comes, far from what does not. Per
 * row the sum over positions t = 1, 2, .. of
 *
 *     softplus(-h[t - 1] . x[t]) + softplus(h[t - 1] . other[t])
 *
 * divided by the number of rows; or the same of one state of the row and several others.
 */
#include "nn/op/next.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc next_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = (struct nn_shape){.axis = AXIS_BATCH, .n_dims = 1, .dims = {1}};
    for (int i = 0; i < n_in; i++)
        if (in[i].axis == AXIS_BATCH || in[i].axis != in[0].axis ||
            nn_shape_width(&in[i]) != nn_shape_width(&in[0]))
            return err_set(err, RC_INVAL, "takes values of positions of one width");
    return RC_OK;
}

const struct op op_next_loss = {
    .name = "next loss",
    .flags = OP_NEEDS_IN,
    .infer = next_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_next_loss(struct graph *g, struct nn_val *states, struct nn_val *next,
                            struct nn_val *others)
{
    struct nn_val *in[] = {states, next, others};
    return nn_op(g, &op_next_loss, in, NEXT_N_IN, NULL, 0, NULL, 0);
}

static enum rc tell_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    int64_t d = nn_shape_width(&in[TELL_X]);
    *keep_width = 0;
    out[0] = (struct nn_shape){.axis = AXIS_BATCH, .n_dims = 1, .dims = {1}};
    for (int i = 0; i < n_in; i++)
        if (in[i].axis != AXIS_BATCH)
            return err_set(err, RC_INVAL, "takes rows of the batch");
    if (nn_shape_width(&in[TELL_HAPPENED]) != d || nn_shape_width(&in[TELL_OTHERS]) % d ||
        nn_shape_width(&in[TELL_WEIGHT]) != 1)
        return err_set(err, RC_INVAL, "%jd and %jd values to be told apart by %jd",
                       (intmax_t)nn_shape_width(&in[TELL_HAPPENED]),
                       (intmax_t)nn_shape_width(&in[TELL_OTHERS]), (intmax_t)d);
    return RC_OK;
}

const struct op op_tell_loss = {
    .name = "tell loss",
    .flags = OP_NEEDS_IN,
    .infer = tell_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_tell_loss(struct graph *g, struct nn_val *x, struct nn_val *happened,
                            struct nn_val *others, struct nn_val *weights)
{
    struct nn_val *in[] = {x, happened, others, nn_stop_gradient(g, weights)};
    return nn_op(g, &op_tell_loss, in, 4, NULL, 0, NULL, 0);
}
