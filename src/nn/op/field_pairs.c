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
    bool dots;
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
    if (c->dots)
        out[0].n_dims = 1;
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

static void pairs_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct pairs_conf *c = r->conf;
    const struct view *b = &r->in[r->n_in - 1];
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *left = view_row(&r->in[0], k), *right = view_row(b, k);
        float *y = view_row(&r->out[0], k);
        for (int64_t i = 0, p = 0; i < c->n; i++)
            for (int64_t j = i + 1; j < c->n; j++, p++) {
                const float *u = left + left_at(c, i, j, p),
                            *v = right + right_at(c, i, j);
                if (c->dots)
                    y[p] = kernels()->dot(u, v, c->d);
                else
                    kernels()->mul(y + p * c->d, u, v, c->d);
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

static void pairs_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct pairs_conf *c = r->conf;
    const struct view *b = &r->in[r->n_in - 1], *db = &r->d_in[r->n_in - 1];
    int64_t from, to, step = c->dots ? 1 : c->d;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *left = view_row(&r->in[0], k), *right = view_row(b, k);
        const float *dy = view_row(&r->d_out[0], k);
        for (int64_t i = 0, p = 0; i < c->n; i++)
            for (int64_t j = i + 1; j < c->n; j++, p++, dy += step) {
                int64_t u = left_at(c, i, j, p), v = right_at(c, i, j);
                if (r->d_in[0].data)
                    spread(c, view_row(&r->d_in[0], k) + u, dy, right + v);
                if (db->data)
                    spread(c, view_row(db, k) + v, dy, left + u);
            }
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
    const char *y =
        onnx_binary(o, "Mul", c->dots ? NULL : op->y[0], a, put_side(o, b, at + n, n));
    if (c->dots)
        onnx_sum(o, op->y[0], y, -1, false);
    mem_free(at);
}

static const struct op_ops op_pairs = {.name = "pairs of fields",
                                       .flags = OP_NEEDS_IN,
                                       .infer = pairs_infer,
                                       .forward = pairs_forward,
                                       .backward = pairs_backward,
                                       .onnx = pairs_onnx};

struct val *nn_pair_products(struct graph *g, struct val *a, bool of_pairs, struct val *b)
{
    if (!a || !b)
        return NULL;
    struct pairs_conf conf = {.left = of_pairs ? LEFT_PAIR : LEFT_FIELD,
                              .n = b->shape.dims[0],
                              .d = b->shape.dims[1]};
    struct val *in[] = {a, b};
    return nn_op(g, &op_pairs, in, 2, NULL, 0, &conf, sizeof(conf));
}

struct val *nn_aware_pairs(struct graph *g, struct val *x, bool dots)
{
    if (!x)
        return NULL;
    struct pairs_conf conf = {.left = LEFT_AWARE, .n = x->shape.dims[0], .dots = dots};
    conf.d = conf.n > 0 ? x->shape.dims[1] / conf.n : 0;
    return nn_op(g, &op_pairs, &x, 1, NULL, 0, &conf, sizeof(conf));
}
