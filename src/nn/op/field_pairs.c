/* SPDX-License-Identifier: Apache-2.0 */
/* All pairs i < j of fields, each multiplied element by element (or as dot products):
 * fields with fields, vectors of the pairs with fields, or what field i holds for j with
 * what j holds for i. Pairs stand in row-major order: (0, 1), (0, 2), .., (1, 2), ..
 */
#include <string.h>

#include "base/mem.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"
#include "tensor/kernel.h"

enum pair_left {
    LEFT_FIELD, /* field i of the first input */
    LEFT_PAIR,  /* the first input holds a vector for each pair */
    LEFT_AWARE, /* one input: part j of field i, and part i of field j */
};

struct pairs_conf {
    enum pair_left left;
    int64_t n, d; /* fields, floats of a vector */
    bool dots, flat;
};

static int64_t n_pairs(int64_t n)
{
    return n * (n - 1) / 2;
}

static enum rc pairs_infer(const void *conf, const struct shape *in, int n_in,
                           struct shape *out, int64_t *keep_width, struct err *err)
{
    const struct pairs_conf *c = conf;
    int64_t left = c->left == LEFT_PAIR ? n_pairs(c->n) : c->n;
    *keep_width = 0;
    out[0] =
        (struct shape){.axis = in[0].axis, .n_dims = 2, .dims = {n_pairs(c->n), c->d}};
    if (c->dots || c->flat)
        out[0].n_dims = 1;
    if (c->flat)
        out[0].dims[0] *= c->d;
    for (int i = 0; i < n_in; i++)
        if (in[i].n_dims != 2 || in[i].axis != in[0].axis)
            return err_set(err, RC_INVAL, "takes rows of fields [n, d]");
    if (c->n < 2)
        return err_set(err, RC_INVAL, "needs at least two fields");
    if (c->left == LEFT_AWARE)
        return in[0].dims[1] % c->n == 0
                   ? RC_OK
                   : err_set(err, RC_INVAL,
                             "fields of %jd floats have no part for each of %jd fields",
                             (intmax_t)in[0].dims[1], (intmax_t)c->n);
    if (in[0].dims[0] != left || in[0].dims[1] != c->d)
        return err_set(err, RC_INVAL, "%jd x %jd beside %jd fields of %jd",
                       (intmax_t)in[0].dims[0], (intmax_t)in[0].dims[1], (intmax_t)c->n,
                       (intmax_t)c->d);
    return RC_OK;
}

/* Where the two sides of pair p = (i, j) begin, in their inputs. */
static inline int64_t left_at(const struct pairs_conf *c, int64_t i, int64_t j, int64_t p)
{
    return c->d * (c->left == LEFT_PAIR ? p : c->left == LEFT_AWARE ? i * c->n + j : i);
}

static inline int64_t right_at(const struct pairs_conf *c, int64_t i, int64_t j)
{
    return c->d * (c->left == LEFT_AWARE ? j * c->n + i : j);
}

/* y = u * v of n vectors v of d floats, where u is the same for all. */
CLONED static void times_each(float *y, const float *u, const float *v, int64_t n,
                              int64_t d)
{
    for (int64_t j = 0; j < n; j++, y += d, v += d) {
        int64_t e = 0;
        for (; e + 16 <= d; e += 16)
            *(floats16 *)(y + e) =
                *(const floats16 *)(u + e) * *(const floats16 *)(v + e);
        for (; e < d; e++)
            y[e] = u[e] * v[e];
    }
}

/* du += the sum of dy * v */
CLONED static void add_products(float *du, const float *dy, const float *v, int64_t n,
                                int64_t d)
{
    int64_t e = 0;
    for (; e + 16 <= d; e += 16) {
        floats16 sum = *(floats16 *)(du + e);
        for (int64_t j = 0; j < n; j++)
            sum +=
                *(const floats16 *)(dy + j * d + e) * *(const floats16 *)(v + j * d + e);
        *(floats16 *)(du + e) = sum;
    }
    for (; e < d; e++)
        for (int64_t j = 0; j < n; j++)
            du[e] += dy[j * d + e] * v[j * d + e];
}

/* dv += u * dy, for each of them */
CLONED static void add_each(float *dv, const float *u, const float *dy, int64_t n,
                            int64_t d)
{
    for (int64_t j = 0; j < n; j++, dv += d, dy += d) {
        int64_t e = 0;
        for (; e + 16 <= d; e += 16)
            *(floats16 *)(dv + e) +=
                *(const floats16 *)(u + e) * *(const floats16 *)(dy + e);
        for (; e < d; e++)
            dv[e] += u[e] * dy[e];
    }
}

/* Pairs of parts, one at a time. */
static void aware_forward(const struct pairs_conf *c, const float *x, float *y)
{
    for (int64_t i = 0, p = 0; i < c->n; i++)
        for (int64_t j = i + 1; j < c->n; j++, p++) {
            const float *u = x + left_at(c, i, j, p), *v = x + right_at(c, i, j);
            if (c->dots)
                y[p] = kernels()->dot(u, v, c->d);
            else
                kernels()->mul(y + p * c->d, u, v, c->d);
        }
}

static void pairs_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct pairs_conf *c = r->conf;
    const struct view *b = &r->in[r->n_in - 1];
    int64_t from, to, d = c->d;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *left = view_row(&r->in[0], k), *right = view_row(b, k);
        float *y = view_row(&r->out[0], k);
        if (c->left == LEFT_AWARE) {
            aware_forward(c, left, y);
            continue;
        }
        /* all pairs (i, ..) at once: the others of them lie side by side */
        for (int64_t i = 0; i + 1 < c->n; i++) {
            int64_t n = c->n - 1 - i;
            const float *v = right + (i + 1) * d;
            if (c->left == LEFT_PAIR)
                kernels()->mul(y, left, v, n * d);
            else
                times_each(y, left, v, n, d);
            left += c->left == LEFT_PAIR ? n * d : d;
            y += n * d;
        }
    }
}

/* dx += dy * other, where dy is one number or as many as there are. */
static void spread(const struct pairs_conf *c, float *dx, const float *dy,
                   const float *other)
{
    if (c->dots)
        kernels()->axpy(dx, *dy, other, c->d);
    else
        kernels()->mul_add(dx, dy, other, c->d);
}

static void aware_backward(const struct pairs_conf *c, const float *x, const float *dy,
                           float *dx)
{
    int64_t step = c->dots ? 1 : c->d;
    for (int64_t i = 0, p = 0; i < c->n; i++)
        for (int64_t j = i + 1; j < c->n; j++, p++, dy += step) {
            int64_t u = left_at(c, i, j, p), v = right_at(c, i, j);
            spread(c, dx + u, dy, x + v);
            spread(c, dx + v, dy, x + u);
        }
}

/* Row k, whose slopes hold numbers already: d_left or d_right are NULL when nobody wants
 * them.
 */
static void row_backward(const struct op_run *r, int64_t k, float *d_left, float *d_right)
{
    const struct pairs_conf *c = r->conf;
    const float *left = view_row(&r->in[0], k), *dy = view_row(&r->d_out[0], k);
    int64_t d = c->d, step = d;
    for (int64_t i = 0; i + 1 < c->n; i++, left += step) {
        int64_t n = c->n - 1 - i, at = (i + 1) * d;
        const float *v = view_row(&r->in[1], k) + at;
        bool pairs = c->left == LEFT_PAIR;
        step = pairs ? n * d : d;
        if (d_right && pairs)
            kernels()->mul_add(d_right + at, dy, left, n * d);
        else if (d_right)
            add_each(d_right + at, left, dy, n, d);
        if (d_left && pairs)
            (r->d_in_fresh[0] ? kernels()->mul : kernels()->mul_add)(d_left, dy, v,
                                                                     n * d);
        else if (d_left)
            add_products(d_left, dy, v, n, d);
        d_left = d_left ? d_left + step : NULL;
        dy += n * d;
    }
}

static void pairs_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct pairs_conf *c = r->conf;
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        float *dx[2] = {NULL};
        for (int i = 0; i < r->n_in; i++) {
            dx[i] = r->d_in[i].data ? view_row(&r->d_in[i], k) : NULL;
            bool written = c->left == LEFT_PAIR && i == 0;
            if (dx[i] && r->d_in_fresh[i] && !written)
                memset(dx[i], 0, (size_t)r->in[i].width * sizeof(float));
        }
        if (c->left != LEFT_AWARE)
            row_backward(r, k, dx[0], dx[1]);
        else if (dx[0])
            aware_backward(c, view_row(&r->in[0], k), view_row(&r->d_out[0], k), dx[0]);
    }
}

static const char *put_side(struct onnx *o, const char *x, const int64_t *at, int64_t n)
{
    const char *in[] = {x, onnx_ints(o, at, (int)n)};
    return onnx_node(
        o, &(struct onnx_node){
               .type = "Gather", .in = in, .n_in = 2, .attrs = {ONNX_INT("axis", -2)}});
}

static void pairs_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct pairs_conf *c = op->conf;
    int64_t n = n_pairs(c->n), *at = mem_calloc((size_t)n * 2, sizeof(*at));
    for (int64_t i = 0, p = 0; i < c->n; i++)
        for (int64_t j = i + 1; j < c->n; j++, p++) {
            at[p] = left_at(c, i, j, p) / c->d;
            at[n + p] = right_at(c, i, j) / c->d;
        }
    const char *a = op->x[0], *b = op->x[op->n_in - 1];
    if (c->left == LEFT_AWARE) {
        struct shape parts = {
            .axis = op->in[0].axis, .n_dims = 2, .dims = {c->n * c->n, c->d}};
        a = b = onnx_reshape(o, NULL, a, &op->in[0], &parts);
    }
    if (c->left != LEFT_PAIR)
        a = put_side(o, a, at, n);
    const char *y = onnx_binary(o, "Mul", c->dots || c->flat ? NULL : op->y[0], a,
                                put_side(o, b, at + n, n));
    struct shape wide = {.axis = op->out[0].axis, .n_dims = 2, .dims = {n, c->d}};
    if (c->dots)
        onnx_sum(o, op->y[0], y, -1, false);
    else if (c->flat)
        onnx_reshape(o, op->y[0], y, &wide, &op->out[0]);
    mem_free(at);
}

static const struct op_ops op_pairs = {.name = "pairs of fields",
                                       .flags = OP_NEEDS_IN | OP_WRITES | OP_STRIDED,
                                       .infer = pairs_infer,
                                       .forward = pairs_forward,
                                       .backward = pairs_backward,
                                       .onnx = pairs_onnx};

static struct val *products(struct graph *g, struct val *a, bool of_pairs, struct val *b,
                            bool flat)
{
    if (!a || !b)
        return NULL;
    struct pairs_conf conf = {.left = of_pairs ? LEFT_PAIR : LEFT_FIELD,
                              .n = b->shape.dims[0],
                              .d = b->shape.dims[1],
                              .flat = flat};
    struct val *in[] = {a, b};
    return nn_op(g, &op_pairs, in, 2, NULL, 0, &conf, sizeof(conf));
}

struct val *nn_pair_products(struct graph *g, struct val *a, bool of_pairs, struct val *b)
{
    return products(g, a, of_pairs, b, false);
}

struct val *nn_pair_products_flat(struct graph *g, struct val *a, bool of_pairs,
                                  struct val *b)
{
    return products(g, a, of_pairs, b, true);
}

struct val *nn_aware_pairs(struct graph *g, struct val *x, bool dots)
{
    if (!x)
        return NULL;
    struct pairs_conf conf = {.left = LEFT_AWARE, .n = x->shape.dims[0], .dots = dots};
    conf.d = conf.n > 0 ? x->shape.dims[1] / conf.n : 0;
    return nn_op(g, &op_pairs, &x, 1, NULL, 0, &conf, sizeof(conf));
}
