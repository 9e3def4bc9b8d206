/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of users against items, their loss, and the slopes of both. */
#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "nn/graph.h"
#include "nn/ops.h"
#include "tap.h"

#define USERS 5
#define WIDTH 3

static bool logistic; /* the loss of graphs that are opened from here on */

/* A graph over users and items of a given layout. */
struct match {
    struct graph *g;
    struct nn_val *user, *item, *weights, *scores, *own;
    int items, axis, hard;
    int64_t item_at[USERS + 1], score_at[USERS + 1], hard_at[USERS + 1];
    int64_t n_items, n_scores;
};

static void fill(struct graph *g, struct nn_val *at, uint64_t stream)
{
    struct rng r;
    struct view v = graph_write_begin(g, at);
    rng_init(&r, 5, stream, 0, 0);
    for (int64_t k = 0; k < v.rows; k++)
        for (int64_t i = 0; i < v.width; i++)
            view_row(&v, k)[i] = rng_f32(&r) * 2 - 1;
    graph_write_end(g, at);
}

static void open_match(struct match *m, int64_t common, const int64_t *hard,
                       bool in_batch, bool sampled)
{
    struct graph_options o = {.training = true, .seed = 3, .tile_rows = 2};
    struct nn_shape d = {.axis = AXIS_BATCH, .n_dims = 1, .dims = {WIDTH}}, one = d;
    struct nn_batch_rows rows = {.n = {USERS}};
    struct err err = {0};
    one.dims[0] = 1;
    *m = (struct match){.g = graph_create(&o), .items = -1, .hard = -1};
    m->user = nn_input(m->g, "user", &d, true);
    m->weights = nn_input(m->g, "weights", &one, false);
    if (sampled)
        d.axis = m->items = graph_axis(m->g, "items");
    m->item = nn_input(m->g, "item", &d, true);
    m->axis = graph_axis(m->g, "candidates");
    if (hard)
        m->hard = graph_axis(m->g, "hard");
    m->own = nn_own_items(m->g, m->item);
    m->scores = nn_match_scores(m->g, m->user, m->item, m->axis, m->hard, in_batch, 0.5f);
    nn_output(m->g, "scores", m->scores);
    nn_output(m->g, "own", m->own);
    nn_loss(m->g, "loss",
            logistic ? nn_match_logistic(m->g, m->scores, m->weights, in_batch)
                     : nn_match_loss(m->g, m->scores, m->weights, in_batch, AXIS_BATCH));
    nn_loss(m->g, "more", nn_row_sum(m->g, nn_mul(m->g, m->own, m->own)));
    CHECK(graph_finish(m->g, &err) == RC_OK);
    CHECK_STR(err.msg, "");
    int64_t most = 0;
    for (int k = 0; k < USERS; k++) {
        m->hard_at[k + 1] = m->hard_at[k] + (hard ? hard[k] : 0);
        most = hard && hard[k] > most ? hard[k] : most;
    }
    m->n_items = USERS + common + m->hard_at[USERS];
    m->n_scores = in_batch ? USERS : 1 + common + most;
    for (int k = 0; k <= USERS; k++) {
        m->item_at[k] = k * m->n_items / USERS;
        m->score_at[k] = k * m->n_scores;
    }
    if (m->items >= 0) {
        rows.n[m->items] = m->n_items;
        rows.offsets[m->items] = m->item_at;
    }
    rows.n[m->axis] = USERS * m->n_scores;
    rows.offsets[m->axis] = m->score_at;
    if (m->hard >= 0) {
        rows.n[m->hard] = m->hard_at[USERS];
        rows.offsets[m->hard] = m->hard_at;
    }
    CHECK(graph_rows(m->g, &rows, &err) == RC_OK);
    graph_training(m->g, true);
    float weights[USERS];
    fill(m->g, m->user, 1);
    fill(m->g, m->item, 2);
    for (int64_t k = 0; k < USERS; k++)
        weights[k] = 0.1f * (float)(k + 1);
    graph_set(m->g, m->weights, weights);
}

static double loss_of(struct match *m)
{
    graph_forward(m->g, 0);
    return graph_loss(m->g);
}

/* Returns what it was. */
static float nudge(struct match *m, struct nn_val *at, int64_t row, int64_t col, float by)
{
    struct view v = graph_write_begin(m->g, at);
    float *p = view_row(&v, row) + col, old = *p;
    *p += by;
    graph_write_end(m->g, at);
    return old;
}

static void check_slopes(struct match *m, struct nn_val *at)
{
    struct view d;
    float kept[64 * WIDTH]; /* a forward pass may use their memory */
    loss_of(m);
    graph_backward(m->g, true);
    d = graph_read_grad(m->g, at);
    memcpy(kept, d.data, (size_t)(d.rows * WIDTH) * sizeof(float));
    for (int64_t k = 0; k < d.rows; k++)
        for (int64_t i = 0; i < d.width; i++) {
            float old = nudge(m, at, k, i, 1e-2f);
            double up = loss_of(m);
            nudge(m, at, k, i, -2e-2f);
            double down = loss_of(m);
            struct view v = graph_write_begin(m->g, at);
            view_row(&v, k)[i] = old;
            graph_write_end(m->g, at);
            CHECK_NEAR(kept[k * WIDTH + i], (up - down) / 2e-2, 2e-3);
        }
}

static void check_match(int64_t common, const int64_t *hard, bool in_batch, bool sampled)
{
    struct match m;
    open_match(&m, common, hard, in_batch, sampled);
    check_slopes(&m, m.user);
    check_slopes(&m, m.item);
    graph_destroy(m.g);
}

static void slopes_are_right(void)
{
    static const int64_t hard[] = {2, 0, 1, 3, 0};
    check_match(4, NULL, false, true);
    check_match(4, hard, false, true);
    check_match(0, hard, false, true);
    check_match(0, NULL, true, false);
    check_match(7, NULL, true, true);
    logistic = true;
    check_match(4, hard, false, true);
    check_match(7, NULL, true, true);
    logistic = false;
}

static double dot(const float *a, const float *b)
{
    double sum = 0;
    for (int i = 0; i < WIDTH; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static void scores_are_own_common_and_hard(void)
{
    static const int64_t hard[] = {2, 0, 1, 3, 0};
    struct match m;
    open_match(&m, 4, hard, false, true);
    loss_of(&m);
    struct view u = graph_read(m.g, m.user), i = graph_read(m.g, m.item);
    struct view s = graph_read(m.g, m.scores), own = graph_read(m.g, m.own);
    CHECK_INT(m.n_scores, 8);
    for (int64_t b = 0; b < USERS; b++) {
        const float *row = s.data + b * m.n_scores, *user = view_row(&u, b);
        CHECK_NEAR(row[0], dot(user, view_row(&i, b)) / 2, 1e-6);
        for (int64_t k = 0; k < 4; k++)
            CHECK_NEAR(row[1 + k], dot(user, view_row(&i, USERS + k)) / 2, 1e-6);
        for (int64_t k = 0; k < 3; k++) {
            int64_t at = USERS + 4 + m.hard_at[b] + k;
            if (k < hard[b])
                CHECK_NEAR(row[5 + k], dot(user, view_row(&i, at)) / 2, 1e-6);
            else
                CHECK(row[5 + k] < -1e31f);
        }
        for (int64_t k = 0; k < WIDTH; k++)
            CHECK(view_row(&own, b)[k] == view_row(&i, b)[k]);
    }
    graph_destroy(m.g);
}

static void in_batch_the_diagonal_is_the_target(void)
{
    struct match m;
    open_match(&m, 0, NULL, true, false);
    loss_of(&m);
    struct view u = graph_read(m.g, m.user), i = graph_read(m.g, m.item);
    struct view s = graph_read(m.g, m.scores);
    double want = 0;
    for (int64_t b = 0; b < USERS; b++) {
        double sum = 0;
        for (int64_t k = 0; k < USERS; k++) {
            double score = dot(view_row(&u, b), view_row(&i, k)) / 2;
            CHECK_NEAR(s.data[b * USERS + k], score, 1e-6);
            sum += exp(score);
        }
        want += 0.1 * (double)(b + 1) *
                (log(sum) - dot(view_row(&u, b), view_row(&i, b)) / 2);
    }
    CHECK_NEAR(graph_loss_named(m.g, "loss"), want, 1e-5);
    graph_destroy(m.g);
}

/* The sum of softplus over all scores, less the target's score. */
static void logistic_loss_takes_each_score_alone(void)
{
    struct match m;
    logistic = true;
    open_match(&m, 4, NULL, false, true);
    logistic = false;
    loss_of(&m);
    struct view s = graph_read(m.g, m.scores), w = graph_read(m.g, m.weights);
    double want = 0;
    for (int64_t b = 0; b < USERS; b++) {
        const float *row = s.data + b * m.n_scores;
        double sum = -(double)row[0];
        for (int64_t k = 0; k < m.n_scores; k++)
            sum += log(1 + exp((double)row[k]));
        want += (double)*view_row(&w, b) * sum;
    }
    CHECK_NEAR(graph_loss_named(m.g, "loss"), want, 1e-5);
    graph_destroy(m.g);
}

static void what_does_not_fit_is_refused(void)
{
    struct graph_options o = {.training = true};
    struct nn_shape three = {.axis = AXIS_BATCH, .n_dims = 1, .dims = {3}}, four = three;
    struct err err = {0};
    four.dims[0] = 4;
    struct graph *g = graph_create(&o);
    int axis = graph_axis(g, "candidates");
    struct nn_val *user = nn_input(g, "user", &three, true);
    CHECK(!nn_match_scores(g, user, nn_input(g, "item", &four, true), axis, -1, true, 1));
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_HAS(err.msg, "users have 3 values, items 4");
    graph_destroy(g);
    g = graph_create(&o);
    axis = graph_axis(g, "candidates");
    user = nn_input(g, "user", &three, true);
    CHECK(!nn_match_scores(g, user, user, axis, -1, false, 1));
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_HAS(err.msg, "there are no other items than those of the batch");
    graph_destroy(g);
}

/* Where the packed product has no memory, plain loops do the same. */
static void without_memory_the_result_is_the_same(void)
{
    static const int64_t hard[] = {2, 0, 1, 3, 0};
    float slopes[2][64 * WIDTH];
    double loss[2];
    for (int lack = 0; lack < 2; lack++) {
        struct match m;
        open_match(&m, 4, hard, false, true);
        mem_fail_at(lack);
        loss[lack] = loss_of(&m);
        mem_fail_at(0);
        graph_backward(m.g, true);
        struct view d = graph_read_grad(m.g, m.item);
        memcpy(slopes[lack], d.data, (size_t)(d.rows * WIDTH) * sizeof(float));
        for (int64_t k = 0; lack && k < d.rows * WIDTH; k++)
            CHECK_NEAR(slopes[0][k], slopes[1][k], 1e-6);
        graph_destroy(m.g);
    }
    CHECK_NEAR(loss[0], loss[1], 1e-6);
}

static const struct tap_case cases[] = {
    TAP(slopes_are_right),
    TAP(scores_are_own_common_and_hard),
    TAP(in_batch_the_diagonal_is_the_target),
    TAP(logistic_loss_takes_each_score_alone),
    TAP(what_does_not_fit_is_refused),
    TAP(without_memory_the_result_is_the_same),
};
TAP_MAIN(cases)
