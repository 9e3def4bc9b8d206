/* SPDX-License-Identifier: Apache-2.0 */
/* How the CPU multiplies the fields of a row: transposes, products of two matrices per row and
 * outer products. Matrices up to SIDE wide are done by gemm_small(); rows are independent of
 * each other, so tiles change nothing.
 */
#include <string.h>

#include "nn/cpu/cpu.h"
#include "nn/op/fields.h"
#include "tensor/gemm.h"
#include "tensor/kernel.h"

static void rows_of(const struct op_run *r, int64_t begin, int64_t end, int64_t *from,
                    int64_t *to)
{
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, from, to);
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
    const struct op_sides *c = r->conf;
    int64_t from, to;
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        turn(view_row(&r->out[0], k), view_row(&r->in[0], k), c->n, c->d, false);
}

static void turn_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_sides *c = r->conf;
    int64_t from, to;
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; r->d_in[0].data && k < to; k++)
        turn(view_row(&r->d_in[0], k), view_row(&r->d_out[0], k), c->d, c->n, true);
}

const struct nn_cpu_op nn_cpu_transpose = {
    .forward = turn_forward,
    .backward = turn_backward,
};

/* Rows of sides up to SIDE are products of small matrices. */
#define SIDE 64

static bool is_small(const struct op_sides *c)
{
    return c->n <= SIDE && c->d <= SIDE && c->k <= SIDE;
}

static void product_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_sides *c = r->conf;
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
static void small_product_back(const struct op_sides *c, const float *a, const float *b,
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

static void large_product_back(const struct op_sides *c, const float *a, const float *b,
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
    const struct op_sides *c = r->conf;
    int64_t from, to;
    rows_of(r, begin, end, &from, &to);
    for (int64_t row = from; row < to; row++)
        (is_small(c) ? small_product_back : large_product_back)(
            c, view_row(&r->in[0], row), view_row(&r->in[1], row),
            view_row(&r->d_out[0], row),
            r->d_in[0].data ? view_row(&r->d_in[0], row) : NULL,
            r->d_in[1].data ? view_row(&r->d_in[1], row) : NULL);
}

const struct nn_cpu_op nn_cpu_row_product = {
    .forward = product_forward,
    .backward = product_backward,
};

static void outer_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_sides *c = r->conf;
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
    const struct op_sides *c = r->conf;
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

const struct nn_cpu_op nn_cpu_outer = {
    .forward = outer_forward,
    .backward = outer_backward,
};
