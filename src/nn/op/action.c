/* SPDX-License-Identifier: Apache-2.0 */
/* What a user did, as bits of a number, as vectors; and a learnt vector for all rows. */
#include "nn/op/action.h"

#include "nn/graph_private.h"
#include "nn/onnx.h"

static enum rc action_infer(const void *conf, const struct nn_shape *in, int n_in,
                            struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_action_conf *c = conf;
    *keep_width = 0;
    out[0] = (struct nn_shape){
        .axis = in[0].axis, .n_dims = 1, .dims = {c->c.types * c->width}};
    for (int i = 0; i < n_in; i++)
        if (nn_shape_width(&in[i]) != 1 || in[i].axis != in[0].axis)
            return err_set(err, RC_INVAL, "takes one number per row");
    return RC_OK;
}

const struct op op_action_embed = {
    .name = "action embed",
    .flags = OP_NEEDS_IN,
    .infer = action_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_action_embed(struct graph *g, struct nn_val *action,
                               struct nn_val *watch, struct param *table,
                               const struct nn_action_conf *conf)
{
    if (!action || !table || (conf->thresholds && !watch))
        return NULL;
    struct op_action_conf c = {.c = *conf, .width = table->dims[1]};
    struct nn_val *in[] = {action, watch};
    if (conf->types < 1 || conf->types > NN_ACTIONS_MAX ||
        conf->thresholds > conf->types || table->dims[0] != conf->types)
        return graph_fail(g, "actions of %jd types; there are 1 to %d",
                          (intmax_t)conf->types, NN_ACTIONS_MAX);
    return nn_op(g, &op_action_embed, in, conf->thresholds ? 2 : 1, &table, 1, &c,
                 sizeof(c));
}

static enum rc learned_infer(const void *conf, const struct nn_shape *in, int n_in,
                             struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const int64_t *width = conf;
    *keep_width = 0;
    out[0] = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {*width}};
    return RC_OK;
}

const struct op op_learned_row = {
    .name = "learned row",
    .infer = learned_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_learned_row(struct graph *g, struct param *row, struct nn_val *like)
{
    if (!row || !like)
        return NULL;
    return nn_op(g, &op_learned_row, &like, 1, &row, 1, &row->n, sizeof(row->n));
}
