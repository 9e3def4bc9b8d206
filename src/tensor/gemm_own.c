/* SPDX-License-Identifier: Apache-2.0 */
/* Our own products in f32. Weights are packed into panels of `nr` columns, each panel one
 * stretch of memory that a micro-kernel reads from end to end; rows of x and dy are read
 * where they lie. The gradient walks over blocks of rows that stay in the cache.
 */
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "tensor/cpu/gemm_kernel.h"
#include "tensor/gemm_private.h"
#include "tensor/kernel.h"

#define ROW_BLOCK                                                                     \
    256             /* rows of the gradient summed before the result is touched again \
                     */
#define FEW_UNITS 4 /* up to so many outputs are done as dot products */
#define EDGE 64     /* most columns of a panel */

struct own_weight {
    const struct gemm_kernel *kern;
    float *forward;  /* panels over out, k = in */
    float *backward; /* panels over in, k = out; NULL when not wanted */
    float *plain;    /* [out][in], for few units */
};

static const struct gemm_kernel *best_kernel(void)
{
#if defined(__x86_64__)
    if (kernels_level() >= CPU_LEVEL_AVX512)
        return &gemm_avx512_kernel;
    if (kernels_level() >= CPU_LEVEL_AVX2)
        return &gemm_avx2_kernel;
#endif
    return &gemm_base_kernel;
}

static float *panel_memory(int64_t n, int64_t k, int64_t nr)
{
    size_t floats = (size_t)((n + nr - 1) / nr * nr * k + EDGE);
    float *p = mem_try_aligned(64, floats, sizeof(float));
    if (p)
        memset(p, 0, floats * sizeof(float));
    return p;
}

static void own_destroy(struct gemm_weight *w)
{
    struct own_weight *o = w->packed;
    if (!o)
        return;
    mem_free(o->forward);
    mem_free(o->backward);
    mem_free(o->plain);
    mem_free(o);
    w->packed = NULL;
}

static enum rc own_create(struct gemm_weight *w, struct err *err)
{
    struct own_weight *o = mem_calloc(1, sizeof(*o));
    w->packed = o;
    o->kern = best_kernel();
    bool few = w->out <= FEW_UNITS;
    if (few)
        o->plain = mem_try_calloc((size_t)(w->out * w->in), sizeof(float));
    else
        o->forward = panel_memory(w->out, w->in, o->kern->nr);
    if (!few && w->backward)
        o->backward = panel_memory(w->in, w->out, o->kern->nr);
    if ((few && !o->plain) || (!few && !o->forward) ||
        (!few && w->backward && !o->backward)) {
        own_destroy(w);
        return err_set(err, RC_NOMEM, "no memory for a matrix of %jd x %jd",
                       (intmax_t)w->out, (intmax_t)w->in);
    }
    return RC_OK;
}

static void own_pack(struct gemm_weight *w, const float *from)
{
    struct own_weight *o = w->packed;
    int64_t nr = o->kern->nr;
    if (o->plain)
        memcpy(o->plain, from, (size_t)(w->out * w->in) * sizeof(float));
    for (int64_t u = 0; o->forward && u < w->out; u++) {
        float *to = o->forward + u / nr * nr * w->in + u % nr;
        for (int64_t i = 0; i < w->in; i++)
            to[i * nr] = from[u * w->in + i];
    }
    for (int64_t u = 0; o->backward && u < w->out; u++)
        for (int64_t i = 0; i < w->in; i += nr) {
            int64_t n = w->in - i < nr ? w->in - i : nr;
            memcpy(o->backward + i * w->out + u * nr, from + u * w->in + i,
                   (size_t)n * sizeof(float));
        }
}

/* All panels for each few rows: the rows stay in the first cache, the panels in the
 * second. */
static void multiply(const struct gemm_kernel *kern, struct view x, const float *packed,
                     int64_t n, int64_t k, const float *bias, bool add, bool relu,
                     struct view y)
{
    for (int64_t r = 0; r < x.rows; r += kern->mr) {
        int rows = (int)(x.rows - r < kern->mr ? x.rows - r : kern->mr);
        for (int64_t c = 0; c < n; c += kern->nr) {
            int cols = (int)(n - c < kern->nr ? n - c : kern->nr);
            struct gemm_tile t = {.k = k,
                                  .a = view_row(&x, r),
                                  .lda = x.ld,
                                  .strided = true,
                                  .b = packed + c * k,
                                  .ldb = kern->nr,
                                  .bias = bias ? bias + c : NULL,
                                  .add = add,
                                  .relu = relu,
                                  .c = view_row(&y, r) + c,
                                  .ldc = y.ld};
            kern->run(&t, rows, cols);
        }
    }
}

static void smooth_act(enum gemm_act act, struct view y)
{
    for (int64_t r = 0; r < y.rows && act >= GEMM_ACT_SIGMOID; r++) {
        float *p = view_row(&y, r);
        for (int64_t i = 0; i < y.width; i++)
            p[i] = act == GEMM_ACT_SIGMOID ? 1.0f / (1.0f + expf(-p[i])) : tanhf(p[i]);
    }
}

static void few_forward(const struct gemm_weight *w, struct view x, const float *bias,
                        enum gemm_act act, struct view y)
{
    const struct own_weight *o = w->packed;
    const struct kernels *k = kernels();
    for (int64_t r = 0; r < x.rows; r++)
        for (int64_t u = 0; u < w->out; u++) {
            float v = k->dot(view_row(&x, r), o->plain + u * w->in, w->in);
            v += bias ? bias[u] : 0.0f;
            view_row(&y, r)[u] = act == GEMM_ACT_RELU && v < 0.0f ? 0.0f : v;
        }
}

static void own_forward(const struct gemm_weight *w, struct view x, const float *bias,
                        enum gemm_act act, struct view y)
{
    const struct own_weight *o = w->packed;
    if (o->plain)
        few_forward(w, x, bias, act, y);
    else
        multiply(o->kern, x, o->forward, w->out, w->in, bias, false, act == GEMM_ACT_RELU,
                 y);
    smooth_act(act, y);
}

static void own_backward(const struct gemm_weight *w, struct view dy, bool add,
                         struct view dx)
{
    const struct own_weight *o = w->packed;
    if (!o->plain) {
        multiply(o->kern, dy, o->backward, w->in, w->out, NULL, add, false, dx);
        return;
    }
    for (int64_t r = 0; r < dy.rows; r++) {
        if (!add)
            memset(view_row(&dx, r), 0, (size_t)w->in * sizeof(float));
        for (int64_t u = 0; u < w->out; u++)
            kernels()->axpy(view_row(&dx, r), view_row(&dy, r)[u], o->plain + u * w->in,
                            w->in);
    }
}

/* Columns [col, col + n) of v, side by side and filled up with zeros to `width`. Rows of
 * v may lie a power of two apart, where they would push each other out of the first
 * cache.
 */
static void copy_panel(struct view v, int64_t col, int64_t n, int64_t width, float *to)
{
    for (int64_t r = 0; r < v.rows; r++, to += width) {
        memcpy(to, view_row(&v, r) + col, (size_t)n * sizeof(float));
        if (n < width)
            memset(to + n, 0, (size_t)(width - n) * sizeof(float));
    }
}

/* dw[from..to) over one block of rows. */
static void gradient_block(const struct gemm_kernel *kern, struct view dy, struct view x,
                           float *dw, int64_t in, int64_t from, int64_t to)
{
    float units[ROW_BLOCK * GEMM_GRADIENT_UNITS], panel[ROW_BLOCK * EDGE];
    for (int64_t u = from; u < to; u += kern->mr)
        copy_panel(dy, u, to - u < kern->mr ? to - u : kern->mr, kern->mr,
                   units + (u - from) * dy.rows);
    for (int64_t c = 0; c < in; c += kern->nr) {
        int cols = (int)(in - c < kern->nr ? in - c : kern->nr);
        copy_panel(x, c, cols, kern->nr, panel);
        for (int64_t u = from; u < to; u += kern->mr) {
            struct gemm_tile t = {.k = x.rows,
                                  .a = units + (u - from) * dy.rows,
                                  .lda = kern->mr,
                                  .b = panel,
                                  .ldb = kern->nr,
                                  .add = true,
                                  .c = dw + u * in + c,
                                  .ldc = in};
            kern->run(&t, (int)(to - u < kern->mr ? to - u : kern->mr), cols);
        }
    }
}

static void few_gradient(struct view dy, struct view x, float *dw, int64_t from,
                         int64_t to)
{
    for (int64_t r = 0; r < dy.rows; r++)
        for (int64_t u = from; u < to; u++)
            kernels()->axpy(dw + u * x.width, view_row(&dy, r)[u], view_row(&x, r),
                            x.width);
}

static void own_gradient(const struct gemm_weight *w, struct view dy, struct view x,
                         float *dw, float *db, int64_t from, int64_t to)
{
    const struct own_weight *o = w->packed;
    for (int64_t r = 0; r < dy.rows; r += ROW_BLOCK) {
        int64_t end = r + ROW_BLOCK < dy.rows ? r + ROW_BLOCK : dy.rows;
        if (o->plain)
            few_gradient(view_rows(&dy, r, end), view_rows(&x, r, end), dw, from, to);
        else
            gradient_block(o->kern, view_rows(&dy, r, end), view_rows(&x, r, end), dw,
                           w->in, from, to);
        for (int64_t k = r; db && k < end; k++)
            kernels()->add(db + from, view_row(&dy, k) + from, to - from);
    }
}

const struct gemm_ops gemm_own = {
    .name = "own",
    .create = own_create,
    .destroy = own_destroy,
    .pack = own_pack,
    .forward = own_forward,
    .backward = own_backward,
    .gradient = own_gradient,
};
