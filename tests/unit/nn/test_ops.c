/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/nn/gradcheck.h"

static struct val *build_linear(struct graph *g, struct val *const *x, int axis)
{
    return nn_linear(g, "l", x[0], 5, true, ACT_NONE);
}

static struct val *build_linear_tanh(struct graph *g, struct val *const *x, int axis)
{
    return nn_linear(g, "m", nn_linear(g, "l", x[0], 7, true, ACT_TANH), 3, false,
                     ACT_SIGMOID);
}

static void linear_layers(void)
{
    gradcheck(
        &(struct gradcheck){"linear", build_linear, 1, {{0, 1, {3}}}, 7, .eval = false});
    gradcheck(&(struct gradcheck){
        "linear 1x1", build_linear, 1, {{0, 1, {1}}}, 1, .eval = false});
    gradcheck(&(struct gradcheck){
        "linear on 3-D rows", build_linear, 1, {{0, 2, {2, 3}}}, 5, .eval = false});
    gradcheck(&(struct gradcheck){
        "linear on a sequence", build_linear, 1, {{1, 1, {4}}}, 9, .eval = false});
    gradcheck(&(struct gradcheck){
        "two layers", build_linear_tanh, 1, {{0, 1, {6}}}, 11, .eval = false});
}

static enum act current_act;

static struct val *build_act(struct graph *g, struct val *const *x, int axis)
{
    return nn_act(g, x[0], current_act, current_act == ACT_ELU ? 1.0f : 0.2f);
}

static void activations(void)
{
    for (int a = ACT_LEAKY_RELU; a <= ACT_RELU6; a++) {
        current_act = (enum act)a;
        /* away from the kinks at 0 */
        gradcheck(&(struct gradcheck){
            "act, positive", build_act, 1, {{0, 1, {5}}}, 7, .low = 0.1f, .high = 2.5f});
        gradcheck(&(struct gradcheck){"act, negative",
                                      build_act,
                                      1,
                                      {{1, 1, {3}}},
                                      7,
                                      .low = -2.5f,
                                      .high = -0.1f});
    }
}

static struct val *build_elementwise(struct graph *g, struct val *const *x, int axis)
{
    struct val *y = nn_mul(g, nn_add(g, x[0], x[1]), nn_sub(g, x[0], x[1]));
    return nn_scale(g, nn_mul(g, y, x[0]), 0.5f, 2.0f);
}

static void elementwise(void)
{
    gradcheck(&(struct gradcheck){"elementwise",
                                  build_elementwise,
                                  2,
                                  {{0, 1, {5}}, {0, 1, {5}}},
                                  6,
                                  .eval = false});
    gradcheck(&(struct gradcheck){"elementwise, sequence",
                                  build_elementwise,
                                  2,
                                  {{1, 1, {1}}, {1, 1, {1}}},
                                  6,
                                  .eval = false});
}

/* The first part lies inside the concat, the others are copied. */
static struct val *build_concat(struct graph *g, struct val *const *x, int axis)
{
    struct val *inner = nn_linear(g, "l", x[0], 3, true, ACT_TANH);
    struct val *twice = nn_act(g, x[1], ACT_SILU, 0);
    struct val *all = nn_concat(g, (struct val *[]){inner, twice, x[0], twice}, 4);
    struct val *nested = nn_concat(g, (struct val *[]){all, nn_scale(g, x[1], 3, 1)}, 2);
    return nn_mul(g, nested, nested);
}

static void concat(void)
{
    gradcheck(&(struct gradcheck){
        "concat", build_concat, 2, {{0, 1, {2}}, {0, 1, {4}}}, 8, .eval = false});
}

static struct val *build_slices(struct graph *g, struct val *const *x, int axis)
{
    struct val *a = nn_slice(g, x[0], 1, 3), *b = nn_slice(g, x[0], 3, 3);
    struct val *c = nn_reshape(g, nn_mul(g, a, b), (const int64_t[]){3, 1}, 2);
    return nn_mul(g, nn_row_sum(g, c), nn_row_sum(g, x[0]));
}

static void slices_and_sums(void)
{
    gradcheck(&(struct gradcheck){
        "slices", build_slices, 1, {{0, 2, {2, 3}}}, 5, .eval = false});
}

static void stop_gradient_stops(void)
{
    struct graph *g = graph_create(&(struct graph_options){.training = true});
    struct val *x = nn_input(g, "x", &(struct shape){0, 1, {2}}, true);
    struct val *y = nn_mul(g, nn_stop_gradient(g, x), x);
    nn_loss(g, "l", nn_row_sum(g, y));
    CHECK(graph_finish(g, NULL) == RC_OK);
    CHECK(graph_rows(g, &(struct batch_rows){.n = {1}}, NULL) == RC_OK);
    struct view v = graph_view(g, x);
    v.data[0] = 3;
    v.data[1] = 4;
    graph_forward(g, 0);
    graph_backward(g, true);
    CHECK(graph_loss(g) == 25);
    CHECK(graph_grad(g, x).data[0] == 3 && graph_grad(g, x).data[1] == 4);
    graph_destroy(g);
}

static void builders_say_what_does_not_fit(void)
{
    struct graph *g = graph_create(&(struct graph_options){.training = true});
    struct err err = {0};
    struct val *x = nn_input(g, "x", &(struct shape){0, 1, {2}}, true);
    struct val *y = nn_input(g, "y", &(struct shape){0, 1, {3}}, true);
    graph_push(g, "tower");
    CHECK(nn_linear(g, "out", nn_add(g, x, y), 1, true, ACT_NONE) == NULL);
    graph_pop(g);
    CHECK(nn_slice(g, x, 1, 5) == NULL);
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_STR(err.msg, "tower: add: rows of 2 and of 3 values");
    graph_destroy(g);
    g = graph_create(&(struct graph_options){.training = true});
    x = nn_input(g, "x", &(struct shape){0, 1, {2}}, true);
    nn_linear(g, "a", x, 1, true, ACT_NONE);
    nn_linear(g, "a", x, 1, true, ACT_NONE);
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_STR(err.msg, "a: two parameters are named 'a.weight'");
    graph_destroy(g);
}

static const struct tap_case cases[] = {
    TAP(linear_layers),
    TAP(activations),
    TAP(elementwise),
    TAP(concat),
    TAP(slices_and_sums),
    TAP(stop_gradient_stops),
    TAP(builders_say_what_does_not_fit),
};
TAP_MAIN(cases)
