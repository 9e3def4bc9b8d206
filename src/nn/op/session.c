/* SPDX-License-Identifier: Apache-2.0 */
/* One exchange between the items of a session that follow each other (Wu et al. 2019).
 * Items are nodes; positions with the same number are the same node. Each node takes the
 * mean of what it gets from the nodes that lead to it (the first half of the values) and
 * from those that it leads to (the second half); how often one follows the other does not
 * count. A node's values are those of its first position, and all of its positions get
 * what it takes.
 */
#include <string.h>

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"
#include "tensor/kernel.h"

enum { IN_X, IN_NODE };

static enum rc session_infer(const void *conf, const struct shape *in, int n_in,
                             struct shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 1; /* the first position of the same node */
    out[0] = in[IN_X];
    if (in[IN_X].axis == AXIS_BATCH || in[IN_NODE].axis != in[IN_X].axis ||
        shape_width(&in[IN_NODE]) != 1 || in[IN_X].n_dims != 1 || in[IN_X].dims[0] % 2)
        return err_set(err, RC_INVAL,
                       "takes an even number of values and one number per position");
    return RC_OK;
}

/* The positions of one row of the batch. */
struct row {
    const struct op_run *r;
    int64_t at, n;
};

static int64_t first_of(const struct row *x, int64_t p)
{
    return (int64_t)*view_row(&x->r->keep, x->at + p);
}

static void find_nodes(const struct row *x)
{
    for (int64_t p = 0; p < x->n; p++) {
        float number = *view_row(&x->r->in[IN_NODE], x->at + p);
        int64_t first = 0;
        while (*view_row(&x->r->in[IN_NODE], x->at + first) != number && first < p)
            first++;
        *view_row(&x->r->keep, x->at + p) = (float)first;
    }
}

/* The next neighbour of `node` behind step t: t -> t + 1 ends (or begins) with it, and no
 * step before did so from the same one. -1: there is none.
 */
static int64_t next_step(const struct row *x, int64_t node, bool into, int64_t t)
{
    for (t++; t + 1 < x->n; t++) {
        if (first_of(x, into ? t + 1 : t) != node)
            continue;
        int64_t other = first_of(x, into ? t : t + 1), before = 0;
        while (before < t && (first_of(x, into ? before + 1 : before) != node ||
                              first_of(x, into ? before : before + 1) != other))
            before++;
        if (before == t)
            return t;
    }
    return -1;
}

static int64_t count_steps(const struct row *x, int64_t node, bool into)
{
    int64_t n = 0;
    for (int64_t t = next_step(x, node, into, -1); t >= 0;
         t = next_step(x, node, into, t))
        n++;
    return n;
}

static void node_forward(const struct row *x, int64_t node, bool into)
{
    const struct op_run *r = x->r;
    int64_t half = r->in[IN_X].width / 2, from = into ? 0 : half;
    float *y = view_row(&r->out[0], x->at + node) + from;
    int64_t n = count_steps(x, node, into);
    memset(y, 0, (size_t)half * sizeof(float));
    for (int64_t t = next_step(x, node, into, -1); t >= 0;
         t = next_step(x, node, into, t)) {
        int64_t other = first_of(x, into ? t : t + 1);
        kernels()->axpy(y, 1.0f / (float)n, view_row(&r->in[IN_X], x->at + other) + from,
                        half);
    }
}

static struct row row_of(const struct op_run *r, int64_t b)
{
    const int64_t *at = r->env->rows.offsets[r->out_axis[0]];
    return (struct row){.r = r, .at = at[b], .n = at[b + 1] - at[b]};
}

static void session_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    for (int64_t b = begin; b < end; b++) {
        struct row x = row_of(r, b);
        find_nodes(&x);
        for (int64_t p = 0; p < x.n; p++) {
            int64_t node = first_of(&x, p);
            if (node != p) {
                memcpy(view_row(&r->out[0], x.at + p), view_row(&r->out[0], x.at + node),
                       (size_t)r->out[0].width * sizeof(float));
                continue;
            }
            node_forward(&x, p, true);
            node_forward(&x, p, false);
        }
    }
}

/* What position p got of dy came from the neighbours of its node. */
static void position_backward(const struct row *x, int64_t p, bool into)
{
    const struct op_run *r = x->r;
    int64_t node = first_of(x, p), half = r->in[IN_X].width / 2, from = into ? 0 : half;
    const float *dy = view_row(&r->d_out[0], x->at + p) + from;
    int64_t n = count_steps(x, node, into);
    for (int64_t t = next_step(x, node, into, -1); t >= 0;
         t = next_step(x, node, into, t)) {
        int64_t other = first_of(x, into ? t : t + 1);
        kernels()->axpy(view_row(&r->d_in[IN_X], x->at + other) + from, 1.0f / (float)n,
                        dy, half);
    }
}

static void session_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    for (int64_t b = begin; r->d_in[IN_X].data && b < end; b++) {
        struct row x = row_of(r, b);
        for (int64_t p = 0; p < x.n; p++) {
            position_backward(&x, p, true);
            position_backward(&x, p, false);
        }
    }
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
    int64_t width = op->in[IN_X].dims[0];
    const char *mask = onnx_mask_column(o, op->in[IN_X].axis), *x = op->x[IN_X];
    const char *same = put_same(o, onnx_flat(o, op->x[IN_NODE], &op->in[IN_NODE]), mask);
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

static const struct op_ops op_session = {.name = "session graph",
                                         .flags = OP_NEEDS_IN,
                                         .infer = session_infer,
                                         .forward = session_forward,
                                         .backward = session_backward,
                                         .onnx = session_onnx};

struct val *nn_session_graph(struct graph *g, struct val *x, struct val *node)
{
    struct val *in[] = {x, node};
    return nn_op(g, &op_session, in, 2, NULL, 0, NULL, 0);
}
