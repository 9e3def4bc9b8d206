/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions along fields and the largest of neighbouring ones. */
#include "unit/nn/gradcheck.h"

static struct nn_val *build_three(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_field_conv(g, "w", x[0], 4, 3, true);
}

static struct nn_val *build_even(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_field_conv(g, "w", x[0], 3, 4, false);
}

static struct nn_val *build_nine(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_field_conv(g, "w", x[0], 5, 9, true);
}

static struct nn_val *build_one(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_field_conv(g, "w", x[0], 17, 1, true);
}

static struct nn_val *build_two_layers(struct graph *g, struct nn_val *const *x, int axis)
{
    struct nn_val *h = nn_act(g, nn_field_conv(g, "a", x[0], 3, 3, true), ACT_TANH, 0);
    return nn_field_conv(g, "b", h, 2, 5, true);
}

static void slopes_of_convolutions(void)
{
    gradcheck(&(struct gradcheck){
        "one map", build_three, 1, {{0, 3, {3, 5, 1}}}, 7, .eval = false});
    gradcheck(&(struct gradcheck){
        "three maps", build_three, 1, {{0, 3, {2, 7, 3}}}, 5, .eval = false});
    gradcheck(&(struct gradcheck){
        "even height", build_even, 1, {{0, 3, {5, 6, 2}}}, 5, .eval = false});
    gradcheck(&(struct gradcheck){
        "more than fields", build_nine, 1, {{0, 3, {2, 4, 3}}}, 4, .eval = false});
    gradcheck(&(struct gradcheck){
        "one field", build_nine, 1, {{0, 3, {3, 1, 2}}}, 7, .eval = false});
    gradcheck(&(struct gradcheck){
        "many fields", build_nine, 1, {{0, 3, {1, 23, 2}}}, 5, .eval = false});
    gradcheck(&(struct gradcheck){
        "height one", build_one, 1, {{0, 3, {2, 3, 5}}}, 33, .eval = false});
    gradcheck(&(struct gradcheck){
        "two layers", build_two_layers, 1, {{0, 3, {3, 5, 2}}}, 6, .eval = false});
}

static struct nn_val *build_max_two(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_field_max(g, x[0], 2);
}

static struct nn_val *build_max_three(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_field_max(g, x[0], 3);
}

/* Far enough from each other that a nudge does not change which is the largest. */
static void slopes_of_the_largest(void)
{
    gradcheck(&(struct gradcheck){"of two",
                                  build_max_two,
                                  1,
                                  {{0, 3, {3, 7, 2}}},
                                  5,
                                  .low = -50,
                                  .high = 50,
                                  .tolerance = 5e-2});
    gradcheck(&(struct gradcheck){"of three",
                                  build_max_three,
                                  1,
                                  {{0, 3, {2, 3, 5}}},
                                  4,
                                  .low = -50,
                                  .high = 50,
                                  .tolerance = 5e-2});
}

enum { ROWS = 37 };

/* A graph of one value of x and its parameters, run forwards and backwards. */
struct conv_run {
    struct pool *pool;
    struct graph *g;
    struct nn_val *x, *y;
};

static void run_conv(struct conv_run *r, int threads, const struct nn_shape *s,
                     int64_t out, int64_t height)
{
    struct rng rng;
    CHECK(pool_create(threads, &r->pool, NULL) == RC_OK);
    struct graph_options o = {
        .pool = r->pool, .training = true, .seed = 5, .tile_rows = threads == 1 ? 64 : 5};
    r->g = graph_create(&o);
    r->x = nn_input(r->g, "x", s, true);
    r->y = nn_field_conv(r->g, "w", r->x, out, height, true);
    nn_keep(r->g, r->y);
    nn_loss(r->g, "loss", nn_row_sum(r->g, nn_mul(r->g, r->y, r->y)));
    CHECK(graph_finish(r->g, NULL) == RC_OK);
    CHECK(graph_rows(r->g, &(struct nn_batch_rows){.n = {ROWS}}, NULL) == RC_OK);
    struct view v = graph_write_begin(r->g, r->x);
    rng_init(&rng, 7, 0, 0, 0);
    for (int64_t k = 0; k < ROWS; k++)
        rng_fill_uniform(&rng, -1, 1, view_row(&v, k), (size_t)v.width);
    graph_write_end(r->g, r->x);
    graph_forward(r->g, 1);
}

static void close_conv(struct conv_run *r)
{
    graph_destroy(r->g);
    pool_destroy(r->pool);
}

/* Place k of field f in map u, from the definition. */
static double by_hand(const struct nn_shape *s, const float *x, const struct param *w,
                      const struct param *b, int64_t k, int64_t f, int64_t u)
{
    int64_t n = s->dims[1], maps = s->dims[2], height = w->dims[2];
    double sum = (double)b->value[u];
    for (int64_t h = 0; h < height; h++) {
        int64_t at = f + h - (height - 1) / 2;
        for (int64_t m = 0; at >= 0 && at < n && m < maps; m++)
            sum += (double)w->value[(u * maps + m) * height + h] *
                   (double)x[(k * n + at) * maps + m];
    }
    return sum;
}

static const struct {
    struct nn_shape s;
    int64_t out, height;
} sizes[] = {
    {{0, 3, {3, 11, 1}}, 6, 9}, {{0, 3, {4, 5, 7}}, 3, 4}, {{0, 3, {2, 3, 2}}, 19, 9}};

static void a_convolution_is_what_its_definition_says(void)
{
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        const struct nn_shape *s = &sizes[i].s;
        struct conv_run r;
        size_t n;
        run_conv(&r, 1, s, sizes[i].out, sizes[i].height);
        struct param *const *p = graph_params(r.g, &n);
        struct view x = graph_read(r.g, r.x), y = graph_read(r.g, r.y);
        CHECK_INT(n, 2);
        CHECK_STR(p[0]->name, "w.weight");
        for (int64_t row = 0; row < ROWS; row += 6)
            for (int64_t k = 0; k < y.width; k++) {
                int64_t u = k % sizes[i].out, f = k / sizes[i].out % s->dims[1];
                CHECK_NEAR(view_row(&y, row)[k],
                           by_hand(s, view_row(&x, row), p[0], p[1],
                                   k / sizes[i].out / s->dims[1], f, u),
                           1e-5);
            }
        close_conv(&r);
    }
}

static void threads_and_tiles_change_no_byte(void)
{
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct conv_run r[2];
        struct param *const *p[2];
        struct view dx[2];
        size_t n;
        for (int k = 0; k < 2; k++) {
            run_conv(&r[k], k == 0 ? 1 : 4, &sizes[i].s, sizes[i].out, sizes[i].height);
            graph_backward(r[k].g, true);
            p[k] = graph_params(r[k].g, &n);
            dx[k] = graph_read_grad(r[k].g, r[k].x);
        }
        for (size_t k = 0; k < n; k++)
            CHECK(memcmp(param_read_grad(p[0][k]), param_read_grad(p[1][k]),
                         (size_t)p[0][k]->n * sizeof(float)) == 0);
        for (int64_t row = 0; row < ROWS; row++)
            CHECK(memcmp(view_row(&dx[0], row), view_row(&dx[1], row),
                         (size_t)dx[0].width * sizeof(float)) == 0);
        close_conv(&r[0]);
        close_conv(&r[1]);
    }
}

/* One place, five fields of one map: pairs (2, 2), (NaN, 3), and one left over. */
static void of_equal_fields_the_first_has_the_slope(void)
{
    const float values[] = {2, 2, NAN, 3, 9}, slopes[] = {1, 0, 1, 0, 0};
    struct graph *g = graph_create(&(struct graph_options){.training = true});
    struct nn_val *x = nn_input(g, "x", &(struct nn_shape){0, 3, {1, 5, 1}}, true);
    struct nn_val *y = nn_field_max(g, x, 2);
    nn_keep(g, y);
    nn_loss(g, "loss", nn_row_sum(g, y));
    CHECK(graph_finish(g, NULL) == RC_OK);
    CHECK(graph_rows(g, &(struct nn_batch_rows){.n = {1}}, NULL) == RC_OK);
    graph_set(g, x, values);
    graph_forward(g, 1);
    CHECK_INT(graph_read(g, y).width, 2);
    CHECK(graph_read(g, y).data[0] == 2.0f);
    CHECK(isnan(graph_read(g, y).data[1]));
    graph_backward(g, true);
    for (int i = 0; i < 5; i++)
        CHECK(graph_read_grad(g, x).data[i] == slopes[i]);
    graph_destroy(g);
}

static enum rc finish_conv(struct err *err)
{
    struct graph *g = graph_create(&(struct graph_options){.training = true});
    struct nn_val *x = nn_input(g, "x", &(struct nn_shape){0, 3, {2, 7, 3}}, true);
    nn_loss(g, "loss", nn_row_sum(g, nn_field_conv(g, "w", x, 5, 3, true)));
    enum rc rc = graph_finish(g, err);
    graph_destroy(g);
    return rc;
}

/* Some of what it asks for it can do without. */
static void without_memory_it_says_so(void)
{
    bool said = false;
    for (int64_t n = 1; n < 40; n++) {
        struct err err = {0};
        int64_t live = mem_live();
        mem_fail_at(n);
        enum rc rc = finish_conv(&err);
        mem_fail_at(0);
        if (rc)
            CHECK_HAS(err.msg, "no memory");
        said = said || strstr(err.msg, "no memory for a convolution of 5 x 3 x 3");
        CHECK_INT(mem_live(), live);
    }
    CHECK(said);
    CHECK(finish_conv(NULL) == RC_OK);
}

static void fails(struct nn_val *(*build)(struct graph *, struct nn_val *const *, int),
                  const struct nn_shape *s, const char *message)
{
    struct err err = {0};
    struct graph *g = graph_create(&(struct graph_options){.training = true});
    struct nn_val *x = nn_input(g, "x", s, true);
    CHECK(!build(g, &x, 0));
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_STR(err.msg, message);
    graph_destroy(g);
}

static void shapes_that_do_not_fit(void)
{
    const struct nn_shape fields = {0, 2, {3, 4}}, two = {0, 3, {4, 2, 5}};
    fails(build_three, &fields,
          "w takes rows of the batch [d, n, maps], and makes one or more maps of one or "
          "more fields");
    fails(build_max_two, &fields,
          "the largest of 2 fields is taken of rows of the batch [d, n, maps] with so "
          "many or more fields");
    fails(build_max_three, &two,
          "the largest of 3 fields is taken of rows of the batch [d, n, maps] with so "
          "many or more fields");
}

static const struct tap_case cases[] = {
    TAP(slopes_of_convolutions),
    TAP(slopes_of_the_largest),
    TAP(a_convolution_is_what_its_definition_says),
    TAP(threads_and_tiles_change_no_byte),
    TAP(of_equal_fields_the_first_has_the_slope),
    TAP(without_memory_it_says_so),
    TAP(shapes_that_do_not_fit),
};
TAP_MAIN(cases)
