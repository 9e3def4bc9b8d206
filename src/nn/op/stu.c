/* SPDX-License-Identifier: Apache-2.0 */
/* The two ops of a sequential transduction unit (Zhai et al. 2024): attention without
 * softmax, and the gate behind it.
 */
#include "nn/op/stu.h"

#include "nn/graph_private.h"
#include "nn/onnx.h"

static enum rc stu_infer(const void *conf, const struct nn_shape *in, int n_in,
                         struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_stu_conf *x = conf;
    const struct nn_stu_conf *c = &x->c;
    *keep_width = 0;
    out[0] = (struct nn_shape){
        .axis = in[0].axis, .n_dims = 1, .dims = {c->heads * c->hidden}};
    if (in[0].axis == AXIS_BATCH || nn_shape_width(&in[0]) != op_stu_width(c))
        return err_set(err, RC_INVAL,
                       "takes gates, values, queries and keys of positions: %jd floats, "
                       "not %jd",
                       (intmax_t)op_stu_width(c), (intmax_t)nn_shape_width(&in[0]));
    return RC_OK;
}

const struct op op_stu_attention = {
    .name = "stu attention",
    .flags = OP_NEEDS_IN,
    .infer = stu_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_stu_attention(struct graph *g, struct nn_val *uvqk, struct param *bias,
                                const struct nn_stu_conf *conf)
{
    struct op_stu_conf c = {.c = *conf};
    if (conf->heads < 1 || conf->hidden < 1 || conf->attention < 1)
        return graph_fail(g, "an STU layer needs heads, hidden_dim and attention_dim");
    if (conf->hidden > NN_STU_WIDTH_MAX || conf->attention > NN_STU_WIDTH_MAX)
        return graph_fail(
            g, "heads of an STU layer are up to %d wide, not %jd", NN_STU_WIDTH_MAX,
            (intmax_t)(conf->hidden > conf->attention ? conf->hidden : conf->attention));
    if (bias && bias->n_dims != 1)
        return graph_fail(g, "the bias of positions is a list");
    return nn_op(g, &op_stu_attention, &uvqk, 1, &bias, bias ? 1 : 0, &c, sizeof(c));
}

static enum rc gate_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_stu_gate_conf *c = conf;
    out[0] = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {3 * c->width}};
    *keep_width = 2 * c->groups;
    if (in[0].axis != in[1].axis || nn_shape_width(&in[0]) < c->width ||
        nn_shape_width(&in[1]) != c->width)
        return err_set(err, RC_INVAL, "takes gates and values of one width");
    return RC_OK;
}

const struct op op_stu_gate = {
    .name = "stu gate",
    .flags = OP_NEEDS_IN | OP_NEEDS_OUT,
    .infer = gate_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_stu_gate(struct graph *g, struct nn_val *uvqk, struct nn_val *attended,
                           struct param *weight, struct param *bias, int64_t groups)
{
    if (!uvqk || !attended || !weight || !bias)
        return NULL;
    struct op_stu_gate_conf conf = {.width = nn_shape_width(&attended->shape),
                                    .groups = groups,
                                    .weights = weight->n};
    struct nn_val *in[] = {uvqk, attended};
    struct param *params[] = {weight, bias};
    bool fits = weight->n == groups || (groups == 1 && weight->n == conf.width);
    if (groups < 1 || conf.width % groups || !fits || bias->n != weight->n)
        return graph_fail(g, "stu gate: %jd groups of %jd values with %jd weights",
                          (intmax_t)groups, (intmax_t)conf.width, (intmax_t)weight->n);
    return nn_op(g, &op_stu_gate, in, 2, params, 2, &conf, sizeof(conf));
}
