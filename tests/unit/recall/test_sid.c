/* SPDX-License-Identifier: Apache-2.0 */
/* Semantic ids: what residual k-means finds, equal tuples, figures and the picture. */
#include "recall/sid.h"

#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tap.h"

#define ITEMS 400
#define WIDTH 3

/* Items around 4 far and 4 near places: two layers of four codes say nearly all of them. */
static float *clumps(int64_t *place)
{
    float *x = mem_calloc(ITEMS * WIDTH, sizeof(*x)), noise[WIDTH];
    struct rng r;
    rng_init(&r, 11, 1, 0, 0);
    for (int64_t i = 0; i < ITEMS; i++) {
        int64_t far = (int64_t)rng_below(&r, 4), near = (int64_t)rng_below(&r, 4);
        place[i] = far * 4 + near;
        rng_fill_uniform(&r, -0.01f, 0.01f, noise, WIDTH);
        x[i * WIDTH] = (float)(far * 100) + noise[0];
        x[i * WIDTH + 1] = (float)(near % 2 * 4) + noise[1];
        x[i * WIDTH + 2] = (float)(near / 2 * 4) + noise[2];
    }
    return x;
}

static void codes_are_places(void)
{
    static const int64_t sizes[] = {4, 4};
    int64_t place[ITEMS];
    float *x = clumps(place);
    struct pool *pool;
    struct err err = {0};
    struct recall_sid one, many;
    struct recall_sid_stats stats;
    struct recall_sid_conf conf = {
        .sizes = sizes, .layers = 2, .iterations = 25, .seed = 1};
    CHECK(pool_create(3, &pool, &err) == RC_OK);
    CHECK(recall_sid_fit(x, ITEMS, WIDTH, &conf, &one, &err) == RC_OK);
    conf.pool = pool;
    CHECK(recall_sid_fit(x, ITEMS, WIDTH, &conf, &many, &err) == RC_OK);
    CHECK(memcmp(one.codes, many.codes, ITEMS * 2 * sizeof(*one.codes)) == 0);
    CHECK(one.error > 0 &&
          one.error < 0.5); /* centers of the near places differ a little */
    CHECK(one.spread > 1000);
    for (int64_t i = 1; i < ITEMS; i++) { /* the same tuple exactly where the place is */
        bool same = memcmp(one.codes, one.codes + i * 2, 2 * sizeof(*one.codes)) == 0;
        CHECK(same == (place[0] == place[i]));
    }
    CHECK(recall_sid_measure(&one, &stats, &err) == RC_OK);
    CHECK_INT(stats.tuples, 16);
    CHECK_INT(stats.shared, ITEMS);
    for (int l = 0; l < 2; l++) {
        CHECK_INT(stats.use[l].used, 4);
        CHECK(stats.use[l].entropy > 0.95 && stats.use[l].entropy <= 1);
        CHECK(stats.use[l].least > 60 && stats.use[l].most < 150);
    }
    recall_sid_release(&one);
    recall_sid_release(&many);
    pool_destroy(pool);
    mem_free(x);
}

static void fill(struct column *c, const int64_t codes[][2], int64_t n)
{
    struct err err = {0};
    for (int64_t i = 0; i < n; i++) {
        for (int l = 0; l < 2; l++)
            CHECK(column_add_i64(&c->kids[0], codes[i][l], &err) == RC_OK);
        CHECK(column_add_nested(c, &err) == RC_OK);
    }
}

static void equal_tuples_are_counted_and_told_apart(void)
{
    static const int64_t codes[][2] = {{1, 2}, {0, 2}, {1, 2}, {1, 0}, {1, 2}, {0, 2}};
    static const int32_t last[] = {0, 0, 1, 0, 2, 1};
    struct arena mem = {0};
    struct err err = {0};
    struct column c;
    struct recall_sid s;
    struct recall_sid_stats stats;
    struct type list = type_list(&mem, type_of(TYPE_I64, false), false);
    column_init(&c, &list);
    fill(&c, codes, 6);
    CHECK(recall_sid_read(&c, "codes", (const int64_t[]){2, 4}, 2, &s, &err) == RC_OK);
    CHECK(recall_sid_measure(&s, &stats, &err) == RC_OK);
    CHECK_INT(stats.tuples, 3);
    CHECK_INT(stats.shared, 5);
    CHECK_INT(stats.largest, 3);
    CHECK_INT(stats.use[0].most, 4);
    CHECK_INT(stats.use[1].used, 2);
    CHECK_INT(stats.use[1].least, 0);
    CHECK_NEAR(stats.use[0].entropy,
               -(log(4 / 6.0) * 4 / 6 + log(2 / 6.0) * 2 / 6) / log(2), 1e-12);
    struct buf b;
    buf_init(&b, 1 << 20);
    CHECK(recall_sid_picture(&s, &stats, &b, &err) == RC_OK);
    CHECK_HAS(buf_str(&b), "layer 1: 2 of 4 codes used");
    CHECK_HAS(buf_str(&b), "</svg>");
    buf_release(&b);
    CHECK(recall_sid_tell_apart(&s, &err) == RC_OK);
    CHECK_INT(s.layers, 3);
    CHECK_INT(s.sizes[2], 3);
    for (int i = 0; i < 6; i++)
        CHECK_INT(s.codes[i * 3 + 2], last[i]);
    CHECK(recall_sid_measure(&s, &stats, &err) == RC_OK);
    CHECK_INT(stats.tuples, 6);
    CHECK_INT(stats.shared, 0);
    recall_sid_release(&s);
    column_release(&c);
    arena_release(&mem);
}

static void wrong_codes_are_named(void)
{
    static const int64_t codes[][2] = {{1, 2}, {0, 9}};
    static const int64_t sizes[] = {500};
    struct recall_sid_conf conf = {.sizes = sizes, .layers = 1, .iterations = 5};
    struct arena mem = {0};
    struct err err = {0};
    struct column c;
    struct recall_sid s;
    struct type list = type_list(&mem, type_of(TYPE_I64, false), false);
    column_init(&c, &list);
    fill(&c, codes, 2);
    CHECK(recall_sid_read(&c, "codes", (const int64_t[]){2, 4}, 2, &s, &err) == RC_INVAL);
    CHECK_INT(err.code, E2406);
    CHECK_HAS(err.msg, "column 'codes', row 2: code 9 of layer 1 is not one of 0 to 3");
    CHECK(recall_sid_read(&c, "codes", (const int64_t[]){2}, 1, &s, &err) == RC_INVAL);
    CHECK_HAS(err.msg, "column 'codes', row 1: 2 codes; others have 1");
    float x[WIDTH] = {0};
    CHECK(recall_sid_fit(x, 1, WIDTH, &conf, &s, &err) == RC_INVAL);
    CHECK_HAS(err.msg, "layer 0 has 500 codes");
    column_release(&c);
    arena_release(&mem);
}

static const struct tap_case cases[] = {
    TAP(codes_are_places),
    TAP(equal_tuples_are_counted_and_told_apart),
    TAP(wrong_codes_are_named),
};
TAP_MAIN(cases)
