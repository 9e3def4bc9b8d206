/* SPDX-License-Identifier: Apache-2.0 */
/* Several interests per user (Li et al. 2019): positions of a sequence are routed to
 * capsules. Which position belongs to which capsule is found by iterating on values that
 * take no part in training; only the last sum does. So routing gives weights, without
 * gradients, and the rest is a weighted sum. A row has as many capsules as the logarithm
 * of its length, the others stay zero.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"
#include "tensor/kernel.h"

#define CAPSULES_MAX 64
#define CHUNK 256 /* floats of some positions; at least CAPSULES_MAX */
#define WIDTH_MAX 1024
#define SQUASH_MIN 1e-7
#define NORM_MIN 1e-12

struct squash_conf {
    int64_t n;
    double power, least; /* shorter vectors count as so long */
};

/* Capsules of a row with so many positions. */
static int64_t capsules_of(const struct capsule_conf *c, int64_t length)
{
    if (c->constant || length < 1)
        return c->constant ? c->capsules : 1;
    double n = ceil(log2((double)length));
    return n < 1 ? 1 : n > (double)c->capsules ? c->capsules : (int64_t)n;
}

static enum rc routing_infer(const void *conf, const struct shape *in, int n_in,
                             struct shape *out, int64_t *keep_width, struct err *err)
{
    const struct capsule_conf *c = conf;
    *keep_width = 1; /* one over the length of a position's vector */
    out[0] = (struct shape){.axis = in[0].axis, .n_dims = 1, .dims = {c->capsules}};
    if (in[0].axis == AXIS_BATCH || shape_width(&in[0]) > WIDTH_MAX)
        return err_set(err, RC_INVAL, "takes up to %d values of a position", WIDTH_MAX);
    return RC_OK;
}

/* Softmax over the capsules that the row has; the others get nothing. A few capsules are
 * less than a vector, so the exponentials are those of many positions at once.
 */
static void shares(struct view b, int64_t n, float scale)
{
    float part[CHUNK];
    int64_t some = CHUNK / n;
    for (int64_t from = 0; from < b.rows; from += some) {
        int64_t rows = b.rows - from < some ? b.rows - from : some;
        for (int64_t t = 0; t < rows; t++) {
            const float *x = view_row(&b, from + t);
            float most = x[0] * scale;
            for (int64_t k = 1; k < n; k++)
                most = x[k] * scale > most ? x[k] * scale : most;
            for (int64_t k = 0; k < n; k++)
                part[t * n + k] = x[k] * scale - most;
        }
        kernels()->exp(part, part, rows * n);
        for (int64_t t = 0; t < rows; t++) {
            float *y = view_row(&b, from + t), sum = 0;
            for (int64_t k = 0; k < n; k++)
                sum += part[t * n + k];
            for (int64_t k = 0; k < b.width; k++)
                y[k] = k < n ? part[t * n + k] / sum : 0.0f;
        }
    }
}

static void first_logits(const struct op_run *r, int64_t row, int64_t positions,
                         struct view b)
{
    const struct capsule_conf *c = r->conf;
    struct rng rng;
    rng_init(&rng, r->env->seed, r->id, r->env->step, (uint64_t)row);
    for (int64_t t = 0; t < positions; t++)
        for (int64_t k = 0; k < c->capsules; k++)
            view_row(&b, t)[k] = c->zeros ? 0.0f : (float)rng_normal(&rng) * c->deviation;
}

/* One over the length of each vector, at least NORM_MIN. */
static void find_lengths(struct view x, struct view inverse)
{
    for (int64_t t = 0; t < x.rows; t++) {
        double length = sqrt(kernels()->sum_squares(view_row(&x, t), x.width));
        *view_row(&inverse, t) = (float)(1.0 / (length > NORM_MIN ? length : NORM_MIN));
    }
}

/* One round: capsules from shares, then shares plus how near each position is. */
static void route(struct view x, struct view inverse, struct view b, int64_t n)
{
    float capsule[WIDTH_MAX], near[CHUNK];
    for (int64_t k = 0; k < n; k++) {
        memset(capsule, 0, (size_t)x.width * sizeof(float));
        kernels()->add_rows(capsule, x.data, x.ld, x.rows, b.data + k, b.ld, x.width);
        for (int64_t from = 0; from < x.rows; from += CHUNK) {
            int64_t rows = x.rows - from < CHUNK ? x.rows - from : CHUNK;
            kernels()->dot_rows(near, view_row(&x, from), x.ld, rows, capsule, x.width);
            for (int64_t t = 0; t < rows; t++)
                view_row(&b, from + t)[k] += *view_row(&inverse, from + t) * near[t];
        }
    }
}

static void routing_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct capsule_conf *c = r->conf;
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    for (int64_t row = begin; row < end; row++) {
        int64_t n = capsules_of(c, at[row + 1] - at[row]), end_at = at[row + 1];
        if (c->most > 0 && end_at - at[row] > c->most)
            end_at = at[row] + c->most;
        struct view x = view_rows(&r->in[0], at[row], end_at);
        struct view b = view_rows(&r->out[0], at[row], end_at);
        for (int64_t t = end_at; t < at[row + 1]; t++)
            memset(view_row(&r->out[0], t), 0, (size_t)c->capsules * sizeof(float));
        struct view inverse = view_rows(&r->keep, at[row], end_at);
        first_logits(r, row, x.rows, b);
        find_lengths(x, inverse);
        for (int64_t i = 0; i < c->iterations; i++) {
            shares(b, n, c->scale);
            if (i + 1 < c->iterations)
                route(x, inverse, b, n);
        }
    }
}

/* 1 for the capsules that a row has, [batch, capsules]: the first always, capsule k when
 * there are more than 2^k positions. Lengths are whole numbers, so that a difference cut
 * to [0, 1] is the comparison.
 */
static const char *put_capsules(struct onnx *o, const struct capsule_conf *c, int axis)
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
static const char *put_first(struct onnx *o, const struct capsule_conf *c,
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
    const struct capsule_conf *c = op->conf;
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

static const struct op_ops op_routing = {.name = "capsule routing",
                                         .flags = OP_NO_GRAD,
                                         .infer = routing_infer,
                                         .forward = routing_forward,
                                         .onnx = routing_onnx};

struct val *nn_capsule_routing(struct graph *g, struct val *x,
                               const struct capsule_conf *conf)
{
    if (conf->capsules < 1 || conf->capsules > CAPSULES_MAX || conf->iterations < 1)
        return graph_fail(g,
                          "%jd capsules, %jd iterations: 1 to %d capsules, at least "
                          "one iteration",
                          (intmax_t)conf->capsules, (intmax_t)conf->iterations,
                          CAPSULES_MAX);
    return nn_op(g, &op_routing, &x, 1, NULL, 0, conf, sizeof(*conf));
}

/* in[0] weights [n] and in[1] values [d] per position -> [n, d] per row. */
static enum rc mix_infer(const void *conf, const struct shape *in, int n_in,
                         struct shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = (struct shape){.axis = AXIS_BATCH,
                            .n_dims = 2,
                            .dims = {shape_width(&in[0]), shape_width(&in[1])}};
    if (in[0].axis == AXIS_BATCH || in[0].axis != in[1].axis)
        return err_set(err, RC_INVAL, "takes weights and values of the same positions");
    return RC_OK;
}

static void mix_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    int64_t n = r->in[0].width, d = r->in[1].width;
    for (int64_t row = begin; row < end; row++) {
        float *y = view_row(&r->out[0], row);
        struct view w = view_rows(&r->in[0], at[row], at[row + 1]);
        struct view x = view_rows(&r->in[1], at[row], at[row + 1]);
        memset(y, 0, (size_t)(n * d) * sizeof(float));
        for (int64_t k = 0; k < n && x.rows > 0; k++)
            kernels()->add_rows(y + k * d, x.data, x.ld, x.rows, w.data + k, w.ld, d);
    }
}

/* The slope of a position's values is one row of weights times the slopes. */
static void mix_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    int64_t n = r->in[0].width, d = r->in[1].width;
    for (int64_t row = begin; row < end; row++) {
        const float *dy = view_row(&r->d_out[0], row);
        for (int64_t t = at[row]; t < at[row + 1]; t++) {
            const float *w = view_row(&r->in[0], t), *x = view_row(&r->in[1], t);
            if (r->d_in[1].data)
                kernels()->add_rows(view_row(&r->d_in[1], t), dy, d, n, w, 1, d);
            for (int64_t k = 0; r->d_in[0].data && k < n; k++)
                view_row(&r->d_in[0], t)[k] += kernels()->dot(dy + k * d, x, d);
        }
    }
}

static void mix_onnx(struct onnx *o, const struct onnx_op *op)
{
    const char *weights = onnx_binary(o, "Mul", NULL, onnx_flat(o, op->x[0], &op->in[0]),
                                      onnx_mask_column(o, op->in[0].axis));
    onnx_binary(o, "MatMul", op->y[0], put_turned(o, weights),
                onnx_flat(o, op->x[1], &op->in[1]));
}

static const struct op_ops op_seq_mix = {.name = "sequence mix",
                                         .flags = OP_NEEDS_IN,
                                         .infer = mix_infer,
                                         .forward = mix_forward,
                                         .backward = mix_backward,
                                         .onnx = mix_onnx};

struct val *nn_seq_mix(struct graph *g, struct val *weights, struct val *values)
{
    struct val *in[] = {weights, values};
    return nn_op(g, &op_seq_mix, in, 2, NULL, 0, NULL, 0);
}

/* Vectors of the last dimension, their length n made (n^2 / (1 + n^2))^power. */
static enum rc squash_infer(const void *conf, const struct shape *in, int n_in,
                            struct shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    *keep_width = 0;
    return RC_OK;
}

static int64_t last_of(const struct op_run *r)
{
    return ((const struct squash_conf *)r->conf)->n;
}

/* The factor, and its slope over the length divided by the length. */
static double squash_factor(const struct squash_conf *c, double length, double *slope)
{
    bool small = length <= c->least;
    double n = small ? c->least : length, q = n * n / (1 + n * n);
    double f = (c->power == 0 ? 1 : pow(q, c->power)) / n;
    *slope = small ? 0 : f * (2 * c->power / (1 + n * n) - 1) / (n * n);
    return f;
}

static void squash_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct squash_conf *c = r->conf;
    int64_t d = last_of(r);
    for (int64_t row = begin; row < end; row++)
        for (int64_t at = 0; at < r->in[0].width; at += d) {
            const float *x = view_row(&r->in[0], row) + at;
            double slope,
                f = squash_factor(c, sqrt(kernels()->sum_squares(x, d)), &slope);
            for (int64_t i = 0; i < d; i++)
                view_row(&r->out[0], row)[at + i] = (float)f * x[i];
        }
}

static void squash_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct squash_conf *c = r->conf;
    int64_t d = last_of(r);
    for (int64_t row = begin; r->d_in[0].data && row < end; row++)
        for (int64_t at = 0; at < r->in[0].width; at += d) {
            const float *x = view_row(&r->in[0], row) + at;
            const float *dy = view_row(&r->d_out[0], row) + at;
            float *dx = view_row(&r->d_in[0], row) + at;
            double slope,
                f = squash_factor(c, sqrt(kernels()->sum_squares(x, d)), &slope);
            double dot = (double)kernels()->dot(x, dy, d);
            for (int64_t i = 0; i < d; i++)
                dx[i] += (float)(f * (double)dy[i] + slope * dot * (double)x[i]);
        }
}

static void squash_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct squash_conf *c = op->conf;
    const char *n = put_lengths(o, op->x[0], c->least);
    const char *y = onnx_binary(o, "Div", c->power == 0 ? op->y[0] : NULL, op->x[0], n);
    if (c->power == 0)
        return;
    const char *square = onnx_binary(o, "Mul", NULL, n, n);
    const char *q =
        onnx_binary(o, "Div", NULL, square, onnx_with(o, "Add", NULL, square, 1));
    onnx_binary(o, "Mul", op->y[0], y, onnx_with(o, "Pow", NULL, q, (float)c->power));
}

static const struct op_ops op_squash = {.name = "squash",
                                        .flags = OP_NEEDS_IN,
                                        .infer = squash_infer,
                                        .forward = squash_forward,
                                        .backward = squash_backward,
                                        .onnx = squash_onnx};

struct val *nn_squash(struct graph *g, struct val *x, double power)
{
    if (!x)
        return NULL;
    struct squash_conf conf = {
        .n = x->shape.dims[x->shape.n_dims - 1], .power = power, .least = SQUASH_MIN};
    return nn_op(g, &op_squash, &x, 1, NULL, 0, &conf, sizeof(conf));
}

struct val *nn_normalise_last(struct graph *g, struct val *x, float eps)
{
    if (!x)
        return NULL;
    struct squash_conf conf = {
        .n = x->shape.dims[x->shape.n_dims - 1], .power = 0, .least = (double)eps};
    return nn_op(g, &op_squash, &x, 1, NULL, 0, &conf, sizeof(conf));
}

/* in[0] tells the axis; 1 for capsules that a row has, 0 for the others. */
static enum rc mask_infer(const void *conf, const struct shape *in, int n_in,
                          struct shape *out, int64_t *keep_width, struct err *err)
{
    const struct capsule_conf *c = conf;
    *keep_width = 0;
    out[0] = (struct shape){.axis = AXIS_BATCH, .n_dims = 1, .dims = {c->capsules}};
    return RC_OK;
}

static void mask_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct capsule_conf *c = r->conf;
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    for (int64_t row = begin; row < end; row++) {
        int64_t n = capsules_of(c, at[row + 1] - at[row]);
        for (int64_t k = 0; k < c->capsules; k++)
            view_row(&r->out[0], row)[k] = k < n ? 1.0f : 0.0f;
    }
}

static void mask_onnx(struct onnx *o, const struct onnx_op *op)
{
    onnx_unary(o, "Identity", op->y[0], put_capsules(o, op->conf, op->in[0].axis));
}

static const struct op_ops op_mask = {.name = "capsule mask",
                                      .flags = OP_NO_GRAD,
                                      .infer = mask_infer,
                                      .forward = mask_forward,
                                      .onnx = mask_onnx};

struct val *nn_capsule_mask(struct graph *g, struct val *x,
                            const struct capsule_conf *conf)
{
    return nn_op(g, &op_mask, &x, 1, NULL, 0, conf, sizeof(*conf));
}

/* in: mask [n], x [n, d], and perhaps a vector [e] in front of each: [n, e + d]. */
enum { JOIN_MASK, JOIN_X, JOIN_FRONT };

static enum rc join_infer(const void *conf, const struct shape *in, int n_in,
                          struct shape *out, int64_t *keep_width, struct err *err)
{
    int64_t n = shape_width(&in[JOIN_MASK]);
    int64_t front = n_in > JOIN_FRONT ? shape_width(&in[JOIN_FRONT]) : 0;
    *keep_width = 0;
    out[0] = (struct shape){.axis = AXIS_BATCH,
                            .n_dims = 2,
                            .dims = {n, front + shape_width(&in[JOIN_X]) / n}};
    if (in[JOIN_X].n_dims != 2 || in[JOIN_X].dims[0] != n ||
        in[JOIN_X].axis != AXIS_BATCH)
        return err_set(err, RC_INVAL, "takes a mask and a vector for each of %jd",
                       (intmax_t)n);
    return RC_OK;
}

static void join_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t n = r->in[JOIN_MASK].width, d = r->in[JOIN_X].width / n;
    int64_t e = r->n_in > JOIN_FRONT ? r->in[JOIN_FRONT].width : 0;
    for (int64_t row = begin; row < end; row++)
        for (int64_t k = 0; k < n; k++) {
            float *y = view_row(&r->out[0], row) + k * (e + d);
            float mask = view_row(&r->in[JOIN_MASK], row)[k];
            if (e)
                memcpy(y, view_row(&r->in[JOIN_FRONT], row), (size_t)e * sizeof(float));
            memcpy(y + e, view_row(&r->in[JOIN_X], row) + k * d,
                   (size_t)d * sizeof(float));
            kernels()->scale(y, mask, e + d);
        }
}

static void join_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t n = r->in[JOIN_MASK].width, d = r->in[JOIN_X].width / n;
    int64_t e = r->n_in > JOIN_FRONT ? r->in[JOIN_FRONT].width : 0;
    for (int64_t row = begin; row < end; row++)
        for (int64_t k = 0; k < n; k++) {
            const float *dy = view_row(&r->d_out[0], row) + k * (e + d);
            float mask = view_row(&r->in[JOIN_MASK], row)[k];
            if (e && r->d_in[JOIN_FRONT].data)
                kernels()->axpy(view_row(&r->d_in[JOIN_FRONT], row), mask, dy, e);
            if (r->d_in[JOIN_X].data)
                kernels()->axpy(view_row(&r->d_in[JOIN_X], row) + k * d, mask, dy + e, d);
        }
}

static void join_onnx(struct onnx *o, const struct onnx_op *op)
{
    int64_t n = shape_width(&op->in[JOIN_MASK]);
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

static const struct op_ops op_join = {.name = "masked rows",
                                      .flags = OP_NEEDS_IN,
                                      .infer = join_infer,
                                      .forward = join_forward,
                                      .backward = join_backward,
                                      .onnx = join_onnx};

struct val *nn_masked_rows(struct graph *g, struct val *mask, struct val *x,
                           struct val *front)
{
    struct val *in[] = {mask, x, front};
    return nn_op(g, &op_join, in, front ? 3 : 2, NULL, 0, NULL, 0);
}

/* in: mask [n], x [n, d], target [d] -> [d]: x mixed by softmax(power * x . target). */
enum { PICK_MASK, PICK_X, PICK_TARGET };

static enum rc pick_infer(const void *conf, const struct shape *in, int n_in,
                          struct shape *out, int64_t *keep_width, struct err *err)
{
    int64_t n = shape_width(&in[PICK_MASK]), d = shape_width(&in[PICK_TARGET]);
    *keep_width = n;
    out[0] = in[PICK_TARGET];
    if (shape_width(&in[PICK_X]) != n * d || in[PICK_X].axis != AXIS_BATCH ||
        in[PICK_TARGET].axis != AXIS_BATCH)
        return err_set(err, RC_INVAL, "takes %jd vectors of %jd values and a target",
                       (intmax_t)n, (intmax_t)d);
    return RC_OK;
}

static void pick_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const float power = *(const float *)r->conf;
    int64_t n = r->in[PICK_MASK].width, d = r->in[PICK_TARGET].width;
    for (int64_t row = begin; row < end; row++) {
        const float *x = view_row(&r->in[PICK_X], row);
        const float *mask = view_row(&r->in[PICK_MASK], row);
        float *w = view_row(&r->keep, row), *y = view_row(&r->out[0], row);
        int64_t valid = 0;
        while (valid < n && mask[valid] > 0)
            valid++;
        for (int64_t k = 0; k < valid; k++)
            w[k] =
                power * kernels()->dot(x + k * d, view_row(&r->in[PICK_TARGET], row), d);
        kernels()->softmax(w, w, valid, n);
        memset(y, 0, (size_t)d * sizeof(float));
        for (int64_t k = 0; k < n; k++)
            kernels()->axpy(y, w[k], x + k * d, d);
    }
}

static void pick_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const float power = *(const float *)r->conf;
    int64_t n = r->in[PICK_MASK].width, d = r->in[PICK_TARGET].width;
    for (int64_t row = begin; row < end; row++) {
        const float *x = view_row(&r->in[PICK_X], row), *w = view_row(&r->keep, row);
        const float *dy = view_row(&r->d_out[0], row);
        float mean = 0;
        for (int64_t k = 0; k < n; k++)
            mean += w[k] * kernels()->dot(dy, x + k * d, d);
        for (int64_t k = 0; k < n; k++) {
            float ds = power * w[k] * (kernels()->dot(dy, x + k * d, d) - mean);
            if (r->d_in[PICK_X].data) {
                float *dx = view_row(&r->d_in[PICK_X], row) + k * d;
                kernels()->axpy(dx, w[k], dy, d);
                kernels()->axpy(dx, ds, view_row(&r->in[PICK_TARGET], row), d);
            }
            if (r->d_in[PICK_TARGET].data)
                kernels()->axpy(view_row(&r->d_in[PICK_TARGET], row), ds, x + k * d, d);
        }
    }
}

static const struct op_ops op_pick = {.name = "interest attention",
                                      .flags = OP_NEEDS_IN,
                                      .infer = pick_infer,
                                      .forward = pick_forward,
                                      .backward = pick_backward,
                                      .onnx = onnx_nothing};

struct val *nn_interest_attention(struct graph *g, struct val *mask, struct val *x,
                                  struct val *target, float power)
{
    struct val *in[] = {mask, x, target};
    return nn_op(g, &op_pick, in, 3, NULL, 0, &power, sizeof(power));
}
