/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/comm.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "comm/reduce.h"
#include "comm/threads.h"
#include "tap.h"
#include "unit/comm/ranks.h"

#define QUICK_MS 50

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

static void sums_are_made_in_the_order_of_ranks(void)
{
    struct rank ranks[WORLD_MAX];
    for (int world = 1; world <= WORLD_MAX; world++) {
        run_ranks(world, 0, sum_floats, NULL, ranks);
        check_all_fine(ranks, world);
        run_ranks(world, 0, sum_many, NULL, ranks);
        check_all_fine(ranks, world);
    }
}

static void every_type_is_combined_as_its_numbers(void)
{
    struct rank ranks[WORLD_MAX];
    run_ranks(3, 0, sum_types, NULL, ranks);
    check_all_fine(ranks, 3);
}

static void gathering_takes_uneven_and_empty_ranks(void)
{
    struct rank ranks[WORLD_MAX];
    for (int world = 1; world <= WORLD_MAX; world++) {
        run_ranks(world, 0, gather_uneven, NULL, ranks);
        check_all_fine(ranks, world);
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

static void all_to_all_deals_uneven_shares(void)
{
    struct rank ranks[WORLD_MAX];
    for (int world = 1; world <= WORLD_MAX; world++) {
        run_ranks(world, 0, deal, NULL, ranks);
        check_all_fine(ranks, world);
    }
}

static void every_rank_can_broadcast(void)
{
    struct rank ranks[WORLD_MAX];
    run_ranks(4, 0, tell_all, NULL, ranks);
    check_all_fine(ranks, 4);
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

static void a_call_that_is_refused_here_fails_there(void)
{
    struct rank ranks[WORLD_MAX];
    run_ranks(2, 0, bad_argument, NULL, ranks);
    CHECK_INT(ranks[0].rc, RC_INVAL);
    CHECK_STR(ranks[0].err.msg, "all_reduce: -1 elements");
    CHECK_INT(ranks[1].rc, RC_IO);
    CHECK_STR(ranks[1].err.msg, "rank 0 of 2 gave up: all_reduce: -1 elements");
}

static void memory_out_of_reach_fails_all(void)
{
    struct rank ranks[WORLD_MAX];
    run_ranks(2, 0, reach_too_far, NULL, ranks);
    CHECK_INT(ranks[0].rc, RC_UNSUPPORTED);
    CHECK_INT(ranks[1].rc, RC_IO);
    CHECK_HAS(ranks[1].err.msg, "rank 0 of 2 gave up: comm 'threads' cannot reach");
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
    CHECK(comm_open("mpi", &(struct comm_conf){.world = 0}, &c, &err) == RC_NOTFOUND);
    CHECK_STR(err.msg, "comm 'mpi' needs libtrainyard_mpi.so, which is not beside the "
                       "program or in ../lib/trainyard");
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
    TAP(memory_out_of_reach_fails_all),
    TAP(a_second_thread_has_a_comm_of_its_own),
    TAP(one_rank_needs_no_comm),
    TAP(what_cannot_be_opened_says_why),
};
TAP_MAIN(cases)
