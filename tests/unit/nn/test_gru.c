/* SPDX-License-Identifier: Apache-2.0 */
/* Slopes of recurrent units at odd shapes, and what they give where it is known. */
#include "unit/nn/gradcheck.h"

static int64_t width;

static struct val *build_gru(struct graph *g, struct val *const *x, int axis)
{
    return nn_seq_gru(g, "gru", 0, x[0], width);
}

static struct val *build_two(struct graph *g, struct val *const *x, int axis)
{
    return nn_seq_last(g, nn_seq_gru(g, "gru", 1, nn_seq_gru(g, "gru", 0, x[0], 3), 5));
}

static struct val *build_cell(struct graph *g, struct val *const *x, int axis)
{
    return nn_gru_cell(g, x[0], x[1], x[2]);
}

static struct val *build_last(struct graph *g, struct val *const *x, int axis)
{
    return nn_seq_last(g, x[0]);
}

static void slopes_are_right(void)
{
    static const struct {
        int64_t in, width, batch;
    } sizes[] = {{1, 1, 1}, {3, 1, 4}, {1, 7, 5}, {5, 17, 21}, {33, 3, 40}};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        width = sizes[i].width;
        gradcheck(&(struct gradcheck){
            "gru", build_gru, 1, {{1, 1, {sizes[i].in}}}, sizes[i].batch, .eval = false});
    }
    gradcheck(
        &(struct gradcheck){"two layers", build_two, 1, {{1, 1, {4}}}, 9, .eval = false});
    gradcheck(
        &(struct gradcheck){"last", build_last, 1, {{1, 2, {2, 3}}}, 7, .eval = false});
    for (int axis = 0; axis < 2; axis++)
        gradcheck(&(struct gradcheck){"cell",
                                      build_cell,
                                      3,
                                      {{axis, 1, {15}}, {axis, 1, {15}}, {axis, 1, {5}}},
                                      8,
                                      .eval = false});
}

/* With all weights 0 and biases 0 a state stays 0; an update gate at 1 keeps it. */
static void gates_do_what_they_say(void)
{
    struct graph *g = graph_create(&(struct graph_options){.seed = 3});
    struct shape three = {AXIS_BATCH, 1, {3}}, one = {AXIS_BATCH, 1, {1}};
    struct val *a = nn_input(g, "a", &three, false), *b = nn_input(g, "b", &three, false);
    struct val *h = nn_input(g, "h", &one, false);
    struct val *y = nn_gru_cell(g, a, b, h);
    nn_output(g, "y", y);
    CHECK(graph_finish(g, NULL) == RC_OK);
    struct batch_rows rows = {.n = {3}};
    CHECK(graph_rows(g, &rows, NULL) == RC_OK);
    static const float as[3][3] = {{0, 90, 5}, {0, -90, 0.5f}, {-90, -90, 0.5f}};
    static const float bs[3][3] = {{0, 0, 1}, {0, 0, 1}, {0, 0, 1}};
    static const float want[] = {0.25f, 0.761594f,
                                 0.462117f}; /* kept; tanh(0.5 + 0.5 * 1); tanh(0.5) */
    struct view va = graph_view(g, a), vb = graph_view(g, b), vh = graph_view(g, h);
    for (int64_t k = 0; k < 3; k++) {
        memcpy(view_row(&va, k), as[k], sizeof(as[k]));
        memcpy(view_row(&vb, k), bs[k], sizeof(bs[k]));
        *view_row(&vh, k) = 0.25f;
    }
    graph_forward(g, 0);
    struct view v = graph_view(g, y);
    for (int64_t k = 0; k < 3; k++)
        CHECK_NEAR(*view_row(&v, k), want[k], 1e-6);
    graph_destroy(g);
}

/* A row's states do not depend on which rows it stands beside. */
static void rows_are_independent(void)
{
    enum { ROWS = 37, WIDTH = 6 };
    static float alone[ROWS][WIDTH];
    for (int together = 0; together < 2; together++) {
        struct graph *g = graph_create(
            &(struct graph_options){.seed = 5, .tile_rows = together ? 20 : 1});
        int axis = graph_axis(g, "s");
        struct shape s = {axis, 1, {2}};
        struct val *x = nn_input(g, "x", &s, false);
        struct val *y = nn_seq_last(g, nn_seq_gru(g, "gru", 0, x, WIDTH));
        nn_output(g, "y", y);
        CHECK(graph_finish(g, NULL) == RC_OK);
        int64_t at[ROWS + 1] = {0};
        for (int64_t b = 0; b < ROWS; b++)
            at[b + 1] = at[b] + b * 7 % 11;
        struct batch_rows rows = {.n = {ROWS, at[ROWS]}, .offsets = {NULL, at}};
        CHECK(graph_rows(g, &rows, NULL) == RC_OK);
        struct view v = graph_view(g, x);
        for (int64_t k = 0; k < at[ROWS] * 2; k++)
            v.data[k] = (float)(k % 13) * 0.2f - 1;
        graph_forward(g, 0);
        v = graph_view(g, y);
        for (int64_t b = 0; b < ROWS; b++) {
            if (together)
                CHECK(memcmp(alone[b], view_row(&v, b), sizeof(alone[b])) == 0);
            memcpy(alone[b], view_row(&v, b), sizeof(alone[b]));
            CHECK(at[b + 1] > at[b] || alone[b][0] == 0.0f);
        }
        graph_destroy(g);
    }
}

static void what_does_not_fit_is_refused(void)
{
    struct err err = {0};
    struct graph *g = graph_create(&(struct graph_options){0});
    int axis = graph_axis(g, "s");
    struct val *x = nn_input(g, "x", &(struct shape){axis, 1, {2}}, false);
    CHECK(nn_seq_gru(g, "gru", 0, x, NN_GRU_WIDTH_MAX + 1) == NULL);
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_STR(err.msg, "gru: a width of 513 is outside [1, 512]");
    graph_destroy(g);
    g = graph_create(&(struct graph_options){0});
    x = nn_input(g, "x", &(struct shape){AXIS_BATCH, 1, {2}}, false);
    CHECK(nn_seq_gru(g, "gru", 0, x, 3) == NULL);
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_STR(err.msg, "gru: takes values of positions");
    graph_destroy(g);
    g = graph_create(&(struct graph_options){0});
    x = nn_input(g, "x", &(struct shape){AXIS_BATCH, 1, {6}}, false);
    CHECK(nn_gru_cell(g, x, x, x) == NULL);
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_STR(err.msg, "gru cell: a state of 6 values takes 18, not 6");
    graph_destroy(g);
}

static const struct tap_case cases[] = {
    TAP(slopes_are_right),
    TAP(gates_do_what_they_say),
    TAP(rows_are_independent),
    TAP(what_does_not_fit_is_refused),
};
TAP_MAIN(cases)
