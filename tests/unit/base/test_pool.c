/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tap.h"

enum { N = 10007 };

static struct pool *make(int n)
{
    struct pool *p = NULL;
    struct err err = {0};
    CHECK(pool_create(n, &p, &err) == RC_OK);
    CHECK_INT(pool_threads(p), n);
    return p;
}

struct rows {
    float in[N], out[N];
    int visits[N];
    int64_t chunk_of[N], grain;
};

static void scale(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct rows *r = arg;
    float sum = 0;
    CHECK(begin < end && begin == chunk * r->grain && end - begin <= r->grain);
    for (int64_t i = begin; i < end; i++) {
        sum += r->in[i]; /* depends on where the chunk begins */
        r->out[i] = sum;
        r->visits[i]++;
        r->chunk_of[i] = chunk;
    }
}

static double sum_rows(void *arg, int64_t begin, int64_t end)
{
    const struct rows *r = arg;
    float sum = 0;
    for (int64_t i = begin; i < end; i++)
        sum += r->in[i];
    return (double)sum;
}

static void fill(struct rows *r)
{
    struct rng rng;
    *r = (struct rows){0};
    rng_init(&rng, 1, 0, 0, 0);
    rng_fill_normal(&rng, 0, 1000, r->in, N);
}

static void results_do_not_depend_on_the_number_of_threads(void)
{
    static struct rows one, many;
    static double parts[N];
    static const int threads[] = {1, 2, 5};
    static const int64_t grains[] = {1, 7, 64, 1000, N - 1, N, N + 1};
    for (size_t g = 0; g < ARRAY_LEN(grains); g++) {
        fill(&one);
        one.grain = grains[g];
        pool_for(NULL, N, grains[g], scale, &one);
        double sum = pool_sum(NULL, N, grains[g], sum_rows, &one, parts);
        for (size_t t = 0; t < ARRAY_LEN(threads); t++) {
            struct pool *p = make(threads[t]);
            fill(&many);
            many.grain = grains[g];
            pool_for(p, N, grains[g], scale, &many);
            CHECK(memcmp(&one, &many, sizeof(one)) == 0);
            double other = pool_sum(p, N, grains[g], sum_rows, &many, parts);
            CHECK(memcmp(&sum, &other, sizeof(sum)) == 0);
            pool_destroy(p);
        }
        for (int i = 0; i < N; i++)
            CHECK(one.visits[i] == 1);
    }
}

static void add_one(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    int64_t *at = arg;
    for (int64_t i = begin; i < end; i++)
        at[i]++;
}

static void many_small_loops_in_a_row_are_all_done(void)
{
    struct pool *p = make(3);
    int64_t at[9] = {0};
    for (int i = 0; i < 20000; i++)
        pool_for(p, 1 + i % 9, 1, add_one, at);
    int64_t sum = 0;
    for (int i = 0; i < 9; i++)
        sum += at[i];
    CHECK_INT(at[0], 20000);
    CHECK_INT(sum, 20000 / 9 * 45 + 1 + 2);
    pool_destroy(p);
}

static void calls_allocate_nothing(void)
{
    struct pool *p = make(3);
    int64_t at[100] = {0};
    int64_t total = mem_total();
    for (int i = 0; i < 100; i++)
        pool_for(p, 100, 3, add_one, at);
    CHECK_INT(mem_total(), total);
    CHECK_INT(at[99], 100);
    pool_destroy(p);
    CHECK(pool_threads(NULL) == 1);
    pool_destroy(NULL);
}

struct nest {
    struct pool *p;
    int64_t at[20][30];
};

static void inner(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    add_one(arg, begin, end, chunk);
}

static void outer(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct nest *n = arg;
    for (int64_t i = begin; i < end; i++)
        pool_for(n->p, 30, 4, inner, n->at[i]);
}

static void nested_loops_run(void)
{
    struct nest n = {.p = make(4)};
    pool_for(n.p, 20, 1, outer, &n);
    for (int i = 0; i < 20; i++)
        for (int k = 0; k < 30; k++)
            CHECK_INT(n.at[i][k], 1);
    pool_destroy(n.p);
}

static void *other_caller(void *arg)
{
    static _Thread_local int64_t at[50];
    for (int i = 0; i < 2000; i++)
        pool_for(arg, 50, 5, add_one, at);
    for (int i = 0; i < 50; i++)
        CHECK(at[i] == 2000);
    return NULL;
}

static void several_threads_may_share_a_pool(void)
{
    struct pool *p = make(3);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, other_caller, p) == 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    pool_destroy(p);
}

struct joined {
    int64_t order[100];
    int64_t n;
};

static void begin_of(void *arg, int64_t begin, int64_t end, void *part)
{
    *(int64_t *)part = begin;
}

static void note(void *arg, const void *part)
{
    struct joined *j = arg;
    j->order[j->n++] = *(const int64_t *)part;
}

static void reductions_join_in_order(void)
{
    struct pool *p = make(4);
    int64_t parts[100];
    struct joined j = {.n = 0};
    CHECK_INT(pool_chunks(298, 3), 100);
    pool_reduce(p, 298, 3, begin_of, note, &j, parts, sizeof(*parts));
    CHECK_INT(j.n, 100);
    for (int64_t i = 0; i < 100; i++)
        CHECK_INT(j.order[i], 3 * i);
    pool_destroy(p);
}

static void empty_loops_do_nothing(void)
{
    struct pool *p = make(2);
    pool_for(p, 0, 5, scale, NULL);
    pool_for(p, -3, 5, scale, NULL);
    CHECK_INT(pool_chunks(0, 5), 0);
    CHECK_INT(pool_chunks(INT64_MAX, 1), INT64_MAX);
    CHECK(pool_sum(p, 0, 1, sum_rows, NULL, NULL) == 0);
    pool_destroy(p);
}

static void bad_sizes_are_refused(void)
{
    struct pool *p = NULL;
    struct err err = {0};
    CHECK(pool_create(0, &p, &err) == RC_INVAL);
    CHECK_STR(err.msg, "threads: 0 is outside [1, 1024]");
    mem_fail_at(1);
    CHECK(pool_create(2, &p, &err) == RC_NOMEM);
    mem_fail_at(0);
    CHECK(p == NULL);
}

static const struct tap_case cases[] = {
    TAP(results_do_not_depend_on_the_number_of_threads),
    TAP(many_small_loops_in_a_row_are_all_done),
    TAP(calls_allocate_nothing),
    TAP(nested_loops_run),
    TAP(several_threads_may_share_a_pool),
    TAP(reductions_join_in_order),
    TAP(empty_loops_do_nothing),
    TAP(bad_sizes_are_refused),
};
TAP_MAIN(cases)
