/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/comm.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "comm/reduce.h"
#include "comm/threads.h"
#include "tap.h"

#define WORLD_MAX 7
#define QUICK_MS 50

/* One rank of a test; checks are counted here and made by the main thread. */
struct rank {
    struct comm *c;
    int rank, world;
    void (*run)(struct rank *);
    enum rc rc;
    struct err err;
    int64_t bad;
    void *arg;
};

static void *rank_main(void *arg)
{
    struct rank *r = arg;
    r->run(r);
    return NULL;
}

/* Runs `run` on all ranks of a world of threads. */
static void run_ranks(int world, int64_t timeout_ms, void (*run)(struct rank *),
                      void *arg, struct rank *ranks)
{
    pthread_t threads[WORLD_MAX];
    struct comm_group *g = comm_group_create(world, timeout_ms);
    for (int r = 0; r < world; r++) {
        ranks[r] = (struct rank){.rank = r, .world = world, .run = run, .arg = arg};
        struct comm_conf conf = {.rank = r, .world = world, .group = g};
        CHECK(comm_open("threads", &conf, &ranks[r].c, &ranks[r].err) == RC_OK);
    }
    comm_group_unref(g);
    for (int r = 0; r < world; r++)
        pthread_create(&threads[r], NULL, rank_main, &ranks[r]);
    for (int r = 0; r < world; r++)
        pthread_join(threads[r], NULL);
    for (int r = 0; r < world; r++)
        comm_close(ranks[r].c);
}

static void check_all_fine(const struct rank *ranks, int world)
{
    for (int r = 0; r < world; r++) {
        CHECK_INT(ranks[r].rc, RC_OK);
        CHECK_STR(ranks[r].err.msg, "");
        CHECK_INT(ranks[r].bad, 0);
    }
}

/* Values whose sum depends on the order of the additions. */
static float value_of(int rank, int64_t i)
{
    return (float)(rank % 2 ? -1 : 1) * (1.0f + (float)i * 0.37f) *
           (rank % 3 ? 1e-7f : 1e7f);
}

#define N 1003

static void sum_floats(struct rank *r)
{
    float *x = mem_alloc(N * sizeof(*x));
    for (int64_t round = 0; round < 20 && !r->rc; round++) {
        for (int64_t i = 0; i < N; i++)
            x[i] = value_of(r->rank, i + round);
        r->rc = comm_all_reduce(r->c, comm_f32(x), N, COMM_SUM, &r->err);
        for (int64_t i = 0; i < N; i++) {
            float want = value_of(0, i + round);
            for (int k = 1; k < r->world; k++)
                want += value_of(k, i + round);
            r->bad += memcmp(&want, &x[i], sizeof(want)) != 0;
        }
    }
    mem_free(x);
}

static void sums_are_made_in_the_order_of_ranks(void)
{
    struct rank ranks[WORLD_MAX];
    for (int world = 1; world <= WORLD_MAX; world++) {
        run_ranks(world, 0, sum_floats, NULL, ranks);
        check_all_fine(ranks, world);
    }
}

static void sum_types(struct rank *r)
{
    int64_t big[2] = {INT64_MAX, r->rank};
    int32_t small[1] = {-r->rank};
    double d[1] = {r->rank == 1 ? (double)NAN : r->rank};
    uint16_t half[2] = {0x3f80, r->rank == 0 ? 0x4380 : 0x3f80}; /* 1; 256 or 1 */
    struct comm_mem f64 = {.data = d, .type = COMM_F64};
    struct comm_mem i32 = {.data = small, .type = COMM_I32};
    struct comm_mem bf16 = {.data = half, .type = COMM_BF16};
    r->rc = comm_all_reduce(r->c, comm_i64(big), 2, COMM_MAX, &r->err);
    if (!r->rc)
        r->rc = comm_all_reduce(r->c, i32, 1, COMM_MIN, &r->err);
    if (!r->rc)
        r->rc = comm_all_reduce(r->c, f64, 1, COMM_MAX, &r->err);
    if (!r->rc)
        r->rc = comm_all_reduce(r->c, bf16, 2, COMM_SUM, &r->err);
    r->bad += big[0] != INT64_MAX || big[1] != r->world - 1;
    r->bad += small[0] != 1 - r->world;
    r->bad += !isnan(d[0]);
    /* 3; 256 + 1 + 1 rounds to 258, where adding in bf16 would stay at 256 */
    r->bad += half[0] != 0x4040 || half[1] != 0x4381;
}

static void every_type_is_combined_as_its_numbers(void)
{
    struct rank ranks[WORLD_MAX];
    run_ranks(3, 0, sum_types, NULL, ranks);
    check_all_fine(ranks, 3);
}

/* Rank r has 3 * r elements: rank 0 has none. */
static void gather_uneven(struct rank *r)
{
    int64_t counts[WORLD_MAX], total = 0, own[3 * WORLD_MAX], all[3 * 28], at = 0;
    for (int k = 0; k < r->world; k++)
        total += counts[k] = 3 * k;
    for (int64_t i = 0; i < counts[r->rank]; i++)
        own[i] = r->rank * 100 + i;
    struct comm_mem in = comm_i64(counts[r->rank] ? own : NULL);
    r->rc = comm_all_gather(r->c, in, comm_i64(all), counts, &r->err);
    for (int k = 0; k < r->world; k++)
        for (int64_t i = 0; i < counts[k]; i++)
            r->bad += all[at++] != k * 100 + i;
    /* again, each from its own place of the result */
    int64_t before = 3 * r->rank * (r->rank - 1) / 2;
    for (int64_t i = 0; i < total; i++)
        if (i < before || i >= before + counts[r->rank])
            all[i] = -1;
    if (!r->rc)
        r->rc =
            comm_all_gather(r->c, comm_i64(all + before), comm_i64(all), counts, &r->err);
    at = 0;
    for (int k = 0; k < r->world; k++)
        for (int64_t i = 0; i < counts[k]; i++)
            r->bad += all[at++] != k * 100 + i;
}

static void gathering_takes_uneven_and_empty_ranks(void)
{
    struct rank ranks[WORLD_MAX];
    for (int world = 1; world <= WORLD_MAX; world++) {
        run_ranks(world, 0, gather_uneven, NULL, ranks);
        check_all_fine(ranks, world);
    }
}

static void scatter_uneven(struct rank *r)
{
    int64_t counts[WORLD_MAX], n = 0, before = 0;
    float in[64], out[64];
    for (int k = 0; k < r->world; k++) {
        counts[k] = k == 1 ? 0 : 5 + k;
        before += k < r->rank ? counts[k] : 0;
        n += counts[k];
    }
    for (int64_t i = 0; i < n; i++)
        in[i] = value_of(r->rank, i);
    r->rc =
        comm_reduce_scatter(r->c, comm_f32(in), counts, comm_f32(out), COMM_SUM, &r->err);
    for (int64_t i = 0; i < counts[r->rank]; i++) {
        float want = value_of(0, before + i);
        for (int k = 1; k < r->world; k++)
            want += value_of(k, before + i);
        r->bad += memcmp(&want, &out[i], sizeof(want)) != 0;
    }
}

static void scattering_takes_uneven_and_empty_ranks(void)
{
    struct rank ranks[WORLD_MAX];
    for (int world = 1; world <= WORLD_MAX; world++) {
        run_ranks(world, 0, scatter_uneven, NULL, ranks);
        check_all_fine(ranks, world);
    }
}

/* Rank r sends s elements to rank s, and none to itself. */
static void deal(struct rank *r)
{
    int64_t send[WORLD_MAX], receive[WORLD_MAX], in[64], out[64], n = 0, at = 0;
    for (int s = 0; s < r->world; s++) {
        send[s] = s == r->rank ? 0 : s;
        for (int64_t i = 0; i < send[s]; i++)
            in[n++] = r->rank * 1000 + s * 10 + i;
    }
    r->rc = comm_exchange(r->c, send, receive, &r->err);
    if (!r->rc)
        r->rc =
            comm_all_to_all(r->c, comm_i64(in), send, comm_i64(out), receive, &r->err);
    for (int s = 0; s < r->world; s++) {
        r->bad += receive[s] != (s == r->rank ? 0 : r->rank);
        for (int64_t i = 0; i < receive[s]; i++)
            r->bad += out[at++] != s * 1000 + r->rank * 10 + i;
    }
}

static void all_to_all_deals_uneven_shares(void)
{
    struct rank ranks[WORLD_MAX];
    for (int world = 1; world <= WORLD_MAX; world++) {
        run_ranks(world, 0, deal, NULL, ranks);
        check_all_fine(ranks, world);
    }
}

static void tell_all(struct rank *r)
{
    for (int root = 0; root < r->world && !r->rc; root++) {
        int64_t x = r->rank;
        r->rc = comm_broadcast(r->c, comm_i64(&x), 1, root, &r->err);
        r->bad += x != root;
    }
}

static void every_rank_can_broadcast(void)
{
    struct rank ranks[WORLD_MAX];
    run_ranks(4, 0, tell_all, NULL, ranks);
    check_all_fine(ranks, 4);
}

static void give_up_at_once(struct rank *r)
{
    struct err why = {.msg = "no memory for table 'x'"};
    float x = 1;
    if (r->rank == 2)
        comm_abort(r->c, &why);
    else
        r->rc = comm_all_reduce(r->c, comm_f32(&x), 1, COMM_SUM, &r->err);
    enum rc again = comm_barrier(r->c, NULL);
    r->bad = again != RC_IO;
}

static void a_rank_that_aborts_fails_all_calls_of_all(void)
{
    struct rank ranks[WORLD_MAX];
    run_ranks(4, 0, give_up_at_once, NULL, ranks);
    for (int r = 0; r < 4; r++) {
        CHECK_INT(ranks[r].bad, 0);
        if (r == 2)
            continue;
        CHECK_INT(ranks[r].rc, RC_IO);
        CHECK_INT(ranks[r].err.code, E2501);
        CHECK_STR(ranks[r].err.msg, "rank 2 of 4 gave up: no memory for table 'x'");
    }
}

static void stay_away(struct rank *r)
{
    if (r->rank != 1)
        r->rc = comm_barrier(r->c, &r->err);
}

static void a_rank_that_does_not_come_is_a_timeout(void)
{
    struct rank ranks[WORLD_MAX];
    run_ranks(3, QUICK_MS, stay_away, NULL, ranks);
    for (int r = 0; r < 3; r += 2) {
        CHECK_INT(ranks[r].rc, RC_IO);
        CHECK_INT(ranks[r].err.code, E2502);
        CHECK_STR(ranks[r].err.msg,
                  "barrier: after 0.05 s these of 3 ranks have not come: 1");
    }
}

static void leave(struct rank *r)
{
    if (r->rank != 1) {
        r->rc = comm_barrier(r->c, &r->err);
        return;
    }
    comm_close(r->c);
    r->c = NULL;
}

static void a_rank_that_leaves_fails_those_who_wait(void)
{
    struct rank ranks[WORLD_MAX];
    run_ranks(3, 0, leave, NULL, ranks);
    for (int r = 0; r < 3; r += 2) {
        CHECK_INT(ranks[r].rc, RC_IO);
        CHECK_INT(ranks[r].err.code, E2501);
        CHECK_HAS(ranks[r].err.msg, "rank 1 of 3 ");
    }
}

static void disagree(struct rank *r)
{
    const char *about = r->arg;
    float x[4] = {0};
    int64_t n = r->rank == 1 && strcmp(about, "n") == 0 ? 3 : 4;
    enum comm_op op = r->rank == 1 && strcmp(about, "op") == 0 ? COMM_MAX : COMM_SUM;
    if (r->rank == 1 && strcmp(about, "call") == 0)
        r->rc = comm_barrier(r->c, &r->err);
    else
        r->rc = comm_all_reduce(r->c, comm_f32(x), n, op, &r->err);
}

static void ranks_that_disagree_are_told_about_what(void)
{
    static const struct {
        const char *about, *message;
    } tries[] = {
        {"n", "rank 0 calls all_reduce, rank 1 calls all_reduce: they disagree about the "
              "number of elements"},
        {"op",
         "rank 0 calls all_reduce, rank 1 calls all_reduce: they disagree about the "
         "operation"},
        {"call", "rank 0 calls all_reduce, rank 1 calls barrier: they disagree about "
                 "which call it is"},
    };
    struct rank ranks[WORLD_MAX];
    for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
        run_ranks(2, 0, disagree, (void *)(uintptr_t)tries[i].about, ranks);
        for (int r = 0; r < 2; r++) {
            CHECK_INT(ranks[r].rc, RC_INVAL);
            CHECK_INT(ranks[r].err.code, E2503);
            CHECK_STR(ranks[r].err.msg, tries[i].message);
        }
    }
}

static void bad_argument(struct rank *r)
{
    float x = 0;
    r->rc = comm_all_reduce(r->c, comm_f32(&x), r->rank == 0 ? -1 : 1, COMM_SUM, &r->err);
}

static void a_call_that_is_refused_here_fails_there(void)
{
    struct rank ranks[WORLD_MAX];
    run_ranks(2, 0, bad_argument, NULL, ranks);
    CHECK_INT(ranks[0].rc, RC_INVAL);
    CHECK_STR(ranks[0].err.msg, "all_reduce: -1 elements");
    CHECK_INT(ranks[1].rc, RC_IO);
    CHECK_STR(ranks[1].err.msg, "rank 0 of 2 gave up: all_reduce: -1 elements");
}

struct pair {
    struct comm *c;
    int64_t bad;
};

static void *count_up(void *arg)
{
    struct pair *p = arg;
    for (int64_t i = 0; i < 200; i++) {
        int64_t x = i;
        if (comm_all_reduce(p->c, comm_i64(&x), 1, COMM_SUM, NULL) || x != 2 * i)
            p->bad++;
    }
    return NULL;
}

/* Two threads of each rank, each with its own comm, at the same time. */
static void two_at_once(struct rank *r)
{
    struct pair first = {.c = r->c}, second = {0};
    pthread_t other;
    r->rc = comm_dup(r->c, &second.c, &r->err);
    if (r->rc)
        return;
    pthread_create(&other, NULL, count_up, &second);
    count_up(&first);
    pthread_join(other, NULL);
    r->bad = first.bad + second.bad;
    comm_close(second.c);
}

static void a_second_thread_has_a_comm_of_its_own(void)
{
    struct rank ranks[WORLD_MAX];
    run_ranks(2, 0, two_at_once, NULL, ranks);
    check_all_fine(ranks, 2);
}

static void one_rank_needs_no_comm(void)
{
    float x[2] = {1, 2}, y[2] = {0};
    int64_t count = 2, got = 0;
    struct comm *self = NULL;
    struct err err = {0};
    CHECK(comm_open("self", &(struct comm_conf){.world = 1}, &self, &err) == RC_OK);
    struct comm *both[] = {NULL, self};
    for (int i = 0; i < 2; i++) {
        struct comm *c = both[i];
        y[1] = 0;
        CHECK_INT(comm_rank(c), 0);
        CHECK_INT(comm_world(c), 1);
        CHECK(comm_barrier(c, &err) == RC_OK);
        CHECK(comm_all_reduce(c, comm_f32(x), 2, COMM_SUM, &err) == RC_OK);
        CHECK(x[0] == 1 && x[1] == 2);
        CHECK(comm_broadcast(c, comm_f32(x), 2, 0, &err) == RC_OK);
        CHECK(comm_all_gather(c, comm_f32(x), comm_f32(y), &count, &err) == RC_OK);
        CHECK(y[1] == 2);
        y[1] = 0;
        CHECK(comm_reduce_scatter(c, comm_f32(x), &count, comm_f32(y), COMM_SUM, &err) ==
              RC_OK);
        CHECK(y[1] == 2);
        CHECK(comm_exchange(c, &count, &got, &err) == RC_OK);
        CHECK_INT(got, 2);
        comm_abort(c, &err);
    }
    comm_close(self);
}

static void what_cannot_be_opened_says_why(void)
{
    struct comm *c = NULL;
    struct err err = {0};
    CHECK(comm_open("smoke", &(struct comm_conf){.world = 1}, &c, &err) == RC_NOTFOUND);
    CHECK_STR(err.msg, "there is no comm 'smoke'");
    CHECK(comm_open("self", &(struct comm_conf){.world = 2}, &c, &err) == RC_INVAL);
    CHECK_STR(err.msg, "comm 'self' has one rank, not 2");
    CHECK(comm_open("threads", &(struct comm_conf){.world = 2}, &c, &err) == RC_INVAL);
    CHECK_STR(err.msg, "comm 'threads' wants a group of 2 ranks, not 0");
    CHECK(comm_open("self", &(struct comm_conf){.rank = 1, .world = 1}, &c, &err) ==
          RC_INVAL);
    CHECK_STR(err.msg, "rank 1 is not one of 1 ranks");
    struct comm_mem elsewhere = {.device = (enum comm_device)3};
    CHECK(comm_broadcast(NULL, elsewhere, 0, 0, &err) == RC_UNSUPPORTED);
    CHECK_STR(err.msg, "comm 'self' cannot reach the memory of device 3");
}

static const struct tap_case cases[] = {
    TAP(sums_are_made_in_the_order_of_ranks),
    TAP(every_type_is_combined_as_its_numbers),
    TAP(gathering_takes_uneven_and_empty_ranks),
    TAP(scattering_takes_uneven_and_empty_ranks),
    TAP(all_to_all_deals_uneven_shares),
    TAP(every_rank_can_broadcast),
    TAP(a_rank_that_aborts_fails_all_calls_of_all),
    TAP(a_rank_that_does_not_come_is_a_timeout),
    TAP(a_rank_that_leaves_fails_those_who_wait),
    TAP(ranks_that_disagree_are_told_about_what),
    TAP(a_call_that_is_refused_here_fails_there),
    TAP(a_second_thread_has_a_comm_of_its_own),
    TAP(one_rank_needs_no_comm),
    TAP(what_cannot_be_opened_says_why),
};
TAP_MAIN(cases)
