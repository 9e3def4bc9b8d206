/* SPDX-License-Identifier: Apache-2.0 */
/* limit MODEL BATCH [THREADS] [bf16] [SECONDS]: how long the matrix products of a step
 * take when nothing else happens.
 *
 * Each product of each layer runs alone, by our own kernels and by oneDNN's where it can
 * be loaded, rows cut into tiles for all threads; the best time of the better one counts.
 * DIN's attention counts as it is at best, keys times a matrix per row of the batch.
 * Prints one line of JSON: milliseconds of all products of a step, by the clock and of
 * processor time, and GFLOP/s.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "tensor/gemm.h"

#define TILE 256
#define LAYERS_MAX 16

struct layer {
    int64_t times;     /* how often the model has it */
    int64_t positions; /* per sample */
    int64_t in, out;
    bool no_dx; /* nobody wants the gradient of its input */
};

static const struct {
    const char *model;
    struct layer layers[LAYERS_MAX];
} models[] = {
    {"dlrm",
     {{1, 1, 13, 512, true},
      {1, 1, 512, 256, false},
      {1, 1, 256, 16, false},
      {1, 1, 367, 512, false},
      {1, 1, 512, 256, false},
      {1, 1, 256, 1, false}}},
    {"deepfm",
     {{1, 1, 429, 512, false},
      {1, 1, 512, 256, false},
      {1, 1, 256, 128, false},
      {1, 1, 145, 64, false},
      {1, 1, 64, 1, false}}},
    {"mmoe",
     {{3, 1, 256, 512, false},
      {3, 1, 512, 256, false},
      {3, 1, 256, 128, false},
      {2, 1, 256, 3, false},
      {2, 1, 128, 256, false},
      {2, 1, 256, 128, false},
      {2, 1, 128, 64, false},
      {2, 1, 64, 1, false}}},
    {"din",
     {{1, 1, 256, 512, false},
      {1, 1, 512, 256, false},
      {1, 1, 256, 128, false},
      {1, 1, 48, 256, false},
      {1, 50, 48, 256, false},
      {1, 50, 256, 64, false},
      {1, 50, 64, 1, false},
      {1, 1, 176, 64, false},
      {1, 1, 64, 1, false}}},
};

enum product { FORWARD, BACKWARD, GRADIENT, PRODUCTS };

struct job {
    const struct layer *layer;
    struct gemm_weight *w;
    struct pool *pool;
    struct view x, y;
    float *dw;
    double ms[PRODUCTS], cpu[PRODUCTS]; /* the best so far */
};

static void forward_tile(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct job *j = arg;
    gemm_forward(j->w, view_rows(&j->x, begin, end), NULL, GEMM_ACT_RELU,
                 view_rows(&j->y, begin, end));
}

static void backward_tile(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct job *j = arg;
    gemm_backward(j->w, view_rows(&j->y, begin, end), false,
                  view_rows(&j->x, begin, end));
}

static void multiply(struct job *j, enum product p)
{
    if (p == FORWARD)
        pool_for(j->pool, j->x.rows, TILE, forward_tile, j);
    else if (p == BACKWARD)
        pool_for(j->pool, j->x.rows, TILE, backward_tile, j);
    else
        gemm_gradient(j->w, j->y, j->x, j->dw, NULL, j->pool);
}

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void keep_best(double *best, double ms)
{
    if (ms < *best || *best == 0)
        *best = ms;
}

static struct view random_view(int64_t rows, int64_t width)
{
    struct view v =
        view_of(mem_try_aligned(64, (size_t)(rows * width), sizeof(float)), rows, width);
    struct rng r;
    rng_init(&r, 1, 2, 3, 4);
    if (v.data)
        rng_fill_uniform(&r, -0.1f, 0.1f, v.data, (size_t)(rows * width));
    return v;
}

static enum rc measure(struct job *j, int64_t batch, enum gemm_precision precision,
                       double seconds, struct err *err)
{
    const struct layer *l = j->layer;
    struct view w = random_view(l->out, l->in);
    j->x = random_view(batch * l->positions, l->in);
    j->y = random_view(batch * l->positions, l->out);
    j->dw = mem_try_calloc((size_t)(l->out * l->in), sizeof(float));
    enum rc rc = w.data && j->x.data && j->y.data && j->dw
                     ? gemm_weight_create(l->out, l->in, precision, true, &j->w, err)
                     : err_set(err, RC_NOMEM, "no memory");
    if (!rc) {
        gemm_pack(j->w, w.data);
        int64_t end = clock_mono_ns() + (int64_t)(seconds * 1e9);
        for (int round = 0; round < 3 || clock_mono_ns() < end; round++)
            for (int p = FORWARD; p < PRODUCTS; p++) {
                int64_t start = clock_mono_ns();
                double cpu = cpu_ms();
                multiply(j, (enum product)p);
                keep_best(&j->cpu[p], cpu_ms() - cpu);
                keep_best(&j->ms[p], (double)(clock_mono_ns() - start) * 1e-6);
            }
    }
    gemm_weight_destroy(j->w);
    j->w = NULL;
    mem_free(w.data);
    mem_free(j->x.data);
    mem_free(j->y.data);
    mem_free(j->dw);
    return rc;
}

struct sums {
    double ms, cpu, flops;
};

/* Adds what all products of a layer take. */
static enum rc add_layer(const struct layer *l, int64_t batch, struct pool *pool,
                         enum gemm_precision precision, double seconds, struct sums *to,
                         struct err *err)
{
    static const char *const backends[] = {"own", "onednn"};
    struct job j = {.layer = l, .pool = pool};
    for (size_t b = 0; b < ARRAY_LEN(backends); b++) {
        enum rc rc = gemm_backend_use(backends[b], err);
        if (rc == RC_NOTFOUND && b > 0)
            continue;
        if (!rc)
            rc = measure(&j, batch, precision, seconds, err);
        if (rc)
            return rc;
    }
    for (int p = FORWARD; p < PRODUCTS; p++)
        if (p != BACKWARD || !l->no_dx) {
            to->ms += (double)l->times * j.ms[p];
            to->cpu += (double)l->times * j.cpu[p];
            to->flops += 2.0 * (double)(l->times * batch * l->positions * l->in * l->out);
        }
    return RC_OK;
}

static const struct layer *layers_of(const char *model)
{
    for (size_t i = 0; i < ARRAY_LEN(models); i++)
        if (strcmp(models[i].model, model) == 0)
            return models[i].layers;
    return NULL;
}

int main(int argc, char **argv)
{
    const struct layer *layers = argc > 2 ? layers_of(argv[1]) : NULL;
    int64_t batch, threads = 2;
    double seconds = 2;
    struct sums sums = {0};
    enum gemm_precision precision = GEMM_F32;
    struct pool *pool = NULL;
    struct err err = {0};
    if (!layers || !str_to_i64(str_c(argv[2]), &batch)) {
        fprintf(stderr,
                "usage: limit dlrm|deepfm|mmoe|din BATCH [THREADS] [bf16] [SECONDS]\n");
        return 2;
    }
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "bf16") == 0)
            precision = GEMM_BF16;
        else if (i == 3)
            (void)!str_to_i64(str_c(argv[i]), &threads);
        else
            (void)!str_to_f64(str_c(argv[i]), &seconds);
    }
    int n = 0;
    while (n < LAYERS_MAX && layers[n].times)
        n++;
    enum rc rc = pool_create((int)threads, &pool, &err);
    for (int i = 0; i < n && !rc; i++)
        rc = add_layer(&layers[i], batch, pool, precision, seconds / n, &sums, &err);
    pool_destroy(pool);
    if (rc) {
        fprintf(stderr, "limit: %s\n", err.msg);
        return 1;
    }
    printf("{\"model\": \"%s\", \"products_ms\": %.3f, \"cpu_ms\": %.3f, \"gflops\": "
           "%.1f}\n",
           argv[1], sums.ms, sums.cpu, sums.flops / sums.ms * 1e-6);
    return 0;
}
