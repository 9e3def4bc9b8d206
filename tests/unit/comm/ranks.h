/* SPDX-License-Identifier: Apache-2.0 */
/* unit/comm/ranks.h - what each rank does in a case, whatever connects the ranks. A body
 * counts what is wrong; the test that runs it makes the checks.
 */
#ifndef UNIT_COMM_RANKS_H
#define UNIT_COMM_RANKS_H

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"

#define WORLD_MAX 7
#define N 1003

/* One rank of a test; checks are counted here and made by the main thread. */
struct rank {
    struct comm *c;
    int rank, world;
    void (*run)(struct rank *);
    enum rc rc;
    struct err err;
    int64_t bad;
    void *arg;
};

/* Values whose sum depends on the order of the additions. */
static float value_of(int rank, int64_t i)
{
    return (float)(rank % 2 ? -1 : 1) * (1.0f + (float)i * 0.37f) *
           (rank % 3 ? 1e-7f : 1e7f);
}

static void sum_floats(struct rank *r)
{
    float *x = mem_alloc(N * sizeof(*x));
    for (int64_t round = 0; round < 20 && !r->rc; round++) {
        for (int64_t i = 0; i < N; i++)
            x[i] = value_of(r->rank, i + round);
        r->rc = comm_all_reduce(r->c, comm_f32(x), N, COMM_SUM, &r->err);
        for (int64_t i = 0; i < N; i++) {
            float want = value_of(0, i + round);
            for (int k = 1; k < r->world; k++)
                want += value_of(k, i + round);
            r->bad += memcmp(&want, &x[i], sizeof(want)) != 0;
        }
    }
    mem_free(x);
}

/* More than goes to everybody whole. */
static void sum_many(struct rank *r)
{
    int64_t n = 100003;
    int64_t *x = mem_alloc((size_t)n * sizeof(*x));
    for (int64_t i = 0; i < n; i++)
        x[i] = i * (r->rank + 1);
    r->rc = comm_all_reduce(r->c, comm_i64(x), n, COMM_SUM, &r->err);
    for (int64_t i = 0; i < n; i++)
        r->bad += x[i] != i * r->world * (r->world + 1) / 2;
    mem_free(x);
}

static void sum_types(struct rank *r)
{
    int64_t big[2] = {INT64_MAX, r->rank};
    int32_t small[1] = {-r->rank};
    double d[1] = {r->rank == 1 ? (double)NAN : r->rank};
    uint16_t half[2] = {0x3f80, r->rank == 0 ? 0x4380 : 0x3f80}; /* 1; 256 or 1 */
    struct comm_mem f64 = {.data = d, .type = COMM_F64};
    struct comm_mem i32 = {.data = small, .type = COMM_I32};
    struct comm_mem bf16 = {.data = half, .type = COMM_BF16};
    r->rc = comm_all_reduce(r->c, comm_i64(big), 2, COMM_MAX, &r->err);
    if (!r->rc)
        r->rc = comm_all_reduce(r->c, i32, 1, COMM_MIN, &r->err);
    if (!r->rc)
        r->rc = comm_all_reduce(r->c, f64, 1, COMM_MAX, &r->err);
    if (!r->rc)
        r->rc = comm_all_reduce(r->c, bf16, 2, COMM_SUM, &r->err);
    r->bad += big[0] != INT64_MAX || big[1] != r->world - 1;
    r->bad += small[0] != 1 - r->world;
    r->bad += !isnan(d[0]);
    /* 3; 256 + 1 + 1 rounds to 258, where adding in bf16 would stay at 256 */
    r->bad += half[0] != 0x4040 || half[1] != 0x4381;
}

/* Rank r has 3 * r elements: rank 0 has none. */
static void gather_uneven(struct rank *r)
{
    int64_t counts[WORLD_MAX], total = 0, own[3 * WORLD_MAX], all[3 * 28], at = 0;
    for (int k = 0; k < r->world; k++)
        total += counts[k] = 3 * k;
    for (int64_t i = 0; i < counts[r->rank]; i++)
        own[i] = r->rank * 100 + i;
    struct comm_mem in = comm_i64(counts[r->rank] ? own : NULL);
    r->rc = comm_all_gather(r->c, in, comm_i64(all), counts, &r->err);
    for (int k = 0; k < r->world; k++)
        for (int64_t i = 0; i < counts[k]; i++)
            r->bad += all[at++] != k * 100 + i;
    /* again, each from its own place of the result */
    int64_t before = 3 * r->rank * (r->rank - 1) / 2;
    for (int64_t i = 0; i < total; i++)
        if (i < before || i >= before + counts[r->rank])
            all[i] = -1;
    if (!r->rc)
        r->rc =
            comm_all_gather(r->c, comm_i64(all + before), comm_i64(all), counts, &r->err);
    at = 0;
    for (int k = 0; k < r->world; k++)
        for (int64_t i = 0; i < counts[k]; i++)
            r->bad += all[at++] != k * 100 + i;
}

static void scatter_uneven(struct rank *r)
{
    int64_t counts[WORLD_MAX], n = 0, before = 0;
    float in[64], out[64];
    for (int k = 0; k < r->world; k++) {
        counts[k] = k == 1 ? 0 : 5 + k;
        before += k < r->rank ? counts[k] : 0;
        n += counts[k];
    }
    for (int64_t i = 0; i < n; i++)
        in[i] = value_of(r->rank, i);
    r->rc =
        comm_reduce_scatter(r->c, comm_f32(in), counts, comm_f32(out), COMM_SUM, &r->err);
    for (int64_t i = 0; i < counts[r->rank]; i++) {
        float want = value_of(0, before + i);
        for (int k = 1; k < r->world; k++)
            want += value_of(k, before + i);
        r->bad += memcmp(&want, &out[i], sizeof(want)) != 0;
    }
}

/* Rank r sends s elements to rank s, and none to itself. */
static void deal(struct rank *r)
{
    int64_t send[WORLD_MAX], receive[WORLD_MAX], in[64], out[64], n = 0, at = 0;
    for (int s = 0; s < r->world; s++) {
        send[s] = s == r->rank ? 0 : s;
        for (int64_t i = 0; i < send[s]; i++)
            in[n++] = r->rank * 1000 + s * 10 + i;
    }
    r->rc = comm_exchange(r->c, send, receive, &r->err);
    if (!r->rc)
        r->rc =
            comm_all_to_all(r->c, comm_i64(in), send, comm_i64(out), receive, &r->err);
    for (int s = 0; s < r->world; s++) {
        r->bad += receive[s] != (s == r->rank ? 0 : r->rank);
        for (int64_t i = 0; i < receive[s]; i++)
            r->bad += out[at++] != s * 1000 + r->rank * 10 + i;
    }
}

static void *grow(void *arg, int64_t n)
{
    int64_t **to = arg;
    *to = mem_realloc(*to, (size_t)n + 1, sizeof(**to));
    return *to;
}

/* The same, of which only the sender knows how many there are; the second time none. */
static void send(struct rank *r)
{
    int64_t counts[WORLD_MAX], receive[WORLD_MAX], in[64], *out = NULL;
    struct comm_inbox inbox = {.type = COMM_I64, .reserve = grow, .arg = &out};
    for (int64_t round = 0; round < 2 && !r->rc; round++) {
        int64_t n = 0, at = 0;
        for (int s = 0; s < r->world; s++) {
            counts[s] = round ? 0 : s + r->rank % 2;
            for (int64_t i = 0; i < counts[s]; i++)
                in[n++] = r->rank * 1000 + s * 10 + i;
        }
        r->rc = comm_send_all(r->c, comm_i64(in), counts, &inbox, receive, &r->err);
        for (int s = 0; s < r->world && !r->rc; s++) {
            r->bad += receive[s] != (round ? 0 : r->rank + s % 2);
            for (int64_t i = 0; i < receive[s]; i++)
                r->bad += out[at++] != s * 1000 + r->rank * 10 + i;
        }
    }
    mem_free(out);
}

static void tell_all(struct rank *r)
{
    for (int root = 0; root < r->world && !r->rc; root++) {
        int64_t x = r->rank;
        r->rc = comm_broadcast(r->c, comm_i64(&x), 1, root, &r->err);
        r->bad += x != root;
    }
}

static void give_up_at_once(struct rank *r)
{
    struct err why = {.msg = "no memory for table 'x'"};
    float x = 1;
    if (r->rank == 2)
        comm_abort(r->c, &why);
    else
        r->rc = comm_all_reduce(r->c, comm_f32(&x), 1, COMM_SUM, &r->err);
    enum rc again = comm_barrier(r->c, NULL);
    r->bad = again != RC_IO;
}

static void leave(struct rank *r)
{
    if (r->rank != 1) {
        r->rc = comm_barrier(r->c, &r->err);
        return;
    }
    comm_close(r->c);
    r->c = NULL;
}

/* Rank 0 offers memory that the comm cannot reach. */
static void reach_too_far(struct rank *r)
{
    float x = 0;
    struct comm_mem mem = comm_f32(&x);
    if (r->rank == 0)
        mem.device = (enum comm_device)3;
    r->rc = comm_all_reduce(r->c, mem, 1, COMM_SUM, &r->err);
}

static void disagree(struct rank *r)
{
    const char *about = r->arg;
    float x[4] = {0};
    int64_t n = r->rank == 1 && strcmp(about, "n") == 0 ? 3 : 4;
    enum comm_op op = r->rank == 1 && strcmp(about, "op") == 0 ? COMM_MAX : COMM_SUM;
    if (r->rank == 1 && strcmp(about, "call") == 0)
        r->rc = comm_barrier(r->c, &r->err);
    else
        r->rc = comm_all_reduce(r->c, comm_f32(x), n, op, &r->err);
}

static void bad_argument(struct rank *r)
{
    float x = 0;
    r->rc = comm_all_reduce(r->c, comm_f32(&x), r->rank == 0 ? -1 : 1, COMM_SUM, &r->err);
}

struct pair {
    struct comm *c;
    int64_t bad;
};

static void *count_up(void *arg)
{
    struct pair *p = arg;
    for (int64_t i = 0; i < 200; i++) {
        int64_t x = i;
        if (comm_all_reduce(p->c, comm_i64(&x), 1, COMM_SUM, NULL) || x != 2 * i)
            p->bad++;
    }
    return NULL;
}

/* Two threads of each rank, each with its own comm, at the same time. */
static void two_at_once(struct rank *r)
{
    struct pair first = {.c = r->c}, second = {0};
    pthread_t other;
    r->rc = comm_dup(r->c, &second.c, &r->err);
    if (r->rc)
        return;
    pthread_create(&other, NULL, count_up, &second);
    count_up(&first);
    pthread_join(other, NULL);
    r->bad = first.bad + second.bad;
    comm_close(second.c);
}

#endif
