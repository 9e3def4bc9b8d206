/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_bench [ROUNDS [ROWS...]] - GFLOP/s of the three products on one thread for the
 * shapes of recommender models: ours, oneDNN and OpenBLAS in turn, best of ROUNDS each.
 * The machine is shared, so all of them run in every round and only the best counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/compiler.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tensor/gemm.h"
#include "tensor/kernel.h"

#define BACKENDS 3
#define WIDEST 1024

static const char *const backends[BACKENDS] = {"own", "onednn", "openblas"};
static const int64_t shapes[][2] = {{13, 512},  {400, 256},  {256, 128},
                                    {512, 256}, {1024, 512}, {367, 512},
                                    {48, 256},  {256, 64},   {128, 1}};
enum product { FORWARD, BACKWARD, GRADIENT, PACK, PRODUCTS };
static const char *const products[] = {"fwd", "dX", "dW", "pack"};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct arrays {
    float *x, *y, *dx, *w, *dw, *bias;
};

static float *random_floats(struct rng *r, int64_t n)
{
    float *p = mem_try_aligned(64, (size_t)n, sizeof(float));
    if (!p) {
        fprintf(stderr, "gemm_bench: no memory\n");
        exit(1);
    }
    rng_fill_uniform(r, -1, 1, p, (size_t)n);
    return p;
}

static void run(enum product what, struct gemm_weight *w, const struct arrays *a,
                int64_t m, int64_t k, int64_t n)
{
    struct view x = view_of(a->x, m, k), y = view_of(a->y, m, n),
                dx = view_of(a->dx, m, k);
    switch (what) {
    case FORWARD:
        gemm_forward(w, x, a->bias, GEMM_ACT_RELU, y);
        break;
    case BACKWARD:
        gemm_backward(w, y, false, dx);
        break;
    case GRADIENT:
        gemm_gradient(w, y, x, a->dw, a->bias, NULL);
        break;
    default:
        gemm_pack(w, a->w);
    }
}

/* Best seconds of each backend; 0 where there is none. */
static void measure(enum product what, struct gemm_weight *const w[BACKENDS],
                    const struct arrays *a, const int64_t shape[2], int64_t m, int rounds,
                    double best[BACKENDS])
{
    for (int b = 0; b < BACKENDS; b++)
        best[b] = 0;
    for (int r = 0; r < rounds; r++)
        for (int b = 0; b < BACKENDS; b++) {
            if (!w[b])
                continue;
            double from = now();
            run(what, w[b], a, m, shape[0], shape[1]);
            double took = now() - from;
            if (r > 0 && (best[b] == 0 || took < best[b]))
                best[b] = took;
        }
}

static void print_row(enum product what, const int64_t shape[2], int64_t m,
                      enum gemm_precision precision, const double best[BACKENDS])
{
    double flop = 2.0 * (double)(m * shape[0] * shape[1]);
    printf("%-5s %-4s %4jd x %-4jd M %-5jd", precision == GEMM_F32 ? "f32" : "bf16",
           products[what], (intmax_t)shape[0], (intmax_t)shape[1], (intmax_t)m);
    for (int b = 0; b < BACKENDS; b++)
        if (what == PACK)
            printf(" %9.1fus", best[b] * 1e6);
        else if (best[b] > 0)
            printf(" %10.1f", flop / best[b] * 1e-9);
        else
            printf(" %10s", "-");
    if (best[1] > 0 && what != PACK)
        printf(" %8.2f", best[1] / best[0]);
    printf("\n");
    fflush(stdout);
}

static void shape_rows(const int64_t shape[2], enum gemm_precision precision,
                       const struct arrays *a, int rounds, const int64_t *ms, int n_ms)
{
    struct gemm_weight *w[BACKENDS] = {0};
    for (int b = 0; b < BACKENDS; b++) {
        if (gemm_backend_use(backends[b], NULL) ||
            gemm_weight_create(shape[1], shape[0], precision, true, &w[b], NULL))
            continue;
        gemm_pack(w[b], a->w);
    }
    for (int i = 0; i < n_ms; i++)
        for (int what = 0; what < PRODUCTS; what++) {
            double best[BACKENDS];
            if (what == PACK && i > 0)
                continue;
            measure((enum product)what, w, a, shape, ms[i], rounds, best);
            print_row((enum product)what, shape, ms[i], precision, best);
        }
    for (int b = 0; b < BACKENDS; b++)
        gemm_weight_destroy(w[b]);
}

int main(int argc, char **argv)
{
    int64_t ms[8] = {512, 2048}, most = 0;
    int n_ms = 2, rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 15;
    for (int i = 2; i < argc && i < 10; i++)
        ms[n_ms = i - 2, n_ms++] = strtol(argv[i], NULL, 10);
    for (int i = 0; i < n_ms; i++)
        most = ms[i] > most ? ms[i] : most;
    struct rng r;
    rng_init(&r, 1, 0, 0, 0);
    int64_t size = most * WIDEST;
    struct arrays a = {.x = random_floats(&r, size),
                       .y = random_floats(&r, size),
                       .dx = random_floats(&r, size),
                       .w = random_floats(&r, WIDEST * WIDEST),
                       .dw = random_floats(&r, WIDEST * WIDEST),
                       .bias = random_floats(&r, WIDEST)};
    char model[CPU_MODEL_SIZE];
    cpu_model(model);
    printf("%s, level %s, one thread, GFLOP/s (pack: microseconds), best of %d\n", model,
           cpu_level_name(kernels_level()), rounds);
    printf("%-31s %10s %10s %10s %8s\n", "", "own", "onednn", "openblas", "own/dnnl");
    for (int precision = GEMM_F32; precision <= GEMM_BF16; precision++)
        for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
            shape_rows(shapes[i], (enum gemm_precision)precision, &a, rounds, ms, n_ms);
    return 0;
}
