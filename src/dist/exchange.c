/* SPDX-License-Identifier: Apache-2.0 */
/* A message from one rank to another holds, unit by unit and shard by shard of the sender,
 * what concerns rows that the receiver keeps: ids first, whose numbers were sent ahead;
 * then, the other way, their vectors; then the sums of their gradients, in front of which
 * stands a float per unit that says whether there are any. All three have the same order,
 * `order`: the ids of a use, those of rank 0 first.
 *
 * With one rank vectors and sums of a shard lie within those of the unit.
 */
#include "dist/exchange.h"

#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"

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
                        struct comm *comm, const struct dist_place *places)
{
    int world = comm_world(comm);
    *x = (struct dist_exchange){.units = units, .comm = comm};
    x->owners = mem_calloc((size_t)units->n + 1, sizeof(*x->owners));
    x->asked = mem_calloc((size_t)units->n + 1, sizeof(*x->asked));
    x->parts = mem_calloc((size_t)world, sizeof(*x->parts));
    for (int u = 0; u < units->n; u++) {
        int table = units->at[u].table;
        x->owners[u] = dist_owner_of(lookup_table(units->lookup, table), table, world,
                                     places ? &places[table] : NULL);
    }
}

void dist_exchange_release(struct dist_exchange *x)
{
    struct dist_room *rooms[] = {&x->give,        &x->take,    &x->order, &x->starts,
                                 &x->sent,        &x->got,     &x->from,  &x->to,
                                 &x->own_vectors, &x->own_sums};
    for (int u = 0; x->asked && u < x->units->n; u++) {
        mem_free(x->asked[u].ids_room.at);
        mem_free(x->asked[u].vectors_room.at);
        mem_free(x->asked[u].sums_room.at);
    }
    for (size_t i = 0; i < ARRAY_LEN(rooms); i++)
        mem_free(rooms[i]->at);
    mem_free(x->owners);
    mem_free(x->asked);
    mem_free(x->parts);
    *x = (struct dist_exchange){0};
}

/* Where in the counts of rank r the shards of a unit begin. */
static int64_t *counts_at(const struct dist_room *counts, const struct dist_exchange *x,
                          bool theirs, int rank, int unit)
{
    int64_t at = 0, n = theirs ? x->parts[rank] : x->n_shards;
    for (int r = 0; r < rank; r++)
        at += (int64_t)x->units->n * (theirs ? x->parts[r] : x->n_shards);
    return (int64_t *)counts->at + at + unit * n;
}

/* --- one rank --- */

static enum rc take_own(struct dist_exchange *x, struct err *err)
{
    enum rc rc = RC_OK;
    for (int u = 0; u < x->units->n && !rc; u++) {
        struct dist_asked *a = &x->asked[u];
        int64_t dim = x->units->at[u].dim;
        a->n = 0;
        for (int s = 0; s < x->n_shards; s++)
            a->n += x->shards[s].at[u].n;
        rc = reserve(&a->ids_room, a->n, sizeof(int64_t), err);
        if (!rc)
            rc = reserve(&a->vectors_room, a->n * dim, sizeof(float), err);
        if (!rc)
            rc = reserve(&a->sums_room, a->n * dim, sizeof(float), err);
        if (rc)
            break;
        a->ids = a->ids_room.at;
        a->vectors = a->vectors_room.at;
        a->sums = a->sums_room.at;
        int64_t at = 0;
        for (int s = 0; s < x->n_shards; s++) {
            struct dist_use *use = &x->shards[s].at[u];
            if (use->n)
                memcpy(a->ids + at, use->ids, (size_t)use->n * sizeof(int64_t));
            use->vectors = a->vectors + at * dim;
            use->sums = a->sums + at * dim;
            at += use->n;
        }
    }
    return rc;
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

static int64_t uses_total(const struct dist_exchange *x, bool floats)
{
    int64_t n = 0;
    for (int s = 0; s < x->n_shards; s++)
        for (int u = 0; u < x->units->n; u++)
            n += x->shards[s].at[u].n * (floats ? x->units->at[u].dim : 1);
    return n;
}

static enum rc sort_uses(struct dist_exchange *x, struct err *err)
{
    int world = comm_world(x->comm);
    int64_t counts[DIST_SHARDS_MAX];
    enum rc rc = reserve(&x->give, (int64_t)world * x->units->n * x->n_shards,
                         sizeof(int64_t), err);
    if (!rc)
        rc = reserve(&x->order, uses_total(x, false), sizeof(uint32_t), err);
    if (!rc)
        rc =
            reserve(&x->starts, (int64_t)x->n_shards * x->units->n, sizeof(int64_t), err);
    uint32_t *order = x->order.at;
    int64_t *starts = x->starts.at;
    for (int s = 0; s < x->n_shards && !rc; s++)
        for (int u = 0; u < x->units->n; u++) {
            *starts++ = order - (uint32_t *)x->order.at;
            sort_use(&x->owners[u], &x->shards[s].at[u], counts, order);
            for (int r = 0; r < world; r++)
                counts_at(&x->give, x, false, r, u)[s] = counts[r];
            order += x->shards[s].at[u].n;
        }
    return rc;
}

/* How many ids go where; x->from and x->to: numbers for each rank. */
static enum rc exchange_counts(struct dist_exchange *x, struct err *err)
{
    int world = comm_world(x->comm);
    int64_t total = 0;
    enum rc rc = reserve(&x->from, world, sizeof(int64_t), err);
    if (!rc)
        rc = reserve(&x->to, world, sizeof(int64_t), err);
    for (int r = 0; r < world; r++)
        total += (int64_t)x->units->n * x->parts[r];
    if (!rc)
        rc = reserve(&x->take, total, sizeof(int64_t), err);
    if (rc)
        return rc;
    int64_t *from = x->from.at, *to = x->to.at;
    for (int r = 0; r < world; r++) {
        to[r] = (int64_t)x->units->n * x->n_shards;
        from[r] = (int64_t)x->units->n * x->parts[r];
    }
    return comm_all_to_all(x->comm, comm_i64(x->give.at), to, comm_i64(x->take.at), from,
                           err);
}

/* Elements of a message to (`theirs` false) or from rank r: ids, or floats of vectors. */
static int64_t message(const struct dist_exchange *x, bool theirs, int rank, bool floats)
{
    int64_t n = 0;
    int parts = theirs ? x->parts[rank] : x->n_shards;
    for (int u = 0; u < x->units->n; u++) {
        const int64_t *c = counts_at(theirs ? &x->take : &x->give, x, theirs, rank, u);
        for (int s = 0; s < parts; s++)
            n += c[s] * (floats ? x->units->at[u].dim : 1);
    }
    return n;
}

/* Lengths of all messages into x->to and x->from, `more` in front of each; their sums. */
static void measure(struct dist_exchange *x, bool floats, bool back, int64_t more,
                    int64_t *sent, int64_t *got)
{
    int64_t *to = x->to.at, *from = x->from.at;
    *sent = *got = 0;
    for (int r = 0; r < comm_world(x->comm); r++) {
        to[r] = message(x, back, r, floats) + more;
        from[r] = message(x, !back, r, floats) + more;
        *sent += to[r];
        *got += from[r];
    }
}

/* What walks over all that goes between this rank and the others: for each rank, unit and
 * shard, in the order of messages.
 */
struct walk {
    int rank, unit, shard;
    int64_t n;             /* ids */
    const uint32_t *order; /* of this rank's use: which of them */
};
typedef void walk_fn(struct dist_exchange *x, const struct walk *w, void *message);

/* The ids of a use that rank r keeps begin behind those of ranks before it. */
static const uint32_t *order_at(const struct dist_exchange *x, int rank, int unit,
                                int shard)
{
    const int64_t *starts = x->starts.at;
    const uint32_t *at = x->order.at;
    at += starts[(int64_t)shard * x->units->n + unit];
    for (int r = 0; r < rank; r++)
        at += counts_at(&x->give, x, false, r, unit)[shard];
    return at;
}

/* Own shards, by whoever keeps the rows; `width` 0: a unit's dim. */
static void walk_own(struct dist_exchange *x, walk_fn *fn, unsigned char *at, size_t size,
                     int64_t width, int64_t skip)
{
    for (int r = 0; r < comm_world(x->comm); r++) {
        at += (size_t)skip * size;
        for (int u = 0; u < x->units->n; u++)
            for (int s = 0; s < x->n_shards; s++) {
                struct walk w = {.rank = r,
                                 .unit = u,
                                 .shard = s,
                                 .n = counts_at(&x->give, x, false, r, u)[s],
                                 .order = order_at(x, r, u, s)};
                fn(x, &w, at);
                at += (size_t)(w.n * (width ? width : x->units->at[u].dim)) * size;
            }
    }
}

/* Rows that this rank keeps, by whoever asks. */
static void walk_asked(struct dist_exchange *x, walk_fn *fn, unsigned char *at,
                       size_t size, int64_t width, int64_t skip)
{
    for (int r = 0; r < comm_world(x->comm); r++) {
        at += (size_t)skip * size;
        for (int u = 0; u < x->units->n; u++)
            for (int s = 0; s < x->parts[r]; s++) {
                struct walk w = {.rank = r,
                                 .unit = u,
                                 .shard = s,
                                 .n = counts_at(&x->take, x, true, r, u)[s]};
                fn(x, &w, at);
                at += (size_t)(w.n * (width ? width : x->units->at[u].dim)) * size;
            }
    }
}

static void put_ids(struct dist_exchange *x, const struct walk *w, void *message)
{
    int64_t *to = message;
    const int64_t *ids = x->shards[w->shard].at[w->unit].ids;
    for (int64_t i = 0; i < w->n; i++)
        to[i] = ids[w->order[i]];
}

static void take_ids(struct dist_exchange *x, const struct walk *w, void *message)
{
    struct dist_asked *a = &x->asked[w->unit];
    if (w->n)
        memcpy(a->ids + a->n, message, (size_t)w->n * sizeof(*a->ids));
    a->n += w->n;
}

/* Room for what this rank is asked for. */
static enum rc reserve_asked(struct dist_exchange *x, struct err *err)
{
    enum rc rc = RC_OK;
    for (int u = 0; u < x->units->n && !rc; u++) {
        struct dist_asked *a = &x->asked[u];
        int64_t n = 0, dim = x->units->at[u].dim;
        for (int r = 0; r < comm_world(x->comm); r++)
            for (int s = 0; s < x->parts[r]; s++)
                n += counts_at(&x->take, x, true, r, u)[s];
        rc = reserve(&a->ids_room, n, sizeof(int64_t), err);
        if (!rc)
            rc = reserve(&a->vectors_room, n * dim, sizeof(float), err);
        if (!rc)
            rc = reserve(&a->sums_room, n * dim, sizeof(float), err);
        a->ids = a->ids_room.at;
        a->vectors = a->vectors_room.at;
        a->sums = a->sums_room.at;
        a->n = 0;
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

static enum rc exchange_ids(struct dist_exchange *x, struct err *err)
{
    int64_t sent, got;
    enum rc rc = sort_uses(x, err);
    if (!rc)
        rc = exchange_counts(x, err);
    if (!rc)
        rc = reserve_asked(x, err);
    if (!rc)
        rc = reserve_own(x, err);
    if (rc)
        return rc;
    measure(x, false, false, 0, &sent, &got);
    rc = reserve(&x->sent, sent, sizeof(int64_t), err);
    if (!rc)
        rc = reserve(&x->got, got, sizeof(int64_t), err);
    if (rc)
        return rc;
    walk_own(x, put_ids, x->sent.at, sizeof(int64_t), 1, 0);
    rc = comm_all_to_all(x->comm, comm_i64(x->sent.at), x->to.at, comm_i64(x->got.at),
                         x->from.at, err);
    if (!rc)
        walk_asked(x, take_ids, x->got.at, sizeof(int64_t), 1, 0);
    return rc;
}

enum rc dist_exchange_ids(struct dist_exchange *x, struct dist_uses *shards, int n,
                          int total, struct err *err)
{
    int world = comm_world(x->comm);
    x->shards = shards;
    x->n_shards = n;
    for (int r = 0; r < world; r++)
        x->parts[r] = total ? dist_shards_of(r, world, total).n : 1;
    return world == 1 ? take_own(x, err) : exchange_ids(x, err);
}

/* --- vectors to whoever asked --- */

static void put_vectors(struct dist_exchange *x, const struct walk *w, void *message)
{
    struct dist_asked *a = &x->asked[w->unit];
    int64_t dim = x->units->at[w->unit].dim;
    if (w->n)
        memcpy(message, a->vectors + a->n * dim, (size_t)(w->n * dim) * sizeof(float));
    a->n += w->n;
}

static void take_vectors(struct dist_exchange *x, const struct walk *w, void *message)
{
    const struct dist_use *use = &x->shards[w->shard].at[w->unit];
    int64_t dim = x->units->at[w->unit].dim;
    const float *from = message;
    for (int64_t i = 0; i < w->n; i++)
        memcpy(use->vectors + w->order[i] * dim, from + i * dim,
               (size_t)dim * sizeof(float));
}

static enum rc exchange_floats(struct dist_exchange *x, bool back, int64_t more,
                               struct err *err)
{
    int64_t sent, got;
    measure(x, true, back, more, &sent, &got);
    enum rc rc = reserve(&x->sent, sent, sizeof(float), err);
    return rc ? rc : reserve(&x->got, got, sizeof(float), err);
}

static void rewind_asked(struct dist_exchange *x)
{
    for (int u = 0; u < x->units->n; u++)
        x->asked[u].n = 0;
}

enum rc dist_exchange_vectors(struct dist_exchange *x, struct err *err)
{
    if (comm_world(x->comm) == 1)
        return RC_OK;
    enum rc rc = exchange_floats(x, true, 0, err);
    if (rc)
        return rc;
    rewind_asked(x);
    walk_asked(x, put_vectors, x->sent.at, sizeof(float), 0, 0);
    rc = comm_all_to_all(x->comm, comm_f32(x->sent.at), x->to.at, comm_f32(x->got.at),
                         x->from.at, err);
    if (!rc)
        walk_own(x, take_vectors, x->got.at, sizeof(float), 0, 0);
    return rc;
}

/* --- sums of gradients to owners --- */

static void put_sums(struct dist_exchange *x, const struct walk *w, void *message)
{
    const struct dist_use *use = &x->shards[w->shard].at[w->unit];
    int64_t dim = x->units->at[w->unit].dim;
    float *to = message;
    for (int64_t i = 0; i < w->n && use->moved; i++)
        memcpy(to + i * dim, use->sums + w->order[i] * dim, (size_t)dim * sizeof(float));
}

static void take_sums(struct dist_exchange *x, const struct walk *w, void *message)
{
    struct dist_asked *a = &x->asked[w->unit];
    int64_t dim = x->units->at[w->unit].dim;
    if (w->n)
        memcpy(a->sums + a->n * dim, message, (size_t)(w->n * dim) * sizeof(float));
    a->n += w->n;
}

/* A float per unit in front of each message. */
static void put_moved(struct dist_exchange *x)
{
    float *at = x->sent.at;
    const int64_t *to = x->to.at;
    for (int r = 0; r < comm_world(x->comm); at += to[r++])
        for (int u = 0; u < x->units->n; u++) {
            at[u] = 0.0f;
            for (int s = 0; s < x->n_shards; s++)
                at[u] = x->shards[s].at[u].moved ? 1.0f : at[u];
        }
}

static void take_moved(struct dist_exchange *x)
{
    const float *at = x->got.at;
    const int64_t *from = x->from.at;
    for (int r = 0; r < comm_world(x->comm); at += from[r++])
        for (int u = 0; u < x->units->n; u++)
            x->asked[u].moved = x->asked[u].moved || at[u] > 0;
}

enum rc dist_exchange_sums(struct dist_exchange *x, struct err *err)
{
    int64_t more = x->units->n;
    for (int u = 0; u < x->units->n; u++) {
        x->asked[u].moved = false;
        for (int s = 0; s < x->n_shards; s++)
            x->asked[u].moved = x->asked[u].moved || x->shards[s].at[u].moved;
    }
    if (comm_world(x->comm) == 1)
        return RC_OK;
    enum rc rc = exchange_floats(x, false, more, err);
    if (rc)
        return rc;
    put_moved(x);
    walk_own(x, put_sums, x->sent.at, sizeof(float), 0, more);
    rc = comm_all_to_all(x->comm, comm_f32(x->sent.at), x->to.at, comm_f32(x->got.at),
                         x->from.at, err);
    if (rc)
        return rc;
    take_moved(x);
    rewind_asked(x);
    walk_asked(x, take_sums, x->got.at, sizeof(float), 0, more);
    return RC_OK;
}
