/* SPDX-License-Identifier: Apache-2.0 */
/* Slopes of recurrent units at odd shapes, and what they give where it is known. */
#include "unit/nn/gradcheck.h"

static int64_t width;

static struct nn_val *build_gru(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_seq_gru(g, "gru", 0, x[0], width);
}

static struct nn_val *build_two(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_seq_last(g, nn_seq_gru(g, "gru", 1, nn_seq_gru(g, "gru", 0, x[0], 3), 5));
}

static struct nn_val *build_cell(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_gru_cell(g, x[0], x[1], x[2]);
}

static struct nn_val *build_last(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_seq_last(g, x[0]);
}

static struct nn_val *build_weighted(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_seq_weighted_gru(g, "gru", 0, x[0], x[1], 5);
}

static struct nn_val *build_next(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_next_loss(g, x[0], x[1], x[2]);
}

static struct nn_val *build_prepend(struct graph *g, struct nn_val *const *x, int axis)
{
    struct nn_val *y = nn_seq_prepend(g, x[0], x[1]);
    return nn_seq_attention(g, y, nn_linear(g, "l", y, 6, true, ACT_NONE), y, 2, 0.0);
}

static struct nn_val *build_twice(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_seq_sum(g, NULL, nn_seq_prepend(g, x[0], nn_seq_prepend(g, x[0], x[1])));
}

static struct nn_val *build_before(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_seq_softmax_before(g, x[0]);
}

static struct nn_val *build_tell(struct graph *g, struct nn_val *const *x, int axis)
{
    struct nn_val *weight = nn_scale(g, nn_slice(g, x[0], 0, 1), 0.0f, 0.7f);
    return nn_tell_loss(g, x[0], x[1], x[2], weight);
}

static void what_evolves(void)
{
    gradcheck(&(struct gradcheck){
        "softmax before", build_before, 1, {{1, 1, {1}}}, 9, .eval = false});
    gradcheck(&(struct gradcheck){"tell loss",
                                  build_tell,
                                  3,
                                  {{0, 1, {3}}, {0, 1, {3}}, {0, 1, {6}}},
                                  5,
                                  .eval = false});
    gradcheck(&(struct gradcheck){
        "weighted", build_weighted, 2, {{1, 1, {3}}, {1, 1, {1}}}, 21, .eval = false});
    gradcheck(&(struct gradcheck){"next loss",
                                  build_next,
                                  3,
                                  {{1, 1, {3}}, {1, 1, {3}}, {1, 1, {3}}},
                                  9,
                                  .eval = false});
    gradcheck(&(struct gradcheck){
        "prepend", build_prepend, 2, {{0, 1, {6}}, {1, 1, {6}}}, 8, .eval = false});
    gradcheck(&(struct gradcheck){
        "prepend twice", build_twice, 2, {{0, 1, {3}}, {1, 1, {3}}}, 7, .eval = false});
}

/* Numbers as nodes: few different ones, so that some occur twice. */
static struct nn_val *build_session(struct graph *g, struct nn_val *const *x, int axis)
{
    struct nn_val *half = nn_scale(g, nn_slice(g, x[0], 0, 1), 0, 0);
    return nn_session_graph(g, x[0], half);
}

static void slopes_are_right(void)
{
    gradcheck(&(struct gradcheck){
        "session of one item", build_session, 1, {{1, 1, {6}}}, 7, .eval = false});
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
    struct nn_shape three = {AXIS_BATCH, 1, {3}}, one = {AXIS_BATCH, 1, {1}};
    struct nn_val *a = nn_input(g, "a", &three, false),
                  *b = nn_input(g, "b", &three, false);
    struct nn_val *h = nn_input(g, "h", &one, false);
    struct nn_val *y = nn_gru_cell(g, a, b, h);
    nn_output(g, "y", y);
    CHECK(graph_finish(g, NULL) == RC_OK);
    struct nn_batch_rows rows = {.n = {3}};
    CHECK(graph_rows(g, &rows, NULL) == RC_OK);
    static const float as[3][3] = {{0, 90, 5}, {0, -90, 0.5f}, {-90, -90, 0.5f}};
    static const float bs[3][3] = {{0, 0, 1}, {0, 0, 1}, {0, 0, 1}};
    static const float want[] = {0.25f, 0.761594f,
                                 0.462117f}; /* kept; tanh(0.5 + 0.5 * 1); tanh(0.5) */
    graph_set(g, a, as[0]);
    graph_set(g, b, bs[0]);
    graph_set(g, h, (const float[]){0.25f, 0.25f, 0.25f});
    graph_forward(g, 0);
    struct view v = graph_read(g, y);
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
        struct nn_shape s = {axis, 1, {2}};
        struct nn_val *x = nn_input(g, "x", &s, false);
        struct nn_val *y = nn_seq_last(g, nn_seq_gru(g, "gru", 0, x, WIDTH));
        nn_output(g, "y", y);
        CHECK(graph_finish(g, NULL) == RC_OK);
        int64_t at[ROWS + 1] = {0};
        for (int64_t b = 0; b < ROWS; b++)
            at[b + 1] = at[b] + b * 7 % 11;
        struct nn_batch_rows rows = {.n = {ROWS, at[ROWS]}, .offsets = {NULL, at}};
        CHECK(graph_rows(g, &rows, NULL) == RC_OK);
        struct view v = graph_write_begin(g, x);
        for (int64_t k = 0; k < at[ROWS] * 2; k++)
            v.data[k] = (float)(k % 13) * 0.2f - 1;
        graph_write_end(g, x);
        graph_forward(g, 0);
        v = graph_read(g, y);
        for (int64_t b = 0; b < ROWS; b++) {
            if (together)
                CHECK(memcmp(alone[b], view_row(&v, b), sizeof(alone[b])) == 0);
            memcpy(alone[b], view_row(&v, b), sizeof(alone[b]));
            CHECK(at[b + 1] > at[b] || alone[b][0] == 0.0f);
        }
        graph_destroy(g);
    }
}

/* Items 5 7 5 9 9 7: 7 comes from 5 and 9, and leads to 5. */
static void a_session_is_a_graph(void)
{
    static const float nodes[] = {5, 7, 5, 9, 9, 7}, values[] = {1, 2, 50, 4, 60, 70};
    /* means over what leads there, and over where it leads to; second half times ten */
    static const float in[] = {2, 2.5f, 2, 2.5f, 2.5f, 2.5f};
    static const float out[] = {30, 10, 30, 30, 30, 10};
    struct graph *g = graph_create(&(struct graph_options){.training = true, .seed = 3});
    int axis = graph_axis(g, "s");
    struct nn_val *x = nn_input(g, "x", &(struct nn_shape){axis, 1, {2}}, true);
    struct nn_val *n = nn_input(g, "n", &(struct nn_shape){axis, 1, {1}}, false);
    struct nn_val *y = nn_session_graph(g, x, n);
    nn_output(g, "y", y);
    nn_loss(g, "l", nn_row_sum(g, nn_mul(g, y, y)));
    CHECK(graph_finish(g, NULL) == RC_OK);
    int64_t at[] = {0, 0, 6, 7};
    struct nn_batch_rows rows = {.n = {3, 7}, .offsets = {NULL, at}};
    CHECK(graph_rows(g, &rows, NULL) == RC_OK);
    struct view vx = graph_write_begin(g, x), vn = graph_write_begin(g, n);
    for (int64_t k = 0; k < 7; k++) {
        view_row(&vx, k)[0] = k < 6 ? values[k] : 8;
        view_row(&vx, k)[1] = 10 * view_row(&vx, k)[0];
        *view_row(&vn, k) = k < 6 ? nodes[k] : 5;
    }
    graph_write_end(g, x);
    graph_write_end(g, n);
    graph_training(g, true);
    graph_forward(g, 0);
    struct view v = graph_read(g, y);
    for (int64_t k = 0; k < 6; k++) {
        CHECK_NEAR(view_row(&v, k)[0], in[k], 1e-6);
        CHECK_NEAR(view_row(&v, k)[1], out[k], 1e-5);
    }
    CHECK(view_row(&v, 6)[0] == 0.0f && view_row(&v, 6)[1] == 0.0f);
    graph_backward(g, true);
    struct view d = graph_read_grad(g, x);
    float kept[14];
    memcpy(kept, d.data, sizeof(kept));
    for (int64_t k = 0; k < 14; k++) {
        float old = vx.data[k];
        vx.data[k] = old + 0.5f;
        graph_forward(g, 0);
        double up = graph_loss(g);
        vx.data[k] = old - 0.5f;
        graph_forward(g, 0);
        CHECK_NEAR(kept[k], up - graph_loss(g), 1e-2 + fabs((double)kept[k]) * 1e-3);
        vx.data[k] = old;
    }
    graph_destroy(g);
}

static void what_does_not_fit_is_refused(void)
{
    struct err err = {0};
    struct graph *g = graph_create(&(struct graph_options){0});
    int axis = graph_axis(g, "s");
    struct nn_val *x = nn_input(g, "x", &(struct nn_shape){axis, 1, {2}}, false);
    CHECK(nn_seq_gru(g, "gru", 0, x, NN_GRU_WIDTH_MAX + 1) == NULL);
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_STR(err.msg, "gru: a width of 513 is outside [1, 512]");
    graph_destroy(g);
    g = graph_create(&(struct graph_options){0});
    x = nn_input(g, "x", &(struct nn_shape){AXIS_BATCH, 1, {2}}, false);
    CHECK(nn_seq_gru(g, "gru", 0, x, 3) == NULL);
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_STR(err.msg, "gru: takes values of positions");
    graph_destroy(g);
    g = graph_create(&(struct graph_options){0});
    axis = graph_axis(g, "s");
    x = nn_input(g, "x", &(struct nn_shape){AXIS_BATCH, 1, {2}}, false);
    struct nn_val *s = nn_input(g, "s", &(struct nn_shape){axis, 1, {3}}, false);
    CHECK(nn_seq_prepend(g, x, s) == NULL);
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_STR(err.msg, "prepend: a row of 2 values before positions of 3");
    graph_destroy(g);
    g = graph_create(&(struct graph_options){0});
    x = nn_input(g, "x", &(struct nn_shape){AXIS_BATCH, 1, {6}}, false);
    CHECK(nn_gru_cell(g, x, x, x) == NULL);
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_STR(err.msg, "gru cell: a state of 6 values takes 18, not 6");
    graph_destroy(g);
}

static const struct tap_case cases[] = {
    TAP(slopes_are_right),       TAP(what_evolves),
    TAP(gates_do_what_they_say), TAP(rows_are_independent),
    TAP(a_session_is_a_graph),   TAP(what_does_not_fit_is_refused),
};
TAP_MAIN(cases)
