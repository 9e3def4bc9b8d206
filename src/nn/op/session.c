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

/* What is kept of a position: the first position of the same node; whether the step from
 * here to the next joins two nodes that no step before did; and, at the first position
 * of a node, how many nodes lead to it and to how many it leads.
 */
enum { KEEP_FIRST, KEEP_NEW, KEEP_COME, KEEP_GO, KEEP_ALL };

static enum rc session_infer(const void *conf, const struct shape *in, int n_in,
                             struct shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = KEEP_ALL;
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

static struct row row_of(const struct op_run *r, int64_t b)
{
    const int64_t *at = r->env->rows.offsets[r->out_axis[0]];
    return (struct row){.r = r, .at = at[b], .n = at[b + 1] - at[b]};
}

static float *kept(const struct row *x, int64_t p)
{
    return view_row(&x->r->keep, x->at + p);
}

static int64_t first_of(const struct row *x, int64_t p)
{
    return (int64_t)kept(x, p)[KEEP_FIRST];
}

static void find_nodes(const struct row *x)
{
    for (int64_t p = 0; p < x->n; p++) {
        float number = *view_row(&x->r->in[IN_NODE], x->at + p), *keep = kept(x, p);
        int64_t first = 0;
        while (*view_row(&x->r->in[IN_NODE], x->at + first) != number && first < p)
            first++;
        keep[KEEP_FIRST] = (float)first;
        keep[KEEP_COME] = keep[KEEP_GO] = 0;
    }
}

/* A node that was not there before has no steps yet. */
static bool is_new(const struct row *x, int64_t t)
{
    int64_t a = first_of(x, t), b = first_of(x, t + 1), before = a;
    if (a == t || b == t + 1)
        return true;
    while (before < t && (first_of(x, before) != a || first_of(x, before + 1) != b))
        before++;
    return before == t;
}

static void find_steps(const struct row *x)
{
    for (int64_t t = 0; t + 1 < x->n; t++) {
        bool new = is_new(x, t);
        kept(x, t)[KEEP_NEW] = new;
        kept(x, first_of(x, t))[KEEP_GO] += new;
        kept(x, first_of(x, t + 1))[KEEP_COME] += new;
    }
}

/* Along each new step, at first positions: y gets, of `from`, what comes with it in the
 * first half and, against it, in the second; or, `back`, the other way round.
 */
static void along_steps(const struct row *x, const struct view *from,
                        const struct view *to, bool back)
{
    int64_t half = from->width / 2;
    for (int64_t t = 0; t + 1 < x->n; t++) {
        int64_t a = first_of(x, t), b = first_of(x, t + 1);
        if (kept(x, t)[KEEP_NEW] == 0)
            continue;
        float come = 1.0f / kept(x, b)[KEEP_COME], go = 1.0f / kept(x, a)[KEEP_GO];
        int64_t source = x->at + (back ? b : a), sink = x->at + (back ? a : b);
        kernels()->axpy(view_row(to, sink), come, view_row(from, source), half);
        kernels()->axpy(view_row(to, source) + half, go, view_row(from, sink) + half,
                        half);
    }
}

static void session_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    size_t bytes = (size_t)r->out[0].width * sizeof(float);
    for (int64_t b = begin; b < end; b++) {
        struct row x = row_of(r, b);
        find_nodes(&x);
        find_steps(&x);
        for (int64_t p = 0; p < x.n; p++)
            memset(view_row(&r->out[0], x.at + p), 0, bytes);
        along_steps(&x, &r->in[IN_X], &r->out[0], false);
        for (int64_t p = 0; p < x.n; p++)
            if (first_of(&x, p) != p)
                memcpy(view_row(&r->out[0], x.at + p),
                       view_row(&r->out[0], x.at + first_of(&x, p)), bytes);
    }
}

/* The slopes of a node are those of all of its positions: they are added up at the first,
 * in place, since nobody else reads them.
 */
static void session_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    for (int64_t b = begin; r->d_in[IN_X].data && b < end; b++) {
        struct row x = row_of(r, b);
        for (int64_t p = 0; p < x.n; p++)
            if (first_of(&x, p) != p)
                kernels()->add(view_row(&r->d_out[0], x.at + first_of(&x, p)),
                               view_row(&r->d_out[0], x.at + p), r->out[0].width);
        along_steps(&x, &r->d_out[0], &r->d_in[IN_X], true);
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
