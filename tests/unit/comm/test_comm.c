/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/comm.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "comm/comm_private.h"
#include "comm/comm_wrap.h"
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

static void send_all_tells_how_much_comes(void)
{
    struct rank ranks[WORLD_MAX];
    for (int world = 1; world <= WORLD_MAX; world++) {
        run_ranks(world, 0, send, NULL, ranks);
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

static void processes_have_a_comm_of_their_own(void)
{
    const char *name = NULL;
    struct err err = {0};
    CHECK(comm_of_processes(NULL, &name, &err) == RC_OK);
    CHECK_STR(name, "mpi");
    CHECK(comm_of_processes("mpi", &name, &err) == RC_OK);
    CHECK_STR(name, "mpi");
    CHECK(comm_of_processes("threads", &name, &err) == RC_INVAL);
    CHECK_STR(err.msg, "comm 'threads' does not connect processes; those that do: mpi");
    CHECK_INT(err.code, E2504);
}

/* A comm that fails everywhere and says nothing. */
static enum rc mute_dup(struct comm *c, struct comm **out, struct err *err)
{
    return RC_IO;
}

static enum rc mute_barrier(struct comm *c, struct err *err)
{
    return RC_IO;
}

static enum rc mute_broadcast(struct comm *c, struct comm_mem data, int64_t n, int root,
                              struct err *err)
{
    return RC_IO;
}

static enum rc mute_all_reduce(struct comm *c, struct comm_mem data, int64_t n,
                               enum comm_op op, struct err *err)
{
    return RC_IO;
}

static enum rc mute_reduce_scatter(struct comm *c, struct comm_mem in,
                                   const int64_t *counts, struct comm_mem out,
                                   enum comm_op op, struct err *err)
{
    return RC_IO;
}

static enum rc mute_all_gather(struct comm *c, struct comm_mem in, struct comm_mem out,
                               const int64_t *counts, struct err *err)
{
    return RC_IO;
}

static enum rc mute_all_to_all(struct comm *c, struct comm_mem in, const int64_t *send,
                               struct comm_mem out, const int64_t *receive,
                               struct err *err)
{
    return RC_IO;
}

static enum rc mute_send_all(struct comm *c, struct comm_mem in, const int64_t *counts,
                             const struct comm_inbox *out, int64_t *receive,
                             struct err *err)
{
    return RC_IO;
}

static const struct comm_ops mute_ops = {.name = "mute",
                                         .dup = mute_dup,
                                         .barrier = mute_barrier,
                                         .broadcast = mute_broadcast,
                                         .all_reduce = mute_all_reduce,
                                         .reduce_scatter = mute_reduce_scatter,
                                         .all_gather = mute_all_gather,
                                         .all_to_all = mute_all_to_all,
                                         .send_all = mute_send_all};

static void check_mute(enum rc rc, struct err *err, const char *function)
{
    char said[100];
    snprintf(said, sizeof(said), "comm 'mute': %s() failed without a message (i/o)",
             function);
    CHECK_INT(rc, RC_IO);
    CHECK_STR(err->msg, said);
    CHECK_INT(err->code, E0010);
    *err = (struct err){0};
}

static void a_comm_that_fails_without_a_word_is_named(void)
{
    struct comm mute = {.ops = &mute_ops, .world = 1}, *c = &mute, *out = NULL;
    struct err err = {0};
    float x[1] = {0};
    int64_t n = 1;
    struct comm_mem m = comm_f32(x);
    check_mute(comm_dup(c, &out, &err), &err, "dup");
    check_mute(comm_barrier(c, &err), &err, "barrier");
    check_mute(comm_broadcast(c, m, 1, 0, &err), &err, "broadcast");
    check_mute(comm_all_reduce(c, m, 1, COMM_SUM, &err), &err, "all_reduce");
    check_mute(comm_reduce_scatter(c, m, &n, m, COMM_SUM, &err), &err, "reduce_scatter");
    check_mute(comm_all_gather(c, m, m, &n, &err), &err, "all_gather");
    check_mute(comm_all_to_all(c, m, &n, m, &n, &err), &err, "all_to_all");
    struct comm_inbox inbox = {.type = COMM_F32};
    check_mute(comm_send_all(c, m, &n, &inbox, &n, &err), &err, "send_all");
}

/* One rank whose table lacks a method, or whose open() or dup() gives what it must not. */
static struct {
    struct comm_ops ops;
    struct comm comm;
    bool gives_nothing;
    int closed;
} odd;

static enum rc odd_open(const struct comm_conf *conf, struct comm **out, struct err *err)
{
    odd.comm.ops = &odd.ops;
    *out = odd.gives_nothing ? NULL : &odd.comm;
    return RC_OK;
}

static enum rc odd_dup(struct comm *c, struct comm **out, struct err *err)
{
    return odd_open(NULL, out, err);
}

static void odd_close(struct comm *c)
{
    odd.closed++;
}

static void odd_set(int rank, int world)
{
    memset(&odd, 0, sizeof(odd));
    odd.ops = comm_self_ops;
    odd.ops.name = "odd";
    odd.ops.open = odd_open;
    odd.ops.dup = odd_dup;
    odd.ops.close = odd_close;
    odd.comm.rank = rank;
    odd.comm.world = world;
}

static void check_odd(const char *said)
{
    struct comm *c = NULL;
    struct err err = {0};
    CHECK_INT(comm_open_by(&odd.ops, &(struct comm_conf){.world = 1}, &c, &err),
              RC_INVAL);
    CHECK(c == NULL);
    CHECK_STR(err.msg, said);
    CHECK_INT(err.code, E0011);
}

static void a_comm_that_lacks_a_method_is_refused_by_name(void)
{
    odd_set(0, 1);
    odd.ops.all_reduce = NULL;
    check_odd("comm 'odd': open() gave a comm that has no all_reduce()");
    CHECK_INT(odd.closed, 1);
    odd_set(0, 1);
    odd.ops.close = NULL;
    check_odd("comm 'odd': open() gave a comm that has no close()");
    odd_set(0, 1);
    odd.ops.open = NULL;
    check_odd("comm 'odd': open() is missing");
}

static void success_without_a_comm_is_an_error(void)
{
    struct comm *c = NULL, *second = NULL;
    struct err err = {0};
    odd_set(0, 1);
    odd.gives_nothing = true;
    check_odd("comm 'odd': open() succeeded without a comm");
    odd_set(3, 2);
    check_odd("comm 'odd': open() gave rank 3 of 2 ranks");
    odd_set(1, 2);
    check_odd("comm 'odd': open() gave rank 1 of 2 ranks, not rank 0 of 1");
    odd_set(0, 1);
    CHECK(comm_open_by(&odd.ops, &(struct comm_conf){.world = 1}, &c, &err) == RC_OK);
    odd.gives_nothing = true;
    CHECK_INT(comm_dup(c, &second, &err), RC_INVAL);
    CHECK_STR(err.msg, "comm 'odd': dup() succeeded without a comm");
    CHECK(second == NULL);
    comm_close(c);
}

/* Two threads around the comm of threads, whose table has no send_all(). */
static void without_send_all(struct rank *r)
{
    struct comm_wrap w;
    comm_wrap_init(&w, r->c->ops, r->c);
    w.ops.send_all = NULL;
    struct rank outer = *r;
    outer.c = &w.comm;
    send(&outer);
    r->rc = outer.rc;
    r->bad = outer.bad;
    r->err = outer.err;
}

static void a_comm_without_send_all_sends_numbers_first(void)
{
    struct rank ranks[WORLD_MAX];
    for (int world = 1; world <= 4; world++) {
        run_ranks(world, 0, without_send_all, NULL, ranks);
        check_all_fine(ranks, world);
    }
}

static void a_wrap_has_the_step_and_the_speaker_of_the_comm_inside(void)
{
    struct comm *self = NULL;
    struct comm_wrap w;
    struct err err = {0};
    float x[1] = {4};
    int64_t n = 1, got = 0;
    CHECK(comm_open("self", &(struct comm_conf){.world = 1}, &self, &err) == RC_OK);
    comm_wrap_init(&w, &mute_ops, self);
    comm_note_step(&w.comm, 6);
    CHECK_INT(comm_step(self), 6);
    CHECK_INT(comm_step(&w.comm), 6);
    atomic_store(&self->speaker, 1);
    CHECK_INT(comm_speaker(&w.comm), 1);
    struct comm_mem m = comm_f32(x);
    CHECK(comm_barrier(&w.comm, &err) == RC_OK);
    CHECK(comm_broadcast(&w.comm, m, 1, 0, &err) == RC_OK);
    CHECK(comm_all_reduce(&w.comm, m, 1, COMM_SUM, &err) == RC_OK);
    CHECK(comm_reduce_scatter(&w.comm, m, &n, m, COMM_SUM, &err) == RC_OK);
    CHECK(comm_all_gather(&w.comm, m, m, &n, &err) == RC_OK);
    CHECK(comm_all_to_all(&w.comm, m, &n, m, &n, &err) == RC_OK);
    CHECK(comm_exchange(&w.comm, &n, &got, &err) == RC_OK && got == 1 && x[0] == 4);
    comm_wrap_release(&w);
    CHECK(w.comm.inner == NULL);
}

/* Whatever the implementation does about it. */
static void steps_are_noted_where_the_caller_says(void)
{
    struct comm *self = NULL, *second = NULL;
    struct err err = {0};
    _Atomic int64_t at = 0;
    struct comm_conf conf = {.world = 1, .step = &at};
    CHECK(comm_open("self", &conf, &self, &err) == RC_OK);
    CHECK_INT(comm_step(self), -1);
    comm_note_step(self, 0);
    CHECK_INT(at, 1);
    comm_note_step(self, 41);
    CHECK_INT(at, 42);
    CHECK_INT(comm_step(self), 41);
    CHECK(comm_dup(self, &second, &err) == RC_OK);
    CHECK_INT(comm_step(second), -1);
    comm_note_step(second, 7);
    CHECK_INT(at, 42);
    comm_close(self);
    CHECK_INT(comm_step(second), 7);
    comm_close(second);
}

static const struct tap_case cases[] = {
    TAP(sums_are_made_in_the_order_of_ranks),
    TAP(every_type_is_combined_as_its_numbers),
    TAP(gathering_takes_uneven_and_empty_ranks),
    TAP(scattering_takes_uneven_and_empty_ranks),
    TAP(all_to_all_deals_uneven_shares),
    TAP(send_all_tells_how_much_comes),
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
    TAP(processes_have_a_comm_of_their_own),
    TAP(a_comm_that_fails_without_a_word_is_named),
    TAP(a_comm_that_lacks_a_method_is_refused_by_name),
    TAP(success_without_a_comm_is_an_error),
    TAP(a_comm_without_send_all_sends_numbers_first),
    TAP(a_wrap_has_the_step_and_the_speaker_of_the_comm_inside),
    TAP(steps_are_noted_where_the_caller_says),
};
TAP_MAIN(cases)
