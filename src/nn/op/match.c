/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/op/match.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc scores_infer(const void *conf, const struct nn_shape *in, int n_in,
                            struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_scores_conf *c = conf;
    *keep_width = 0;
    out[0] = (struct nn_shape){.axis = c->axis, .n_dims = 1, .dims = {1}};
    if (in[IN_USER].axis != AXIS_BATCH && c->in_batch)
        return err_set(err, RC_INVAL, "takes a user per row of the batch");
    if (nn_shape_width(&in[IN_USER]) != nn_shape_width(&in[IN_ITEM]))
        return err_set(err, RC_INVAL, "users have %jd values, items %jd",
                       (intmax_t)nn_shape_width(&in[IN_USER]),
                       (intmax_t)nn_shape_width(&in[IN_ITEM]));
    if (in[IN_ITEM].axis == AXIS_BATCH && !c->in_batch)
        return err_set(err, RC_INVAL, "there are no other items than those of the batch");
    return RC_OK;
}

const struct op op_match_scores = {
    .name = "match scores",
    .flags = OP_NEEDS_IN,
    .infer = scores_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_match_scores(struct graph *g, struct nn_val *user, struct nn_val *item,
                               int axis, int hard_axis, bool in_batch, float scale)
{
    struct op_scores_conf conf = {.axis = axis,
                                  .hard_axis = hard_axis,
                                  .in_batch = in_batch,
                                  .scale = scale,
                                  .precision = g->options.precision};
    struct nn_val *in[] = {user, item};
    return nn_op(g, &op_match_scores, in, 2, NULL, 0, &conf, sizeof(conf));
}

static enum rc loss_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_match_loss_conf *c = conf;
    *keep_width = 1;
    out[0] = (struct nn_shape){.axis = c->axis, .n_dims = 1, .dims = {1}};
    if (in[0].axis == AXIS_BATCH || nn_shape_width(&in[0]) != 1)
        return err_set(err, RC_INVAL, "takes one score per candidate");
    if (n_in == 2 && (c->axis != AXIS_BATCH || in[1].axis != AXIS_BATCH ||
                      nn_shape_width(&in[1]) != 1))
        return err_set(err, RC_INVAL, "takes one weight per row");
    return RC_OK;
}

const struct op op_match_loss = {
    .name = "match loss",
    .flags = OP_NEEDS_IN,
    .infer = loss_infer,
    .onnx = onnx_nothing,
};

const struct op op_match_logistic = {
    .name = "match logistic loss",
    .flags = OP_NEEDS_IN,
    .infer = loss_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_match_logistic(struct graph *g, struct nn_val *scores,
                                 struct nn_val *weights, bool diagonal)
{
    struct op_match_loss_conf conf = {.diagonal = diagonal};
    struct nn_val *in[] = {scores, weights};
    return nn_op(g, &op_match_logistic, in, weights ? 2 : 1, NULL, 0, &conf,
                 sizeof(conf));
}

struct nn_val *nn_match_loss(struct graph *g, struct nn_val *scores,
                             struct nn_val *weights, bool diagonal, int axis)
{
    struct op_match_loss_conf conf = {.diagonal = diagonal, .axis = axis};
    struct nn_val *in[] = {scores, weights};
    return nn_op(g, &op_match_loss, in, weights ? 2 : 1, NULL, 0, &conf, sizeof(conf));
}

/* The first rows of the items are those of the batch. Which tile made a row is another
 * matter, so that all of them must be there.
 */
static enum rc own_infer(const void *conf, const struct nn_shape *in, int n_in,
                         struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = in[0];
    out[0].axis = AXIS_BATCH;
    return RC_OK;
}

const struct op op_own_items = {
    .name = "own items",
    .infer = own_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_own_items(struct graph *g, struct nn_val *items)
{
    if (!items || items->shape.axis == AXIS_BATCH)
        return items;
    return nn_op(g, &op_own_items, &items, 1, NULL, 0, NULL, 0);
}
