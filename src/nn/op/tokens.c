/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences put together from parts of a row, cut, and turned round. Nothing is padded. */
#include "nn/op/tokens.h"

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc join_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_tokens_conf *c = conf;
    *keep_width = 0;
    out[0] = (struct nn_shape){.axis = c->axis, .n_dims = 1, .dims = {c->width}};
    for (int i = 0; i < n_in; i++)
        if (nn_shape_width(&in[i]) % c->width)
            return err_set(err, RC_INVAL, "%jd values are not tokens of %jd",
                           (intmax_t)nn_shape_width(&in[i]), (intmax_t)c->width);
    return RC_OK;
}

const struct op op_seq_join = {
    .name = "join",
    .infer = join_infer,
    .onnx = onnx_nothing,
};

/* The axis that the parts make together. */
static int joined_axis(struct graph *g, const char *name, struct nn_val *const *parts,
                       int n, int64_t width)
{
    struct nn_axis_part list[AXIS_PARTS_MAX];
    int64_t fixed = 0;
    int n_list = 0;
    for (int i = 0; i < n; i++) {
        int64_t each = nn_shape_width(&parts[i]->shape) / width;
        if (parts[i]->shape.axis == AXIS_BATCH)
            fixed += each;
        else
            list[n_list++] =
                (struct nn_axis_part){.axis = parts[i]->shape.axis, .times = each};
    }
    return graph_axis_sum(g, name, fixed, list, n_list);
}

struct nn_val *nn_seq_join(struct graph *g, const char *name, struct nn_val *const *parts,
                           int n, int64_t width, int axis)
{
    if (n < 1 || n > AXIS_PARTS_MAX || width < 1)
        return graph_fail(g, "join: %d parts of width %jd", n, (intmax_t)width);
    for (int i = 0; i < n; i++)
        if (!parts[i])
            return NULL;
    struct op_tokens_conf conf = {.axis = axis, .width = width};
    if (axis == AXIS_BATCH)
        conf.axis = joined_axis(g, name, parts, n, width);
    return conf.axis < 0 ? NULL
                         : nn_op(g, &op_seq_join, parts, n, NULL, 0, &conf, sizeof(conf));
}

static enum rc keep_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_tokens_conf *c = conf;
    *keep_width = 0;
    out[0] = in[0];
    out[0].axis = c->axis;
    if (in[0].axis == AXIS_BATCH || c->axis == AXIS_BATCH || c->front < 0)
        return err_set(err, RC_INVAL, "takes positions and gives some of them");
    return RC_OK;
}

const struct op op_seq_keep = {
    .name = "keep",
    .infer = keep_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_seq_keep(struct graph *g, struct nn_val *x, int64_t front, int axis)
{
    struct op_tokens_conf conf = {.axis = axis, .front = front};
    return nn_op(g, &op_seq_keep, &x, 1, NULL, 0, &conf, sizeof(conf));
}

static enum rc reverse_infer(const void *conf, const struct nn_shape *in, int n_in,
                             struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = in[0];
    return in[0].axis == AXIS_BATCH ? err_set(err, RC_INVAL, "takes positions") : RC_OK;
}

const struct op op_seq_reverse = {
    .name = "reverse",
    .infer = reverse_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_seq_reverse(struct graph *g, struct nn_val *x)
{
    return nn_op(g, &op_seq_reverse, &x, 1, NULL, 0, NULL, 0);
}
