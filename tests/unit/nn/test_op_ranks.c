/* SPDX-License-Identifier: Apache-2.0 */
/* An op that is no sum over rows gives two ranks what one process with all rows has. */
#include <pthread.h>

#include "comm/threads.h"
#include "nn/graph.h"
#include "nn/ops.h"
#include "tap.h"

#define ROWS 10

struct part {
    struct comm *comm;
    int64_t from, n;
    double loss;
    float grad[ROWS];
};

static float value_of(int64_t row)
{
    return 0.25f + (float)(row % 4) + (float)row / 16;
}

static void *run_part(void *arg)
{
    struct part *p = arg;
    struct graph_options o = {.comm = p->comm, .training = true, .tile_rows = 2};
    struct graph *g = graph_create(&o);
    struct nn_val *x = nn_input(g, "x", &(struct nn_shape){AXIS_BATCH, 1, {1}}, true);
    float rows[ROWS];
    nn_loss(g, "root", nn_root_share(g, x));
    CHECK(graph_finish(g, NULL) == RC_OK);
    CHECK(graph_rows(g, &(struct nn_batch_rows){.n = {p->n}, .total = ROWS}, NULL) ==
          RC_OK);
    for (int64_t i = 0; i < p->n; i++)
        rows[i] = value_of(p->from + i);
    graph_set(g, x, rows);
    graph_training(g, true);
    graph_forward(g, 0);
    graph_backward(g, true);
    CHECK(graph_wait(g, NULL) == RC_OK);
    p->loss = graph_loss(g);
    struct view d = graph_read_grad(g, x);
    for (int64_t i = 0; i < p->n; i++)
        p->grad[i] = *view_row(&d, i);
    graph_destroy(g);
    return NULL;
}

static void a_root_is_that_of_the_rows_of_all_ranks(void)
{
    struct part all = {.n = ROWS}, ranks[2] = {{.n = 7}, {.from = 7, .n = 3}};
    struct comm_group *group = comm_group_create(2, 0);
    pthread_t threads[2];
    run_part(&all);
    for (int i = 0; i < 2; i++) {
        struct comm_conf conf = {.rank = i, .world = 2, .group = group};
        CHECK(comm_open("threads", &conf, &ranks[i].comm, NULL) == RC_OK);
        CHECK(pthread_create(&threads[i], NULL, run_part, &ranks[i]) == 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    CHECK_NEAR(ranks[0].loss + ranks[1].loss, all.loss, 1e-6 * all.loss);
    for (int i = 0; i < 2; i++)
        for (int64_t k = 0; k < ranks[i].n; k++)
            CHECK_NEAR(ranks[i].grad[k], all.grad[ranks[i].from + k], 1e-6);
    for (int i = 0; i < 2; i++)
        comm_close(ranks[i].comm);
    comm_group_unref(group);
}

static const struct tap_case cases[] = {
    TAP(a_root_is_that_of_the_rows_of_all_ranks),
};
TAP_MAIN(cases)
