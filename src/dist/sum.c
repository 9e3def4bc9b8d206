/* SPDX-License-Identifier: Apache-2.0 */
/* A vector is cut into as many slices as there are ranks. Every rank sends the slices of its
 * shards to the ranks that they belong to, which add up what all shards say, in their order;
 * then the sums go round. Slices for one rank lie together in `own`, so that they are sent
 * from there. Two ranks of one shard send each other all, which is as much in one call.
 */
#include "dist/sum.h"

#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "comm/comm.h"

/* Floats of the slice that rank r adds up. */
static int64_t slice(const struct dist_sum *s, int rank)
{
    int world = comm_world(s->comm);
    return s->n / world + (rank < s->n % world);
}

/* Two ranks of one shard each send each other all: as many bytes as with slices, one call
 * less.
 */
static bool is_pair(const struct dist_sum *s)
{
    return comm_world(s->comm) == 2 && s->shards.total == 2;
}

enum rc dist_sum_init(struct dist_sum *s, struct comm *comm, struct dist_shards shards,
                      int64_t n, struct err *err)
{
    bool alone = comm_world(comm) == 1;
    *s = (struct dist_sum){.comm = comm, .shards = shards, .n = n};
    int64_t mine = slice(s, comm_rank(comm));
    int64_t got = is_pair(s) ? n : mine * shards.total;
    size_t own = (size_t)(n * (alone ? 1 : shards.n)) + 1;
    s->own = mem_try_large(own, sizeof(float));
    s->got = alone ? NULL : mem_try_large((size_t)got + 1, sizeof(float));
    s->counts = mem_calloc(2 * (size_t)comm_world(comm), sizeof(*s->counts));
    s->out = alone ? NULL : mem_try_large((size_t)mine + 1, sizeof(float));
    if (s->own && (alone || (s->got && s->out)))
        return RC_OK;
    dist_sum_release(s);
    return err_set(err, RC_NOMEM, "no memory for the gradients of %d shards", shards.n);
}

void dist_sum_release(struct dist_sum *s)
{
    mem_free(s->own);
    mem_free(s->got);
    mem_free(s->out);
    mem_free(s->message);
    mem_free(s->counts);
    *s = (struct dist_sum){0};
}

CLONED static void add(float *restrict to, const float *restrict from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] += from[i];
}

CLONED static void add_behind(float *restrict to, const float *restrict from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = from[i] + to[i];
}

/* A message is ordered by its receiver: the slices of all shards for one rank lie
 * together.
 */
static void place(struct dist_sum *s, int shard, const float *vector)
{
    float *at = s->own;
    for (int r = 0; r < comm_world(s->comm); r++) {
        int64_t n = slice(s, r);
        memcpy(at + shard * n, vector, (size_t)n * sizeof(float));
        at += s->shards.n * n;
        vector += n;
    }
}

float *dist_sum_room(struct dist_sum *s)
{
    return comm_world(s->comm) > 1 && s->shards.n == 1 ? s->own : NULL;
}

void dist_sum_add(struct dist_sum *s, int shard, const float *vector)
{
    if (vector == s->own)
        return;
    if (comm_world(s->comm) > 1)
        place(s, shard, vector);
    else if (s->begun)
        add(s->own, vector, s->n);
    else
        memcpy(s->own, vector, (size_t)s->n * sizeof(float));
    s->begun = true;
}

/* The slice of rank r of this rank's shard, counted from 0 here. */
static const float *own_slice(const struct dist_sum *s, int shard, int rank)
{
    const float *at = s->own;
    for (int r = 0; r < rank; r++)
        at += s->shards.n * slice(s, r);
    return at + shard * slice(s, rank);
}

/* In s->out: this rank's slice of all shards that have rows; s->got has those of others. */
static void add_slices(struct dist_sum *s, const int64_t *rows)
{
    int rank = comm_rank(s->comm);
    int64_t n = slice(s, rank);
    const float *got = s->got;
    bool begun = false;
    memset(s->out, 0, (size_t)n * sizeof(float));
    for (int i = 0; i < s->shards.total; i++) {
        int at = i - s->shards.first;
        bool own = at >= 0 && at < s->shards.n;
        const float *v = own ? own_slice(s, at, rank) : got;
        got += own ? 0 : n;
        if (rows[i] == 0)
            continue;
        if (begun)
            add(s->out, v, n);
        else
            memcpy(s->out, v, (size_t)n * sizeof(float));
        begun = true;
    }
}

static void measure(struct dist_sum *s)
{
    int world = comm_world(s->comm), rank = comm_rank(s->comm);
    int64_t *send = s->counts, *receive = s->counts + world;
    for (int r = 0; r < world; r++) {
        bool self = r == rank;
        send[r] = self ? 0 : s->shards.n * slice(s, r);
        receive[r] =
            self ? 0 : dist_shards_of(r, world, s->shards.total).n * slice(s, rank);
    }
}

/* What goes to other ranks lies together in a message, without this rank's own slices. */
static float *pack(struct dist_sum *s)
{
    int rank = comm_rank(s->comm);
    int64_t before = 0, mine = s->shards.n * slice(s, rank), after = 0;
    for (int r = 0; r < comm_world(s->comm); r++)
        *(r < rank ? &before : &after) += r == rank ? 0 : s->shards.n * slice(s, r);
    if (mine == 0 || after == 0)
        return s->own;
    if (before == 0)
        return s->own + mine;
    if (!s->message)
        s->message = mem_try_large((size_t)(before + after) + 1, sizeof(float));
    if (s->message) {
        memcpy(s->message, s->own, (size_t)before * sizeof(float));
        memcpy(s->message + before, s->own + before + mine,
               (size_t)after * sizeof(float));
    }
    return s->message;
}

static enum rc finish_slices(struct dist_sum *s, const int64_t *rows, float *out,
                             struct err *err)
{
    int world = comm_world(s->comm);
    int64_t *send = s->counts, *receive = s->counts + world;
    float *message = pack(s);
    if (!message)
        return err_set(err, RC_NOMEM, "no memory for the gradients of %d shards",
                       s->shards.n);
    measure(s);
    for (int r = 0; r < world; r++)
        s->traffic.sent += send[r] * (int64_t)sizeof(float);
    enum rc rc =
        comm_all_to_all(s->comm, comm_f32(message), send, comm_f32(s->got), receive, err);
    if (rc)
        return rc;
    add_slices(s, rows);
    for (int r = 0; r < world; r++)
        receive[r] = slice(s, r);
    s->traffic.sent +=
        (world - 1) * slice(s, comm_rank(s->comm)) * (int64_t)sizeof(float);
    return comm_all_gather(s->comm, comm_f32(s->out), comm_f32(out), receive, err);
}

/* out may be s->own. */
static void add_pair(const struct dist_sum *s, const int64_t *rows, float *out)
{
    const float *first = s->shards.first == 0 ? s->own : s->got;
    const float *second = s->shards.first == 0 ? s->got : s->own;
    if (rows[0] && rows[1] && out == first)
        add(out, second, s->n);
    else if (rows[0] && rows[1] && out == second)
        add_behind(out, first, s->n);
    else if (rows[0] && rows[1])
        for (int64_t i = 0; i < s->n; i++)
            out[i] = first[i] + second[i];
    else if (rows[0] || rows[1])
        memmove(out, rows[0] ? first : second, (size_t)s->n * sizeof(float));
    else
        memset(out, 0, (size_t)s->n * sizeof(float));
}

static enum rc finish_pair(struct dist_sum *s, const int64_t *rows, float *out,
                           struct err *err)
{
    int other = 1 - comm_rank(s->comm);
    int64_t n[2] = {0};
    n[other] = s->n;
    s->traffic.sent += s->n * (int64_t)sizeof(float);
    enum rc rc = comm_all_to_all(s->comm, comm_f32(s->own), n, comm_f32(s->got), n, err);
    if (!rc)
        add_pair(s, rows, out);
    return rc;
}

enum rc dist_sum_finish(struct dist_sum *s, const int64_t *rows, float *out,
                        struct err *err)
{
    int64_t world = comm_world(s->comm);
    s->traffic.least += 2 * (world - 1) * s->n * (int64_t)sizeof(float) / world;
    if (world > 1)
        return is_pair(s) ? finish_pair(s, rows, out, err)
                          : finish_slices(s, rows, out, err);
    memcpy(out, s->own, (size_t)s->n * sizeof(float));
    s->begun = false;
    return RC_OK;
}
