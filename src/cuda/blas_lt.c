/* SPDX-License-Identifier: Apache-2.0 */
/* Products with a bias and an activation in the same pass, by cuBLASLt, which is part of cuBLAS. How a product is done (its algorithm) is asked for once per shape and kept; cuBLASLt
 * gives the same answer on the same card, so that two runs compute the same bytes.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "cuda/blas.h"

/* Of cublasLt.h and library_types.h. */
enum { TYPE_F32 = 0, OP_TURNED = 1 };
enum { DESC_TURN_A = 3, DESC_TURN_B = 4, DESC_EPILOGUE = 7, DESC_BIAS = 8 };
enum { DESC_BIAS_TYPE = 26 };
enum { PREFER_WORKSPACE = 1 };
enum {
    THEN_BIAS = 4,
    THEN_BIAS_RELU = 6,
    THEN_BIAS_RELU_AUX = 134,
    THEN_MASK_SUMS = 152
};

#define WORKSPACE ((size_t)32 << 20)
#define PLANS_MAX 512

/* cublasLtMatmulHeuristicResult_t */
struct answer {
    uint64_t algorithm[8];
    size_t workspace;
    int status;
    float waves;
    int reserved[4];
};

struct shape {
    int64_t m, n, k, ldx, ldy, ldc;
    int turned_x, turned_y, compute, epilogue;
    int type, type_c; /* of the factors, of the result */
};

struct plan {
    struct shape shape;
    bool usable;
    void *desc, *a, *b, *c;
    uint64_t algorithm[8];
};

struct blas_lt {
    void *lib, *handle, *preference;
    cuda_stream stream;
    void *workspace;
    VEC(struct plan) plans;
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*desc_create)(void **desc, int compute, int scale_type);
    int (*desc_destroy)(void *desc);
    int (*desc_set)(void *desc, int what, const void *value, size_t bytes);
    int (*layout_create)(void **layout, int type, uint64_t rows, uint64_t cols,
                         int64_t ld);
    int (*layout_destroy)(void *layout);
    int (*preference_create)(void **preference);
    int (*preference_destroy)(void *preference);
    int (*preference_set)(void *preference, int what, const void *value, size_t bytes);
    int (*ask)(void *handle, void *desc, void *a, void *b, void *c, void *d,
               void *preference, int wanted, struct answer *answers, int *n);
    int (*multiply)(void *handle, void *desc, const void *alpha, const void *a,
                    void *layout_a, const void *b, void *layout_b, const void *beta,
                    const void *c, void *layout_c, void *d, void *layout_d,
                    const void *algorithm, void *workspace, size_t bytes,
                    cuda_stream stream);
};

static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12"};

static bool find_functions(struct blas_lt *l)
{
    struct {
        const char *name;
        void *to;
    } all[] = {{"cublasLtCreate", &l->create},
               {"cublasLtDestroy", &l->destroy},
               {"cublasLtMatmulDescCreate", &l->desc_create},
               {"cublasLtMatmulDescDestroy", &l->desc_destroy},
               {"cublasLtMatmulDescSetAttribute", &l->desc_set},
               {"cublasLtMatrixLayoutCreate", &l->layout_create},
               {"cublasLtMatrixLayoutDestroy", &l->layout_destroy},
               {"cublasLtMatmulPreferenceCreate", &l->preference_create},
               {"cublasLtMatmulPreferenceDestroy", &l->preference_destroy},
               {"cublasLtMatmulPreferenceSetAttribute", &l->preference_set},
               {"cublasLtMatmulAlgoGetHeuristic", &l->ask},
               {"cublasLtMatmul", &l->multiply}};
    bool found = true;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        void *at = dlsym(l->lib, all[i].name);
        memcpy(all[i].to, &at, sizeof(at));
        found = found && at;
    }
    return found;
}

static bool start(struct blas_lt *l)
{
    size_t most = WORKSPACE;
    return find_functions(l) && l->create(&l->handle) == 0 &&
           l->preference_create(&l->preference) == 0 &&
           l->preference_set(l->preference, PREFER_WORKSPACE, &most, sizeof(most)) == 0 &&
           cudaMalloc(&l->workspace, WORKSPACE) == cudaSuccess;
}

struct blas_lt *blas_lt_open(cuda_stream s)
{
    struct blas_lt *l = mem_calloc(1, sizeof(*l));
    l->stream = s;
    for (size_t i = 0; !l->lib && i < ARRAY_LEN(names); i++)
        l->lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (l->lib && start(l))
        return l;
    blas_lt_close(l);
    return NULL;
}

static void release_plan(struct blas_lt *l, struct plan *p)
{
    void *layouts[] = {p->a, p->b, p->c};
    for (size_t i = 0; i < ARRAY_LEN(layouts); i++)
        if (layouts[i])
            l->layout_destroy(layouts[i]);
    if (p->desc)
        l->desc_destroy(p->desc);
}

void blas_lt_close(struct blas_lt *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->plans.n; i++)
        release_plan(l, &l->plans.at[i]);
    VEC_RELEASE(&l->plans);
    cudaFree(l->workspace);
    if (l->preference)
        l->preference_destroy(l->preference);
    if (l->handle)
        l->destroy(l->handle);
    if (l->lib)
        dlclose(l->lib);
    mem_free(l);
}

static bool set_int(struct blas_lt *l, struct plan *p, int what, int value)
{
    return l->desc_set(p->desc, what, &value, sizeof(value)) == 0;
}

/* Its matrices are column-major: the factors change places, and rows are columns. */
static bool describe(struct blas_lt *l, struct plan *p)
{
    const struct shape *s = &p->shape;
    uint64_t m = (uint64_t)s->m, n = (uint64_t)s->n, k = (uint64_t)s->k;
    return l->desc_create(&p->desc, s->compute, TYPE_F32) == 0 &&
           (!s->turned_y || set_int(l, p, DESC_TURN_A, OP_TURNED)) &&
           (!s->turned_x || set_int(l, p, DESC_TURN_B, OP_TURNED)) &&
           set_int(l, p, DESC_EPILOGUE, s->epilogue) &&
           set_int(l, p, DESC_BIAS_TYPE, s->type_c) &&
           l->layout_create(&p->a, s->type, s->turned_y ? k : n, s->turned_y ? n : k,
                            s->ldy) == 0 &&
           l->layout_create(&p->b, s->type, s->turned_x ? m : k, s->turned_x ? k : m,
                            s->ldx) == 0 &&
           l->layout_create(&p->c, s->type_c, n, m, s->ldc) == 0;
}

/* The bias does not belong to the shape. */
static bool point(struct blas_lt *l, const struct plan *p, const struct blas_after *after)
{
    return l->desc_set(p->desc, DESC_BIAS, &after->bias, sizeof(after->bias)) == 0;
}

static void choose(struct blas_lt *l, struct plan *p, const struct blas_after *after)
{
    struct answer answer = {0};
    int n = 0;
    p->usable = describe(l, p) && point(l, p, after) &&
                l->ask(l->handle, p->desc, p->a, p->b, p->c, p->c, l->preference, 1,
                       &answer, &n) == 0 &&
                n == 1 && answer.status == 0;
    memcpy(p->algorithm, answer.algorithm, sizeof(p->algorithm));
}

static struct plan *plan_for(struct blas_lt *l, const struct shape *s,
                             const struct blas_after *after)
{
    for (size_t i = 0; i < l->plans.n; i++)
        if (memcmp(&l->plans.at[i].shape, s, sizeof(*s)) == 0)
            return &l->plans.at[i];
    if (l->plans.n == PLANS_MAX) {
        for (size_t i = 0; i < l->plans.n; i++)
            release_plan(l, &l->plans.at[i]);
        l->plans.n = 0;
    }
    struct plan made = {.shape = *s};
    choose(l, &made, after);
    VEC_PUSH(&l->plans, made);
    return &l->plans.at[l->plans.n - 1];
}

static bool is_aligned(const void *at, int64_t ld, bool bf16)
{
    return (uintptr_t)at % 16 == 0 && ld % (bf16 ? 8 : 4) == 0;
}

bool blas_product_then(struct blas *b, enum blas_precision precision,
                       struct blas_matrix x, struct blas_matrix y, int64_t k,
                       struct blas_out c, struct blas_after after)
{
    struct blas_lt *l = b->lt;
    float one = 1, none = 0;
    struct shape s = {.m = c.rows,
                      .n = c.width,
                      .k = k,
                      .ldx = x.ld,
                      .ldy = y.ld,
                      .ldc = c.ld,
                      .turned_x = x.turned,
                      .turned_y = y.turned,
                      .compute = blas_compute_of(x.bf16 ? BLAS_F32 : precision),
                      .epilogue = after.relu ? THEN_BIAS_RELU : THEN_BIAS,
                      .type = blas_type_of(x.bf16),
                      .type_c = blas_type_of(c.bf16)};
    if (!l || c.rows == 0 || !is_aligned(x.at, x.ld, x.bf16) ||
        !is_aligned(y.at, y.ld, y.bf16) || !is_aligned(c.at, c.ld, c.bf16) ||
        !is_aligned(after.bias, c.width, c.bf16))
        return false;
    struct plan *p = plan_for(l, &s, &after);
    return p->usable && point(l, p, &after) &&
           l->multiply(l->handle, p->desc, &one, y.at, p->a, x.at, p->b, &none, c.at,
                       p->c, c.at, p->c, p->algorithm, l->workspace, WORKSPACE,
                       l->stream) == 0;
}
