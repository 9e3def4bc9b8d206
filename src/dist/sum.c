/* SPDX-License-Identifier: Apache-2.0 */
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

enum rc dist_sum_init(struct dist_sum *s, struct comm *comm, struct dist_shards shards,
                      int64_t n, struct err *err)
{
    bool alone = comm_world(comm) == 1;
    *s = (struct dist_sum){.comm = comm, .shards = shards, .n = n};
    int64_t mine = slice(s, comm_rank(comm));
    size_t own = (size_t)(n * (alone ? 1 : shards.n)) + 1;
    s->own = mem_try_large(own, sizeof(float));
    s->got =
        alone ? NULL : mem_try_large((size_t)(mine * shards.total) + 1, sizeof(float));
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
    mem_free(s->counts);
    *s = (struct dist_sum){0};
}

CLONED static void add(float *restrict to, const float *restrict from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] += from[i];
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

void dist_sum_add(struct dist_sum *s, int shard, const float *vector)
{
    if (comm_world(s->comm) > 1)
        place(s, shard, vector);
    else if (s->begun)
        add(s->own, vector, s->n);
    else
        memcpy(s->own, vector, (size_t)s->n * sizeof(float));
    s->begun = true;
}

/* In s->out: this rank's slice of all shards that have rows. */
static void add_slices(struct dist_sum *s, const int64_t *rows)
{
    int64_t n = slice(s, comm_rank(s->comm));
    bool begun = false;
    memset(s->out, 0, (size_t)n * sizeof(float));
    for (int i = 0; i < s->shards.total; i++) {
        if (rows[i] == 0)
            continue;
        if (begun)
            add(s->out, s->got + i * n, n);
        else
            memcpy(s->out, s->got + i * n, (size_t)n * sizeof(float));
        begun = true;
    }
}

enum rc dist_sum_finish(struct dist_sum *s, const int64_t *rows, float *out,
                        struct err *err)
{
    int world = comm_world(s->comm), rank = comm_rank(s->comm);
    if (world == 1) {
        memcpy(out, s->own, (size_t)s->n * sizeof(float));
        s->begun = false;
        return RC_OK;
    }
    int64_t *send = s->counts, *receive = s->counts + world;
    for (int r = 0; r < world; r++) {
        send[r] = s->shards.n * slice(s, r);
        receive[r] = dist_shards_of(r, world, s->shards.total).n * slice(s, rank);
    }
    enum rc rc =
        comm_all_to_all(s->comm, comm_f32(s->own), send, comm_f32(s->got), receive, err);
    if (!rc) {
        add_slices(s, rows);
        for (int r = 0; r < world; r++)
            receive[r] = slice(s, r);
        rc = comm_all_gather(s->comm, comm_f32(s->out), comm_f32(out), receive, err);
    }
    return rc;
}
