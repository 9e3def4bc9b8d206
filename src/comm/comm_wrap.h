/* SPDX-License-Identifier: Apache-2.0 */
/* comm/comm_wrap.h - a comm around another one: hands every call on, until the owner puts
 * functions of its own into w->ops.
 *
 *     comm_wrap_init(w, named, inner)    everything goes to `inner`
 *     comm_wrap_release(w)               at its end
 *
 * Steps and the speaker are those of the comm inside.
 */
#ifndef COMM_COMM_WRAP_H
#define COMM_COMM_WRAP_H

#include "comm/comm.h"

struct comm_wrap {
    struct comm comm;    /* first: what callers see; comm.inner is owned */
    struct comm_ops ops; /* of this object */
};

/* `named` gives name, summary and open. The owner sets `close`, which calls
 * comm_wrap_release(), and `dup`, which wraps what comm_dup(comm_inner(c)) gives.
 */
void comm_wrap_init(struct comm_wrap *w, const struct comm_ops *named,
                    struct comm *inner);
void comm_wrap_release(struct comm_wrap *w);
static inline struct comm *comm_inner(const struct comm *c)
{
    return c->inner;
}

#endif
