/* SPDX-License-Identifier: Apache-2.0 */
/* Slopes of what heads of several tasks are made from, and what their values are. */
#include "tensor/kernel.h"
#include "unit/nn/gradcheck.h"

static struct nn_val *build_both(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_both_logit(g, x[0], x[1]);
}

static struct nn_val *build_pick(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_pick(g, x[0], nn_scale(g, x[1], 0, 2));
}

static struct nn_val *build_mean(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_mean_share(g, x[0]);
}

static struct nn_val *build_times(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_batch_times(g, x[0]);
}

static struct nn_val *build_root(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_root_share(g, nn_mul(g, x[0], x[0]));
}

static struct nn_val *build_rotate(struct graph *g, struct nn_val *const *x, int axis)
{
    struct nn_rotation by = nn_rotation(g, "r", 5, 3);
    return nn_rotate(g, by, nn_rotate(g, by, x[0], false), true);
}

static void slopes_are_right(void)
{
    static const struct nn_shape one = {0, 1, {1}}, five = {0, 1, {5}};
    gradcheck(
        &(struct gradcheck){"both", build_both, 2, {one, one}, 7, .low = -4, .high = 4});
    gradcheck(&(struct gradcheck){"pick", build_pick, 2, {five, one}, 7, .eval = false});
    gradcheck(&(struct gradcheck){"mean", build_mean, 1, {one}, 7, .eval = false});
    gradcheck(&(struct gradcheck){"times", build_times, 1, {one}, 7, .eval = false});
    gradcheck(&(struct gradcheck){"root", build_root, 1, {one}, 7, .eval = false});
    gradcheck(&(struct gradcheck){"rotate", build_rotate, 1, {five}, 7, .eval = false});
}

struct head {
    struct graph *g;
    struct nn_val *x, *y, *out;
};

static struct head open_head(int64_t width)
{
    struct head h = {.g = graph_create(&(struct graph_options){.training = true})};
    h.x = nn_input(h.g, "x", &(struct nn_shape){AXIS_BATCH, 1, {width}}, true);
    h.y = nn_input(h.g, "y", &(struct nn_shape){AXIS_BATCH, 1, {1}}, true);
    return h;
}

static void run(struct head *h, int64_t rows, const float *x, const float *y)
{
    nn_output(h->g, "out", h->out);
    nn_loss(h->g, "loss", nn_row_sum(h->g, h->out));
    CHECK(graph_finish(h->g, NULL) == RC_OK);
    CHECK(graph_rows(h->g, &(struct nn_batch_rows){.n = {rows}}, NULL) == RC_OK);
    graph_set(h->g, h->x, x);
    graph_set(h->g, h->y, y);
    graph_forward(h->g, 0);
}

/* Far out, where a product of probabilities is 0 or 1 in floats. */
static void both_logit_holds_far_out(void)
{
    static const float a[] = {0, 60, -60, -60, 60}, b[] = {0, 60, 60, -60, 3};
    static const double want[] = {-1.0986123, 59.306853, -60, -120, 3};
    struct head h = open_head(1);
    h.out = nn_both_logit(h.g, h.x, h.y);
    run(&h, 5, a, b);
    for (int64_t i = 0; i < 5; i++) {
        struct view v = graph_read(h.g, h.out);
        CHECK_NEAR(*view_row(&v, i), want[i], 1e-4);
    }
    graph_destroy(h.g);
}

static void a_number_outside_picks_the_nearest(void)
{
    static const float x[] = {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3};
    static const float at[] = {1, -5, 7, (float)NAN};
    static const float want[] = {2, 1, 3, 1};
    struct head h = open_head(3);
    h.out = nn_pick(h.g, h.x, h.y);
    run(&h, 4, x, at);
    for (int64_t i = 0; i < 4; i++) {
        struct view v = graph_read(h.g, h.out);
        CHECK_NEAR(*view_row(&v, i), want[i], 0);
    }
    graph_destroy(h.g);
}

static void a_root_of_nothing_is_nothing(void)
{
    static const float zeros[4];
    struct head h = open_head(1);
    h.out = nn_root_share(h.g, h.x);
    run(&h, 4, zeros, zeros);
    graph_backward(h.g, true);
    struct view d = graph_read_grad(h.g, h.x);
    CHECK_NEAR(graph_loss(h.g), 0, 0);
    CHECK_NEAR(*view_row(&d, 2), 0, 0);
    graph_destroy(h.g);
}

/* Columns are orthonormal: turning a vector forth and back projects it, twice is once. */
static void a_rotation_keeps_lengths(void)
{
    static const float x[] = {0.5f, -0.25f, 0.75f}, y[] = {0};
    struct head h = open_head(3);
    struct nn_rotation by = nn_rotation(h.g, "r", 7, 3);
    h.out = nn_rotate(h.g, by, h.x, true);
    run(&h, 1, x, y);
    struct view v = graph_read(h.g, h.out);
    double size = 0;
    for (int64_t i = 0; i < 7; i++)
        size += (double)v.data[i] * (double)v.data[i];
    CHECK_NEAR(size, 0.875, 1e-5);
    graph_destroy(h.g);
}

static void a_rotation_needs_fewer_columns(void)
{
    struct err err = {0};
    struct head h = open_head(3);
    CHECK(nn_rotate(h.g, nn_rotation(h.g, "r", 3, 3), h.x, false) == NULL);
    CHECK(graph_finish(h.g, &err) == RC_INVAL);
    CHECK_STR(err.msg, "r: 3 columns of 3 values: there must be fewer");
    graph_destroy(h.g);
}

/* Part of the sum in training alone. */
static void a_loss_of_training_is_not_evaluated(void)
{
    static const float x[] = {1, 2}, y[] = {10, 20};
    struct head h = open_head(1);
    nn_loss_training(h.g, "more", h.y);
    h.out = h.x;
    run(&h, 2, x, y);
    CHECK_NEAR(graph_loss(h.g), 33, 0);
    CHECK(graph_loss_training(h.g, 0) && !graph_loss_training(h.g, 1));
    graph_training(h.g, false);
    graph_forward(h.g, 0);
    CHECK_NEAR(graph_loss(h.g), 3, 0);
    CHECK_NEAR(graph_loss_named(h.g, "more"), 30, 0);
    graph_destroy(h.g);
}

/* One row of logits against the formula in double. Slopes err by what exp does; the
 * loss, which may be next to nothing, by a share of itself.
 */
static void check_row(const float *x, int64_t n, int64_t hit, double s, double got,
                      const float *slope)
{
    double most = (double)x[0], others = 0, want = 0;
    int64_t top = 0;
    for (int64_t i = 1; i < n; i++)
        top = x[i] > x[top] ? i : top;
    most = (double)x[top];
    for (int64_t i = 0; i < n; i++)
        others += i == top ? 0 : exp((double)x[i] - most);
    double log_sum = log1p(others);
    for (int64_t i = 0; i < n; i++) {
        double target = s / (double)n + (i == hit ? 1 - s : 0);
        double below = most - (double)x[i];
        want += target * (log_sum + below);
        CHECK_NEAR((double)slope[i], exp(-below - log_sum) - target, 6e-7);
    }
    CHECK_NEAR(got, want, 2e-6 * want + 1e-13);
}

#define MANY 1031

/* Rows: anything; one far above the others and meant; the same, but another is meant. */
static void compare_classes(int64_t n, float s)
{
    static float x[3 * MANY], slopes[MANY];
    const float y[] = {(float)(n / 2), (float)(n - 1), 0};
    for (int64_t i = 0; i < 3 * n; i++)
        x[i] = (float)((i * 7919) % 1013) / 101.3f - 5;
    x[2 * n - 1] = 30;
    x[3 * n - 1] = 300;
    struct head h = open_head(n);
    h.out = nn_softmax_loss(h.g, h.x, h.y, NULL, s);
    run(&h, 3, x, y);
    graph_backward(h.g, true);
    struct view v = graph_read(h.g, h.out), d = graph_read_grad(h.g, h.x);
    for (int64_t r = 0; r < 3; r++) { /* a third of each counts */
        for (int64_t i = 0; i < n; i++)
            slopes[i] = 3 * view_row(&d, r)[i];
        check_row(x + r * n, n, (int64_t)y[r], (double)s, 3 * (double)*view_row(&v, r),
                  slopes);
    }
    graph_destroy(h.g);
}

static void a_loss_over_any_number_of_classes_is_its_formula(void)
{
    static const int64_t many[] = {2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 500, MANY};
    for (int level = 0; level <= (int)cpu_level(); level++) {
        kernels_use((enum cpu_level)level);
        for (size_t i = 0; i < ARRAY_LEN(many); i++) {
            compare_classes(many[i], 0);
            compare_classes(many[i], 0.1f);
        }
    }
    kernels_use(CPU_LEVEL_AMX);
}

static struct nn_val *build_classes(struct graph *g, struct nn_val *const *x, int axis)
{
    struct nn_val *label = nn_slice(g, nn_stop_gradient(g, x[0]), 0, 1);
    return nn_softmax_loss(g, x[0], nn_scale(g, label, 0, 11), NULL, 0);
}

static void slopes_of_many_classes_are_right(void)
{
    gradcheck(&(struct gradcheck){
        "classes", build_classes, 1, {{AXIS_BATCH, 1, {37}}}, 5, .low = -3, .high = 3});
}

static const struct tap_case cases[] = {
    TAP(slopes_are_right),
    TAP(both_logit_holds_far_out),
    TAP(a_number_outside_picks_the_nearest),
    TAP(a_root_of_nothing_is_nothing),
    TAP(a_rotation_keeps_lengths),
    TAP(a_rotation_needs_fewer_columns),
    TAP(a_loss_of_training_is_not_evaluated),
    TAP(a_loss_over_any_number_of_classes_is_its_formula),
    TAP(slopes_of_many_classes_are_right),
};
TAP_MAIN(cases)
