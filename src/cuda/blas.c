/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLAS is looked up by its names, so that the plug-in is built without it and runs with
 * the version that is installed. Its matrices are column-major: a row-major product is the
 * product of the transposed factors in the other order.
 */
#include "cuda/blas.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "base/compiler.h"

/* Of cublas_v2.h and library_types.h. */
enum { OP_PLAIN = 0, OP_TURNED = 1 };
enum { TYPE_F32 = 0, TYPE_BF16 = 14 };
enum { COMPUTE_F32 = 68, COMPUTE_BF16 = 75, COMPUTE_TF32 = 77 };
enum { ALGORITHM_DEFAULT = -1 };

#define WORKSPACE \
    ((size_t)32 << 20) /* one of its own: a recorded product takes no memory */

static const char *const names[] = {"libcublas.so.13", "libcublas.so.12"};

static void *symbol(const struct blas *b, const char *name)
{
    return b->lib ? dlsym(b->lib, name) : NULL;
}

enum rc blas_open(struct blas *b, cuda_stream s, struct err *err)
{
    int (*create)(void **handle), (*set_stream)(void *handle, cuda_stream stream);
    int (*set_workspace)(void *handle, void *at, size_t bytes);
    *b = (struct blas){0};
    for (size_t i = 0; !b->lib && i < ARRAY_LEN(names); i++)
        b->lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    *(void **)&create = symbol(b, "cublasCreate_v2");
    *(void **)&set_stream = symbol(b, "cublasSetStream_v2");
    *(void **)&set_workspace = symbol(b, "cublasSetWorkspace_v2");
    *(void **)&b->gemm_ex = symbol(b, "cublasGemmEx");
    *(void **)&b->destroy = symbol(b, "cublasDestroy_v2");
    if (!create || !set_stream || !set_workspace || !b->gemm_ex || !b->destroy)
        return err_coded(err, RC_NOTFOUND, E2602,
                         "cuBLAS (%s or %s) cannot be loaded: %s", names[0], names[1],
                         b->lib ? "it lacks a function" : dlerror());
    int failed = create(&b->handle);
    if (!failed)
        failed = set_stream(b->handle, s);
    if (!failed && cudaMalloc(&b->workspace, WORKSPACE) == cudaSuccess)
        failed = set_workspace(b->handle, b->workspace, WORKSPACE);
    if (!failed)
        b->lt = blas_lt_open(s);
    return failed
               ? err_coded(err, RC_IO, E2602, "cuBLAS does not start: status %d", failed)
               : RC_OK;
}

void blas_close(struct blas *b)
{
    blas_lt_close(b->lt);
    if (b->handle)
        b->destroy(b->handle);
    cudaFree(b->workspace);
    if (b->lib)
        dlclose(b->lib);
    *b = (struct blas){0};
}

int blas_type_of(bool bf16)
{
    return bf16 ? TYPE_BF16 : TYPE_F32;
}

int blas_compute_of(enum blas_precision p)
{
    return p == BLAS_F32 ? COMPUTE_F32 : p == BLAS_TF32 ? COMPUTE_TF32 : COMPUTE_BF16;
}

int blas_product(struct blas *b, enum blas_precision precision, struct blas_matrix x,
                 struct blas_matrix y, int64_t k, bool add, struct blas_out c)
{
    float one = 1, keep = add ? 1 : 0;
    if (c.rows == 0 || c.width == 0)
        return 0;
    return b->gemm_ex(
        b->handle, y.turned ? OP_TURNED : OP_PLAIN, x.turned ? OP_TURNED : OP_PLAIN,
        (int)c.width, (int)c.rows, (int)k, &one, y.at, blas_type_of(y.bf16), (int)y.ld,
        x.at, blas_type_of(x.bf16), (int)x.ld, &keep, c.at, blas_type_of(c.bf16),
        (int)c.ld, blas_compute_of(x.bf16 ? BLAS_F32 : precision), ALGORITHM_DEFAULT);
}
