/* SPDX-License-Identifier: Apache-2.0 */
/* One exchange between the items of a session that follow each other (Wu et al. 2019).
 * Items are nodes; positions with the same number are the same node. Each node takes the
 * mean of what it gets from the nodes that lead to it (the first half of the values) and
 * from those that it leads to (the second half); how often one follows the other does not
 * count. A node's values are those of its first position, and all of its positions get
 * what it takes.
 */
#include "nn/op/session.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc session_infer(const void *conf, const struct nn_shape *in, int n_in,
                             struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = SESSION_KEEP_ALL;
    out[0] = in[SESSION_X];
    if (in[SESSION_X].axis == AXIS_BATCH || in[SESSION_NODE].axis != in[SESSION_X].axis ||
        nn_shape_width(&in[SESSION_NODE]) != 1 || in[SESSION_X].n_dims != 1 ||
        in[SESSION_X].dims[0] % 2)
        return err_set(err, RC_INVAL,
                       "takes an even number of values and one number per position");
    return RC_OK;
}

static const char *put_slice(struct onnx *o, const char *x, int64_t from, int64_t to,
                             int64_t axis)
{
    const char *in[] = {x, onnx_ints(o, &from, 1), onnx_ints(o, &to, 1),
                        onnx_ints(o, &axis, 1)};
    return onnx_node(o, &(struct onnx_node){.type = "Slice", .in = in, .n_in = 4});
}

static const char *put_turned(struct onnx *o, const char *x)
{
    struct onnx_attr perm = {
        .name = "perm", .kind = ONNX_ATTR_INTS, .ints = {0, 2, 1}, .n_ints = 3};
    return onnx_node(o, &(struct onnx_node){
                            .type = "Transpose", .in = &x, .n_in = 1, .attrs = {perm}});
}

static const char *put_concat(struct onnx *o, const char *out, const char *a,
                              const char *b, int64_t axis)
{
    const char *in[] = {a, b};
    return onnx_node(o, &(struct onnx_node){.type = "Concat",
                                            .in = in,
                                            .n_in = 2,
                                            .out = out,
                                            .attrs = {ONNX_INT("axis", axis)}});
}

/* [batch, axis, axis]: 1 where two positions are the same node. */
static const char *put_same(struct onnx *o, const char *node, const char *mask)
{
    const char *equal = onnx_binary(o, "Equal", NULL, node, put_turned(o, node));
    const char *same = onnx_node(
        o, &(struct onnx_node){
               .type = "Cast", .in = &equal, .n_in = 1, .attrs = {ONNX_INT("to", 1)}});
    same = onnx_binary(o, "Mul", NULL, same, mask);
    return onnx_binary(o, "Mul", NULL, same, put_turned(o, mask));
}

/* [batch, 1, axis]: 1 for first positions: nothing before is the same. */
static const char *put_firsts(struct onnx *o, const char *same, const char *mask)
{
    const char *in[] = {same, onnx_ints(o, (const int64_t[]){1}, 1)};
    const char *before = onnx_node(
        o, &(struct onnx_node){
               .type = "Trilu", .in = in, .n_in = 2, .attrs = {ONNX_INT("upper", 1)}});
    before = onnx_sum(o, NULL, before, 1, true);
    const char *first = onnx_unary(
        o, "Relu", NULL, onnx_binary(o, "Sub", NULL, onnx_number(o, 1), before));
    return onnx_binary(o, "Mul", NULL, first, put_turned(o, mask));
}

/* Means over the neighbours that `edges` [batch, axis, axis] says. */
static const char *put_means(struct onnx *o, const char *edges, const char *firsts,
                             const char *x)
{
    const char *each = onnx_binary(o, "Mul", NULL, edges, firsts);
    const char *count = onnx_with(o, "Max", NULL, onnx_sum(o, NULL, each, -1, true), 1);
    return onnx_binary(o, "MatMul", NULL, onnx_binary(o, "Div", NULL, each, count), x);
}

static void session_onnx(struct onnx *o, const struct onnx_op *op)
{
    int64_t width = op->in[SESSION_X].dims[0];
    const char *mask = onnx_mask_column(o, op->in[SESSION_X].axis), *x = op->x[SESSION_X];
    const char *same =
        put_same(o, onnx_flat(o, op->x[SESSION_NODE], &op->in[SESSION_NODE]), mask);
    const char *firsts = put_firsts(o, same, mask);
    /* row t: which positions are the node of position t + 1 */
    const char *none = onnx_with(o, "Mul", NULL, put_slice(o, same, 0, 1, 1), 0);
    const char *next = put_concat(o, NULL, put_slice(o, same, 1, INT64_MAX, 1), none, 1);
    const char *edges =
        onnx_with(o, "Min", NULL, onnx_binary(o, "MatMul", NULL, same, next), 1);
    const char *in =
        put_means(o, put_turned(o, edges), firsts, put_slice(o, x, 0, width / 2, 2));
    const char *out = put_means(o, edges, firsts, put_slice(o, x, width / 2, width, 2));
    put_concat(o, op->y[0], in, out, 2);
}

const struct op op_session_graph = {
    .name = "session graph",
    .flags = OP_NEEDS_IN,
    .infer = session_infer,
    .onnx = session_onnx,
};

struct nn_val *nn_session_graph(struct graph *g, struct nn_val *x, struct nn_val *node)
{
    struct nn_val *in[] = {x, node};
    return nn_op(g, &op_session_graph, in, 2, NULL, 0, NULL, 0);
}
