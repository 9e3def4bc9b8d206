/* SPDX-License-Identifier: Apache-2.0 */
/* One rank: every result is the input. */
#include <string.h>

#include "base/mem.h"
#include "comm/comm_private.h"

static enum rc self_open(const struct comm_conf *conf, struct comm **out, struct err *err)
{
    if (conf->world != 1 || conf->rank != 0)
        return err_coded(err, RC_INVAL, E2504, "comm 'self' has one rank, not %d",
                         conf->world);
    *out = mem_alloc(sizeof(**out));
    **out = (struct comm){.ops = &comm_self_ops, .rank = 0, .world = 1};
    return RC_OK;
}

static enum rc self_dup(struct comm *c, struct comm **out, struct err *err)
{
    return self_open(&(struct comm_conf){.world = 1}, out, err);
}

static void self_close(struct comm *c)
{
    mem_free(c);
}

static void self_abort(struct comm *c, const struct err *why)
{
}

static enum rc self_barrier(struct comm *c, struct err *err)
{
    return RC_OK;
}

static enum rc self_broadcast(struct comm *c, struct comm_mem data, int64_t n, int root,
                              struct err *err)
{
    return comm_on_host(c, data, err);
}

static enum rc self_all_reduce(struct comm *c, struct comm_mem data, int64_t n,
                               enum comm_op op, struct err *err)
{
    return comm_on_host(c, data, err);
}

static enum rc copy_all(struct comm *c, struct comm_mem in, struct comm_mem out,
                        int64_t n, struct err *err)
{
    enum rc rc = comm_on_host(c, in, err);
    if (!rc)
        rc = comm_on_host(c, out, err);
    if (!rc && n && in.data != out.data)
        memcpy(out.data, in.data, (size_t)n * comm_type_size(in.type));
    return rc;
}

static enum rc self_reduce_scatter(struct comm *c, struct comm_mem in,
                                   const int64_t *counts, struct comm_mem out,
                                   enum comm_op op, struct err *err)
{
    return copy_all(c, in, out, counts[0], err);
}

static enum rc self_all_gather(struct comm *c, struct comm_mem in, struct comm_mem out,
                               const int64_t *counts, struct err *err)
{
    return copy_all(c, in, out, counts[0], err);
}

static enum rc self_all_to_all(struct comm *c, struct comm_mem in, const int64_t *send,
                               struct comm_mem out, const int64_t *receive,
                               struct err *err)
{
    if (send[0] != receive[0])
        return err_coded(err, RC_INVAL, E2503,
                         "all_to_all: rank 0 sends itself %jd elements and expects %jd",
                         (intmax_t)send[0], (intmax_t)receive[0]);
    return copy_all(c, in, out, send[0], err);
}

static enum rc self_send_all(struct comm *c, struct comm_mem in, const int64_t *send,
                             const struct comm_inbox *out, int64_t *receive,
                             struct err *err)
{
    struct comm_mem to = {.type = out->type, .data = out->reserve(out->arg, send[0])};
    receive[0] = send[0];
    if (!to.data && send[0])
        return err_coded(err, RC_NOMEM, E2501, "send_all: no memory for %jd elements",
                         (intmax_t)send[0]);
    return copy_all(c, in, to, send[0], err);
}

const struct comm_ops comm_self_ops = {
    .name = "self",
    .summary = "one rank",
    .open = self_open,
    .dup = self_dup,
    .close = self_close,
    .abort = self_abort,
    .barrier = self_barrier,
    .broadcast = self_broadcast,
    .all_reduce = self_all_reduce,
    .reduce_scatter = self_reduce_scatter,
    .all_gather = self_all_gather,
    .all_to_all = self_all_to_all,
    .send_all = self_send_all,
};
