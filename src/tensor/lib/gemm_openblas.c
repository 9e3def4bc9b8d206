/* SPDX-License-Identifier: Apache-2.0 */
/* Products by OpenBLAS, loaded when asked for; f32 only, one thread per call. */
#include <dlfcn.h>
#include <string.h>

#include "base/mem.h"
#include "tensor/gemm_private.h"
#include "tensor/kernel.h"

enum { ROW_MAJOR = 101, PLAIN = 111, TURNED = 112 }; /* as in cblas.h */

typedef void sgemm_fn(int order, int turn_a, int turn_b, int m, int n, int k, float alpha,
                      const float *a, int lda, const float *b, int ldb, float beta,
                      float *c, int ldc);
typedef void set_threads_fn(int n);

static sgemm_fn *sgemm; /* once loaded, the same for the life of the program */

static enum rc openblas_load(struct err *err)
{
    void *lib = sgemm ? NULL : dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (sgemm)
        return RC_OK;
    if (!lib)
        return err_set(err, RC_NOTFOUND, "cannot load libopenblas.so.0: %s", dlerror());
    void *product = dlsym(lib, "cblas_sgemm"),
         *threads = dlsym(lib, "openblas_set_num_threads");
    if (!product || !threads) {
        dlclose(lib);
        return err_set(err, RC_NOTFOUND, "libopenblas.so.0 lacks cblas_sgemm");
    }
    set_threads_fn *set_threads;
    memcpy(&set_threads, &threads, sizeof(set_threads));
    set_threads(1);
    memcpy(&sgemm, &product, sizeof(sgemm));
    return RC_OK;
}

static enum rc openblas_create(struct gemm_weight *w, struct err *err)
{
    if (w->precision != GEMM_F32)
        return err_set(err, RC_UNSUPPORTED, "openblas has no bf16 products");
    w->packed = mem_try_alloc((size_t)(w->out * w->in), sizeof(float));
    return w->packed ? RC_OK : gemm_no_memory(w, err);
}

static void openblas_destroy(struct gemm_weight *w)
{
    mem_free(w->packed);
}

static void openblas_pack(struct gemm_weight *w, const float *from)
{
    memcpy(w->packed, from, (size_t)(w->out * w->in) * sizeof(float));
}

static void openblas_forward(const struct gemm_weight *w, struct view x,
                             const float *bias, enum gemm_act act, struct view y)
{
    for (int64_t r = 0; bias && r < y.rows; r++)
        memcpy(view_row(&y, r), bias, (size_t)w->out * sizeof(float));
    sgemm(ROW_MAJOR, PLAIN, TURNED, (int)x.rows, (int)w->out, (int)w->in, 1.0f, x.data,
          (int)x.ld, w->packed, (int)w->in, bias ? 1.0f : 0.0f, y.data, (int)y.ld);
    gemm_apply_act(act, y);
}

static void openblas_backward(const struct gemm_weight *w, struct view dy, bool add,
                              struct view dx)
{
    sgemm(ROW_MAJOR, PLAIN, PLAIN, (int)dy.rows, (int)w->in, (int)w->out, 1.0f, dy.data,
          (int)dy.ld, w->packed, (int)w->in, add ? 1.0f : 0.0f, dx.data, (int)dx.ld);
}

static void openblas_gradient(const struct gemm_weight *w, struct view dy, struct view x,
                              struct gemm_piece at, float *dw)
{
    sgemm(ROW_MAJOR, TURNED, PLAIN, (int)at.units, (int)at.cols, (int)dy.rows, 1.0f,
          dy.data + at.unit, (int)dy.ld, x.data + at.col, (int)x.ld, 1.0f,
          dw + at.unit * w->in + at.col, (int)w->in);
}

const struct gemm_ops gemm_openblas = {
    .name = "openblas",
    .load = openblas_load,
    .create = openblas_create,
    .destroy = openblas_destroy,
    .pack = openblas_pack,
    .forward = openblas_forward,
    .backward = openblas_backward,
    .gradient = openblas_gradient,
    .large_pieces = true,
};
