/* SPDX-License-Identifier: Apache-2.0 */
/* One rank of the cases of ranks.h over MPI, started by mpirun. MPI starts once in a
 * process, so each case has a dup of the one comm, which it may break. Every rank checks
 * itself; rank 0 prints, the others print only what is wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tap.h"
#include "unit/comm/ranks.h"

#define TIMEOUT_MS 4000

static struct comm *all; /* the one comm of the process */

static struct rank run_rank(void (*run)(struct rank *), void *arg)
{
    struct rank r = {
        .rank = comm_rank(all), .world = comm_world(all), .run = run, .arg = arg};
    CHECK_INT(comm_dup(all, &r.c, &r.err), RC_OK);
    if (r.c)
        run(&r);
    comm_close(r.c);
    return r;
}

static void check_fine(void (*run)(struct rank *))
{
    struct rank r = run_rank(run, NULL);
    CHECK_INT(r.rc, RC_OK);
    CHECK_STR(r.err.msg, "");
    CHECK_INT(r.bad, 0);
}

static bool too_few(int world)
{
    if (comm_world(all) >= world)
        return false;
    tap_skip("for more ranks");
    return true;
}

static void sums_are_made_in_the_order_of_ranks(void)
{
    check_fine(sum_floats);
    check_fine(sum_many);
}

static void every_type_is_combined_as_its_numbers(void)
{
    if (comm_world(all) == 3) /* the numbers of that case */
        check_fine(sum_types);
    else
        tap_skip("for three ranks");
}

static void uneven_and_empty_ranks_are_fine(void)
{
    check_fine(gather_uneven);
    check_fine(scatter_uneven);
    check_fine(deal);
    check_fine(send);
    check_fine(tell_all);
}

static void a_second_thread_has_a_comm_of_its_own(void)
{
    if (comm_world(all) == 2)
        check_fine(two_at_once);
    else
        tap_skip("for two ranks");
}

static void a_rank_that_aborts_fails_all_calls_of_all(void)
{
    if (too_few(3))
        return;
    struct rank r = run_rank(give_up_at_once, NULL);
    CHECK_INT(r.bad, 0);
    if (r.rank == 2)
        return;
    CHECK_INT(r.err.code, E2501);
    CHECK_HAS(r.err.msg, "rank 2 of ");
    CHECK_HAS(r.err.msg, " gave up: no memory for table 'x'");
}

/* The one that is late hears of it in its own call. */
static void come_late(struct rank *r)
{
    if (r->rank == 1)
        nanosleep(&(struct timespec){.tv_sec = 2 * TIMEOUT_MS / 1000}, NULL);
    r->rc = comm_barrier(r->c, &r->err);
}

static void a_rank_that_does_not_come_is_a_timeout(void)
{
    if (too_few(2))
        return;
    struct rank r = run_rank(come_late, NULL);
    CHECK_INT(r.rc, RC_IO);
    CHECK_INT(r.err.code, E2502);
    CHECK_HAS(r.err.msg, "barrier: after 4 s these of ");
    CHECK_HAS(r.err.msg, " ranks have not come: 1");
}

static void a_call_that_is_refused_here_fails_there(void)
{
    if (too_few(2))
        return;
    struct rank r = run_rank(bad_argument, NULL);
    CHECK_INT(r.rc, r.rank == 0 ? RC_INVAL : RC_IO);
    CHECK_HAS(r.err.msg, "all_reduce: -1 elements");
}

static void a_rank_that_leaves_fails_those_who_wait(void)
{
    if (too_few(2))
        return;
    struct rank r = run_rank(leave, NULL);
    if (r.rank == 1)
        return;
    CHECK_INT(r.err.code, E2501);
    CHECK_HAS(r.err.msg, "rank 1 of ");
}

static void ranks_that_disagree_are_told_about_what(void)
{
    static const char *const about[] = {"n", "op", "call"};
    static const char *const words[] = {"the number of elements", "the operation",
                                        "which call it is"};
    if (too_few(2))
        return;
    for (size_t i = 0; i < sizeof(about) / sizeof(about[0]); i++) {
        struct rank r = run_rank(disagree, (void *)(uintptr_t)about[i]);
        CHECK_INT(r.rc, RC_INVAL);
        CHECK_INT(r.err.code, E2503);
        CHECK_HAS(r.err.msg, words[i]);
    }
}

static void memory_out_of_reach_fails_all(void)
{
    if (too_few(2))
        return;
    struct rank r = run_rank(reach_too_far, NULL);
    CHECK_INT(r.rc, r.rank == 0 ? RC_UNSUPPORTED : RC_IO);
    CHECK_HAS(r.err.msg, "comm 'mpi' cannot reach the memory of device 3");
}

/* Rank 0 is through and gone while the others still wait for each other. */
static void meet_and_leave(struct rank *r)
{
    for (int i = 0; i < 200 && !r->rc; i++) {
        struct comm *c = NULL;
        r->rc = comm_dup(r->c, &c, &r->err);
        if (!r->rc)
            r->rc = comm_barrier(c, &r->err);
        comm_close(c);
    }
}

static void who_leaves_after_a_call_breaks_nothing(void)
{
    check_fine(meet_and_leave);
}

static void mpi_starts_once(void)
{
    struct comm *again = NULL;
    struct err err = {0};
    CHECK_INT(comm_open("mpi", &(struct comm_conf){.world = 0}, &again, &err),
              RC_UNSUPPORTED);
    CHECK_HAS(err.msg, "connected already");
}

static const struct tap_case cases[] = {
    TAP(sums_are_made_in_the_order_of_ranks),
    TAP(every_type_is_combined_as_its_numbers),
    TAP(uneven_and_empty_ranks_are_fine),
    TAP(a_second_thread_has_a_comm_of_its_own),
    TAP(a_rank_that_aborts_fails_all_calls_of_all),
    TAP(a_rank_that_leaves_fails_those_who_wait),
    TAP(ranks_that_disagree_are_told_about_what),
    TAP(a_call_that_is_refused_here_fails_there),
    TAP(memory_out_of_reach_fails_all),
    TAP(who_leaves_after_a_call_breaks_nothing),
    TAP(mpi_starts_once),
    /* last: the rank that comes late is late for the next case, too */
    TAP(a_rank_that_does_not_come_is_a_timeout),
};

int main(int argc, char **argv)
{
    const char *piece = getenv("TY_TEST_PIECE");
    struct comm_conf conf = {.timeout_ms = TIMEOUT_MS,
                             .piece = piece ? strtoll(piece, NULL, 10) : 0};
    struct err err = {0};
    if (comm_open("mpi", &conf, &all, &err)) {
        printf("Bail out! %s\n", err.msg);
        return 1;
    }
    if (comm_rank(all) > 0 && !freopen("/dev/null", "w", stdout))
        return 1;
    int bad = tap_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    if (bad)
        fprintf(stderr, "rank %d: failed\n", comm_rank(all));
    comm_close(all);
    return bad;
}
