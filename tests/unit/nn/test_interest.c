/* SPDX-License-Identifier: Apache-2.0 */
/* Slopes of dense embeddings and of what makes the interests of a user. */
#include "unit/nn/gradcheck.h"

static struct nn_val *build_autodis(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_autodis(g, "f", x[0], 4, 3, 0.7f, 0.5f);
}

static struct nn_val *build_numbers(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_number_embed(g, "f", x[0], 5);
}

static void dense_embeddings(void)
{
    gradcheck(&(struct gradcheck){
        "autodis", build_autodis, 1, {{0, 1, {1}}}, 7, .high = 2, .low = 0.3f});
    gradcheck(
        &(struct gradcheck){"number", build_numbers, 1, {{0, 1, {1}}}, 5, .eval = false});
    gradcheck(&(struct gradcheck){
        "numbers", build_numbers, 1, {{0, 1, {3}}}, 9, .eval = false});
}

static struct nn_val *build_times(struct graph *g, struct nn_val *const *x, int axis)
{
    struct param *w = nn_param(g, "w", (const int64_t[]){3, 5}, 2,
                               (struct nn_init){INIT_NORMAL, 0, 1}, true);
    return nn_times(g, w, x[0]);
}

static struct nn_val *build_mix(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_seq_mix(g, x[0], x[1]);
}

static struct nn_val *build_squash(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_squash(g, x[0], 0.7);
}

static struct nn_val *build_normalise(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_normalise_last(g, x[0], 1e-12f);
}

static const struct nn_capsule_conf routing = {
    .capsules = 3, .iterations = 3, .scale = 2, .zeros = true};

static struct nn_val *build_rows(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_masked_rows(g, nn_capsule_mask(g, x[2], &routing), x[0], x[1]);
}

static struct nn_val *build_pick(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_interest_attention(g, nn_capsule_mask(g, x[2], &routing), x[0], x[1], 2.0f);
}

static void parts_of_interests(void)
{
    gradcheck(
        &(struct gradcheck){"times", build_times, 1, {{1, 1, {3}}}, 7, .eval = false});
    gradcheck(&(struct gradcheck){
        "times of 2-D rows", build_times, 1, {{0, 2, {4, 3}}}, 5, .eval = false});
    gradcheck(&(struct gradcheck){
        "mix", build_mix, 2, {{1, 1, {2}}, {1, 1, {4}}}, 6, .eval = false});
    gradcheck(&(struct gradcheck){
        "squash", build_squash, 1, {{0, 2, {2, 3}}}, 7, .eval = false});
    gradcheck(&(struct gradcheck){
        "normalise", build_normalise, 1, {{0, 2, {2, 3}}}, 7, .eval = false});
}

/* The loss when one float of an input is another. */
static double loss_with(struct graph *g, struct nn_val *in, int64_t at, float value)
{
    graph_write_begin(g, in).data[at] = value;
    graph_write_end(g, in);
    graph_forward(g, 1);
    return graph_loss(g);
}

/* Rows whose capsules are masked get nothing, so the third input has no slope. */
static void masked_parts(void)
{
    static const struct {
        const char *name;
        struct nn_val *(*build)(struct graph *, struct nn_val *const *, int);
        int64_t width;
    } parts[] = {{"masked rows", build_rows, 2}, {"attention", build_pick, 4}};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        struct graph_options o = {.training = true, .seed = 3, .tile_rows = 2};
        struct graph *g = graph_create(&o);
        int axis = graph_axis(g, "s");
        struct nn_shape x = {AXIS_BATCH, 2, {3, 4}},
                        v = {AXIS_BATCH, 1, {parts[i].width}};
        struct nn_shape s = {axis, 1, {1}};
        struct nn_val *in[] = {nn_input(g, "x", &x, true), nn_input(g, "v", &v, true),
                               nn_input(g, "s", &s, false)};
        struct nn_val *y = parts[i].build(g, in, axis);
        nn_output(g, "y", y);
        nn_loss(g, "l", nn_row_sum(g, nn_mul(g, y, y)));
        static const int64_t at[] = {0, 0, 3, 12};
        struct nn_batch_rows rows = {.n = {3, 12}, .offsets = {NULL, at}};
        struct err err = {0};
        CHECK(graph_finish(g, &err) == RC_OK);
        CHECK(graph_rows(g, &rows, &err) == RC_OK);
        for (int k = 0; k < 2; k++) {
            struct view f = graph_write_begin(g, in[k]);
            for (int64_t n = 0; n < f.rows * f.width; n++)
                f.data[n] = 0.1f * (float)(n % 7) - 0.25f;
            graph_write_end(g, in[k]);
        }
        graph_training(g, true);
        graph_forward(g, 1);
        graph_backward(g, true);
        for (int k = 0; k < 2; k++) {
            struct view d = graph_read_grad(g, in[k]);
            float kept[36];
            memcpy(kept, d.data, (size_t)(d.rows * d.width) * sizeof(float));
            for (int64_t n = 0; n < d.rows * d.width; n++) {
                float old = graph_read(g, in[k]).data[n];
                double up = loss_with(g, in[k], n, old + 1e-2f);
                double slope = (up - loss_with(g, in[k], n, old - 1e-2f)) / 2e-2;
                loss_with(g, in[k], n, old);
                CHECK_NEAR(kept[n], slope, 2e-3);
            }
            graph_forward(g, 1);
            graph_backward(g, true);
        }
        /* rows of 0, 3 and 9 positions have 1, 2 and 3 capsules */
        struct view f = graph_read_grad(g, in[0]);
        CHECK_NEAR(view_row(&f, 0)[4], 0, 0);
        CHECK_NEAR(view_row(&f, 1)[8], 0, 0);
        CHECK(view_row(&f, 2)[8] != 0.0f);
        graph_destroy(g);
    }
}

/* Shares of a position sum up to one over the capsules of its row. */
static void routing_shares_positions_out(void)
{
    for (int drawn = 0; drawn < 2; drawn++) {
        struct graph_options o = {.training = true, .seed = 3};
        struct graph *g = graph_create(&o);
        int axis = graph_axis(g, "s");
        struct nn_shape s = {axis, 1, {4}};
        struct nn_capsule_conf conf = routing;
        conf.zeros = !drawn;
        conf.deviation = 1;
        struct nn_val *x = nn_input(g, "s", &s, true),
                      *y = nn_capsule_routing(g, x, &conf);
        nn_output(g, "y", y);
        static const int64_t at[] = {0, 2, 3, 12};
        struct nn_batch_rows rows = {.n = {3, 12}, .offsets = {NULL, at}};
        struct err err = {0};
        float first[36];
        CHECK(graph_finish(g, &err) == RC_OK);
        CHECK(graph_rows(g, &rows, &err) == RC_OK);
        struct view v = graph_write_begin(g, x);
        for (int64_t n = 0; n < 48; n++)
            v.data[n] = 0.3f * (float)(n % 11) - 1.2f;
        graph_write_end(g, x);
        for (uint64_t step = 0; step < 3; step++) {
            graph_forward(g, step % 2);
            struct view w = graph_read(g, y);
            for (int64_t t = 0; t < 12; t++) {
                const float *b = view_row(&w, t);
                CHECK_NEAR(b[0] + b[1] + b[2], 1, 1e-5);
                CHECK(t < 3 ? b[1] == 0.0f && b[2] == 0.0f : b[2] > 0.0f);
            }
            if (step == 0)
                memcpy(first, w.data, sizeof(first));
            bool same = memcmp(first, w.data, sizeof(first)) == 0;
            CHECK(same == (step != 1 || !drawn)); /* drawn anew with each step */
        }
        graph_destroy(g);
    }
}

static struct nn_val *build_transpose(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_transpose(g, x[0]);
}

static struct nn_val *build_product(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_product(g, x[0], x[1]);
}

static struct nn_val *build_outer(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_outer(g, x[0], x[1]);
}

static void products_of_fields(void)
{
    gradcheck(&(struct gradcheck){
        "transpose", build_transpose, 1, {{0, 2, {3, 5}}}, 4, .eval = false});
    gradcheck(&(struct gradcheck){
        "product", build_product, 2, {{0, 2, {3, 4}}, {0, 2, {4, 2}}}, 5, .eval = false});
    gradcheck(&(struct gradcheck){"large product",
                                  build_product,
                                  2,
                                  {{0, 2, {3, 70}}, {0, 2, {70, 2}}},
                                  3,
                                  .eval = false});
    gradcheck(&(struct gradcheck){
        "outer", build_outer, 2, {{0, 2, {3, 4}}, {0, 2, {3, 2}}}, 5, .eval = false});
}

static const struct tap_case cases[] = {
    TAP(dense_embeddings),   TAP(parts_of_interests),
    TAP(masked_parts),       TAP(routing_shares_positions_out),
    TAP(products_of_fields),
};
TAP_MAIN(cases)
