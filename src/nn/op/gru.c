/* SPDX-License-Identifier: Apache-2.0 */
/* Gated recurrent units: the definition of one step and of a run along a sequence. The
 * formulas stand in cpu/gru.c. In ONNX a run is its GRU operator, whose gates stand in another
 * order and whose sequences are padded.
 */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/op/gru.h"
#include "nn/ops.h"

static enum rc cell_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    int64_t w = nn_shape_width(&in[CELL_H]);
    out[0] = in[CELL_H];
    *keep_width = (GRU_KEEP_H + 1) * w;
    for (int i = 0; i < CELL_H; i++)
        if (nn_shape_width(&in[i]) != 3 * w || in[i].axis != in[CELL_H].axis)
            return err_set(err, RC_INVAL, "a state of %jd values takes %jd, not %jd",
                           (intmax_t)w, (intmax_t)(3 * w),
                           (intmax_t)nn_shape_width(&in[i]));
    if (w > NN_GRU_WIDTH_MAX)
        return err_set(err, RC_INVAL, "a state of %jd values is above %d", (intmax_t)w,
                       NN_GRU_WIDTH_MAX);
    return RC_OK;
}

/* Columns [from, from + n) of the last axis. */
static const char *put_part(struct onnx *o, const char *x, int64_t from, int64_t n)
{
    int64_t to = from + n, axis = -1;
    const char *in[] = {x, onnx_ints(o, &from, 1), onnx_ints(o, &to, 1),
                        onnx_ints(o, &axis, 1)};
    return onnx_node(o, &(struct onnx_node){.type = "Slice", .in = in, .n_in = 4});
}

/* One step from a, b and h of width w; `weight` NULL: the update counts in full. */
static const char *put_cell(struct onnx *o, const char *out, const char *a, const char *b,
                            const char *h, const char *weight, int64_t w)
{
    const char *gates[2];
    for (int i = 0; i < 2; i++) {
        const char *sum = onnx_binary(o, "Add", NULL, put_part(o, a, i * w, w),
                                      put_part(o, b, i * w, w));
        gates[i] = onnx_unary(o, "Sigmoid", NULL, sum);
    }
    const char *bn = onnx_binary(o, "Mul", NULL, gates[0], put_part(o, b, 2 * w, w));
    const char *n = onnx_unary(o, "Tanh", NULL,
                               onnx_binary(o, "Add", NULL, put_part(o, a, 2 * w, w), bn));
    const char *keeps = gates[1];
    if (weight) {
        const char *goes = onnx_binary(o, "Sub", NULL, onnx_number(o, 1), keeps);
        goes = onnx_binary(o, "Mul", NULL, weight, goes);
        keeps = onnx_binary(o, "Sub", NULL, onnx_number(o, 1), goes);
    }
    const char *rest =
        onnx_binary(o, "Mul", NULL, keeps, onnx_binary(o, "Sub", NULL, h, n));
    return onnx_binary(o, "Add", out, n, rest);
}

static void cell_onnx(struct onnx *o, const struct onnx_op *op)
{
    put_cell(o, op->y[0], op->x[CELL_A], op->x[CELL_B], op->x[CELL_H], NULL,
             nn_shape_width(&op->in[CELL_H]));
}

const struct op op_gru_cell = {
    .name = "gru cell",
    .flags = OP_NEEDS_IN,
    .infer = cell_infer,
    .onnx = cell_onnx,
};

struct nn_val *nn_gru_cell(struct graph *g, struct nn_val *a, struct nn_val *b,
                           struct nn_val *h)
{
    struct nn_val *in[] = {a, b, h};
    return nn_op(g, &op_gru_cell, in, 3, NULL, 0, NULL, 0);
}

static enum rc gru_infer(const void *conf, const struct nn_shape *in, int n_in,
                         struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_gru_conf *c = conf;
    out[0] = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {c->width}};
    *keep_width = GRU_KEEP_ALL * c->width;
    if (in[0].axis == AXIS_BATCH)
        return err_set(err, RC_INVAL, "takes values of positions");
    if (n_in == 2 && (in[1].axis != in[0].axis || nn_shape_width(&in[1]) != 1))
        return err_set(err, RC_INVAL, "takes one weight per position");
    return RC_OK;
}

/* Rows r, z, n of a parameter as z, r, n with an axis of one in front. */
static const char *put_turned(struct onnx *o, const struct param *p, int64_t w)
{
    static const int64_t order[] = {1, 0, 2}, zero = 0;
    const char *parts[3], *x = onnx_param(o, p);
    for (int i = 0; i < 3; i++) {
        int64_t from = order[i] * w, to = from + w;
        const char *in[] = {x, onnx_ints(o, &from, 1), onnx_ints(o, &to, 1),
                            onnx_ints(o, &zero, 1)};
        parts[i] =
            onnx_node(o, &(struct onnx_node){.type = "Slice", .in = in, .n_in = 4});
    }
    const char *joined = onnx_node(
        o, &(struct onnx_node){
               .type = "Concat", .in = parts, .n_in = 3, .attrs = {ONNX_INT("axis", 0)}});
    return onnx_binary(o, "Unsqueeze", NULL, joined, onnx_ints(o, &zero, 1));
}

/* What brings inputs r, z, n into the order z, r, n: a matrix of ones and zeros. */
static const char *put_order(struct onnx *o, int64_t w)
{
    float *m = mem_calloc((size_t)(9 * w * w), sizeof(float));
    for (int64_t i = 0; i < 3 * w; i++)
        m[i * 3 * w + (i < w ? i + w : i < 2 * w ? i - w : i)] = 1;
    const char *name = onnx_floats(o, m, (const int64_t[]){1, 3 * w, 3 * w}, 3);
    mem_free(m);
    return name;
}

static const char *put_swapped(struct onnx *o, const char *out, const char *x)
{
    struct onnx_attr perm = {
        .name = "perm", .kind = ONNX_ATTR_INTS, .ints = {1, 0, 2}, .n_ints = 3};
    return onnx_node(
        o, &(struct onnx_node){
               .type = "Transpose", .in = &x, .n_in = 1, .out = out, .attrs = {perm}});
}

static void gru_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_gru_conf *c = op->conf;
    int64_t w = c->width, three = 3 * w, one = 1;
    float *zeros = mem_calloc((size_t)three, sizeof(float));
    const char *bias[] = {onnx_floats(o, zeros, (const int64_t[]){1, three}, 2),
                          put_turned(o, op->params[GRU_BIAS], w)};
    mem_free(zeros);
    const char *both = onnx_node(
        o, &(struct onnx_node){
               .type = "Concat", .in = bias, .n_in = 2, .attrs = {ONNX_INT("axis", 1)}});
    const char *in[] = {put_swapped(o, NULL, op->x[0]), put_order(o, w),
                        put_turned(o, op->params[GRU_W], w), both};
    const char *y =
        onnx_node(o, &(struct onnx_node){.type = "GRU",
                                         .in = in,
                                         .n_in = 4,
                                         .attrs = {ONNX_INT("hidden_size", w),
                                                   ONNX_INT("linear_before_reset", 1)}});
    y = onnx_binary(o, "Squeeze", NULL, y, onnx_ints(o, &one, 1));
    put_swapped(o, op->y[0], y);
}

/* What a step of the loop reads beside its slices. */
struct scan_params {
    const char *w, *bias; /* [w, 3 * w] and [3 * w] */
    int64_t width;
};

static const char *weighted_step(struct onnx *o, const char *h, const char *const *x,
                                 const void *arg)
{
    const struct scan_params *p = arg;
    const char *b =
        onnx_binary(o, "Add", NULL, onnx_binary(o, "MatMul", NULL, h, p->w), p->bias);
    return put_cell(o, NULL, x[0], b, h, x[1], p->width);
}

/* Zeros [batch, w] for an x [batch, ...]. */
static const char *put_zeros(struct onnx *o, const char *x, int64_t w)
{
    static const int64_t zero = 0, one = 1;
    const char *cut[] = {onnx_unary(o, "Shape", NULL, x), onnx_ints(o, &zero, 1),
                         onnx_ints(o, &one, 1)};
    const char *dims[] = {
        onnx_node(o, &(struct onnx_node){.type = "Slice", .in = cut, .n_in = 3}),
        onnx_ints(o, &w, 1)};
    const char *shape = onnx_node(
        o, &(struct onnx_node){
               .type = "Concat", .in = dims, .n_in = 2, .attrs = {ONNX_INT("axis", 0)}});
    return onnx_unary(o, "ConstantOfShape", NULL, shape);
}

/* ONNX has no recurrent unit whose update counts by a weight: a loop. */
static void weighted_gru_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_gru_conf *c = op->conf;
    struct scan_params p = {
        .w = onnx_unary(o, "Transpose", NULL, onnx_param(o, op->params[GRU_W])),
        .bias = onnx_param(o, op->params[GRU_BIAS]),
        .width = c->width};
    const char *x[] = {put_swapped(o, NULL, op->x[0]), put_swapped(o, NULL, op->x[1])};
    struct onnx_scan scan = {.first = put_zeros(o, op->x[0], c->width),
                             .x = x,
                             .n_x = 2,
                             .body = weighted_step,
                             .arg = &p};
    put_swapped(o, op->y[0], onnx_scan(o, &scan));
}

const struct op op_gru = {
    .name = "gru",
    .flags = OP_NEEDS_IN | OP_NEEDS_OUT,
    .infer = gru_infer,
    .onnx = gru_onnx,
};

const struct op op_weighted_gru = {
    .name = "weighted gru",
    .flags = OP_NEEDS_IN | OP_NEEDS_OUT,
    .infer = gru_infer,
    .onnx = weighted_gru_onnx,
};

/* "weight_ih" and layer 1: "weight_ih_l1". */
static struct param *layer_param(struct graph *g, const char *what, int layer,
                                 const int64_t *dims, int n_dims, struct nn_init init)
{
    char name[32];
    snprintf(name, sizeof(name), "%s_l%d", what, layer);
    return nn_param(g, name, dims, n_dims, init, true);
}

static struct nn_val *seq_gru(struct graph *g, const char *name, int layer,
                              struct nn_val *x, struct nn_val *weights, int64_t width)
{
    if (!x)
        return NULL;
    if (width < 1 || width > NN_GRU_WIDTH_MAX)
        return graph_fail(g, "gru: a width of %jd is outside [1, %d]", (intmax_t)width,
                          NN_GRU_WIDTH_MAX);
    int64_t in = nn_shape_width(&x->shape), three = 3 * width;
    double bound = 1.0 / sqrt((double)width);
    struct nn_init init = {INIT_UNIFORM, -bound, bound};
    graph_push(g, name);
    struct param *w_in =
        layer_param(g, "weight_ih", layer, (const int64_t[]){three, in}, 2, init);
    struct param *w =
        layer_param(g, "weight_hh", layer, (const int64_t[]){three, width}, 2, init);
    struct param *b_in = layer_param(g, "bias_ih", layer, &three, 1, init);
    struct param *b = layer_param(g, "bias_hh", layer, &three, 1, init);
    graph_pop(g);
    struct op_gru_conf conf = {.width = width, .precision = g->options.precision};
    struct nn_val *a = nn_linear_rows(g, w_in, b_in, 0, three, x);
    struct param *params[] = {[GRU_W] = w, [GRU_BIAS] = b};
    struct nn_val *both[] = {a, weights};
    return nn_op(g, weights ? &op_weighted_gru : &op_gru, both, weights ? 2 : 1, params,
                 2, &conf, sizeof(conf));
}

struct nn_val *nn_seq_gru(struct graph *g, const char *name, int layer, struct nn_val *x,
                          int64_t width)
{
    return seq_gru(g, name, layer, x, NULL, width);
}

struct nn_val *nn_seq_weighted_gru(struct graph *g, const char *name, int layer,
                                   struct nn_val *x, struct nn_val *weights,
                                   int64_t width)
{
    return weights ? seq_gru(g, name, layer, x, weights, width) : NULL;
}
