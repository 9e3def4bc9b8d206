/* SPDX-License-Identifier: Apache-2.0 */
/* Slopes and values of what brings fields together. */
#include "unit/nn/gradcheck.h"

static struct nn_val *build_sum_fields(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_sum_fields(g, x[0]);
}

static struct nn_val *build_sum_within(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_sum_within(g, x[0]);
}

static struct nn_val *build_gate(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_gate_fields(g, x[0], x[1]);
}

static struct nn_val *build_bias(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_bias(g, "b", x[0]);
}

static void sums_and_gates(void)
{
    gradcheck(&(struct gradcheck){
        "sum of fields", build_sum_fields, 1, {{0, 2, {3, 5}}}, 4, .eval = false});
    gradcheck(&(struct gradcheck){
        "sum within", build_sum_within, 1, {{1, 2, {3, 5}}}, 4, .eval = false});
    gradcheck(&(struct gradcheck){
        "gates", build_gate, 2, {{0, 1, {3}}, {0, 2, {3, 5}}}, 5, .eval = false});
    gradcheck(
        &(struct gradcheck){"bias", build_bias, 1, {{0, 1, {3}}}, 7, .eval = false});
    gradcheck(&(struct gradcheck){
        "bias of fields", build_bias, 1, {{1, 2, {2, 3}}}, 5, .eval = false});
}

static struct nn_val *build_pairs(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_pair_products(g, x[0], false, x[1]);
}

static struct nn_val *build_same(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_pair_products(g, x[0], false, x[0]);
}

static struct nn_val *build_of_pairs(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_pair_products(g, x[0], true, x[1]);
}

static struct nn_val *build_flat(struct graph *g, struct nn_val *const *x, int axis)
{
    struct nn_val *parts[] = {nn_pair_products_flat(g, x[0], false, x[1]),
                              nn_pair_products_flat(g, x[0], false, x[0])};
    return nn_concat(g, parts, 2);
}

static struct nn_val *build_aware(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_aware_pairs(g, x[0], false);
}

static struct nn_val *build_aware_dots(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_aware_pairs(g, x[0], true);
}

static void pairs_of_fields(void)
{
    gradcheck(&(struct gradcheck){
        "pairs", build_pairs, 2, {{0, 2, {4, 3}}, {0, 2, {4, 3}}}, 5, .eval = false});
    gradcheck(&(struct gradcheck){
        "pairs of one value", build_same, 1, {{0, 2, {3, 5}}}, 5, .eval = false});
    gradcheck(&(struct gradcheck){"flat pairs",
                                  build_flat,
                                  2,
                                  {{0, 2, {3, 18}}, {0, 2, {3, 18}}},
                                  3,
                                  .eval = false});
    gradcheck(&(struct gradcheck){"given pairs",
                                  build_of_pairs,
                                  2,
                                  {{0, 2, {6, 3}}, {0, 2, {4, 3}}},
                                  5,
                                  .eval = false});
    gradcheck(&(struct gradcheck){
        "aware pairs", build_aware, 1, {{0, 2, {3, 6}}}, 5, .eval = false});
    gradcheck(&(struct gradcheck){
        "aware dots", build_aware_dots, 1, {{1, 2, {3, 9}}}, 5, .eval = false});
}

static struct nn_val *build_each(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_field_linear(g, "w", x[0], false, 2, NULL);
}

static struct nn_val *build_each_pair(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_field_linear(g, "w", x[0], true, 3, "b");
}

static struct nn_val *build_mix(struct graph *g, struct nn_val *const *x, int axis)
{
    struct param *w = nn_param(g, "w", (const int64_t[]){nn_val_shape(x[0])->dims[0], 3},
                               2, (struct nn_init){INIT_NORMAL, 0, 1}, true);
    return nn_mix_fields(g, w, x[0]);
}

static void a_matrix_of_each_field(void)
{
    gradcheck(&(struct gradcheck){
        "mixed fields", build_mix, 1, {{0, 2, {5, 4}}}, 7, .eval = false});
    gradcheck(&(struct gradcheck){
        "many mixed fields", build_mix, 1, {{1, 2, {130, 2}}}, 9, .eval = false});
    gradcheck(&(struct gradcheck){
        "wide mixed fields", build_mix, 1, {{0, 2, {2, 131}}}, 40, .eval = false});
    gradcheck(&(struct gradcheck){
        "each field", build_each, 1, {{0, 2, {3, 5}}}, 7, .eval = false});
    gradcheck(&(struct gradcheck){
        "each pair", build_each_pair, 1, {{0, 2, {4, 3}}}, 5, .eval = false});
    gradcheck(&(struct gradcheck){
        "each pair of two", build_each_pair, 1, {{1, 2, {2, 1}}}, 5, .eval = false});
}

static struct nn_val *build_attention(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_field_attention(g, x[0], x[1], x[2], 2, 0.7f);
}

static struct nn_val *build_seq_attention(struct graph *g, struct nn_val *const *x,
                                          int axis)
{
    return nn_seq_attention(g, x[0], x[1], x[2], 3, 0.0);
}

/* Few fields take the way of small matrices, many the other; so do wide heads. */
static void attention_of_fields(void)
{
    static const int64_t sizes[][2] = {{3, 4}, {5, 14}, {1, 6}, {67, 2}, {3, 260}};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct nn_shape s = {0, 2, {sizes[i][0], sizes[i][1]}};
        gradcheck(&(struct gradcheck){
            "field attention", build_attention, 3, {s, s, s}, 4, .tolerance = 5e-2});
    }
    gradcheck(&(struct gradcheck){"attention",
                                  build_seq_attention,
                                  3,
                                  {{1, 1, {9}}, {1, 1, {9}}, {1, 1, {9}}},
                                  7,
                                  .eval = false});
}

/* Two fields, and the same two forty times each: every weight is shared out by forty. */
static void many_fields_are_done_like_few(void)
{
    float few[6], many[6];
    for (int k = 0; k < 2; k++) {
        int64_t n = k == 0 ? 2 : 80;
        struct graph *g = graph_create(&(struct graph_options){.training = false});
        struct nn_shape s = {0, 2, {n, 3}};
        struct nn_val *x = nn_input(g, "x", &s, false);
        nn_output(g, "y", nn_field_attention(g, x, x, x, 1, 1.0f));
        CHECK(graph_finish(g, NULL) == RC_OK);
        CHECK(graph_rows(g, &(struct nn_batch_rows){.n = {1}}, NULL) == RC_OK);
        struct view v = graph_write_begin(g, x);
        for (int64_t i = 0; i < 3 * n; i++) /* field 0 and field 1, in turn */
            v.data[i] = 0.3f * (float)(i % 6) - 0.5f;
        graph_write_end(g, x);
        graph_forward(g, 0);
        memcpy(k == 0 ? few : many, graph_read(g, graph_output(g, "y")).data,
               sizeof(few));
        graph_destroy(g);
    }
    for (int i = 0; i < 6; i++)
        CHECK(fabsf(few[i] - many[i]) < 1e-5f);
}

static void fails(struct nn_val *(*build)(struct graph *, struct nn_val *const *, int),
                  const struct nn_shape *a, const struct nn_shape *b, const char *message)
{
    struct err err = {0};
    struct graph *g = graph_create(&(struct graph_options){.training = true});
    struct nn_val *x[] = {nn_input(g, "a", a, true),
                          b ? nn_input(g, "b", b, true) : NULL};
    CHECK(!build(g, x, 0));
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_STR(err.msg, message);
    graph_destroy(g);
}

static struct nn_val *build_heads(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_field_attention(g, x[0], x[0], x[0], 3, 1.0f);
}

static void shapes_that_do_not_fit(void)
{
    const struct nn_shape flat = {0, 1, {4}}, one = {0, 2, {1, 4}},
                          three = {0, 2, {3, 4}};
    fails(build_sum_fields, &flat, NULL, "sum of fields: takes rows of fields [n, d]");
    fails(build_gate, &flat, &three, "gates of fields: 4 gates for 3 fields");
    fails(build_pairs, &three, &one, "pairs of fields: needs at least two fields");
    fails(build_pairs, &one, &three, "pairs of fields: 1 x 4 beside 3 fields of 4");
    fails(build_aware, &three, NULL,
          "pairs of fields: fields of 4 floats have no part for each of 3 fields");
    fails(build_heads, &three, NULL, "attention: 3 heads do not divide a width of 4");
    fails(build_each_pair, &one, NULL, "w takes rows of two or more fields [n, d]");
}

static const struct tap_case cases[] = {
    TAP(sums_and_gates),
    TAP(pairs_of_fields),
    TAP(a_matrix_of_each_field),
    TAP(attention_of_fields),
    TAP(many_fields_are_done_like_few),
    TAP(shapes_that_do_not_fit),
};
TAP_MAIN(cases)
