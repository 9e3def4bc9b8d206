/* SPDX-License-Identifier: Apache-2.0 */
/* mpi/mpi_private.h - a comm over MPI, and how it waits for its peers. */
#ifndef MPI_MPI_PRIVATE_H
#define MPI_MPI_PRIVATE_H

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "comm/call.h"
#include "comm/comm.h"

/* Messages from one rank to another, beside MPI's own collectives. */
enum { TAG_CALL = 1, TAG_DATA, TAG_BROKEN, TAG_LEFT, TAG_BEAT };

/* What a rank tells another before a call. */
struct mpi_hello {
    struct comm_call call;
    int64_t send, receive; /* all_to_all: elements to that rank, and from it */
    int64_t most;          /* elements that the sender gives or takes in all */
};

/* What it tells all when the comm breaks. */
struct mpi_broken {
    int32_t rc, speaker;
    struct err why;
};

struct mpi_beat; /* beat.c */

struct mpi_comm {
    struct comm comm;
    MPI_Comm mpi;
    struct mpi_beat *beat; /* NULL: nobody watches whether ranks are alive */
    int64_t timeout_ms, piece;
    int crowded;              /* waits that nap at once: the cores are busy */
    int kind;                 /* of the call under way, for messages */
    bool *left;               /* [world]: has closed its comm */
    struct mpi_hello *hellos; /* [2 * world]: received, then sent */
    MPI_Request *requests;    /* [2 * world] */
    int *ints;                /* [4 * world]: counts and displacements */
    unsigned char *scratch;   /* parts of all ranks, before they are combined */
    size_t room;              /* of it */
    pthread_mutex_t lock;     /* guards the rest, for comm_abort() of another thread */
    bool broken;
    struct mpi_broken news;
};

/* Says `why` to all ranks and to every later call; the first reason stays. Returns rc. */
enum rc mpi_break(struct mpi_comm *c, enum rc rc, const struct err *why, bool tell);
/* RC_OK, or why the comm is broken; looks for what peers say. */
enum rc mpi_sound(struct mpi_comm *c, struct err *err) MUST_CHECK;
/* Until all n requests are complete. `from`: requests[r], r < world, receive from rank r,
 * which is named when it does not come. Breaks the comm when it fails.
 */
enum rc mpi_wait(struct mpi_comm *c, MPI_Request *requests, int n, bool from,
                 struct err *err) MUST_CHECK;
/* Ranks tell each other now and then that they live, from a thread of their own; one that
 * is not heard of for silence_ms breaks the comm. Collective. RC_IO E2504.
 */
enum rc mpi_beat_start(struct mpi_comm *c, int64_t silence_ms,
                       struct err *err) MUST_CHECK;
void mpi_beat_stop(struct mpi_comm *c); /* fine when there is none */
/* Where a rank runs; "" when nobody watches. Borrowed. */
const char *mpi_beat_host(const struct mpi_comm *c, int rank);

/* RC_OK, or MPI's own words, with which the comm breaks. */
enum rc mpi_check(struct mpi_comm *c, int code, const char *doing,
                  struct err *err) MUST_CHECK;

#endif
