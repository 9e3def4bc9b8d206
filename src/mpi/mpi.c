/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that are processes, over MPI. A call begins with a short message from each rank to
 * each other: what it is about to do. So all know that all have come and agree before any
 * data moves, and a rank that does not come has a name. Then MPI's own collectives move
 * the data, nonblocking (wait.c).
 *
 * Sums are ours, not MPI's, whose order may differ from run to run: a reduction brings the
 * parts of all ranks to one place and adds them in the order of ranks (comm/reduce.h).
 * Small ones go to everybody whole, which takes one round; large ones are cut, each rank
 * adds up its slice, and the slices are gathered: as many bytes as a ring moves.
 *
 * MPI counts in int. What is longer than `piece` goes in pieces.
 */
#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "comm/comm_private.h"
#include "comm/plugin.h"
#include "comm/reduce.h"
#include "mpi/mpi_private.h"

#define WHOLE_BYTES ((int64_t)128 << 10) /* of all ranks: reduced in one round */

extern const struct comm_ops comm_mpi_ops;

static struct mpi_comm *mpi_of(struct comm *c)
{
    return (struct mpi_comm *)c;
}

static MPI_Datatype type_of(enum comm_type t)
{
    switch (t) {
    case COMM_I32:
        return MPI_INT32_T;
    case COMM_I64:
        return MPI_INT64_T;
    case COMM_F32:
        return MPI_FLOAT;
    case COMM_F64:
        return MPI_DOUBLE;
    case COMM_BF16:
        return MPI_UINT16_T;
    case COMM_U8:
    case COMM_TYPES:
        break;
    }
    return MPI_UINT8_T;
}

/* Elements i and on; NULL stays NULL. */
static void *element(void *data, enum comm_type t, int64_t i)
{
    return data ? (unsigned char *)data + (size_t)i * comm_type_size(t) : NULL;
}

/* MPI ends with the last comm of the process, unless that one is broken: then others may
 * never come to the end, and MPI would wait for them.
 */
static struct {
    pthread_mutex_t lock; /* guards the rest */
    int comms;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void count_comm(int more, bool broken)
{
    pthread_mutex_lock(&process.lock);
    process.comms += more;
    bool over = process.comms == 0;
    pthread_mutex_unlock(&process.lock);
    if (over && !broken)
        MPI_Finalize();
}

static struct mpi_comm *make_comm(MPI_Comm mpi, const struct comm_conf *conf)
{
    struct mpi_comm *c = mem_calloc(1, sizeof(*c));
    size_t world = (size_t)conf->world;
    c->comm = (struct comm){.ops = &comm_mpi_ops,
                            .rank = conf->rank,
                            .world = conf->world,
                            .step = conf->step};
    c->mpi = mpi;
    c->timeout_ms = conf->timeout_ms > 0 ? conf->timeout_ms : COMM_TIMEOUT_MS;
    c->piece = conf->piece > 0 && conf->piece < INT_MAX ? conf->piece : INT_MAX;
    c->left = mem_calloc(world, sizeof(*c->left));
    c->hellos = mem_calloc(2 * world, sizeof(*c->hellos));
    c->requests = mem_calloc(2 * world, sizeof(MPI_Request));
    c->ints = mem_calloc(4 * world, sizeof(*c->ints));
    pthread_mutex_init(&c->lock, NULL);
    MPI_Comm_set_errhandler(mpi, MPI_ERRORS_RETURN);
    return c;
}

static enum rc start_mpi(struct err *err)
{
    int is_on = 0, was_on = 0, level = 0;
    MPI_Finalized(&was_on);
    if (was_on)
        return err_coded(err, RC_UNSUPPORTED, E2504,
                         "MPI has ended in this process and cannot start again");
    MPI_Initialized(&is_on);
    if (is_on)
        return err_coded(
            err, RC_UNSUPPORTED, E2504,
            "the ranks of this process are connected already: dup that comm");
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS)
        return err_coded(err, RC_IO, E2504, "MPI does not start");
    if (level < MPI_THREAD_MULTIPLE)
        return err_coded(err, RC_UNSUPPORTED, E2504,
                         "this MPI cannot be used by several threads");
    return RC_OK;
}

static enum rc mpi_open(const struct comm_conf *conf, struct comm **out, struct err *err)
{
    struct comm_conf real = *conf;
    MPI_Comm mpi = MPI_COMM_NULL;
    enum rc rc = start_mpi(err);
    if (rc)
        return rc;
    MPI_Comm_rank(MPI_COMM_WORLD, &real.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &real.world);
    if (conf->world && (conf->world != real.world || conf->rank != real.rank))
        return err_coded(
            err, RC_INVAL, E2504,
            "the launcher started rank %d of %d, but MPI sees rank %d of %d: "
            "is it the launcher of another MPI?",
            conf->rank, conf->world, real.rank, real.world);
    if (MPI_Comm_dup(MPI_COMM_WORLD, &mpi) != MPI_SUCCESS)
        return err_coded(err, RC_IO, E2504, "MPI cannot connect the ranks");
    struct mpi_comm *c = make_comm(mpi, &real);
    rc = mpi_beat_start(c, conf->silence_ms, err);
    if (rc)
        return rc;
    *out = &c->comm;
    count_comm(1, false);
    return RC_OK;
}

/* Whoever waits for this rank hears that it has left. MPI's communicator stays: freeing it
 * would wait for the others. So does the memory of a broken comm, in which MPI may still
 * write.
 */
static void mpi_close(struct comm *comm)
{
    struct mpi_comm *c = mpi_of(comm);
    bool broken = mpi_sound(c, NULL) != RC_OK;
    mpi_beat_stop(c);
    for (int r = 0; r < comm->world && !broken; r++) {
        MPI_Request sent = MPI_REQUEST_NULL;
        if (r != comm->rank &&
            MPI_Isend(NULL, 0, MPI_BYTE, r, TAG_LEFT, c->mpi, &sent) == MPI_SUCCESS)
            MPI_Request_free(&sent);
    }
    count_comm(-1, broken);
    if (broken)
        return;
    mem_free(c->left);
    mem_free(c->hellos);
    mem_free(c->requests);
    mem_free(c->ints);
    mem_free(c->scratch);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
}

static void mpi_abort(struct comm *comm, const struct err *why)
{
    struct err e = {0};
    enum rc rc = err_coded(&e, RC_IO, E2501, "rank %d of %d gave up: %s", comm->rank,
                           comm->world, why ? why->msg : "no reason was given");
    mpi_break(mpi_of(comm), rc, &e, true);
}

static int64_t sum(const int64_t *counts, int n)
{
    int64_t total = 0;
    for (int i = 0; i < n; i++)
        total += counts[i];
    return total;
}

static int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static enum rc compare_hellos(struct mpi_comm *c, struct err *err)
{
    int world = c->comm.world, rank = c->comm.rank;
    enum rc rc = RC_OK;
    for (int r = 1; r < world && !rc; r++)
        rc = comm_call_compare(0, &c->hellos[0].call, r, &c->hellos[r].call, err);
    for (int r = 0; r < world && !rc; r++) {
        const struct mpi_hello *theirs = &c->hellos[r], *ours = &c->hellos[world + r];
        if (c->kind == CALL_SEND_ALL)
            continue; /* this is how they learn it */
        if (theirs->send != ours->receive || theirs->receive != ours->send)
            rc = comm_call_differs(r < rank ? r : rank, c->kind, r < rank ? rank : r,
                                   c->kind, "what goes from one to the other", err);
    }
    return rc;
}

/* All ranks have come and make this call. `send` and `receive`: of an all_to_all. */
static enum rc meet(struct mpi_comm *c, const struct comm_call *call, const int64_t *send,
                    const int64_t *receive, struct err *err)
{
    int world = c->comm.world, size = (int)sizeof(*c->hellos);
    int64_t most =
        largest(send ? sum(send, world) : 0, receive ? sum(receive, world) : 0);
    struct err why = {0};
    enum rc rc = mpi_sound(c, err);
    c->kind = call->kind;
    for (int i = 0; i < 2 * world; i++)
        c->requests[i] = MPI_REQUEST_NULL;
    for (int r = 0; r < world && !rc; r++) {
        struct mpi_hello *to = &c->hellos[world + r];
        *to = (struct mpi_hello){.call = *call,
                                 .send = send ? send[r] : 0,
                                 .receive = receive ? receive[r] : 0,
                                 .most = most};
        if (r == c->comm.rank) {
            c->hellos[r] = *to;
            continue;
        }
        rc = mpi_check(c,
                       MPI_Irecv(&c->hellos[r], size, MPI_BYTE, r, TAG_CALL, c->mpi,
                                 &c->requests[r]),
                       "listen", err);
        if (!rc)
            rc = mpi_check(c,
                           MPI_Isend(to, size, MPI_BYTE, r, TAG_CALL, c->mpi,
                                     &c->requests[world + r]),
                           "say what comes", err);
    }
    if (!rc)
        rc = mpi_wait(c, c->requests, 2 * world, true, err);
    if (!rc)
        rc = mpi_sound(c, err); /* who gave up meanwhile had said hello before */
    if (rc)
        return rc;
    rc = compare_hellos(c, &why);
    if (rc && err)
        *err = why;
    return rc ? mpi_break(c, rc, &why, true) : RC_OK;
}

static enum rc await(struct mpi_comm *c, int code, MPI_Request request, struct err *err)
{
    enum rc rc = mpi_check(c, code, comm_call_name(c->kind), err);
    return rc ? rc : mpi_wait(c, &request, 1, false, err);
}

static enum rc need_scratch(struct mpi_comm *c, int64_t n, enum comm_type t,
                            struct err *err)
{
    size_t size = comm_type_size(t);
    struct err why = {0};
    if (n <= (int64_t)(c->room / size))
        return RC_OK;
    mem_free(c->scratch);
    c->scratch = mem_try_alloc((size_t)n, size);
    c->room = c->scratch ? (size_t)n * size : 0;
    if (c->scratch)
        return RC_OK;
    enum rc rc =
        err_coded(&why, RC_NOMEM, E2501,
                  "rank %d of %d: %s: no memory for %jd elements of %s", c->comm.rank,
                  c->comm.world, comm_call_name(c->kind), (intmax_t)n, comm_type_name(t));
    if (err)
        *err = why;
    return mpi_break(c, rc, &why, true);
}

/* Counts and their displacements as MPI wants them, at ints[at]; their sum fits. */
static int *as_ints(struct mpi_comm *c, int at, const int64_t *counts)
{
    int world = c->comm.world, *n = c->ints + at * world, *start = n + world, next = 0;
    for (int r = 0; r < world; r++) {
        n[r] = (int)counts[r];
        start[r] = next;
        next += n[r];
    }
    return n;
}

static enum rc broadcast_pieces(struct mpi_comm *c, void *data, enum comm_type t,
                                int64_t n, int root, struct err *err)
{
    enum rc rc = RC_OK;
    for (int64_t at = 0; at < n && !rc; at += c->piece) {
        int64_t some = n - at < c->piece ? n - at : c->piece;
        MPI_Request request = MPI_REQUEST_NULL;
        int code = MPI_Ibcast(element(data, t, at), (int)some, type_of(t), root, c->mpi,
                              &request);
        rc = await(c, code, request, err);
    }
    return rc;
}

/* `data`: of all ranks one behind the other, this one's in its place. */
static enum rc gather_in_place(struct mpi_comm *c, void *data, enum comm_type t,
                               const int64_t *counts, struct err *err)
{
    int world = c->comm.world;
    enum rc rc = RC_OK;
    if (sum(counts, world) <= c->piece) {
        int *n = as_ints(c, 0, counts);
        MPI_Request request = MPI_REQUEST_NULL;
        int code = MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, n, n + world,
                                   type_of(t), c->mpi, &request);
        return await(c, code, request, err);
    }
    for (int r = 0; r < world && !rc; r++)
        rc = broadcast_pieces(c, element(data, t, sum(counts, r)), t, counts[r], r, err);
    return rc;
}

/* One round of pieces, [at, at + piece) of what goes between each two. */
static enum rc exchange_round(struct mpi_comm *c, enum comm_type t, void *in,
                              const int64_t *send, void *out, const int64_t *receive,
                              int64_t at, struct err *err)
{
    int world = c->comm.world, code = MPI_SUCCESS;
    int64_t from = at, to = at; /* in `in` and `out` */
    for (int r = 0; r < world && code == MPI_SUCCESS; r++) {
        int64_t give = send[r] - at < c->piece ? send[r] - at : c->piece;
        int64_t take = receive[r] - at < c->piece ? receive[r] - at : c->piece;
        c->requests[r] = c->requests[world + r] = MPI_REQUEST_NULL;
        if (take > 0)
            code = MPI_Irecv(element(out, t, to), (int)take, type_of(t), r, TAG_DATA,
                             c->mpi, &c->requests[r]);
        if (give > 0 && code == MPI_SUCCESS)
            code = MPI_Isend(element(in, t, from), (int)give, type_of(t), r, TAG_DATA,
                             c->mpi, &c->requests[world + r]);
        from += send[r];
        to += receive[r];
    }
    enum rc rc = mpi_check(c, code, comm_call_name(c->kind), err);
    return rc ? rc : mpi_wait(c, c->requests, 2 * world, true, err);
}

static enum rc exchange_pieces(struct mpi_comm *c, enum comm_type t, void *in,
                               const int64_t *send, void *out, const int64_t *receive,
                               struct err *err)
{
    int64_t most = 0;
    enum rc rc = RC_OK;
    for (int r = 0; r < c->comm.world; r++) {
        most = send[r] > most ? send[r] : most;
        most = receive[r] > most ? receive[r] : most;
    }
    for (int64_t at = 0; at < most && !rc; at += c->piece)
        rc = exchange_round(c, t, in, send, out, receive, at, err);
    return rc;
}

/* MPI's collective, or pieces when some rank moves more than MPI can count: all ranks go
 * the same way. Of a send_all they know what each gives, which bounds what one gets.
 */
static enum rc exchange(struct mpi_comm *c, enum comm_type t, void *in,
                        const int64_t *send, void *out, const int64_t *receive,
                        struct err *err)
{
    int world = c->comm.world;
    MPI_Request request = MPI_REQUEST_NULL;
    int64_t most = 0;
    for (int r = 0; r < world; r++)
        most = c->kind == CALL_SEND_ALL ? most + c->hellos[r].most
                                        : largest(most, c->hellos[r].most);
    if (most > c->piece)
        return exchange_pieces(c, t, in, send, out, receive, err);
    int *n = as_ints(c, 0, send), *m = as_ints(c, 2, receive);
    int code = MPI_Ialltoallv(in, n, n + world, type_of(t), out, m, m + world, type_of(t),
                              c->mpi, &request);
    return await(c, code, request, err);
}

static enum rc mpi_barrier(struct comm *comm, struct err *err)
{
    return meet(mpi_of(comm), &(struct comm_call){.kind = CALL_BARRIER}, NULL, NULL, err);
}

static enum rc mpi_dup(struct comm *comm, struct comm **out, struct err *err)
{
    struct mpi_comm *c = mpi_of(comm);
    MPI_Comm mpi = MPI_COMM_NULL;
    enum rc rc = meet(c, &(struct comm_call){.kind = CALL_DUP}, NULL, NULL, err);
    if (!rc)
        rc = mpi_check(c, MPI_Comm_dup(c->mpi, &mpi), "connect the ranks again", err);
    if (rc)
        return rc;
    struct comm_conf conf = {.rank = comm->rank,
                             .world = comm->world,
                             .timeout_ms = c->timeout_ms,
                             .piece = c->piece};
    *out = &make_comm(mpi, &conf)->comm;
    count_comm(1, false);
    return RC_OK;
}

static enum rc mpi_broadcast(struct comm *comm, struct comm_mem data, int64_t n, int root,
                             struct err *err)
{
    struct mpi_comm *c = mpi_of(comm);
    struct comm_call call = {
        .kind = CALL_BROADCAST, .type = data.type, .root = root, .n = n};
    enum rc rc = comm_on_host(comm, data, err);
    if (!rc)
        rc = meet(c, &call, NULL, NULL, err);
    return rc ? rc : broadcast_pieces(c, data.data, data.type, n, root, err);
}

static enum rc mpi_all_gather(struct comm *comm, struct comm_mem in, struct comm_mem out,
                              const int64_t *counts, struct err *err)
{
    struct mpi_comm *c = mpi_of(comm);
    struct comm_call call = {.kind = CALL_ALL_GATHER,
                             .type = in.type,
                             .counts = comm_call_counts(counts, comm->world)};
    size_t bytes = (size_t)counts[comm->rank] * comm_type_size(in.type);
    enum rc rc = comm_on_host(comm, in, err);
    if (!rc)
        rc = comm_on_host(comm, out, err);
    if (!rc)
        rc = meet(c, &call, NULL, NULL, err);
    void *own = element(out.data, in.type, sum(counts, comm->rank));
    if (!rc && bytes && own != in.data)
        memmove(own, in.data, bytes);
    return rc ? rc : gather_in_place(c, out.data, in.type, counts, err);
}

static enum rc mpi_all_to_all(struct comm *comm, struct comm_mem in, const int64_t *send,
                              struct comm_mem out, const int64_t *receive,
                              struct err *err)
{
    struct mpi_comm *c = mpi_of(comm);
    struct comm_call call = {.kind = CALL_ALL_TO_ALL, .type = in.type};
    enum rc rc = comm_on_host(comm, in, err);
    if (!rc)
        rc = comm_on_host(comm, out, err);
    if (!rc)
        rc = meet(c, &call, send, receive, err);
    return rc ? rc : exchange(c, in.type, in.data, send, out.data, receive, err);
}

static enum rc no_inbox(struct mpi_comm *c, int64_t n, struct err *err)
{
    struct err why = {0};
    enum rc rc = err_coded(&why, RC_NOMEM, E2501,
                           "rank %d of %d: send_all: no memory for %jd elements",
                           c->comm.rank, c->comm.world, (intmax_t)n);
    if (err)
        *err = why;
    return mpi_break(c, rc, &why, true);
}

static enum rc mpi_send_all(struct comm *comm, struct comm_mem in, const int64_t *send,
                            const struct comm_inbox *out, int64_t *receive,
                            struct err *err)
{
    struct mpi_comm *c = mpi_of(comm);
    struct comm_call call = {.kind = CALL_SEND_ALL, .type = in.type};
    enum rc rc = comm_on_host(comm, in, err);
    if (!rc)
        rc = meet(c, &call, send, NULL, err);
    if (rc)
        return rc;
    for (int r = 0; r < comm->world; r++)
        receive[r] = c->hellos[r].send;
    int64_t n = sum(receive, comm->world);
    void *to = out->reserve(out->arg, n);
    if (!to && n)
        return no_inbox(c, n, err);
    return exchange(c, in.type, in.data, send, to, receive, err);
}

/* Combines the parts of all ranks, `n` elements each, that lie in scratch. */
static void reduce_scratch(const struct mpi_comm *c, enum comm_type t, enum comm_op op,
                           int64_t n, void *out)
{
    int world = c->comm.world;
    const void **parts = mem_alloc((size_t)world * sizeof(*parts));
    for (int r = 0; r < world; r++)
        parts[r] = element(c->scratch, t, n * r);
    if (n)
        comm_reduce(t, op, parts, world, 0, n, out);
    mem_free(parts);
}

/* This rank's slice of `data`, counts[rank] elements, of all ranks combined. */
static enum rc reduce_slices(struct mpi_comm *c, struct comm_mem data,
                             const int64_t *counts, void *out, enum comm_op op,
                             struct err *err)
{
    int world = c->comm.world;
    int64_t mine = counts[c->comm.rank];
    int64_t *each = mem_alloc((size_t)world * sizeof(*each));
    for (int r = 0; r < world; r++)
        each[r] = mine;
    for (int r = 0; r < world; r++) /* the same on all ranks */
        c->hellos[r].most = largest(sum(counts, world), counts[r] * world);
    enum rc rc = need_scratch(c, mine * world, data.type, err);
    if (!rc)
        rc = exchange(c, data.type, data.data, counts, c->scratch, each, err);
    if (!rc)
        reduce_scratch(c, data.type, op, mine, out);
    mem_free(each);
    return rc;
}

static enum rc mpi_reduce_scatter(struct comm *comm, struct comm_mem in,
                                  const int64_t *counts, struct comm_mem out,
                                  enum comm_op op, struct err *err)
{
    struct mpi_comm *c = mpi_of(comm);
    struct comm_call call = {.kind = CALL_REDUCE_SCATTER,
                             .type = in.type,
                             .op = op,
                             .counts = comm_call_counts(counts, comm->world)};
    enum rc rc = comm_on_host(comm, in, err);
    if (!rc)
        rc = comm_on_host(comm, out, err);
    if (!rc)
        rc = meet(c, &call, NULL, NULL, err);
    return rc ? rc : reduce_slices(c, in, counts, out.data, op, err);
}

/* One round: everybody gets everything and adds it up. */
static enum rc reduce_whole(struct mpi_comm *c, struct comm_mem data, int64_t n,
                            enum comm_op op, struct err *err)
{
    MPI_Request request = MPI_REQUEST_NULL;
    enum rc rc = need_scratch(c, n * c->comm.world, data.type, err);
    if (rc)
        return rc;
    int code = MPI_Iallgather(data.data, (int)n, type_of(data.type), c->scratch, (int)n,
                              type_of(data.type), c->mpi, &request);
    rc = await(c, code, request, err);
    if (!rc)
        reduce_scratch(c, data.type, op, n, data.data);
    return rc;
}

static enum rc mpi_all_reduce(struct comm *comm, struct comm_mem data, int64_t n,
                              enum comm_op op, struct err *err)
{
    struct mpi_comm *c = mpi_of(comm);
    struct comm_call call = {
        .kind = CALL_ALL_REDUCE, .type = data.type, .op = op, .n = n};
    int64_t size = (int64_t)comm_type_size(data.type), world = comm->world;
    enum rc rc = comm_on_host(comm, data, err);
    if (!rc)
        rc = meet(c, &call, NULL, NULL, err);
    if (rc || n == 0)
        return rc;
    if (n <= WHOLE_BYTES / size / world && n * world <= c->piece)
        return reduce_whole(c, data, n, op, err);
    int64_t *counts = mem_alloc((size_t)world * sizeof(*counts));
    for (int64_t r = 0; r < world; r++)
        counts[r] = n / world + (r < n % world);
    void *own = element(data.data, data.type, sum(counts, comm->rank));
    rc = reduce_slices(c, data, counts, own, op, err);
    if (!rc)
        rc = gather_in_place(c, data.data, data.type, counts, err);
    mem_free(counts);
    return rc;
}

const struct comm_ops comm_mpi_ops = {
    .name = "mpi",
    .summary = "ranks that are processes, over MPI",
    .open = mpi_open,
    .dup = mpi_dup,
    .close = mpi_close,
    .abort = mpi_abort,
    .barrier = mpi_barrier,
    .broadcast = mpi_broadcast,
    .all_reduce = mpi_all_reduce,
    .reduce_scatter = mpi_reduce_scatter,
    .all_gather = mpi_all_gather,
    .all_to_all = mpi_all_to_all,
    .send_all = mpi_send_all,
};

extern const struct comm_plugin trainyard_comm_plugin;
const struct comm_plugin trainyard_comm_plugin = {.version = TY_VERSION,
                                                  .ops = &comm_mpi_ops};
