/* SPDX-License-Identifier: Apache-2.0 */
/* dist/key_order.h - ids of a table with keys, in an order that is the same on any number of
 * ranks: by class (owner.h), of a class by number.
 *
 *     dist_key_order_init(o, comm, &owner, &keys, most, err)
 *                                                        keys: those that this rank keeps
 *     dist_key_order_keeper(o, i)                        whose the i-th of all is
 *     dist_key_order_place(o, i)                         where in `keys`, on that rank
 *     dist_key_order_gather(o, &list, out, err)          a list that goes with the keys
 *
 * A class is one rank's, so each rank needs to know how many ids each class has, and the
 * order of its own.
 */
#ifndef DIST_KEY_ORDER_H
#define DIST_KEY_ORDER_H

#include "dist/owner.h"
#include "embed/lookup.h"

struct comm;

struct dist_key_order {
    struct comm *comm; /* borrowed */
    struct dist_owner owner;
    int64_t n;       /* ids of all ranks */
    int64_t *starts; /* [classes + 1]: ids of all ranks before those of a class */
    int64_t *own;    /* the same of the ids of this rank */
    int64_t *places; /* of this rank's ids, in this order */
};

/* Collective, as the last one. RC_NOMEM, those of comm.h. `most`: ids that the table has room
 * for.
 */
enum rc dist_key_order_init(struct dist_key_order *o, struct comm *comm,
                            const struct dist_owner *owner,
                            const struct lookup_list *keys, int64_t most,
                            struct err *err) MUST_CHECK;
void dist_key_order_release(struct dist_key_order *o);

int dist_key_order_keeper(const struct dist_key_order *o, int64_t i);
int64_t dist_key_order_place(const struct dist_key_order *o, int64_t i);

/* `own`: a number for each of this rank's keys; out[n] on rank 0, NULL on the others. */
enum rc dist_key_order_gather(const struct dist_key_order *o,
                              const struct lookup_list *own, int64_t *out,
                              struct err *err) MUST_CHECK;

#endif
