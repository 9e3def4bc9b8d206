/* SPDX-License-Identifier: Apache-2.0 */
#include "recall/index.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tap.h"

#define MOST 2500
#define QUERIES 37
#define WIDTH 11

static float x[MOST * WIDTH], q[QUERIES * WIDTH];

static void draw(void)
{
    struct rng r;
    rng_init(&r, 5, 0, 0, 0);
    rng_fill_uniform(&r, -1, 1, x, MOST * WIDTH);
    rng_fill_uniform(&r, -1, 1, q, QUERIES * WIDTH);
    for (int i = 0; i < WIDTH; i++) /* some that are the same */
        x[7 * WIDTH + i] = x[1900 * WIDTH + i] = x[3 * WIDTH + i];
}

static double measure(enum recall_metric m, const float *a, const float *b)
{
    double sum = 0;
    for (int i = 0; i < WIDTH; i++) {
        double d = (double)a[i] - (double)b[i];
        sum += m == INDEX_DOT ? -(double)a[i] * (double)b[i] : d * d;
    }
    return sum; /* smaller is nearer */
}

/* How many vectors are clearly nearer than this one. */
static int64_t nearer(enum recall_metric m, int64_t n, const float *query, int64_t row)
{
    double own = measure(m, x + row * WIDTH, query);
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += measure(m, x + i * WIDTH, query) < own - 1e-5;
    return count;
}

static struct recall_index *made(enum recall_metric m, int64_t n, int64_t lists,
                                 struct pool *pool)
{
    struct recall_index_conf conf = {
        .metric = m, .lists = lists, .seed = 2, .pool = pool};
    struct recall_index *out = NULL;
    CHECK(recall_index_create(x, n, WIDTH, &conf, &out, NULL) == RC_OK);
    return out;
}

static struct recall_index *graph_of(enum recall_metric m, int64_t n)
{
    struct recall_index_conf conf = {
        .metric = m, .links = 8, .ef_construction = 60, .seed = 2};
    struct recall_index *out = NULL;
    CHECK(recall_index_create(x, n, WIDTH, &conf, &out, NULL) == RC_OK);
    return out;
}

/* Of 20 nearest a graph finds nearly all, more of them the more candidates it keeps. */
static void a_graph_finds_most(void)
{
    static int64_t near[QUERIES * 20], rows[QUERIES * 20];
    static float scores[QUERIES * 20], exact[QUERIES * 20];
    draw();
    for (int m = 0; m < 2; m++) {
        struct recall_index *all = made((enum recall_metric)m, MOST, 0, NULL);
        struct recall_index *graph = graph_of((enum recall_metric)m, MOST);
        int before = 0;
        CHECK(recall_index_search(all, q, QUERIES, 20, 0, NULL, near, exact, NULL) ==
              RC_OK);
        for (int64_t ef = 20; ef <= 320; ef *= 4) {
            int found = 0;
            CHECK(recall_index_search(graph, q, QUERIES, 20, ef, NULL, rows, scores,
                                      NULL) == RC_OK);
            for (int64_t i = 0; i < QUERIES * 20; i++) {
                for (int64_t k = i / 20 * 20; k < i / 20 * 20 + 20; k++)
                    found += rows[k] == near[i];
                CHECK(i % 20 == 0 || m == INDEX_DOT || scores[i] >= scores[i - 1]);
                CHECK(i % 20 == 0 || m == INDEX_L2 || scores[i] <= scores[i - 1]);
            }
            CHECK(found >= before);
            before = found;
        }
        CHECK(before > QUERIES * 20 * 99 / 100);
        CHECK_NEAR(scores[0], exact[0], 1e-4);
        recall_index_destroy(all);
        recall_index_destroy(graph);
    }
}

static void a_graph_may_be_small(void)
{
    int64_t rows[6];
    float scores[6];
    draw();
    for (int64_t n = 0; n < 4; n++) {
        struct recall_index *graph = graph_of(INDEX_L2, n);
        CHECK(recall_index_search(graph, x, 1, 6, 6, NULL, rows, scores, NULL) == RC_OK);
        for (int64_t i = 0; i < 6; i++)
            CHECK(i < n ? rows[i] >= 0 : rows[i] == -1);
        CHECK(n == 0 || rows[0] == 0);
        recall_index_destroy(graph);
    }
    struct recall_index_conf conf = {.links = 1};
    struct recall_index *none = NULL;
    CHECK(recall_index_create(x, 5, WIDTH, &conf, &none, NULL) == RC_INVAL);
}

static void searches_of_a_graph_do_not_depend_on_threads(void)
{
    static int64_t rows[2][QUERIES * 20];
    static float scores[2][QUERIES * 20];
    struct pool *pool = NULL;
    draw();
    CHECK(pool_create(3, &pool, NULL) == RC_OK);
    struct recall_index *a = graph_of(INDEX_DOT, MOST), *b = graph_of(INDEX_DOT, MOST);
    CHECK(recall_index_search(a, q, QUERIES, 20, 40, NULL, rows[0], scores[0], NULL) ==
          RC_OK);
    CHECK(recall_index_search(b, q, QUERIES, 20, 40, pool, rows[1], scores[1], NULL) ==
          RC_OK);
    CHECK(memcmp(rows[0], rows[1], sizeof(rows[0])) == 0);
    CHECK(memcmp(scores[0], scores[1], sizeof(scores[0])) == 0);
    recall_index_destroy(a);
    recall_index_destroy(b);
    pool_destroy(pool);
}

static void every_vector_is_looked_at(void)
{
    static const int64_t sizes[] = {1, 2, 1023, 1024, 1025, MOST};
    static int64_t rows[QUERIES * 50];
    static float scores[QUERIES * 50];
    draw();
    for (int m = 0; m < 2; m++)
        for (size_t s = 0; s < ARRAY_LEN(sizes); s++) {
            int64_t n = sizes[s], k = n < 50 ? n : 50;
            struct recall_index *i = made((enum recall_metric)m, n, 0, NULL);
            CHECK(recall_index_search(i, q, QUERIES, k, 0, NULL, rows, scores, NULL) ==
                  RC_OK);
            for (int64_t b = 0; b < QUERIES; b += 5)
                for (int64_t c = 0; c < k; c += 7) {
                    int64_t row = rows[b * k + c];
                    CHECK(row >= 0 && row < n);
                    double want =
                        measure((enum recall_metric)m, x + row * WIDTH, q + b * WIDTH);
                    CHECK_NEAR(scores[b * k + c], m ? want : -want, 1e-4);
                    CHECK(nearer((enum recall_metric)m, n, q + b * WIDTH, row) <= c);
                }
            recall_index_destroy(i);
        }
}

/* Looking into all lists is looking at everything. */
static void all_lists_are_everything(void)
{
    static int64_t rows[2][QUERIES * 20];
    static float scores[2][QUERIES * 20];
    draw();
    for (int m = 0; m < 2; m++) {
        struct recall_index *all = made((enum recall_metric)m, MOST, 0, NULL);
        struct recall_index *lists = made((enum recall_metric)m, MOST, 23, NULL);
        CHECK(recall_index_search(all, q, QUERIES, 20, 0, NULL, rows[0], scores[0],
                                  NULL) == RC_OK);
        CHECK(recall_index_search(lists, q, QUERIES, 20, 23, NULL, rows[1], scores[1],
                                  NULL) == RC_OK);
        int differ = 0;
        for (int64_t i = 0; i < QUERIES * 20; i++) {
            differ += rows[0][i] != rows[1][i]; /* by rounding */
            CHECK_NEAR(scores[0][i], scores[1][i], 1e-4);
        }
        CHECK(differ < 10);
        recall_index_destroy(all);
        recall_index_destroy(lists);
    }
}

/* More lists find more, and few find most of it. */
static void more_lists_find_more(void)
{
    static int64_t rows[QUERIES * 20], near[QUERIES * 20];
    static float scores[QUERIES * 20];
    int64_t before = 0;
    draw();
    struct recall_index *all = made(INDEX_L2, MOST, 0, NULL);
    struct recall_index *lists = made(INDEX_L2, MOST, 40, NULL);
    CHECK(recall_index_search(all, q, QUERIES, 20, 0, NULL, near, scores, NULL) == RC_OK);
    for (int64_t probes = 1; probes <= 40; probes *= 3) {
        int64_t found = 0;
        CHECK(recall_index_search(lists, q, QUERIES, 20, probes, NULL, rows, scores,
                                  NULL) == RC_OK);
        for (int64_t i = 0; i < QUERIES * 20; i++)
            for (int64_t k = i / 20 * 20; k < i / 20 * 20 + 20; k++)
                found += near[i] == rows[k];
        CHECK(found >= before);
        before = found;
    }
    CHECK(before > QUERIES * 20 * 9 / 10);
    recall_index_destroy(all);
    recall_index_destroy(lists);
}

static void the_same_are_found_in_order(void)
{
    int64_t rows[3];
    float scores[3];
    draw();
    for (int64_t lists = 0; lists < 9; lists += 8) {
        struct recall_index *i = made(INDEX_L2, MOST, lists, NULL);
        CHECK(recall_index_search(i, x + 3 * WIDTH, 1, 3, 8, NULL, rows, scores, NULL) ==
              RC_OK);
        CHECK_INT(rows[0], 3);
        CHECK_INT(rows[1], 7);
        CHECK_INT(rows[2], 1900);
        recall_index_destroy(i);
    }
}

static void where_there_is_no_more_it_says_so(void)
{
    int64_t rows[8];
    float scores[8];
    draw();
    struct recall_index *i = made(INDEX_DOT, 5, 0, NULL);
    CHECK(recall_index_search(i, q, 1, 8, 0, NULL, rows, scores, NULL) == RC_OK);
    for (int k = 0; k < 8; k++)
        CHECK((rows[k] >= 0) == (k < 5));
    recall_index_destroy(i);
    struct recall_index_conf conf = {.lists = 6};
    struct err err = {0};
    CHECK(recall_index_create(x, 5, WIDTH, &conf, &i, &err) == RC_INVAL);
    CHECK_STR(err.msg, "6 lists for 5 vectors: at most 5");
}

static void threads_do_not_change_a_byte(void)
{
    static int64_t rows[2][QUERIES * 20];
    static float scores[2][QUERIES * 20];
    draw();
    for (int64_t lists = 0; lists < 31; lists += 30) {
        for (int t = 0; t < 2; t++) {
            struct pool *pool = NULL;
            CHECK(pool_create(1 + 2 * t, &pool, NULL) == RC_OK);
            struct recall_index *i = made(INDEX_DOT, MOST, lists, pool);
            CHECK(recall_index_search(i, q, QUERIES, 20, 7, pool, rows[t], scores[t],
                                      NULL) == RC_OK);
            recall_index_destroy(i);
            pool_destroy(pool);
        }
        CHECK(memcmp(rows[0], rows[1], sizeof(rows[0])) == 0);
        CHECK(memcmp(scores[0], scores[1], sizeof(scores[0])) == 0);
    }
}

static void without_memory_it_says_so(void)
{
    int64_t rows[20], live = mem_live(), n = 0;
    float scores[20];
    draw();
    for (enum rc rc = RC_NOMEM; rc; n++) {
        struct recall_index_conf conf = {.metric = INDEX_L2, .lists = 4};
        struct recall_index *i = NULL;
        struct err err = {0};
        mem_fail_at(n + 1);
        rc = recall_index_create(x, 50, WIDTH, &conf, &i, &err);
        if (!rc)
            rc = recall_index_search(i, q, 2, 10, 2, NULL, rows, scores, &err);
        mem_fail_at(0);
        CHECK(rc == RC_OK || rc == RC_NOMEM);
        recall_index_destroy(i);
    }
    CHECK(n > 10);
    CHECK_INT(mem_live(), live);
}

static const struct tap_case cases[] = {
    TAP(every_vector_is_looked_at),    TAP(a_graph_finds_most),
    TAP(a_graph_may_be_small),         TAP(searches_of_a_graph_do_not_depend_on_threads),
    TAP(all_lists_are_everything),     TAP(more_lists_find_more),
    TAP(the_same_are_found_in_order),  TAP(where_there_is_no_more_it_says_so),
    TAP(threads_do_not_change_a_byte), TAP(without_memory_it_says_so),
};
TAP_MAIN(cases)
