/* SPDX-License-Identifier: Apache-2.0 */
/* Every call of a comm, handed on to the one inside. */
#include "comm/comm_wrap.h"

static void wrap_abort(struct comm *c, const struct err *why)
{
    comm_abort(c->inner, why);
}

static enum rc wrap_barrier(struct comm *c, struct err *err)
{
    return comm_barrier(c->inner, err);
}

static enum rc wrap_broadcast(struct comm *c, struct comm_mem data, int64_t n, int root,
                              struct err *err)
{
    return comm_broadcast(c->inner, data, n, root, err);
}

static enum rc wrap_all_reduce(struct comm *c, struct comm_mem data, int64_t n,
                               enum comm_op op, struct err *err)
{
    return comm_all_reduce(c->inner, data, n, op, err);
}

static enum rc wrap_reduce_scatter(struct comm *c, struct comm_mem in,
                                   const int64_t *counts, struct comm_mem out,
                                   enum comm_op op, struct err *err)
{
    return comm_reduce_scatter(c->inner, in, counts, out, op, err);
}

static enum rc wrap_all_gather(struct comm *c, struct comm_mem in, struct comm_mem out,
                               const int64_t *counts, struct err *err)
{
    return comm_all_gather(c->inner, in, out, counts, err);
}

static enum rc wrap_all_to_all(struct comm *c, struct comm_mem in, const int64_t *send,
                               struct comm_mem out, const int64_t *receive,
                               struct err *err)
{
    return comm_all_to_all(c->inner, in, send, out, receive, err);
}

static enum rc wrap_send_all(struct comm *c, struct comm_mem in, const int64_t *send,
                             const struct comm_inbox *out, int64_t *receive,
                             struct err *err)
{
    return comm_send_all(c->inner, in, send, out, receive, err);
}

void comm_wrap_init(struct comm_wrap *w, const struct comm_ops *named, struct comm *inner)
{
    w->ops = (struct comm_ops){
        .name = named->name,
        .summary = named->summary,
        .open = named->open,
        .abort = wrap_abort,
        .barrier = wrap_barrier,
        .broadcast = wrap_broadcast,
        .all_reduce = wrap_all_reduce,
        .reduce_scatter = wrap_reduce_scatter,
        .all_gather = wrap_all_gather,
        .all_to_all = wrap_all_to_all,
        .send_all = wrap_send_all,
    };
    w->comm = (struct comm){.ops = &w->ops,
                            .rank = comm_rank(inner),
                            .world = comm_world(inner),
                            .inner = inner};
}

void comm_wrap_release(struct comm_wrap *w)
{
    comm_close(w->comm.inner);
    w->comm.inner = NULL;
}
