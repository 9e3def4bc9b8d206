/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/rotate.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_ROTATE_H
#define NN_OP_ROTATE_H

#include "nn/op.h"
#include "tensor/gemm.h"

struct op_rotate_conf {
    enum gemm_precision precision;
    int64_t n, r;
    bool back; /* times Q transposed */
};

static inline double op_reflector(const struct op_rotate_conf *c, const float *x,
                                  int64_t k, double *v)
{
    double sum = 1;
    for (int64_t i = 0; i < c->n; i++) {
        v[i] = i < k ? 0 : i == k ? 1 : (double)x[i * c->r + k];
        sum += i > k ? v[i] * v[i] : 0;
    }
    return 2 / sum;
}

/* m = m - tau v (v' m). */
static inline void op_reflect(const struct op_rotate_conf *c, const double *v, double tau,
                              double *m)
{
    for (int64_t j = 0; j < c->r; j++) {
        double dot = 0;
        for (int64_t i = 0; i < c->n; i++)
            dot += v[i] * m[i * c->r + j];
        for (int64_t i = 0; i < c->n; i++)
            m[i * c->r + j] -= tau * v[i] * dot;
    }
}

static inline double op_sign_of(const struct op_rotate_conf *c, const float *x, int64_t j)
{
    return x[j * c->r + j] > 0 ? 1 : -1; /* decay may have moved it, no slope does */
}

/* m = H_0 .. H_(r-1), its first r columns. */
static inline void op_rotate_product(const struct op_rotate_conf *c, const float *x,
                                     double *m, double *v)
{
    for (int64_t i = 0; i < c->n * c->r; i++)
        m[i] = i / c->r == i % c->r ? 1 : 0;
    for (int64_t k = c->r; k-- > 0;)
        op_reflect(c, v, op_reflector(c, x, k, v), m);
}

/* q[i][j] = sign_j * sum_l base[i][l] m[l][j]. */
static inline void op_rotate_matrix(const struct op_rotate_conf *c, const float *x,
                                    const float *base, const double *m, float *q)
{
    for (int64_t i = 0; i < c->n; i++)
        for (int64_t j = 0; j < c->r; j++) {
            double sum = 0;
            for (int64_t l = 0; l < c->n; l++)
                sum += (double)base[i * c->n + l] * m[l * c->r + j];
            q[c->back ? i * c->r + j : j * c->n + i] = (float)(sum * op_sign_of(c, x, j));
        }
}

#endif
