/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/courier.h"

#include <pthread.h>

#include "base/mem.h"
#include "comm/threads.h"
#include "tap.h"

#define ERRANDS 50

struct rank {
    struct comm *comm;
    int64_t values[ERRANDS];
    struct comm_errand errands[ERRANDS];
    int ran; /* errands so far, in order */
    enum rc rc;
    struct err err;
    int64_t ns;
};

struct errand {
    struct rank *rank;
    int at;
};

static enum rc sum_one(void *arg, struct err *err)
{
    struct errand *e = arg;
    struct rank *r = e->rank;
    if (r->ran++ != e->at)
        return err_set(err, RC_INVAL, "errand %d was number %d", e->at, r->ran - 1);
    return comm_all_reduce(r->comm, comm_i64(&r->values[e->at]), 1, COMM_SUM, err);
}

static enum rc fail(void *arg, struct err *err)
{
    return err_set(err, RC_INVAL, "it cannot be done");
}

/* Posts all, then waits for the last one first. */
static void *run_rank(void *arg)
{
    struct rank *r = arg;
    struct errand all[ERRANDS];
    struct comm_courier *c = NULL;
    r->rc = comm_courier_create(r->comm, &c, &r->err);
    for (int i = 0; i < ERRANDS && !r->rc; i++) {
        all[i] = (struct errand){r, i};
        r->values[i] = i + comm_rank(r->comm);
        r->errands[i] = (struct comm_errand){.run = sum_one, .arg = &all[i]};
        comm_courier_post(c, &r->errands[i]);
    }
    for (int i = ERRANDS; i-- > 0 && !r->rc;)
        r->rc = comm_courier_wait(c, &r->errands[i], &r->err);
    r->ns = comm_ns(r->comm);
    comm_courier_destroy(c);
    return NULL;
}

static void open_pair(struct rank *ranks)
{
    struct comm_group *g = comm_group_create(2, 0);
    for (int r = 0; r < 2; r++) {
        struct comm_conf conf = {.rank = r, .world = 2, .group = g};
        ranks[r] = (struct rank){0};
        CHECK(comm_open("threads", &conf, &ranks[r].comm, NULL) == RC_OK);
    }
    comm_group_unref(g);
}

static void errands_run_in_the_order_in_which_they_were_posted(void)
{
    struct rank ranks[2];
    pthread_t threads[2];
    open_pair(ranks);
    for (int r = 0; r < 2; r++)
        pthread_create(&threads[r], NULL, run_rank, &ranks[r]);
    for (int r = 0; r < 2; r++)
        pthread_join(threads[r], NULL);
    for (int r = 0; r < 2; r++) {
        CHECK_STR(ranks[r].err.msg, "");
        for (int i = 0; i < ERRANDS; i++)
            CHECK_INT(ranks[r].values[i], 2 * i + 1);
        CHECK(ranks[r].ns >= 0);
        comm_close(ranks[r].comm);
    }
}

static void without_a_courier_an_errand_runs_at_once(void)
{
    struct comm_errand e = {.run = fail};
    struct err err = {0};
    comm_courier_post(NULL, &e);
    CHECK_INT(comm_courier_wait(NULL, &e, &err), RC_INVAL);
    CHECK_STR(err.msg, "it cannot be done");
    CHECK_INT(comm_courier_wait(NULL, &e, &err), RC_OK); /* said once */
}

static enum rc meet(void *arg, struct err *err)
{
    return comm_barrier(arg, err);
}

/* The other rank never comes to the barrier, and is told why nobody waits for it. */
static void a_courier_that_ends_with_errands_under_way_breaks_the_comm(void)
{
    struct rank ranks[2];
    struct comm_courier *c = NULL;
    struct err err = {0};
    open_pair(ranks);
    CHECK(comm_courier_create(ranks[0].comm, &c, &err) == RC_OK);
    struct comm_errand e = {.run = meet, .arg = ranks[0].comm};
    comm_courier_post(c, &e);
    comm_courier_destroy(c);
    CHECK_INT(comm_barrier(ranks[1].comm, &err), RC_IO);
    CHECK_STR(err.msg, "rank 0 of 2 gave up: it ended in the middle of a step");
    comm_close(ranks[0].comm);
    comm_close(ranks[1].comm);
}

static const struct tap_case cases[] = {
    TAP(errands_run_in_the_order_in_which_they_were_posted),
    TAP(without_a_courier_an_errand_runs_at_once),
    TAP(a_courier_that_ends_with_errands_under_way_breaks_the_comm),
};
TAP_MAIN(cases)
