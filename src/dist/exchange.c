/* SPDX-License-Identifier: Apache-2.0 */
/* A message from one rank to another holds, unit by unit and shard by shard of the sender,
 * what concerns rows that the receiver keeps: ids first, in front of which stands how many
 * there are of each; then, the other way, their vectors; then the sums of their gradients,
 * in front of which stand the sender's notes and a number per unit that says whether there
 * are any sums. All three have the same order, `order`: the ids of a use, those of rank 0
 * first. What a rank would send to itself goes straight to where it belongs.
 *
 * With one rank vectors and sums of a shard lie within those of the unit.
 */
#include "dist/exchange.h"

#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "tensor/tensor.h"

enum content { IDS, VECTORS, SUMS };

static enum rc reserve(struct dist_room *r, int64_t n, size_t size, struct err *err)
{
    size_t bytes = (size_t)(n > 0 ? n : 1) * size;
    if (bytes <= r->bytes)
        return RC_OK;
    mem_free(r->at);
    r->at = mem_try_large(bytes + bytes / 4, 1);
    r->bytes = r->at ? bytes + bytes / 4 : 0;
    return r->at ? RC_OK : err_set(err, RC_NOMEM, "no memory for %zu bytes", bytes);
}

void dist_exchange_init(struct dist_exchange *x, const struct dist_units *units,
                        struct comm *comm, struct dist_owner *owners)
{
    size_t world = (size_t)comm_world(comm);
    *x = (struct dist_exchange){.units = units, .comm = comm, .owners = owners};
    x->asked = mem_calloc((size_t)units->n + 1, sizeof(*x->asked));
    x->parts = mem_calloc(world, sizeof(*x->parts));
    x->firsts = mem_calloc(world, sizeof(*x->firsts));
    x->from = mem_calloc(world, sizeof(*x->from));
    x->to = mem_calloc(world, sizeof(*x->to));
}

void dist_exchange_release(struct dist_exchange *x)
{
    struct dist_room *rooms[] = {
        &x->give,  &x->take,  &x->order,       &x->starts,   &x->sent,     &x->got,
        &x->twins, &x->seats, &x->own_vectors, &x->own_sums, &x->fresh[0], &x->fresh[1]};
    for (int u = 0; x->asked && u < x->units->n; u++) {
        mem_free(x->asked[u].ids_room.at);
        mem_free(x->asked[u].again_room.at);
        mem_free(x->asked[u].vectors_room.at);
        mem_free(x->asked[u].sums_room.at);
    }
    for (size_t i = 0; i < ARRAY_LEN(rooms); i++)
        mem_free(rooms[i]->at);
    mem_free(x->owners);
    mem_free(x->asked);
    mem_free(x->parts);
    mem_free(x->firsts);
    mem_free(x->from);
    mem_free(x->to);
    *x = (struct dist_exchange){0};
}

/* Where in the counts of rank r the shards of a unit begin: so many before it of all ranks'
 * shards (`theirs`), or of as many as this rank has for each.
 */
static int64_t *counts_at(const struct dist_room *counts, const struct dist_exchange *x,
                          bool theirs, int rank, int unit)
{
    int64_t n = theirs ? x->parts[rank] : x->n_shards;
    int64_t before = theirs ? x->firsts[rank] : (int64_t)rank * n;
    return (int64_t *)counts->at + before * x->units->n + unit * n;
}

static enum rc reserve_ids(struct dist_exchange *x, int unit, int64_t n, struct err *err)
{
    struct dist_asked *a = &x->asked[unit];
    enum rc rc = reserve(&a->ids_room, n, sizeof(int64_t), err);
    if (!rc)
        rc = reserve(&a->again_room, n, 1, err);
    a->ids = a->ids_room.at;
    a->again = a->again_room.at;
    return rc;
}

static enum rc reserve_vectors(struct dist_exchange *x, int unit, struct err *err)
{
    struct dist_asked *a = &x->asked[unit];
    int64_t n = a->n * x->units->at[unit].dim;
    enum rc rc = reserve(&a->vectors_room, n, sizeof(float), err);
    if (!rc)
        rc = reserve(&a->sums_room, n, sizeof(float), err);
    a->vectors = a->vectors_room.at;
    a->sums = a->sums_room.at;
    return rc;
}

/* --- one rank --- */

static enum rc take_own(struct dist_exchange *x, struct err *err)
{
    enum rc rc = RC_OK;
    for (int u = 0; u < x->units->n && !rc; u++) {
        struct dist_asked *a = &x->asked[u];
        int64_t at = 0;
        a->n = 0;
        for (int s = 0; s < x->n_shards; s++)
            a->n += x->shards[s].at[u].n;
        rc = reserve_ids(x, u, a->n, err);
        for (int s = 0; s < x->n_shards && !rc; s++) {
            const struct dist_use *use = &x->shards[s].at[u];
            if (use->n)
                memcpy(a->ids + at, use->ids, (size_t)use->n * sizeof(int64_t));
            at += use->n;
        }
    }
    return rc;
}

/* Vectors and sums of a shard lie within those of the unit. */
static void point_at_own(struct dist_exchange *x, int unit)
{
    struct dist_asked *a = &x->asked[unit];
    int64_t dim = x->units->at[unit].dim, at = 0;
    for (int s = 0; s < x->n_shards; s++) {
        struct dist_use *use = &x->shards[s].at[unit];
        use->vectors = a->vectors + at * dim;
        use->sums = a->sums + at * dim;
        at += use->n;
    }
}

/* --- halves --- */

CLONED static void round_half(float *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        v[i] = bf16_to_f32(bf16_from_f32(v[i]));
}

/* n floats to a message or from it; halves were rounded before. */
static void put_floats(const struct dist_exchange *x, void *message, int64_t at,
                       const float *from, int64_t n)
{
    if (!x->narrow) {
        memcpy((float *)message + at, from, (size_t)n * sizeof(float));
        return;
    }
    for (int64_t i = 0; i < n; i++)
        ((uint16_t *)message)[at + i] = bf16_from_f32(from[i]);
}

static void take_floats(const struct dist_exchange *x, const void *message, int64_t at,
                        float *to, int64_t n)
{
    if (!x->narrow) {
        memcpy(to, (const float *)message + at, (size_t)n * sizeof(float));
        return;
    }
    for (int64_t i = 0; i < n; i++)
        to[i] = bf16_to_f32(((const uint16_t *)message)[at + i]);
}

/* --- messages --- */

static size_t size_of(const struct dist_exchange *x, enum content what)
{
    return what == IDS ? sizeof(int64_t) : x->narrow ? sizeof(uint16_t) : sizeof(float);
}

/* Elements that a message has for an id of a unit. */
static int64_t width_of(const struct dist_exchange *x, int unit, enum content what)
{
    if (what == IDS)
        return 1;
    return what == VECTORS && x->owners[unit].copies ? 0 : x->units->at[unit].dim;
}

/* Ids that a message tells of. */
static const struct dist_room *counts_of(const struct dist_exchange *x, bool theirs,
                                         enum content what)
{
    return what == VECTORS ? &x->fresh[theirs] : theirs ? &x->take : &x->give;
}

/* Elements of a message to (`theirs` false) or from rank r, without its front. */
static int64_t message(const struct dist_exchange *x, bool theirs, int rank,
                       enum content what)
{
    int64_t n = 0;
    int parts = theirs ? x->parts[rank] : x->n_shards;
    for (int u = 0; u < x->units->n; u++) {
        const int64_t *c = counts_at(counts_of(x, theirs, what), x, theirs, rank, u);
        for (int s = 0; s < parts; s++)
            n += c[s] * width_of(x, u, what);
    }
    return n;
}

static struct comm_mem memory_of(const struct dist_exchange *x, enum content what,
                                 void *data)
{
    return (struct comm_mem){.data = data,
                             .type = what == IDS ? COMM_I64
                                     : x->narrow ? COMM_BF16
                                                 : COMM_F32};
}

/* Lengths of messages into x->to and x->from, `front` elements in front of each, and room
 * for them.
 */
static enum rc measure(struct dist_exchange *x, enum content what, int64_t front,
                       struct err *err)
{
    bool back = what == VECTORS;
    int64_t sent = 0, got = 0;
    for (int r = 0; r < comm_world(x->comm); r++) {
        bool self = r == comm_rank(x->comm);
        x->to[r] = self ? 0 : message(x, back, r, what) + front;
        x->from[r] = self ? 0 : message(x, !back, r, what) + front;
        sent += x->to[r];
        got += x->from[r];
    }
    x->traffic.sent += sent * (int64_t)size_of(x, what);
    enum rc rc = reserve(&x->sent, sent, size_of(x, what), err);
    return rc ? rc : reserve(&x->got, got, size_of(x, what), err);
}

/* What walks over all that goes between this rank and the others: for each rank, unit and
 * shard, in the order of messages. `message` is NULL for this rank itself.
 */
struct walk {
    int rank, unit, shard;
    int64_t n, fresh;      /* ids; those whose vectors travel */
    const uint32_t *order; /* of this rank's use: which of them */
};
typedef void walk_fn(struct dist_exchange *x, const struct walk *w, void *message);

/* The ids of a use that rank r keeps. */
static const uint32_t *order_at(const struct dist_exchange *x, int rank, int unit,
                                int shard)
{
    return (const uint32_t *)x->order.at +
           counts_at(&x->starts, x, false, rank, unit)[shard];
}

/* Own shards (`theirs` false), by whoever keeps the rows; or rows that this rank keeps, by
 * whoever asks. `front`: bytes in front of each message.
 */
static void walk(struct dist_exchange *x, bool theirs, walk_fn *fn, unsigned char *at,
                 enum content what, size_t front)
{
    for (int r = 0; r < comm_world(x->comm); r++) {
        bool self = r == comm_rank(x->comm);
        at += self ? 0 : front;
        for (int u = 0; u < x->units->n; u++)
            for (int s = 0; s < (theirs ? x->parts[r] : x->n_shards); s++) {
                struct walk w = {.rank = r, .unit = u, .shard = s};
                w.n = counts_at(theirs ? &x->take : &x->give, x, theirs, r, u)[s];
                w.fresh = counts_at(&x->fresh[theirs], x, theirs, r, u)[s];
                w.order = theirs && !self ? NULL : order_at(x, r, u, s);
                fn(x, &w, self ? NULL : at);
                if (!self)
                    at += (size_t)((what == VECTORS ? w.fresh : w.n) *
                                   width_of(x, u, what)) *
                          size_of(x, what);
            }
    }
}

static void rewind_asked(struct dist_exchange *x)
{
    for (int u = 0; u < x->units->n; u++)
        x->asked[u].n = 0;
}

/* --- ids to their owners --- */

/* Counts of each owner, and `order`: the ids of a use, owner by owner. */
static void sort_use(const struct dist_owner *o, const struct dist_use *use,
                     int64_t *counts, uint32_t *order)
{
    int64_t start[DIST_SHARDS_MAX];
    memset(counts, 0, (size_t)o->world * sizeof(*counts));
    for (int64_t i = 0; i < use->n; i++)
        counts[dist_owner_at(o, use->ids[i])]++;
    for (int64_t r = 0, at = 0; r < o->world; r++) {
        start[r] = at;
        at += counts[r];
    }
    for (int64_t i = 0; i < use->n; i++)
        order[start[dist_owner_at(o, use->ids[i])]++] = (uint32_t)i;
}

/* To all ranks as they are, or, when nothing will be said about them, to nobody else. */
static void copy_use(const struct dist_exchange *x, const struct dist_use *use,
                     int64_t *counts, uint32_t *order)
{
    int rank = comm_rank(x->comm);
    for (int r = 0; r < comm_world(x->comm); r++)
        counts[r] = x->training || r == rank ? use->n : 0;
    for (int64_t i = 0; i < use->n; i++)
        order[i] = (uint32_t)i;
}

static int64_t uses_total(const struct dist_exchange *x, bool floats)
{
    int64_t n = 0;
    for (int s = 0; s < x->n_shards; s++)
        for (int u = 0; u < x->units->n; u++)
            n += x->shards[s].at[u].n * (floats ? x->units->at[u].dim : 1);
    return n;
}

/* Ids of a use, sorted from `at` on in `order`: counts and starts of each owner. */
static void note_use(struct dist_exchange *x, int unit, int shard, int64_t at)
{
    const struct dist_use *use = &x->shards[shard].at[unit];
    uint32_t *order = (uint32_t *)x->order.at + at;
    int64_t counts[DIST_SHARDS_MAX];
    bool copies = x->owners[unit].copies;
    if (copies)
        copy_use(x, use, counts, order);
    else
        sort_use(&x->owners[unit], use, counts, order);
    for (int r = 0; r < comm_world(x->comm); r++) {
        counts_at(&x->give, x, false, r, unit)[shard] = counts[r];
        counts_at(&x->starts, x, false, r, unit)[shard] = at;
        at += copies ? 0 : counts[r];
    }
}

/* Where a shard of this rank has an id first; shard -1: here. */
struct twin {
    int32_t shard;
    uint32_t at; /* of its use */
};
struct seat {
    int64_t id;
    struct twin first; /* shard + 1; 0: nobody sits here */
};

static struct twin *twins_at(const struct dist_exchange *x, int unit, int shard)
{
    return (struct twin *)x->twins.at + counts_at(&x->starts, x, false, 0, unit)[shard];
}

/* Whether an id may come twice to the rank that keeps it. */
static bool has_twins(const struct dist_exchange *x, int unit, int shards)
{
    return shards > 1 && x->units->at[unit].distinct && !x->owners[unit].copies;
}

static struct twin find_twin(struct seat *seats, uint64_t mask, int64_t id, int shard,
                             uint32_t at)
{
    uint64_t h = (uint64_t)id * 0x9e3779b97f4a7c15u;
    for (h = (h ^ h >> 32) & mask; seats[h].first.shard; h = (h + 1) & mask)
        if (seats[h].id == id)
            return (struct twin){seats[h].first.shard - 1, seats[h].first.at};
    seats[h] = (struct seat){.id = id, .first = {shard + 1, at}};
    return (struct twin){.shard = -1};
}

/* Of the ids of a unit, in all shards of this rank. */
static enum rc find_twins(struct dist_exchange *x, int unit, struct err *err)
{
    int64_t ids = 0, size = 16;
    for (int s = 0; s < x->n_shards; s++)
        ids += x->shards[s].at[unit].n;
    while (size < 2 * ids)
        size *= 2;
    enum rc rc = reserve(&x->seats, size, sizeof(struct seat), err);
    if (rc)
        return rc;
    memset(x->seats.at, 0, (size_t)size * sizeof(struct seat));
    for (int s = 0; s < x->n_shards; s++) {
        const struct dist_use *use = &x->shards[s].at[unit];
        struct twin *twins = twins_at(x, unit, s);
        for (int64_t i = 0; i < use->n; i++)
            twins[i] =
                find_twin(x->seats.at, (uint64_t)size - 1, use->ids[i], s, (uint32_t)i);
    }
    return RC_OK;
}

/* Which ids of this rank's shards are the first of their kind, for each owner. */
static enum rc mark_fresh(struct dist_exchange *x, struct err *err)
{
    enum rc rc = RC_OK;
    for (int u = 0; u < x->units->n && !rc; u++) {
        bool twins = has_twins(x, u, x->n_shards);
        rc = twins ? find_twins(x, u, err) : RC_OK;
        for (int r = 0; r < comm_world(x->comm) && !rc; r++)
            for (int s = 0; s < x->n_shards; s++) {
                int64_t n = counts_at(&x->give, x, false, r, u)[s], fresh = n;
                const uint32_t *order = order_at(x, r, u, s);
                for (int64_t i = 0; i < n && twins; i++)
                    fresh -= twins_at(x, u, s)[order[i]].shard >= 0;
                counts_at(&x->fresh[false], x, false, r, u)[s] = fresh;
            }
    }
    return rc;
}

static enum rc sort_uses(struct dist_exchange *x, struct err *err)
{
    int64_t counts = (int64_t)comm_world(x->comm) * x->units->n * x->n_shards, at = 0;
    struct dist_room *rooms[] = {&x->give, &x->starts, &x->fresh[false]};
    enum rc rc = RC_OK;
    for (size_t i = 0; i < ARRAY_LEN(rooms) && !rc; i++)
        rc = reserve(rooms[i], counts, sizeof(int64_t), err);
    if (!rc)
        rc = reserve(&x->order, uses_total(x, false), sizeof(uint32_t), err);
    if (!rc && x->n_shards > 1)
        rc = reserve(&x->twins, uses_total(x, false), sizeof(struct twin), err);
    for (int s = 0; s < x->n_shards && !rc; s++)
        for (int u = 0; u < x->units->n; at += x->shards[s].at[u++].n)
            note_use(x, u, s, at);
    return rc ? rc : mark_fresh(x, err);
}

static int64_t total_of(const int64_t *counts, int n)
{
    int64_t total = 0;
    for (int s = 0; s < n; s++)
        total += counts[s];
    return total;
}

/* Ids and sums that this rank must send, and vectors that it is asked for. */
static void count_least(struct dist_exchange *x)
{
    for (int r = 0; r < comm_world(x->comm); r++)
        for (int u = 0; u < x->units->n && r != comm_rank(x->comm); u++) {
            int64_t give =
                total_of(counts_at(&x->fresh[false], x, false, r, u), x->n_shards);
            int64_t take =
                total_of(counts_at(&x->fresh[true], x, true, r, u), x->parts[r]);
            int64_t floats = take * width_of(x, u, VECTORS) +
                             (x->training ? give * width_of(x, u, SUMS) : 0);
            x->traffic.least +=
                give * (int64_t)sizeof(int64_t) + floats * (int64_t)size_of(x, SUMS);
        }
}

/* A mark is the complement of an id, which is not negative. */
static void put_ids(struct dist_exchange *x, const struct walk *w, void *message)
{
    int64_t *to = message;
    const int64_t *ids = x->shards[w->shard].at[w->unit].ids;
    const struct twin *twins = w->rank != comm_rank(x->comm) && w->fresh < w->n
                                   ? twins_at(x, w->unit, w->shard)
                                   : NULL;
    for (int64_t i = 0; i < w->n && to; i++) {
        to[i] = ids[w->order[i]];
        if (twins && twins[w->order[i]].shard >= 0)
            to[i] = ~to[i];
    }
}

/* Ids of another rank's shard without their marks; how many have none. */
static int64_t take_marks(struct dist_asked *a, const int64_t *ids, int64_t n)
{
    int64_t fresh = 0;
    for (int64_t i = 0; i < n; i++) {
        bool again = ids[i] < 0;
        a->ids[a->n + i] = again ? ~ids[i] : ids[i];
        a->again[a->n + i] = again;
        fresh += !again;
    }
    return fresh;
}

static void take_ids(struct dist_exchange *x, const struct walk *w, void *message)
{
    struct dist_asked *a = &x->asked[w->unit];
    int64_t fresh = w->n;
    if (w->rank == comm_rank(x->comm))
        put_ids(x, w, a->ids + a->n);
    else if (w->shard > 0 && has_twins(x, w->unit, x->parts[w->rank]))
        fresh = take_marks(a, message, w->n);
    else if (w->n)
        memcpy(a->ids + a->n, message, (size_t)w->n * sizeof(*a->ids));
    counts_at(&x->fresh[true], x, true, w->rank, w->unit)[w->shard] = fresh;
    a->n += w->n;
}

/* Messages to the others: counts, then ids. */
static enum rc fill_ids(struct dist_exchange *x, struct err *err)
{
    int64_t front = (int64_t)x->units->n * x->n_shards, n = 0;
    for (int r = 0; r < comm_world(x->comm); r++) {
        bool self = r == comm_rank(x->comm);
        x->to[r] = self ? 0 : message(x, false, r, IDS) + front;
        n += x->to[r];
    }
    enum rc rc = reserve(&x->sent, n, sizeof(int64_t), err);
    if (rc)
        return rc;
    int64_t *at = x->sent.at;
    for (int r = 0; r < comm_world(x->comm); at += x->to[r++])
        if (r != comm_rank(x->comm))
            memcpy(at, counts_at(&x->give, x, false, r, 0), (size_t)front * sizeof(*at));
    walk(x, false, put_ids, x->sent.at, IDS, (size_t)front * sizeof(int64_t));
    x->traffic.sent += n * (int64_t)sizeof(int64_t);
    return RC_OK;
}

static void *inbox(void *arg, int64_t n)
{
    struct dist_exchange *x = arg;
    return reserve(&x->got, n, sizeof(int64_t), NULL) ? NULL : x->got.at;
}

/* A message of so many numbers is as long as its front says. */
static bool adds_up(const int64_t *front, int64_t n_front, int64_t n)
{
    int64_t left = n - n_front;
    for (int64_t i = 0; left >= 0 && i < n_front; i++)
        left = front[i] < 0 || front[i] > left ? -1 : left - front[i];
    return left == 0;
}

static enum rc check_fronts(struct dist_exchange *x, struct err *err)
{
    const int64_t *from = x->got.at;
    for (int r = 0; r < comm_world(x->comm); from += x->from[r++])
        if (r == comm_rank(x->comm)
                ? x->from[r] != 0
                : !adds_up(from, (int64_t)x->units->n * x->parts[r], x->from[r]))
            return comm_broken(
                x->comm, "send_all", err,
                "%jd numbers from rank %d that are not ids with their counts",
                (intmax_t)x->from[r], r);
    return RC_OK;
}

/* What stands in front of the messages that came, and what this rank gives itself. */
static enum rc take_counts(struct dist_exchange *x, struct err *err)
{
    int64_t total = 0, n = x->units->n;
    const int64_t *from = x->got.at;
    for (int r = 0; r < comm_world(x->comm); r++)
        total += n * x->parts[r];
    enum rc rc = check_fronts(x, err);
    if (!rc)
        rc = reserve(&x->take, total, sizeof(int64_t), err);
    if (!rc)
        rc = reserve(&x->fresh[true], total, sizeof(int64_t), err);
    for (int r = 0; r < comm_world(x->comm) && !rc; from += x->from[r++])
        memcpy(counts_at(&x->take, x, true, r, 0),
               r == comm_rank(x->comm) ? counts_at(&x->give, x, false, r, 0) : from,
               (size_t)(n * x->parts[r]) * sizeof(*from));
    return rc;
}

/* Room for what this rank is asked for. */
static enum rc reserve_asked(struct dist_exchange *x, struct err *err)
{
    enum rc rc = RC_OK;
    for (int u = 0; u < x->units->n && !rc; u++) {
        int64_t n = 0;
        for (int r = 0; r < comm_world(x->comm); r++) {
            if (r == comm_rank(x->comm))
                x->asked[u].own = n;
            for (int s = 0; s < x->parts[r]; s++)
                n += counts_at(&x->take, x, true, r, u)[s];
        }
        x->asked[u].n = n;
        rc = reserve_ids(x, u, n, err);
    }
    return rc;
}

/* Room for vectors and sums of this rank's shards. */
static enum rc reserve_own(struct dist_exchange *x, struct err *err)
{
    int64_t floats = uses_total(x, true);
    enum rc rc = reserve(&x->own_vectors, floats, sizeof(float), err);
    if (!rc)
        rc = reserve(&x->own_sums, floats, sizeof(float), err);
    float *vectors = x->own_vectors.at, *sums = x->own_sums.at;
    for (int s = 0; s < x->n_shards && !rc; s++)
        for (int u = 0; u < x->units->n; u++) {
            struct dist_use *use = &x->shards[s].at[u];
            use->vectors = vectors;
            use->sums = sums;
            vectors += use->n * x->units->at[u].dim;
            sums += use->n * x->units->at[u].dim;
        }
    return rc;
}

/* Walks over messages of ids of unequal fronts: each rank has its own number of shards. */
static void walk_asked_ids(struct dist_exchange *x)
{
    int64_t *at = x->got.at;
    rewind_asked(x);
    for (int r = 0; r < comm_world(x->comm); at += x->from[r++]) {
        int64_t *ids = at + (int64_t)x->units->n * x->parts[r];
        bool self = r == comm_rank(x->comm);
        for (int u = 0; u < x->units->n; u++)
            for (int s = 0; s < x->parts[r]; s++) {
                struct walk w = {.rank = r, .unit = u, .shard = s};
                w.n = counts_at(&x->take, x, true, r, u)[s];
                w.order = self ? order_at(x, r, u, s) : NULL;
                take_ids(x, &w, self ? NULL : ids);
                ids += self ? 0 : w.n;
            }
    }
}

static enum rc exchange_ids(struct dist_exchange *x, struct err *err)
{
    struct comm_inbox to = {.type = COMM_I64, .reserve = inbox, .arg = x};
    enum rc rc = sort_uses(x, err);
    if (!rc)
        rc = fill_ids(x, err);
    if (!rc)
        rc = comm_send_all(x->comm, comm_i64(x->sent.at), x->to, &to, x->from, err);
    if (!rc)
        rc = take_counts(x, err);
    if (!rc)
        rc = reserve_asked(x, err);
    if (rc)
        return rc;
    walk_asked_ids(x);
    count_least(x);
    return RC_OK;
}

enum rc dist_exchange_ids(struct dist_exchange *x, struct dist_uses *shards, int n,
                          int total, bool training, struct err *err)
{
    int world = comm_world(x->comm);
    x->training = training;
    x->narrow = x->half && training;
    x->shards = shards;
    x->n_shards = n;
    for (int r = 0; r < world; r++) {
        x->parts[r] = total ? dist_shards_of(r, world, total).n : 1;
        x->firsts[r] = r ? x->firsts[r - 1] + x->parts[r - 1] : 0;
    }
    x->traffic.ids += uses_total(x, false);
    x->traffic.floats += uses_total(x, true);
    return world == 1 ? take_own(x, err) : exchange_ids(x, err);
}

enum rc dist_exchange_reserve(struct dist_exchange *x, struct err *err)
{
    enum rc rc = RC_OK;
    bool alone = comm_world(x->comm) == 1;
    for (int u = 0; u < x->units->n && !rc; u++) {
        rc = reserve_vectors(x, u, err);
        if (!rc && alone)
            point_at_own(x, u);
    }
    return rc || alone ? rc : reserve_own(x, err);
}

static void swap_rooms(struct dist_room *a, struct dist_room *b)
{
    struct dist_room kept = *a;
    *a = *b;
    *b = kept;
}

void dist_exchange_swap(struct dist_exchange *a, struct dist_exchange *b)
{
    swap_rooms(&a->own_vectors, &b->own_vectors);
    swap_rooms(&a->own_sums, &b->own_sums);
    for (int u = 0; u < a->units->n; u++) {
        swap_rooms(&a->asked[u].vectors_room, &b->asked[u].vectors_room);
        swap_rooms(&a->asked[u].sums_room, &b->asked[u].sums_room);
    }
}

/* --- vectors to whoever asked --- */

static void put_vectors(struct dist_exchange *x, const struct walk *w, void *message)
{
    struct dist_asked *a = &x->asked[w->unit];
    int64_t dim = width_of(x, w->unit, VECTORS), to = 0;
    if (message && w->fresh == w->n)
        put_floats(x, message, 0, a->vectors + a->n * dim, w->n * dim);
    for (int64_t i = a->n; message && w->fresh < w->n && i < a->n + w->n; i++)
        if (!a->again[i])
            put_floats(x, message, dim * to++, a->vectors + i * dim, dim);
    a->n += w->n;
}

static void take_vectors(struct dist_exchange *x, const struct walk *w, void *message)
{
    const struct dist_use *use = &x->shards[w->shard].at[w->unit];
    struct dist_asked *a = &x->asked[w->unit];
    int64_t dim = width_of(x, w->unit, VECTORS);
    const float *own = a->vectors + a->own * dim;
    const struct twin *twins =
        message && w->fresh < w->n ? twins_at(x, w->unit, w->shard) : NULL;
    for (int64_t i = 0, from = 0; i < w->n && dim; i++) {
        float *to = use->vectors + w->order[i] * dim;
        struct twin t = twins ? twins[w->order[i]] : (struct twin){.shard = -1};
        if (t.shard >= 0)
            memcpy(to, x->shards[t.shard].at[w->unit].vectors + t.at * dim,
                   (size_t)dim * sizeof(float));
        else if (message)
            take_floats(x, message, dim * from++, to, dim);
        else
            memcpy(to, own + i * dim, (size_t)dim * sizeof(float));
    }
    if (!message)
        a->own += w->n; /* the next shard's */
}

/* Vectors that need not travel lie among those that this rank looked up for all. */
static void point_at_copies(struct dist_exchange *x, int unit)
{
    int64_t dim = x->units->at[unit].dim;
    float *at = x->asked[unit].vectors + x->asked[unit].own * dim;
    for (int s = x->n_shards; s-- > 0;) {
        at -= x->shards[s].at[unit].n * dim; /* `own` is behind them by now */
        x->shards[s].at[unit].vectors = at;
    }
}

static void round_vectors(struct dist_exchange *x)
{
    for (int u = 0; x->narrow && u < x->units->n; u++)
        round_half(x->asked[u].vectors, x->asked[u].n * x->units->at[u].dim);
}

enum rc dist_exchange_vectors(struct dist_exchange *x, struct err *err)
{
    round_vectors(x);
    if (comm_world(x->comm) == 1)
        return RC_OK;
    enum rc rc = measure(x, VECTORS, 0, err);
    if (rc)
        return rc;
    rewind_asked(x);
    walk(x, true, put_vectors, x->sent.at, VECTORS, 0);
    rc = comm_all_to_all(x->comm, memory_of(x, VECTORS, x->sent.at), x->to,
                         memory_of(x, VECTORS, x->got.at), x->from, err);
    if (rc)
        return rc;
    walk(x, false, take_vectors, x->got.at, VECTORS, 0);
    for (int u = 0; u < x->units->n; u++)
        if (x->owners[u].copies)
            point_at_copies(x, u);
    return RC_OK;
}

/* --- sums of gradients to owners --- */

static void put_sums(struct dist_exchange *x, const struct walk *w, void *message)
{
    const struct dist_use *use = &x->shards[w->shard].at[w->unit];
    int64_t dim = x->units->at[w->unit].dim;
    for (int64_t i = 0; i < w->n && use->moved && message; i++)
        put_floats(x, message, i * dim, use->sums + w->order[i] * dim, dim);
}

static void take_sums(struct dist_exchange *x, const struct walk *w, void *message)
{
    struct dist_asked *a = &x->asked[w->unit];
    const struct dist_use *use = message ? NULL : &x->shards[w->shard].at[w->unit];
    int64_t dim = x->units->at[w->unit].dim;
    float *to = a->sums + a->n * dim;
    if (message)
        take_floats(x, message, 0, to, w->n * dim);
    for (int64_t i = 0; use && use->moved && i < w->n; i++)
        memcpy(to + i * dim, use->sums + w->order[i] * dim, (size_t)dim * sizeof(float));
    a->n += w->n;
}

/* Elements of notes and of a number per unit, each note in the bytes that it has. */
static int64_t front_of(const struct dist_exchange *x, const struct dist_notes *notes)
{
    return (int64_t)((size_t)notes->n * sizeof(double) / size_of(x, SUMS)) + x->units->n;
}

static void put_front(struct dist_exchange *x, const struct dist_notes *notes)
{
    unsigned char *at = x->sent.at;
    size_t bytes = (size_t)notes->n * sizeof(double), size = size_of(x, SUMS);
    for (int r = 0; r < comm_world(x->comm); at += (size_t)x->to[r++] * size) {
        if (r == comm_rank(x->comm))
            continue;
        if (bytes)
            memcpy(at, notes->own, bytes);
        for (int u = 0; u < x->units->n; u++) {
            float moved = x->asked[u].moved ? 1.0f : 0.0f; /* of this rank's shards */
            put_floats(x, at + bytes, u, &moved, 1);
        }
    }
}

static void take_front(struct dist_exchange *x, const struct dist_notes *notes)
{
    const unsigned char *at = x->got.at;
    size_t bytes = (size_t)notes->n * sizeof(double), size = size_of(x, SUMS);
    for (int r = 0; r < comm_world(x->comm); at += (size_t)x->from[r++] * size) {
        bool self = r == comm_rank(x->comm);
        if (bytes)
            memcpy(notes->all + r * notes->n, self ? (const void *)notes->own : at,
                   bytes);
        for (int u = 0; u < x->units->n && !self; u++) {
            float moved = 0;
            take_floats(x, at + bytes, u, &moved, 1);
            x->asked[u].moved = x->asked[u].moved || moved > 0;
        }
    }
}

/* Whether this rank's own shards have sums of a unit, which are rounded. */
static void look_at_sums(struct dist_exchange *x)
{
    for (int u = 0; u < x->units->n; u++) {
        x->asked[u].moved = false;
        for (int s = 0; s < x->n_shards; s++) {
            const struct dist_use *use = &x->shards[s].at[u];
            x->asked[u].moved = x->asked[u].moved || use->moved;
            if (x->narrow && use->moved)
                round_half(use->sums, use->n * x->units->at[u].dim);
        }
    }
}

enum rc dist_exchange_sums(struct dist_exchange *x, const struct dist_notes *notes,
                           struct err *err)
{
    look_at_sums(x);
    if (comm_world(x->comm) == 1) {
        if (notes->n)
            memcpy(notes->all, notes->own, (size_t)notes->n * sizeof(*notes->all));
        return RC_OK;
    }
    size_t front = (size_t)front_of(x, notes) * size_of(x, SUMS);
    enum rc rc = measure(x, SUMS, front_of(x, notes), err);
    if (rc)
        return rc;
    put_front(x, notes);
    walk(x, false, put_sums, x->sent.at, SUMS, front);
    rc = comm_all_to_all(x->comm, memory_of(x, SUMS, x->sent.at), x->to,
                         memory_of(x, SUMS, x->got.at), x->from, err);
    if (rc)
        return rc;
    take_front(x, notes);
    rewind_asked(x);
    walk(x, true, take_sums, x->got.at, SUMS, front);
    return RC_OK;
}
