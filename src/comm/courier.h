/* SPDX-License-Identifier: Apache-2.0 */
/* comm/courier.h - calls of a comm that a thread makes while the caller computes.
 *
 *     comm_courier_post(c, &errand)        its function will be called by the thread
 *     ...                                    the caller computes something else
 *     comm_courier_wait(c, &errand, err)   what the function returned
 *
 * Errands run one after the other in the order in which they were posted, which must be
 * the same on all ranks, as that of calls is. One thread posts and waits. It uses the comm
 * itself only when all errands are done: the comm has one user at a time. Time spent in
 * errands counts as the comm's (comm_ns()) as far as somebody waited for it.
 */
#ifndef COMM_COURIER_H
#define COMM_COURIER_H

#include "comm/comm.h"

struct comm_courier;

/* Borrowed from comm_courier_post() until it is waited for. */
struct comm_errand {
    enum rc (*run)(void *arg, struct err *err);
    void *arg;
    /* The courier's: */
    struct comm_errand *next;
    bool posted, done;
    enum rc rc;
    struct err err;
};

/* The comm is borrowed. RC_IO: no thread. */
enum rc comm_courier_create(struct comm *comm, struct comm_courier **out,
                            struct err *err) MUST_CHECK;
/* NULL is fine. Errands that are not done would wait for ranks that may never come: then
 * the comm is aborted first, unless the caller has done so.
 */
void comm_courier_destroy(struct comm_courier *c);

/* Without a courier (NULL) the errand runs here and now. */
void comm_courier_post(struct comm_courier *c, struct comm_errand *e);
/* What the errand returned, once; RC_OK for one that was not posted since. */
enum rc comm_courier_wait(struct comm_courier *c, struct comm_errand *e,
                          struct err *err) MUST_CHECK;

#endif
