/* SPDX-License-Identifier: Apache-2.0 */
#include "recall/kmeans.h"

#include "base/mem.h"
#include "base/rng.h"
#include "tap.h"

/* Points around k places that are 10 apart. */
static void draw(float *x, int64_t n, int64_t d, int64_t k)
{
    struct rng r;
    rng_init(&r, 7, 0, 0, 0);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < d; c++)
            x[i * d + c] =
                (c == 0 ? 10.0f * (float)(i % k) : 0) + 0.3f * (float)rng_normal(&r);
}

static void clear_groups_are_found(void)
{
    enum { N = 500, D = 3, K = 5 };
    static float x[N * D];
    float centres[K * D];
    int32_t nearest[N];
    draw(x, N, D, K);
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct kmeans_conf conf = {.k = K, .iterations = 50, .seed = seed};
        CHECK(kmeans(x, N, D, &conf, centres, nearest, NULL) == RC_OK);
        int same = 0;
        for (int64_t i = K; i < N; i++)
            same += nearest[i] == nearest[i % K];
        CHECK(same >= N - K - 1 - (N - K) / 3); /* a start may join two of them */
    }
}

static void threads_do_not_change_a_byte(void)
{
    enum { N = 5000, D = 7, K = 37 };
    float *x = mem_alloc(N * D * sizeof(float));
    float *centres[2];
    int32_t *nearest[2];
    draw(x, N, D, 90);
    for (int t = 0; t < 2; t++) {
        struct pool *pool = NULL;
        CHECK(pool_create(1 + 2 * t, &pool, NULL) == RC_OK);
        struct kmeans_conf conf = {.k = K, .iterations = 8, .seed = 3, .pool = pool};
        centres[t] = mem_alloc(K * D * sizeof(float));
        nearest[t] = mem_alloc(N * sizeof(int32_t));
        CHECK(kmeans(x, N, D, &conf, centres[t], nearest[t], NULL) == RC_OK);
        pool_destroy(pool);
    }
    CHECK(memcmp(centres[0], centres[1], K * D * sizeof(float)) == 0);
    CHECK(memcmp(nearest[0], nearest[1], N * sizeof(int32_t)) == 0);
    int32_t *again = mem_alloc(N * sizeof(int32_t));
    CHECK(kmeans_nearest(x, N, D, centres[0], K, NULL, again, NULL) == RC_OK);
    CHECK(memcmp(nearest[0], again, N * sizeof(int32_t)) == 0);
    for (int t = 0; t < 2; t++) {
        mem_free(centres[t]);
        mem_free(nearest[t]);
    }
    mem_free(again);
    mem_free(x);
}

/* Every point its own centre; and points that are all the same. */
static void odd_points_are_fine(void)
{
    enum { N = 6, D = 2 };
    float x[N * D], centres[N * D];
    int32_t nearest[N];
    struct kmeans_conf conf = {.k = N, .iterations = 20, .seed = 1};
    for (int64_t i = 0; i < N * D; i++)
        x[i] = (float)(i * i);
    CHECK(kmeans(x, N, D, &conf, centres, nearest, NULL) == RC_OK);
    for (int64_t i = 0; i < N; i++)
        for (int64_t k = 0; k < i; k++)
            CHECK(nearest[i] != nearest[k]);
    memset(x, 0, sizeof(x));
    conf.k = 3;
    CHECK(kmeans(x, N, D, &conf, centres, nearest, NULL) == RC_OK);
    for (int64_t i = 0; i < N; i++)
        CHECK(nearest[i] >= 0 && nearest[i] < 3);
}

static void without_memory_it_says_so(void)
{
    float x[40], centres[4];
    int32_t nearest[20];
    struct kmeans_conf conf = {.k = 2, .iterations = 3};
    struct err err = {0};
    int64_t live = mem_live(), n = 0;
    draw(x, 20, 2, 2);
    for (enum rc rc = RC_NOMEM; rc; n++) {
        mem_fail_at(n + 1);
        rc = kmeans(x, 20, 2, &conf, centres, nearest, &err);
        mem_fail_at(0);
        CHECK(rc == RC_OK || rc == RC_NOMEM);
    }
    CHECK(n > 4);
    CHECK_INT(mem_live(), live);
}

static const struct tap_case cases[] = {
    TAP(clear_groups_are_found),
    TAP(threads_do_not_change_a_byte),
    TAP(odd_points_are_fine),
    TAP(without_memory_it_says_so),
};
TAP_MAIN(cases)
