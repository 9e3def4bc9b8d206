/* SPDX-License-Identifier: Apache-2.0 */
/* Several interests per user (Li et al. 2019): positions of a sequence are routed to
 * capsules. Which position belongs to which capsule is found by iterating on values that
 * take no part in training; only the last sum does. So routing gives weights, without
 * gradients, and the rest is a weighted sum. A row has as many capsules as the logarithm
 * of its length, the others stay zero.
 */
#include <math.h>

#include "base/mem.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/op/capsule.h"
#include "nn/ops.h"

#define CAPSULES_MAX 64
#define SQUASH_MIN 1e-7

static enum rc routing_infer(const void *conf, const struct nn_shape *in, int n_in,
                             struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct nn_capsule_conf *c = conf;
    *keep_width = 1; /* one over the length of a position's vector */
    out[0] = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {c->capsules}};
    if (in[0].axis == AXIS_BATCH || nn_shape_width(&in[0]) > WIDTH_MAX)
        return err_set(err, RC_INVAL, "takes up to %d values of a position", WIDTH_MAX);
    return RC_OK;
}

/* 1 for the capsules that a row has, [batch, capsules]: the first always, capsule k when
 * there are more than 2^k positions. Lengths are whole numbers, so that a difference cut
 * to [0, 1] is the comparison.
 */
static const char *put_capsules(struct onnx *o, const struct nn_capsule_conf *c, int axis)
{
    float more_than[CAPSULES_MAX];
    for (int64_t k = 0; k < c->capsules; k++)
        more_than[k] = c->constant || k == 0 ? -1.0f : (float)ldexp(1, (int)k);
    const char *length = onnx_sum(o, NULL, onnx_mask(o, axis), 1, true);
    const char *least = onnx_floats(o, more_than, (const int64_t[]){1, c->capsules}, 2);
    const char *over = onnx_binary(o, "Sub", NULL, length, least);
    return onnx_with(o, "Min", NULL, onnx_with(o, "Max", NULL, over, 0), 1);
}

static const char *put_unsqueezed(struct onnx *o, const char *x, int64_t axis)
{
    return onnx_binary(o, "Unsqueeze", NULL, x, onnx_ints(o, &axis, 1));
}

/* The last two axes of three exchanged. */
static const char *put_turned(struct onnx *o, const char *x)
{
    struct onnx_attr perm = {
        .name = "perm", .kind = ONNX_ATTR_INTS, .ints = {0, 2, 1}, .n_ints = 3};
    return onnx_node(o, &(struct onnx_node){
                            .type = "Transpose", .in = &x, .n_in = 1, .attrs = {perm}});
}

/* Lengths of the vectors of the last axis, at least `least`. */
static const char *put_lengths(struct onnx *o, const char *x, double least)
{
    const char *squares = onnx_sum(o, NULL, onnx_binary(o, "Mul", NULL, x, x), -1, true);
    return onnx_with(o, "Max", NULL, onnx_unary(o, "Sqrt", NULL, squares), (float)least);
}

/* The first logits [batch, axis, capsules]: zeros, or drawn anew in every run, as here.
 */
static const char *put_first(struct onnx *o, const struct nn_capsule_conf *c,
                             const char *mask)
{
    float zeros[CAPSULES_MAX] = {0};
    const char *none = onnx_floats(o, zeros, (const int64_t[]){1, 1, c->capsules}, 3);
    const char *b = onnx_binary(o, "Add", NULL, onnx_with(o, "Mul", NULL, mask, 0), none);
    if (c->zeros)
        return b;
    return onnx_node(o,
                     &(struct onnx_node){.type = "RandomNormalLike",
                                         .in = &b,
                                         .n_in = 1,
                                         .attrs = {ONNX_FLOAT("scale", c->deviation)}});
}

/* The mask [batch, axis, 1] without positions behind the first `most`: the running count
 * of positions is a whole number, so that a difference cut to [0, 1] is the comparison.
 */
static const char *put_first_positions(struct onnx *o, const char *mask, int64_t most)
{
    const int64_t axis = 1;
    const char *count = onnx_binary(o, "CumSum", NULL, mask, onnx_ints(o, &axis, 1));
    const char *left = onnx_with(o, "Sub", NULL, count, (float)(most + 1));
    left = onnx_with(o, "Mul", NULL, left, -1);
    left = onnx_with(o, "Min", NULL, onnx_with(o, "Max", NULL, left, 0), 1);
    return onnx_binary(o, "Mul", NULL, mask, left);
}

/* The rounds one after the other. */
static void routing_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct nn_capsule_conf *c = op->conf;
    int axis = op->in[0].axis;
    const char *x = onnx_flat(o, op->x[0], &op->in[0]);
    const char *mask = onnx_mask_column(o, axis), *b = put_first(o, c, mask);
    if (c->most > 0)
        mask = put_first_positions(o, mask, c->most);
    const char *unit = onnx_binary(o, "Div", NULL, x, put_lengths(o, x, NORM_MIN));
    const char *outside = onnx_with(o, "Sub", NULL, put_capsules(o, c, axis), 1);
    outside = put_unsqueezed(o, onnx_with(o, "Mul", NULL, outside, 1e30f), 1);
    for (int64_t i = 0; i < c->iterations; i++) {
        bool last = i + 1 == c->iterations;
        const char *s =
            onnx_binary(o, "Add", NULL, onnx_with(o, "Mul", NULL, b, c->scale), outside);
        s = onnx_node(o, &(struct onnx_node){.type = "Softmax",
                                             .in = &s,
                                             .n_in = 1,
                                             .attrs = {ONNX_INT("axis", -1)}});
        b = onnx_binary(o, "Mul", last ? op->y[0] : NULL, s, mask);
        if (last)
            break;
        const char *h = onnx_binary(o, "MatMul", NULL, put_turned(o, b), x);
        b = onnx_binary(o, "Add", NULL, b,
                        onnx_binary(o, "MatMul", NULL, unit, put_turned(o, h)));
    }
}

const struct op op_capsule_routing = {
    .name = "capsule routing",
    .flags = OP_NO_GRAD,
    .infer = routing_infer,
    .onnx = routing_onnx,
};

struct nn_val *nn_capsule_routing(struct graph *g, struct nn_val *x,
                                  const struct nn_capsule_conf *conf)
{
    if (conf->capsules < 1 || conf->capsules > CAPSULES_MAX || conf->iterations < 1)
        return graph_fail(g,
                          "%jd capsules, %jd iterations: 1 to %d capsules, at least "
                          "one iteration",
                          (intmax_t)conf->capsules, (intmax_t)conf->iterations,
                          CAPSULES_MAX);
    return nn_op(g, &op_capsule_routing, &x, 1, NULL, 0, conf, sizeof(*conf));
}

/* in[0] weights [n] and in[1] values [d] per position -> [n, d] per row. */
static enum rc mix_infer(const void *conf, const struct nn_shape *in, int n_in,
                         struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = (struct nn_shape){.axis = AXIS_BATCH,
                               .n_dims = 2,
                               .dims = {nn_shape_width(&in[0]), nn_shape_width(&in[1])}};
    if (in[0].axis == AXIS_BATCH || in[0].axis != in[1].axis)
        return err_set(err, RC_INVAL, "takes weights and values of the same positions");
    return RC_OK;
}

static void mix_onnx(struct onnx *o, const struct onnx_op *op)
{
    const char *weights = onnx_binary(o, "Mul", NULL, onnx_flat(o, op->x[0], &op->in[0]),
                                      onnx_mask_column(o, op->in[0].axis));
    onnx_binary(o, "MatMul", op->y[0], put_turned(o, weights),
                onnx_flat(o, op->x[1], &op->in[1]));
}

const struct op op_seq_mix = {
    .name = "sequence mix",
    .flags = OP_NEEDS_IN,
    .infer = mix_infer,
    .onnx = mix_onnx,
};

struct nn_val *nn_seq_mix(struct graph *g, struct nn_val *weights, struct nn_val *values)
{
    struct nn_val *in[] = {weights, values};
    return nn_op(g, &op_seq_mix, in, 2, NULL, 0, NULL, 0);
}

/* Vectors of the last dimension, their length n made (n^2 / (1 + n^2))^power. */
static enum rc squash_infer(const void *conf, const struct nn_shape *in, int n_in,
                            struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    *keep_width = 0;
    return RC_OK;
}

static void squash_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_squash_conf *c = op->conf;
    const char *n = put_lengths(o, op->x[0], c->least);
    const char *y = onnx_binary(o, "Div", c->power == 0 ? op->y[0] : NULL, op->x[0], n);
    if (c->power == 0)
        return;
    const char *square = onnx_binary(o, "Mul", NULL, n, n);
    const char *q =
        onnx_binary(o, "Div", NULL, square, onnx_with(o, "Add", NULL, square, 1));
    onnx_binary(o, "Mul", op->y[0], y, onnx_with(o, "Pow", NULL, q, (float)c->power));
}

const struct op op_squash = {
    .name = "squash",
    .flags = OP_NEEDS_IN,
    .infer = squash_infer,
    .onnx = squash_onnx,
};

struct nn_val *nn_squash(struct graph *g, struct nn_val *x, double power)
{
    if (!x)
        return NULL;
    struct op_squash_conf conf = {
        .n = x->shape.dims[x->shape.n_dims - 1], .power = power, .least = SQUASH_MIN};
    return nn_op(g, &op_squash, &x, 1, NULL, 0, &conf, sizeof(conf));
}

struct nn_val *nn_normalise_last(struct graph *g, struct nn_val *x, float eps)
{
    if (!x)
        return NULL;
    struct op_squash_conf conf = {
        .n = x->shape.dims[x->shape.n_dims - 1], .power = 0, .least = (double)eps};
    return nn_op(g, &op_squash, &x, 1, NULL, 0, &conf, sizeof(conf));
}

/* in[0] tells the axis; 1 for capsules that a row has, 0 for the others. */
static enum rc mask_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct nn_capsule_conf *c = conf;
    *keep_width = 0;
    out[0] = (struct nn_shape){.axis = AXIS_BATCH, .n_dims = 1, .dims = {c->capsules}};
    return RC_OK;
}

static void mask_onnx(struct onnx *o, const struct onnx_op *op)
{
    onnx_unary(o, "Identity", op->y[0], put_capsules(o, op->conf, op->in[0].axis));
}

const struct op op_capsule_mask = {
    .name = "capsule mask",
    .flags = OP_NO_GRAD,
    .infer = mask_infer,
    .onnx = mask_onnx,
};

struct nn_val *nn_capsule_mask(struct graph *g, struct nn_val *x,
                               const struct nn_capsule_conf *conf)
{
    return nn_op(g, &op_capsule_mask, &x, 1, NULL, 0, conf, sizeof(*conf));
}

static enum rc join_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    int64_t n = nn_shape_width(&in[JOIN_MASK]);
    int64_t front = n_in > JOIN_FRONT ? nn_shape_width(&in[JOIN_FRONT]) : 0;
    *keep_width = 0;
    out[0] = (struct nn_shape){.axis = AXIS_BATCH,
                               .n_dims = 2,
                               .dims = {n, front + nn_shape_width(&in[JOIN_X]) / n}};
    if (in[JOIN_X].n_dims != 2 || in[JOIN_X].dims[0] != n ||
        in[JOIN_X].axis != AXIS_BATCH)
        return err_set(err, RC_INVAL, "takes a mask and a vector for each of %jd",
                       (intmax_t)n);
    return RC_OK;
}

static void join_onnx(struct onnx *o, const struct onnx_op *op)
{
    int64_t n = nn_shape_width(&op->in[JOIN_MASK]);
    const char *mask = put_unsqueezed(o, op->x[JOIN_MASK], 2), *rows = op->x[JOIN_X];
    if (op->n_in > JOIN_FRONT) {
        float *ones = mem_alloc((size_t)n * sizeof(*ones));
        for (int64_t i = 0; i < n; i++)
            ones[i] = 1;
        const char *each = onnx_floats(o, ones, (const int64_t[]){1, n, 1}, 3);
        const char *flat = onnx_flat(o, op->x[JOIN_FRONT], &op->in[JOIN_FRONT]);
        const char *parts[] = {
            onnx_binary(o, "Mul", NULL, put_unsqueezed(o, flat, 1), each), rows};
        rows = onnx_node(o, &(struct onnx_node){.type = "Concat",
                                                .in = parts,
                                                .n_in = 2,
                                                .attrs = {ONNX_INT("axis", 2)}});
        mem_free(ones);
    }
    onnx_binary(o, "Mul", op->y[0], rows, mask);
}

const struct op op_masked_rows = {
    .name = "masked rows",
    .flags = OP_NEEDS_IN,
    .infer = join_infer,
    .onnx = join_onnx,
};

struct nn_val *nn_masked_rows(struct graph *g, struct nn_val *mask, struct nn_val *x,
                              struct nn_val *front)
{
    struct nn_val *in[] = {mask, x, front};
    return nn_op(g, &op_masked_rows, in, front ? 3 : 2, NULL, 0, NULL, 0);
}

static enum rc pick_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    int64_t n = nn_shape_width(&in[PICK_MASK]), d = nn_shape_width(&in[PICK_TARGET]);
    *keep_width = n;
    out[0] = in[PICK_TARGET];
    if (nn_shape_width(&in[PICK_X]) != n * d || in[PICK_X].axis != AXIS_BATCH ||
        in[PICK_TARGET].axis != AXIS_BATCH)
        return err_set(err, RC_INVAL, "takes %jd vectors of %jd values and a target",
                       (intmax_t)n, (intmax_t)d);
    return RC_OK;
}

const struct op op_interest_attention = {
    .name = "interest attention",
    .flags = OP_NEEDS_IN,
    .infer = pick_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_interest_attention(struct graph *g, struct nn_val *mask,
                                     struct nn_val *x, struct nn_val *target, float power)
{
    struct nn_val *in[] = {mask, x, target};
    return nn_op(g, &op_interest_attention, in, 3, NULL, 0, &power, sizeof(power));
}
