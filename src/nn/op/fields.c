/* SPDX-License-Identifier: Apache-2.0 */
/* Products of fields with each other: matrices turned round, products of two values per
 * row, and all products of two lists of channels.
 */
#include <string.h>

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"
#include "tensor/kernel.h"

static void rows_of(const struct op_run *r, int64_t begin, int64_t end, int64_t *from,
                    int64_t *to)
{
    op_rows(r->env, r->out_axis[0], begin, end, from, to);
}

/* The sides of a row, as n x d. */
struct sides {
    int64_t n, d, k;
};

static enum rc two_dims(const struct shape *s, struct err *err)
{
    return s->n_dims == 2 ? RC_OK
                          : err_set(err, RC_INVAL, "takes rows of two dimensions");
}

static enum rc turn_infer(const void *conf, const struct shape *in, int n_in,
                          struct shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = in[0];
    out[0].dims[0] = in[0].dims[1];
    out[0].dims[1] = in[0].dims[0];
    return two_dims(&in[0], err);
}

/* y [d][n] (+)= x [n][d] turned, in the order in which y lies. */
static void turn(float *restrict y, const float *restrict x, int64_t n, int64_t d,
                 bool add)
{
    for (int64_t j = 0; j < d; j++, y += n) {
        if (add)
            for (int64_t i = 0; i < n; i++)
                y[i] += x[i * d + j];
        else
            for (int64_t i = 0; i < n; i++)
                y[i] = x[i * d + j];
    }
}

static void turn_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct sides *c = r->conf;
    int64_t from, to;
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        turn(view_row(&r->out[0], k), view_row(&r->in[0], k), c->n, c->d, false);
}

static void turn_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct sides *c = r->conf;
    int64_t from, to;
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; r->d_in[0].data && k < to; k++)
        turn(view_row(&r->d_in[0], k), view_row(&r->d_out[0], k), c->d, c->n, true);
}

/* Batch and positions stay where they are, the two last dimensions change places. */
static void turn_onnx(struct onnx *o, const struct onnx_op *op)
{
    bool seq = op->in[0].axis != AXIS_BATCH;
    struct onnx_node n = {.type = "Transpose", .in = op->x, .n_in = 1, .out = op->y[0]};
    n.attrs[0] = (struct onnx_attr){.name = "perm",
                                    .kind = ONNX_ATTR_INTS,
                                    .ints = {0, seq ? 1 : 2, seq ? 3 : 1, 2},
                                    .n_ints = seq ? 4 : 3};
    onnx_node(o, &n);
}

static const struct op_ops op_turn = {.name = "transpose",
                                      .infer = turn_infer,
                                      .forward = turn_forward,
                                      .backward = turn_backward,
                                      .onnx = turn_onnx};

struct val *nn_transpose(struct graph *g, struct val *x)
{
    if (!x)
        return NULL;
    struct sides conf = {.n = x->shape.dims[0], .d = x->shape.dims[1]};
    return nn_op(g, &op_turn, &x, 1, NULL, 0, &conf, sizeof(conf));
}

/* a [n, d] times b [d, k]. */
static enum rc product_infer(const void *conf, const struct shape *in, int n_in,
                             struct shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = in[0];
    out[0].dims[1] = in[1].dims[1];
    if (two_dims(&in[0], err) || two_dims(&in[1], err))
        return RC_INVAL;
    if (in[0].axis != in[1].axis || in[0].dims[1] != in[1].dims[0])
        return err_set(err, RC_INVAL, "%jd x %jd cannot be multiplied with %jd x %jd",
                       (intmax_t)in[0].dims[0], (intmax_t)in[0].dims[1],
                       (intmax_t)in[1].dims[0], (intmax_t)in[1].dims[1]);
    return RC_OK;
}

/* Rows of sides up to SIDE are products of small matrices. */
#define SIDE 64

static bool is_small(const struct sides *c)
{
    return c->n <= SIDE && c->d <= SIDE && c->k <= SIDE;
}

static void product_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct sides *c = r->conf;
    int64_t from, to;
    rows_of(r, begin, end, &from, &to);
    for (int64_t row = from; row < to; row++) {
        const float *a = view_row(&r->in[0], row), *b = view_row(&r->in[1], row);
        float *y = view_row(&r->out[0], row);
        if (is_small(c)) {
            struct gemm_small p = {.a = a,
                                   .lda = c->d,
                                   .b = b,
                                   .ldb = c->k,
                                   .m = c->n,
                                   .n = c->k,
                                   .k = c->d};
            gemm_small(&p, false, y, c->k);
            continue;
        }
        memset(y, 0, (size_t)(c->n * c->k) * sizeof(float));
        for (int64_t i = 0; i < c->n; i++)
            for (int64_t j = 0; j < c->d; j++)
                kernels()->axpy(y + i * c->k, a[i * c->d + j], b + j * c->k, c->k);
    }
}

/* da += dy b^T, db += a^T dy; NULL: nobody wants it. */
static void small_product_back(const struct sides *c, const float *a, const float *b,
                               const float *dy, float *da, float *db)
{
    float turned[SIDE * SIDE];
    struct gemm_small p = {.a = dy,
                           .lda = c->k,
                           .b = b,
                           .ldb = c->k,
                           .m = c->n,
                           .n = c->d,
                           .k = c->k,
                           .turned = true};
    if (da)
        gemm_small(&p, true, da, c->d);
    if (!db)
        return;
    turn(turned, a, c->n, c->d, false);
    p = (struct gemm_small){
        .a = turned, .lda = c->n, .b = dy, .ldb = c->k, .m = c->d, .n = c->k, .k = c->n};
    gemm_small(&p, true, db, c->k);
}

static void large_product_back(const struct sides *c, const float *a, const float *b,
                               const float *dy, float *da, float *db)
{
    for (int64_t i = 0; i < c->n; i++)
        for (int64_t j = 0; j < c->d; j++) {
            if (da)
                da[i * c->d + j] += kernels()->dot(dy + i * c->k, b + j * c->k, c->k);
            if (db)
                kernels()->axpy(db + j * c->k, a[i * c->d + j], dy + i * c->k, c->k);
        }
}

static void product_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct sides *c = r->conf;
    int64_t from, to;
    rows_of(r, begin, end, &from, &to);
    for (int64_t row = from; row < to; row++)
        (is_small(c) ? small_product_back : large_product_back)(
            c, view_row(&r->in[0], row), view_row(&r->in[1], row),
            view_row(&r->d_out[0], row),
            r->d_in[0].data ? view_row(&r->d_in[0], row) : NULL,
            r->d_in[1].data ? view_row(&r->d_in[1], row) : NULL);
}

static void product_onnx(struct onnx *o, const struct onnx_op *op)
{
    onnx_binary(o, "MatMul", op->y[0], op->x[0], op->x[1]);
}

static const struct op_ops op_product = {.name = "product",
                                         .flags = OP_NEEDS_IN,
                                         .infer = product_infer,
                                         .forward = product_forward,
                                         .backward = product_backward,
                                         .onnx = product_onnx};

struct val *nn_product(struct graph *g, struct val *a, struct val *b)
{
    if (!a || !b)
        return NULL;
    struct sides conf = {
        .n = a->shape.dims[0], .d = a->shape.dims[1], .k = b->shape.dims[1]};
    struct val *in[] = {a, b};
    return nn_op(g, &op_product, in, 2, NULL, 0, &conf, sizeof(conf));
}

/* a [d, n] and b [d, k] -> [d, n * k]: all products of what stands at the same d. */
static enum rc outer_infer(const void *conf, const struct shape *in, int n_in,
                           struct shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = in[0];
    out[0].dims[1] = in[0].dims[1] * in[1].dims[1];
    if (two_dims(&in[0], err) || two_dims(&in[1], err))
        return RC_INVAL;
    if (in[0].axis != in[1].axis || in[0].dims[0] != in[1].dims[0])
        return err_set(err, RC_INVAL, "rows have %jd and %jd channels",
                       (intmax_t)in[0].dims[0], (intmax_t)in[1].dims[0]);
    return RC_OK;
}

static void outer_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct sides *c = r->conf;
    int64_t from, to;
    rows_of(r, begin, end, &from, &to);
    for (int64_t row = from; row < to; row++)
        for (int64_t d = 0; d < c->d; d++) {
            const float *a = view_row(&r->in[0], row) + d * c->n;
            const float *b = view_row(&r->in[1], row) + d * c->k;
            float *y = view_row(&r->out[0], row) + d * c->n * c->k;
            for (int64_t i = 0; i < c->n; i++)
                for (int64_t j = 0; j < c->k; j++)
                    y[i * c->k + j] = a[i] * b[j];
        }
}

static void outer_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct sides *c = r->conf;
    int64_t from, to;
    rows_of(r, begin, end, &from, &to);
    for (int64_t row = from; row < to; row++)
        for (int64_t d = 0; d < c->d; d++) {
            const float *a = view_row(&r->in[0], row) + d * c->n;
            const float *b = view_row(&r->in[1], row) + d * c->k;
            const float *dy = view_row(&r->d_out[0], row) + d * c->n * c->k;
            for (int64_t i = 0; i < c->n; i++) {
                if (r->d_in[0].data)
                    view_row(&r->d_in[0], row)[d * c->n + i] +=
                        kernels()->dot(dy + i * c->k, b, c->k);
                if (r->d_in[1].data)
                    kernels()->axpy(view_row(&r->d_in[1], row) + d * c->k, a[i],
                                    dy + i * c->k, c->k);
            }
        }
}

/* [.., n, 1] times [.., 1, k], then flat. */
static void outer_onnx(struct onnx *o, const struct onnx_op *op)
{
    struct shape a = op->in[0], b = op->in[1], y = op->out[0];
    a.n_dims = b.n_dims = y.n_dims = 3;
    a.dims[2] = 1;
    b.dims[2] = b.dims[1];
    b.dims[1] = 1;
    y.dims[1] = a.dims[1];
    y.dims[2] = b.dims[2];
    const char *left = onnx_reshape(o, NULL, op->x[0], &op->in[0], &a);
    const char *right = onnx_reshape(o, NULL, op->x[1], &op->in[1], &b);
    onnx_reshape(o, op->y[0], onnx_binary(o, "Mul", NULL, left, right), &y, &op->out[0]);
}

static const struct op_ops op_outer = {.name = "outer products",
                                       .flags = OP_NEEDS_IN,
                                       .infer = outer_infer,
                                       .forward = outer_forward,
                                       .backward = outer_backward,
                                       .onnx = outer_onnx};

struct val *nn_outer(struct graph *g, struct val *a, struct val *b)
{
    if (!a || !b)
        return NULL;
    struct sides conf = {
        .d = a->shape.dims[0], .n = a->shape.dims[1], .k = b->shape.dims[1]};
    struct val *in[] = {a, b};
    return nn_op(g, &op_outer, in, 2, NULL, 0, &conf, sizeof(conf));
}
