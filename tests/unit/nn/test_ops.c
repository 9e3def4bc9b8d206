/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "base/str.h"
#include "unit/nn/gradcheck.h"

static struct nn_val *build_linear(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_linear(g, "l", x[0], 5, true, ACT_NONE);
}

static struct nn_val *build_linear_tanh(struct graph *g, struct nn_val *const *x,
                                        int axis)
{
    return nn_linear(g, "m", nn_linear(g, "l", x[0], 7, true, ACT_TANH), 3, false,
                     ACT_SIGMOID);
}

/* The columns behind are ones, whatever x is. */
static struct nn_val *build_linear_front(struct graph *g, struct nn_val *const *x,
                                         int axis)
{
    struct nn_val *fixed = nn_stop_gradient(g, x[0]);
    struct nn_val *all[] = {fixed, nn_scale(g, fixed, 0, 1)};
    struct nn_val *y = nn_linear_front(g, "l", nn_concat(g, all, 2), x[0], 5, ACT_TANH);
    return nn_mul(g, y, nn_linear_front(g, "m", fixed, x[0], 5, ACT_NONE));
}

static void linear_layers(void)
{
    gradcheck(&(struct gradcheck){
        "linear of a front", build_linear_front, 1, {{0, 1, {3}}}, 7, .eval = false});
    gradcheck(&(struct gradcheck){"linear of a front, sequence",
                                  build_linear_front,
                                  1,
                                  {{1, 1, {4}}},
                                  5,
                                  .eval = false});
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

static enum nn_act current_act;

static struct nn_val *build_act(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_act(g, x[0], current_act, current_act == ACT_ELU ? 1.0f : 0.2f);
}

static void activations(void)
{
    for (int a = ACT_LEAKY_RELU; a <= ACT_RELU6; a++) {
        current_act = (enum nn_act)a;
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

static struct nn_val *build_elementwise(struct graph *g, struct nn_val *const *x,
                                        int axis)
{
    struct nn_val *y = nn_mul(g, nn_add(g, x[0], x[1]), nn_sub(g, x[0], x[1]));
    return nn_scale(g, nn_mul_by(g, y, x[0], 1.5f), 0.5f, 2.0f);
}

static struct nn_val *build_add_relu(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_mul(g, nn_add_relu(g, x[0], x[1]), x[0]);
}

static void elementwise(void)
{
    /* on both sides of zero, not at it */
    for (int i = 0; i < 2; i++)
        gradcheck(&(struct gradcheck){i ? "relu of negative sums" : "relu of sums",
                                      build_add_relu,
                                      2,
                                      {{0, 1, {5}}, {0, 1, {5}}},
                                      6,
                                      .eval = false,
                                      .low = i ? -1.0f : 0.1f,
                                      .high = i ? -0.1f : 1.0f});
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
static struct nn_val *build_concat(struct graph *g, struct nn_val *const *x, int axis)
{
    struct nn_val *inner = nn_linear(g, "l", x[0], 3, true, ACT_TANH);
    struct nn_val *twice = nn_act(g, x[1], ACT_SILU, 0);
    struct nn_val *all = nn_concat(g, (struct nn_val *[]){inner, twice, x[0], twice}, 4);
    struct nn_val *nested =
        nn_concat(g, (struct nn_val *[]){all, nn_scale(g, x[1], 3, 1)}, 2);
    return nn_mul(g, nested, nested);
}

static void concat(void)
{
    gradcheck(&(struct gradcheck){
        "concat", build_concat, 2, {{0, 1, {2}}, {0, 1, {4}}}, 8, .eval = false});
}

static struct nn_val *build_slices(struct graph *g, struct nn_val *const *x, int axis)
{
    struct nn_val *a = nn_slice(g, x[0], 1, 3), *b = nn_slice(g, x[0], 3, 3);
    struct nn_val *c = nn_reshape(g, nn_mul(g, a, b), (const int64_t[]){3, 1}, 2);
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
    struct nn_val *x = nn_input(g, "x", &(struct nn_shape){0, 1, {2}}, true);
    struct nn_val *y = nn_mul(g, nn_stop_gradient(g, x), x);
    nn_loss(g, "l", nn_row_sum(g, y));
    CHECK(graph_finish(g, NULL) == RC_OK);
    CHECK(graph_rows(g, &(struct nn_batch_rows){.n = {1}}, NULL) == RC_OK);
    graph_set(g, x, (const float[]){3, 4});
    graph_forward(g, 0);
    graph_backward(g, true);
    CHECK(graph_loss(g) == 25);
    CHECK(graph_read_grad(g, x).data[0] == 3 && graph_read_grad(g, x).data[1] == 4);
    graph_destroy(g);
}

static void builders_say_what_does_not_fit(void)
{
    struct graph *g = graph_create(&(struct graph_options){.training = true});
    struct err err = {0};
    struct nn_val *x = nn_input(g, "x", &(struct nn_shape){0, 1, {2}}, true);
    struct nn_val *y = nn_input(g, "y", &(struct nn_shape){0, 1, {3}}, true);
    graph_push(g, "tower");
    CHECK(nn_linear(g, "out", nn_add(g, x, y), 1, true, ACT_NONE) == NULL);
    graph_pop(g);
    CHECK(nn_slice(g, x, 1, 5) == NULL);
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_STR(err.msg, "tower: add: rows of 2 and of 3 values");
    graph_destroy(g);
    g = graph_create(&(struct graph_options){.training = true});
    x = nn_input(g, "x", &(struct nn_shape){0, 1, {2}}, true);
    nn_linear(g, "a", x, 1, true, ACT_NONE);
    nn_linear(g, "a", x, 1, true, ACT_NONE);
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_STR(err.msg, "a: two parameters are named 'a.weight'");
    graph_destroy(g);
}

#define BUILD(name, expr)                                                          \
    static struct nn_val *name(struct graph *g, struct nn_val *const *x, int axis) \
    {                                                                              \
        return expr;                                                               \
    }
BUILD(build_norm, nn_batch_norm(g, "bn", x[0], true))
BUILD(build_plain_norm, nn_batch_norm(g, "bn", x[0], false))
BUILD(build_padded_norm, nn_batch_norm_padded(g, "bn", x[0], x[1], true, NULL))
BUILD(build_layer_norm, nn_layer_norm(g, "ln", x[0]))
BUILD(build_dropout, nn_dropout(g, x[0], 0.4))
BUILD(build_prelu, nn_prelu(g, "act", x[0], 0.25f))
BUILD(build_dice, nn_dice(g, "act", x[0]))
BUILD(build_softmax, nn_softmax(g, x[0]))
BUILD(build_l2, nn_l2_normalise(g, x[0], 1e-12f))
BUILD(build_fm, nn_fm(g, x[0]))
BUILD(build_dots, nn_pair_dots(g, x[0]))
BUILD(build_mix, nn_mix(g, nn_softmax(g, x[0]), x[1]))
BUILD(build_cross, nn_cross(g, "w1", "b1", x[0], nn_cross(g, "w0", "b0", x[0], x[0])))
BUILD(build_expand, nn_mul(g, nn_expand(g, x[0], axis), x[1]))
BUILD(build_attention, nn_seq_sum(g, nn_seq_softmax(g, x[0]), x[1]))
BUILD(build_seq_sum, nn_seq_sum(g, NULL, x[0]))
BUILD(build_seq_mean, nn_seq_mean(g, x[0]))
BUILD(build_seq_max, nn_seq_max(g, x[0]))
BUILD(build_around, nn_seq_around(g, x[0], -1, 3))
BUILD(build_behind, nn_seq_around(g, x[0], 0, 2))
BUILD(build_pad, nn_pad(g, x[0], 7))
BUILD(build_self_attention, nn_seq_attention(g, x[0], x[1], x[2], 2, 0))
BUILD(build_dropped_attention, nn_seq_attention(g, x[0], x[1], x[2], 1, 0.3))
BUILD(build_windows, nn_seq_windows(g, x[0], x[1], (const uint32_t[]){1, 2}, 2))

static struct nn_val *build_linear_rows(struct graph *g, struct nn_val *const *x,
                                        int axis)
{
    struct nn_init init = {INIT_UNIFORM, -1, 1};
    struct param *w = nn_param(g, "w", (const int64_t[]){7, 3}, 2, init, true);
    struct param *b = nn_param(g, "b", (const int64_t[]){7}, 1, init, true);
    struct nn_val *y = nn_linear_rows(g, w, b, 0, 3, x[0]);
    return nn_mul(g, y, nn_linear_rows(g, w, b, 4, 3, x[1]));
}

/* Both outputs count. */
static struct nn_val *build_padded_norms(struct graph *g, struct nn_val *const *x,
                                         int axis)
{
    struct nn_val *pad = NULL;
    struct nn_val *y = nn_batch_norm_padded(g, "bn", x[0], x[1], true, &pad);
    return nn_mul(g, nn_seq_sum(g, NULL, y), pad);
}

static struct nn_val *build_padded_dice(struct graph *g, struct nn_val *const *x,
                                        int axis)
{
    struct nn_val *pad = NULL;
    struct nn_val *y = nn_dice_padded(g, "act", x[0], x[1], &pad);
    return nn_mul(g, nn_seq_sum(g, NULL, y), pad);
}

/* One layer applied to two values has one set of parameters. */
static struct nn_val *build_reused(struct graph *g, struct nn_val *const *x, int axis)
{
    struct nn_val *y = nn_linear(g, "l", x[0], 4, true, ACT_NONE);
    graph_reuse(g, true);
    struct nn_val *z = nn_linear(g, "l", x[1], 4, true, ACT_TANH);
    graph_reuse(g, false);
    return nn_mul(g, y, z);
}

static void normalisation(void)
{
    gradcheck(&(struct gradcheck){
        "batch norm", build_norm, 1, {{0, 1, {3}}}, 9, .tolerance = 4e-2});
    gradcheck(&(struct gradcheck){
        "batch norm of rows", build_norm, 1, {{0, 2, {2, 3}}}, 9, .tolerance = 4e-2});
    gradcheck(&(struct gradcheck){"batch norm of a sequence",
                                  build_plain_norm,
                                  1,
                                  {{1, 1, {2}}},
                                  11,
                                  .tolerance = 4e-2});
    gradcheck(&(struct gradcheck){
        "batch norm, eval", build_norm, 1, {{0, 1, {3}}}, 9, .eval = true});
    gradcheck(&(struct gradcheck){
        "layer norm", build_layer_norm, 1, {{0, 1, {7}}}, 5, .tolerance = 4e-2});
    gradcheck(&(struct gradcheck){"layer norm of rows",
                                  build_layer_norm,
                                  1,
                                  {{1, 2, {3, 5}}},
                                  5,
                                  .tolerance = 4e-2});
    gradcheck(
        &(struct gradcheck){"l2", build_l2, 1, {{0, 1, {5}}}, 5, .tolerance = 4e-2});
}

static void learnt_activations(void)
{
    gradcheck(&(struct gradcheck){
        "dropout", build_dropout, 1, {{0, 1, {33}}}, 5, .eval = false});
    gradcheck(&(struct gradcheck){
        "dropout off", build_dropout, 1, {{1, 1, {3}}}, 5, .eval = true});
    gradcheck(&(struct gradcheck){
        "prelu", build_prelu, 1, {{0, 1, {5}}}, 7, .low = -2, .high = -0.1f});
    gradcheck(
        &(struct gradcheck){"dice", build_dice, 1, {{0, 1, {3}}}, 11, .tolerance = 5e-2});
    gradcheck(&(struct gradcheck){"dice with padding",
                                  build_padded_dice,
                                  2,
                                  {{1, 1, {3}}, {0, 1, {3}}},
                                  7,
                                  .tolerance = 5e-2});
    gradcheck(&(struct gradcheck){
        "dice, eval", build_dice, 1, {{0, 2, {2, 3}}}, 5, .eval = true});
}

static void padding_counts_in_batch_statistics(void)
{
    for (int both = 0; both < 2; both++)
        for (int eval = 0; eval < 2; eval++)
            gradcheck(&(struct gradcheck){"batch norm with padding",
                                          both ? build_padded_norms : build_padded_norm,
                                          2,
                                          {{1, 1, {3}}, {0, 1, {3}}},
                                          7,
                                          .tolerance = 5e-2,
                                          .eval = eval});
}

static void a_layer_may_be_used_twice(void)
{
    gradcheck(&(struct gradcheck){
        "reused linear", build_reused, 2, {{0, 1, {3}}, {0, 1, {3}}}, 7, .eval = false});
    struct graph *g = graph_create(&(struct graph_options){.training = true});
    struct nn_val *x = nn_input(g, "x", &(struct nn_shape){AXIS_BATCH, 1, {3}}, false);
    struct err err = {0};
    nn_linear(g, "l", x, 4, true, ACT_NONE);
    graph_reuse(g, true);
    nn_linear(g, "l", x, 5, true, ACT_NONE);
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_STR(err.msg, "l: parameter 'l.weight' is wanted in two sizes");
    graph_destroy(g);
}

static struct nn_val *build_feature_dropout(struct graph *g, struct nn_val *const *x,
                                            int axis)
{
    struct nn_val *loss = NULL;
    struct nn_val *y =
        nn_feature_dropout(g, "d", x[0], (const int64_t[]){2, 1, 3}, 3, 4.0, &loss);
    return nn_concat(g, (struct nn_val *[]){y, loss}, 2);
}

static void features_are_dropped_by_what_was_learnt(void)
{
    struct nn_shape six = {AXIS_BATCH, 1, {6}};
    gradcheck(&(struct gradcheck){
        "feature dropout", build_feature_dropout, 1, {six}, 7, .tolerance = 5e-2});
    gradcheck(&(struct gradcheck){
        "feature dropout, eval", build_feature_dropout, 1, {six}, 7, .eval = true});
    struct graph *g = graph_create(&(struct graph_options){.training = true});
    struct nn_val *x = nn_input(g, "x", &six, true);
    nn_output(g, "y", build_feature_dropout(g, &x, 0));
    CHECK(graph_finish(g, NULL) == RC_OK);
    CHECK(graph_rows(g, &(struct nn_batch_rows){.n = {2}}, NULL) == RC_OK);
    const float learnt[] = {0.0f, 30.0f, -30.0f};
    param_set(graph_param(g, "d.feature_p"), learnt);
    graph_set(g, x, (const float[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
    graph_training(g, false);
    graph_forward(g, 1);
    /* stays with 1/2, never, always; the loss of a row is 4 / (2 * 2) * 1.5 */
    const float want[] = {0.5f, 0.5f, 0.0f, 1.0f, 1.0f, 1.0f, 1.5f};
    struct view y = graph_read(g, graph_output(g, "y"));
    for (int k = 0; k < 14; k++)
        CHECK_NEAR(view_row(&y, k / 7)[k % 7], want[k % 7], 1e-6);
    graph_destroy(g);
}

static void interactions(void)
{
    gradcheck(&(struct gradcheck){
        "softmax", build_softmax, 1, {{0, 2, {2, 5}}}, 7, .eval = false});
    gradcheck(&(struct gradcheck){"fm", build_fm, 1, {{0, 2, {5, 3}}}, 7, .eval = false});
    gradcheck(&(struct gradcheck){
        "pair dots", build_dots, 1, {{0, 2, {4, 3}}}, 7, .eval = false});
    gradcheck(&(struct gradcheck){"pair dots, many fields",
                                  build_dots,
                                  1,
                                  {{0, 2, {65, 2}}},
                                  3,
                                  .low = -0.2f,
                                  .high = 0.2f});
    gradcheck(&(struct gradcheck){
        "mix", build_mix, 2, {{0, 1, {3}}, {0, 2, {3, 5}}}, 7, .eval = false});
    gradcheck(
        &(struct gradcheck){"cross", build_cross, 1, {{0, 1, {5}}}, 7, .eval = false});
}

static void sequences(void)
{
    gradcheck(&(struct gradcheck){
        "expand", build_expand, 2, {{0, 1, {3}}, {1, 1, {3}}}, 7, .eval = false});
    gradcheck(&(struct gradcheck){
        "attention", build_attention, 2, {{1, 1, {1}}, {1, 1, {3}}}, 9, .eval = false});
    gradcheck(
        &(struct gradcheck){"sum", build_seq_sum, 1, {{1, 1, {3}}}, 9, .eval = false});
    gradcheck(
        &(struct gradcheck){"mean", build_seq_mean, 1, {{1, 1, {3}}}, 9, .eval = false});
    gradcheck(
        &(struct gradcheck){"max", build_seq_max, 1, {{1, 1, {3}}}, 9, .eval = false});
    gradcheck(
        &(struct gradcheck){"around", build_around, 1, {{1, 1, {3}}}, 9, .eval = false});
    gradcheck(&(struct gradcheck){
        "behind", build_behind, 1, {{1, 2, {2, 2}}}, 7, .eval = false});
    gradcheck(&(struct gradcheck){"pad", build_pad, 1, {{1, 1, {3}}}, 9, .eval = false});
}

/* Losses against their formulas and finite differences, on a grid. */
static float current_label;
BUILD(build_bce,
      nn_bce_loss(g, x[0], nn_scale(g, nn_stop_gradient(g, x[0]), 0, current_label), NULL,
                  0.1f))
BUILD(build_softmax_loss,
      nn_softmax_loss(g, x[0],
                      nn_scale(g, nn_slice(g, nn_stop_gradient(g, x[0]), 0, 1), 0,
                               current_label),
                      NULL, 0.2f))
BUILD(build_hinge_loss,
      nn_hinge_loss(g, x[0],
                    nn_scale(g, nn_slice(g, nn_stop_gradient(g, x[0]), 0, 1), 0,
                             current_label),
                    NULL, 0.7f))
BUILD(build_l2_loss,
      nn_l2_loss(g, x[0], nn_scale(g, nn_stop_gradient(g, x[0]), 0, current_label), NULL))

static void attention_of_positions_to_each_other(void)
{
    struct nn_shape wide = {1, 1, {6}}, one = {1, 1, {1}};
    gradcheck(&(struct gradcheck){"self attention",
                                  build_self_attention,
                                  3,
                                  {wide, wide, wide},
                                  7,
                                  .low = -2,
                                  .high = 2});
    gradcheck(&(struct gradcheck){"attention with dropout",
                                  build_dropped_attention,
                                  3,
                                  {wide, wide, wide},
                                  5,
                                  .eval = false});
    gradcheck(
        &(struct gradcheck){"windows", build_windows, 2, {one, wide}, 9, .eval = false});
    gradcheck(&(struct gradcheck){"rows of a shared parameter",
                                  build_linear_rows,
                                  2,
                                  {{0, 1, {3}}, {0, 1, {3}}},
                                  7,
                                  .eval = false});
}

/* The message of a graph with one value [5] per position that `build` refuses. */
static void refused(struct nn_val *(*build)(struct graph *, struct nn_val *const *, int),
                    const char *message)
{
    struct graph *g = graph_create(&(struct graph_options){.training = true});
    struct err err = {0};
    int axis = graph_axis(g, "s");
    struct nn_val *x = nn_input(g, "x", &(struct nn_shape){axis, 1, {5}}, true);
    struct nn_val *in[] = {x, x, x};
    CHECK(build(g, in, axis) == NULL);
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_STR(err.msg, message);
    graph_destroy(g);
}

BUILD(build_no_window, nn_seq_windows(g, x[0], x[0], (const uint32_t[]){2, 0}, 2))
BUILD(build_all_dropped, nn_seq_attention(g, x[0], x[1], x[2], 1, 1.0))
BUILD(build_pad_on_positions, nn_batch_norm_padded(g, "bn", x[0], x[1], true, NULL))

static void attention_says_what_does_not_fit(void)
{
    refused(build_self_attention, "attention: 2 heads do not divide a width of 5");
    refused(build_all_dropped, "attention: a dropout of 1 is outside [0, 1)");
    refused(build_no_window, "window 1 has no positions");
    refused(build_windows, "window means: takes values and one weight per position");
    refused(build_linear_rows, "parameter 'w' of 7 x 3 has no rows 0 to 3 for 5 values");
    refused(build_pad_on_positions,
            "batch norm: padding is a row of the batch of the same width");
}

static void losses_have_the_right_slopes(void)
{
    for (int y = 0; y < 2; y++) {
        current_label = (float)y;
        gradcheck(&(struct gradcheck){
            "bce", build_bce, 1, {{0, 1, {1}}}, 5, .low = -3, .high = 3});
        gradcheck(&(struct gradcheck){
            "hinge loss", build_hinge_loss, 1, {{0, 1, {4}}}, 5, .low = -1});
        gradcheck(&(struct gradcheck){"softmax loss",
                                      build_softmax_loss,
                                      1,
                                      {{0, 1, {4}}},
                                      5,
                                      .low = -3,
                                      .high = 3});
        gradcheck(&(struct gradcheck){
            "l2 loss", build_l2_loss, 1, {{0, 1, {1}}}, 5, .low = -3, .high = 3});
    }
}

static double loss_of(float logit, float label, bool focal)
{
    struct graph *g = graph_create(&(struct graph_options){.training = true});
    struct nn_shape one = {0, 1, {1}};
    struct nn_val *x = nn_input(g, "x", &one, true), *y = nn_input(g, "y", &one, false);
    nn_loss(g, "l",
            focal ? nn_focal_loss(g, x, y, NULL, 2.0f, 0.25f)
                  : nn_bce_loss(g, x, y, NULL, 0));
    CHECK(graph_finish(g, NULL) == RC_OK);
    CHECK(graph_rows(g, &(struct nn_batch_rows){.n = {1}}, NULL) == RC_OK);
    graph_set(g, x, &logit);
    graph_set(g, y, &label);
    graph_forward(g, 0);
    double v = graph_loss(g);
    graph_destroy(g);
    return v;
}

/* Rows of one class have nobody to stand against: the cross entropy alone is left. */
static void jrc_of_one_class_is_finite(void)
{
    struct graph *g = graph_create(&(struct graph_options){.training = true});
    struct nn_shape one = {AXIS_BATCH, 1, {1}}, two = {AXIS_BATCH, 1, {2}};
    struct nn_val *x = nn_input(g, "x", &two, true);
    struct nn_val *y = nn_input(g, "y", &one, false), *s = nn_input(g, "s", &one, false);
    nn_loss(g, "l", nn_jrc_loss(g, x, y, s, NULL, 0.25f));
    CHECK(graph_finish(g, NULL) == RC_OK);
    CHECK(graph_rows(g, &(struct nn_batch_rows){.n = {2}}, NULL) == RC_OK);
    for (int label = 0; label < 2; label++) {
        const float logits[] = {0.0f, 0.0f, 0.0f, 0.0f};
        graph_set(g, x, logits);
        graph_set(g, y, (const float[]){(float)label, (float)label});
        graph_set(g, s, (const float[]){0.0f, 0.0f});
        graph_forward(g, 1);
        CHECK_NEAR(graph_loss(g), 0.25 * log(2), 1e-6);
        graph_backward(g, true);
        for (int k = 0; k < 4; k++)
            CHECK_NEAR(graph_read_grad(g, x).data[k], k % 2 == label ? -0.0625 : 0.0625,
                       1e-6);
    }
    graph_destroy(g);
}

/* Losses of two rows, each of which counts `share`, and the slopes by x. */
static double shared_losses(float share, float *slopes)
{
    struct graph *g = graph_create(&(struct graph_options){.training = true});
    struct nn_shape one = {AXIS_BATCH, 1, {1}}, two = {AXIS_BATCH, 1, {2}};
    struct nn_val *x = nn_input(g, "x", &one, true), *z = nn_input(g, "z", &two, true);
    struct nn_val *y = nn_input(g, "y", &one, false), *s = nn_input(g, "s", &one, false);
    nn_loss(g, "bce", nn_bce_loss(g, x, y, NULL, 0));
    nn_loss(g, "l2", nn_l2_loss(g, x, y, NULL));
    nn_loss(g, "share", nn_mean_share(g, x));
    nn_loss(g, "softmax", nn_softmax_loss(g, z, y, NULL, 0));
    nn_loss(g, "jrc", nn_jrc_loss(g, z, y, s, NULL, 0.25f));
    CHECK(graph_finish(g, NULL) == RC_OK);
    CHECK(graph_rows(g, &(struct nn_batch_rows){.n = {2}}, NULL) == RC_OK);
    for (size_t i = 0; i < graph_n_losses(g); i++)
        graph_seed(g, i, share);
    graph_set(g, x, (const float[]){0.5f, 1.5f});
    graph_set(g, z, (const float[]){0.5f, 1.5f, -1.0f, 0.25f});
    graph_set(g, y, (const float[]){1.0f, 0.0f});
    graph_set(g, s, (const float[]){0.0f, 0.0f});
    graph_forward(g, 0);
    graph_backward(g, true);
    double loss = graph_loss(g);
    struct view dx = graph_read_grad(g, x), dz = graph_read_grad(g, z);
    for (int64_t r = 0; r < 2; r++) {
        slopes[r] = *view_row(&dx, r);
        memcpy(slopes + 2 + 2 * r, view_row(&dz, r), 2 * sizeof(float));
    }
    graph_destroy(g);
    return loss;
}

static void a_loss_moves_by_the_share_that_it_counts(void)
{
    float alone[6], shard[6];
    double whole = shared_losses(1.0f, alone);
    CHECK(shared_losses(0.25f, shard) == whole);
    for (int i = 0; i < 6; i++)
        CHECK(shard[i] == alone[i] / 4);
}

static void losses_have_the_right_values(void)
{
    CHECK_NEAR(loss_of(0, 1, false), log(2), 1e-7);
    CHECK_NEAR(loss_of(100, 1, false), 0, 1e-7);
    CHECK_NEAR(loss_of(-100, 1, false), 100, 1e-4);
    CHECK_NEAR(loss_of(0, 1, true), 0.25 * 0.25 * log(2), 1e-7);
    CHECK_NEAR(loss_of(0, 0, true), 0.75 * 0.25 * log(2), 1e-7);
}

/* Rows of 24 random numbers, every third of class 1. */
static void fill_drawn(struct graph *g, struct nn_val *x, struct nn_val *y, int64_t rows)
{
    struct rng r;
    struct view to = graph_write_begin(g, x), labels = graph_write_begin(g, y);
    rng_init(&r, 1, 2, 3, 4);
    rng_fill_uniform(&r, -1, 1, to.data, (size_t)(rows * 24));
    for (int64_t i = 0; i < rows; i++)
        *view_row(&labels, i) = (float)(i % 3 == 0);
    graph_write_end(g, x);
    graph_write_end(g, y);
}

/* A graph with a bit of everything; returns a digest of outputs and gradients. */
static uint64_t run_all(int threads, int64_t rows, int64_t *allocations)
{
    struct pool *pool = NULL;
    CHECK(pool_create(threads, &pool, NULL) == RC_OK);
    struct graph *g =
        graph_create(&(struct graph_options){.pool = pool, .training = true, .seed = 5});
    struct nn_shape wide = {0, 1, {24}}, one = {0, 1, {1}};
    struct nn_val *x = nn_input(g, "x", &wide, true), *y = nn_input(g, "y", &one, false);
    struct nn_val *h = nn_linear(g, "a", x, 40, true, ACT_RELU);
    h = nn_dropout(g, nn_batch_norm(g, "bn", h, true), 0.2);
    struct nn_val *f = nn_fm(g, nn_reshape(g, x, (const int64_t[]){6, 4}, 2));
    h = nn_concat(g, (struct nn_val *[]){nn_linear(g, "b", h, 17, true, ACT_TANH), f}, 2);
    nn_loss(g, "l",
            nn_bce_loss(g, nn_linear(g, "c", nn_layer_norm(g, "n", h), 1, true, ACT_NONE),
                        y, NULL, 0));
    CHECK(graph_finish(g, NULL) == RC_OK);
    CHECK(graph_rows(g, &(struct nn_batch_rows){.n = {rows}}, NULL) == RC_OK);
    fill_drawn(g, x, y, rows);
    for (uint64_t step = 0; step < 4; step++) {
        if (step == 2)
            *allocations = mem_total();
        CHECK(graph_rows(g, &(struct nn_batch_rows){.n = {rows}}, NULL) == RC_OK);
        graph_forward(g, step);
        graph_backward(g, true);
    }
    *allocations = mem_total() - *allocations;
    double loss = graph_loss(g);
    uint64_t digest = hash_xxh3(&loss, sizeof(loss));
    size_t n;
    struct param *const *params = graph_params(g, &n);
    for (size_t i = 0; i < n; i++) {
        digest =
            hash_xxh3_seeded(param_read(params[i]), (size_t)params[i]->n * 4, digest);
        if (params[i]->grad)
            digest = hash_xxh3_seeded(param_read_grad(params[i]),
                                      (size_t)params[i]->n * 4, digest);
    }
    digest =
        hash_xxh3_seeded(graph_read_grad(g, x).data, (size_t)(rows * 24) * 4, digest);
    graph_destroy(g);
    pool_destroy(pool);
    return digest;
}

#define NARROW_ROWS 75

/* Four layers in bf16 on inputs that follow from the row; with `shown`, what lies between
 * them can be read, so it stays as floats.
 */
static struct graph *run_bf16(bool shown, struct pool *pool)
{
    struct graph *g = graph_create(&(struct graph_options){
        .pool = pool, .training = true, .seed = 5, .precision = GEMM_BF16});
    struct nn_val *x = nn_input(g, "x", &(struct nn_shape){0, 1, {24}}, true);
    struct nn_val *y = nn_input(g, "y", &(struct nn_shape){0, 1, {1}}, false);
    struct nn_val *a = nn_linear(g, "a", x, 64, true, ACT_RELU);
    struct nn_val *b = nn_linear(g, "b", a, 34, true, ACT_NONE);
    struct nn_val *c = nn_linear(g, "c", b, 32, true, ACT_RELU);
    if (shown) {
        nn_output(g, "a", a);
        nn_output(g, "b", b);
        nn_output(g, "c", c);
    }
    nn_loss(g, "l", nn_bce_loss(g, nn_linear(g, "d", c, 1, true, ACT_NONE), y, NULL, 0));
    CHECK(graph_finish(g, NULL) == RC_OK);
    CHECK(graph_rows(g, &(struct nn_batch_rows){.n = {NARROW_ROWS}}, NULL) == RC_OK);
    fill_drawn(g, x, y, NARROW_ROWS);
    graph_forward(g, 0);
    graph_backward(g, true);
    return g;
}

/* Products round what they read, so bf16 in memory changes nothing but the sums for the
 * biases, which are of gradients that were not rounded before.
 */
static void values_between_layers_may_be_bf16(void)
{
    size_t n;
    struct pool *pool = NULL;
    CHECK(pool_create(2, &pool, NULL) == RC_OK);
    struct graph *floats = run_bf16(true, NULL), *halves = run_bf16(false, NULL),
                 *threads = run_bf16(false, pool);
    CHECK(graph_loss(floats) == graph_loss(halves));
    CHECK(graph_loss(threads) == graph_loss(halves));
    struct param *const *want = graph_params(floats, &n),
                        *const *got = graph_params(halves, &n),
                        *const *same = graph_params(threads, &n);
    for (size_t i = 0; i < n; i++) {
        size_t bytes = (size_t)got[i]->n * sizeof(float);
        CHECK(memcmp(param_read_grad(got[i]), param_read_grad(same[i]), bytes) == 0);
        if (str_ends(got[i]->name, "weight"))
            CHECK(memcmp(param_read_grad(got[i]), param_read_grad(want[i]), bytes) == 0);
        for (int64_t k = 0; k < got[i]->n; k++)
            CHECK_NEAR(param_read_grad(got[i])[k], param_read_grad(want[i])[k], 0.02);
    }
    graph_destroy(floats);
    graph_destroy(halves);
    graph_destroy(threads);
    pool_destroy(pool);
}

/* With options.keep nothing that a pass reads is written over by the passes before it. */
static void a_second_backward_pass_gives_the_same(void)
{
    enum { N = 40 };
    struct graph *g =
        graph_create(&(struct graph_options){.training = true, .seed = 5, .keep = true});
    struct nn_val *x = nn_input(g, "x", &(struct nn_shape){0, 1, {24}}, true);
    struct nn_val *y = nn_input(g, "y", &(struct nn_shape){0, 1, {1}}, false);
    struct nn_val *h = nn_linear(g, "a", x, 40, true, ACT_RELU);
    for (int i = 0; i < 3; i++) {
        char name[3][2] = {{(char)('b' + i)}, {(char)('f' + i)}, {(char)('r' + i)}};
        h = nn_batch_norm(g, name[0], h, true);
        h = nn_layer_norm(g, name[1], nn_linear(g, name[2], h, 40, true, ACT_TANH));
    }
    h = nn_linear(g, "z", h, 1, true, ACT_NONE);
    nn_loss(g, "l", nn_bce_loss(g, h, y, NULL, 0));
    CHECK(graph_finish(g, NULL) == RC_OK);
    CHECK(graph_rows(g, &(struct nn_batch_rows){.n = {N}}, NULL) == RC_OK);
    fill_drawn(g, x, y, N);
    graph_forward(g, 0);
    uint64_t digests[2] = {0};
    for (int pass = 0; pass < 2; pass++) {
        size_t n;
        graph_backward(g, true);
        struct param *const *p = graph_params(g, &n);
        for (size_t i = 0; i < n; i++)
            if (p[i]->grad)
                digests[pass] =
                    hash_xxh3_seeded(param_read_grad(p[i]),
                                     (size_t)p[i]->n * sizeof(float), digests[pass]);
    }
    CHECK(digests[0] == digests[1]);
    graph_destroy(g);
}

static void threads_do_not_change_a_byte(void)
{
    int64_t allocations;
    for (int64_t rows = 1; rows < 2000; rows = rows * 7 + 3) {
        uint64_t one = run_all(1, rows, &allocations);
        CHECK(one == run_all(2, rows, &allocations));
        CHECK(one == run_all(5, rows, &allocations));
        CHECK(one == run_all(1, rows, &allocations));
    }
}

static void a_step_allocates_nothing(void)
{
    int64_t allocations = -1;
    run_all(2, 777, &allocations);
    CHECK_INT(allocations, 0);
}

static const struct tap_case cases[] = {
    TAP(linear_layers),
    TAP(activations),
    TAP(elementwise),
    TAP(concat),
    TAP(slices_and_sums),
    TAP(stop_gradient_stops),
    TAP(builders_say_what_does_not_fit),
    TAP(normalisation),
    TAP(learnt_activations),
    TAP(padding_counts_in_batch_statistics),
    TAP(a_layer_may_be_used_twice),
    TAP(features_are_dropped_by_what_was_learnt),
    TAP(interactions),
    TAP(sequences),
    TAP(attention_of_positions_to_each_other),
    TAP(attention_says_what_does_not_fit),
    TAP(losses_have_the_right_slopes),
    TAP(jrc_of_one_class_is_finite),
    TAP(a_loss_moves_by_the_share_that_it_counts),
    TAP(losses_have_the_right_values),
    TAP(values_between_layers_may_be_bf16),
    TAP(a_second_backward_pass_gives_the_same),
    TAP(threads_do_not_change_a_byte),
    TAP(a_step_allocates_nothing),
};
TAP_MAIN(cases)
