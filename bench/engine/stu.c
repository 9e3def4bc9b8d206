/* SPDX-License-Identifier: Apache-2.0 */
/* engine_stu MODE STEPS - processor time of a layer of transduction units, forward and backward, on one
 * thread: MODE is "jagged" (64 rows of 0 to 200 tokens) or "long" (8 rows of 1000). Prints milliseconds
 * of the fastest step and of the median. bench/zoo/stu.py has the same in PyTorch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/rng.h"
#include "nn/graph.h"
#include "nn/ops.h"

enum { WIDTH = 256, HEADS = 4, HIDDEN = 64, ATTENTION = 64, ROWS_MAX = 64 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_size(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static struct nn_val *layer(struct graph *g, struct nn_val *x)
{
    int64_t made = HEADS * HIDDEN, width = WIDTH;
    int64_t all = 2 * HEADS * (HIDDEN + ATTENTION);
    struct nn_init small = {INIT_UNIFORM, -0.1, 0.1}, ones = {INIT_ONES, 0, 0},
                   zeros = {INIT_ZEROS, 0, 0};
    struct nn_stu_conf c = {.heads = HEADS,
                            .hidden = HIDDEN,
                            .attention = ATTENTION,
                            .alpha = 0.125f,
                            .scale = 1e-3f};
    struct param *w = nn_param(g, "w", (const int64_t[]){WIDTH, all}, 2, small, true);
    struct param *b = nn_param(g, "b", &all, 1, zeros, true);
    struct param *iw = nn_param(g, "iw", &width, 1, ones, true);
    struct param *ib = nn_param(g, "ib", &width, 1, zeros, true);
    struct param *wo =
        nn_param(g, "wo", (const int64_t[]){3 * made, WIDTH}, 2, small, true);
    struct param *ow = nn_param(g, "ow", &made, 1, ones, true);
    struct param *ob = nn_param(g, "ob", &made, 1, zeros, true);
    struct nn_val *uvqk = nn_times_bias(g, w, b, nn_layer_norm_by(g, iw, ib, 1e-6, x));
    struct nn_val *y =
        nn_stu_gate(g, uvqk, nn_stu_attention(g, uvqk, NULL, &c), ow, ob, 1);
    return nn_add(g, x, nn_times(g, wo, y));
}

int main(int argc, char **argv)
{
    bool jagged = argc > 1 && strcmp(argv[1], "jagged") == 0;
    int64_t at[ROWS_MAX + 1] = {0}, rows = jagged ? 64 : 8;
    int steps = argc > 2 ? atoi(argv[2]) : 20;
    struct err err = {0};
    struct graph *g = graph_create(&(struct graph_options){.training = true, .seed = 1});
    struct nn_shape shape = {graph_axis(g, "tokens"), 1, {WIDTH}};
    struct nn_val *x = nn_input(g, "x", &shape, true);
    nn_loss(g, "loss", nn_row_sum(g, layer(g, x)));
    if (graph_finish(g, &err)) {
        fprintf(stderr, "engine_stu: %s\n", err.msg);
        return 1;
    }
    for (int64_t b = 0; b < rows; b++) /* as stu.py has them */
        at[b + 1] = at[b] + (jagged ? b * 7919 % 201 : 1000);
    struct nn_batch_rows n = {.n = {rows, at[rows]}, .offsets = {NULL, at}};
    if (graph_rows(g, &n, &err)) {
        fprintf(stderr, "engine_stu: %s\n", err.msg);
        return 1;
    }
    graph_training(g, true);
    struct rng r;
    rng_init(&r, 1, 0, 0, 0);
    struct view v = graph_write_begin(g, x);
    rng_fill_uniform(&r, -1, 1, v.data, (size_t)(v.rows * v.width));
    graph_write_end(g, x);
    double *ms = mem_calloc((size_t)steps + 1, sizeof(*ms));
    for (int i = -2; i < steps; i++) {
        double from = now();
        graph_forward(g, 0);
        graph_backward(g, true);
        if (i >= 0)
            ms[i] = now() - from;
    }
    qsort(ms, (size_t)steps, sizeof(*ms), by_size);
    printf("%.2f %.2f\n", ms[0], ms[steps / 2]);
    mem_free(ms);
    graph_destroy(g);
    return 0;
}
