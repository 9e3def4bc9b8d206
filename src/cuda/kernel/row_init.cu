/* SPDX-License-Identifier: Apache-2.0 */
/* Initial values of rows: those of embed_values_draw(), bit for bit. A thread makes four
 * values, which one block of random numbers is for; of the truncated normal, where numbers are
 * drawn until one fits, a thread makes a row.
 */
#include "launch.cuh"
#include "lookup.h"
#include "rng.cuh"

#define TRUNCATE_TRIES 1000

/* ln(u) for 0 < u <= 1, as base/rng.c has it. */
static __device__ double logarithm(double u)
{
    const double c[] = {1,        1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9, 1.0 / 11,
                        1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
    int e;
    double m = frexp(u, &e);
    if (m < 0.70710678118654752) {
        m *= 2;
        e--;
    }
    double s = (m - 1) / (m + 1), s2 = s * s, sum = 0;
    for (int k = 10; k >= 0; k--)
        sum = sum * s2 + c[k];
    return 2 * s * sum + e * 0.69314718055994531;
}

/* Sine and cosine of 2 pi u for 0 <= u < 1, likewise. */
static __device__ void circle(double u, double *sine, double *cosine)
{
    const double c[] = {1,           -1.0 / 2,       1.0 / 24,        -1.0 / 720,
                        1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200.0};
    const double s[] = {1,
                        -1.0 / 6,
                        1.0 / 120,
                        -1.0 / 5040,
                        1.0 / 362880,
                        -1.0 / 39916800,
                        1.0 / 6227020800.0,
                        -1.0 / 1307674368000.0};
    int quarter = (int)(u * 4 + 0.5);
    double x = (u * 4 - quarter) * 1.57079632679489662, x2 = x * x, sx = 0, cx = 0;
    for (int k = 7; k >= 0; k--) {
        sx = sx * x2 + s[k];
        cx = cx * x2 + c[k];
    }
    sx *= x;
    switch (quarter % 4) {
    case 0:
        *sine = sx, *cosine = cx;
        break;
    case 1:
        *sine = cx, *cosine = -sx;
        break;
    case 2:
        *sine = -sx, *cosine = -cx;
        break;
    default:
        *sine = -cx, *cosine = sx;
    }
}

static __device__ void normal_pair(uint32_t a, uint32_t b, double *first, double *second)
{
    double sine, cosine;
    double radius = sqrt(-2 * logarithm(((double)a + 0.5) * 0x1p-32));
    circle((double)b * 0x1p-32, &sine, &cosine);
    *first = radius * cosine;
    *second = radius * sine;
}

/* Values [4 * part, 4 * part + 4) of a row. */
static __device__ void four_values(const cuda_init &init, int64_t row, int64_t part,
                                   float out[4])
{
    uint32_t words[4];
    double z[4];
    rng_block_at(init.key[0], init.key[1], (uint64_t)part, (uint64_t)row, words);
    if (init.kind == CUDA_UNIFORM) {
        float lo = (float)init.a, hi = (float)init.b;
        for (int i = 0; i < 4; i++)
            out[i] = lo + (hi - lo) * ((float)(words[i] >> 8) * 0x1p-24f);
        return;
    }
    normal_pair(words[0], words[1], &z[0], &z[1]);
    normal_pair(words[2], words[3], &z[2], &z[3]);
    for (int i = 0; i < 4; i++)
        out[i] = (float)((double)(float)init.a + (double)(float)init.b * z[i]);
}

/* A sequence of normal numbers. */
struct normals {
    uint32_t k0, k1, block[4];
    uint64_t row, word;
    double spare;
    bool has_spare;
};

static __device__ double next_normal(normals *n)
{
    double first;
    n->has_spare = !n->has_spare;
    if (!n->has_spare)
        return n->spare;
    if (n->word % 4 == 0)
        rng_block_at(n->k0, n->k1, n->word / 4, n->row, n->block);
    int at = (int)(n->word % 4);
    normal_pair(at ? n->block[2] : n->block[0], at ? n->block[3] : n->block[1], &first,
                &n->spare);
    n->word += 2;
    return first;
}

static __device__ float truncated(normals *n, const cuda_init &init)
{
    double x = init.a;
    for (int i = 0; i < TRUNCATE_TRIES; i++) {
        x = init.a + init.b * next_normal(n);
        if (x >= init.lo && x <= init.hi)
            return (float)x;
    }
    return (float)(x < init.lo ? init.lo : init.hi);
}

static void truncated_rows(cuda_stream s, cuda_init init, float *at, int64_t rows,
                           int64_t dim, int64_t stride)
{
    for_elements(s, rows, 1, [=] __device__(int64_t r, int64_t c) {
        normals n = {};
        n.k0 = init.key[0];
        n.k1 = init.key[1];
        n.row = (uint64_t)r;
        for (int64_t i = 0; i < dim; i++)
            at[r * stride + i] = truncated(&n, init);
    });
}

void cuda_rows_init(cuda_stream s, cuda_init init, float *at, int64_t rows, int64_t dim,
                    int64_t stride)
{
    if (init.kind == CUDA_TRUNCATED)
        truncated_rows(s, init, at, rows, dim, stride);
    else if (init.kind == CUDA_CONST)
        for_elements(s, rows, dim, [=] __device__(int64_t r, int64_t c) {
            at[r * stride + c] = (float)init.a;
        });
    else
        for_elements(s, rows, (dim + 3) / 4, [=] __device__(int64_t r, int64_t part) {
            float v[4];
            four_values(init, r, part, v);
            for (int64_t i = 0; i < 4 && 4 * part + i < dim; i++)
                at[r * stride + 4 * part + i] = v[i];
        });
    for_elements(s, rows, stride - dim, [=] __device__(int64_t r, int64_t c) {
        at[r * stride + dim + c] = init.state;
    });
}

void cuda_rows_merge(cuda_stream s, float *to, int64_t stride, const float *from,
                     int64_t width, int64_t rows, const uint32_t *used, int64_t first)
{
    for_elements(s, rows, width, [=] __device__(int64_t r, int64_t c) {
        int64_t bit = first + r;
        if (used[bit / 32] >> bit % 32 & 1)
            to[r * stride + c] = from[r * width + c];
    });
}
