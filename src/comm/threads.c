/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as threads: each call is two meetings of all ranks. Before the first a rank posts
 * what it brings (pointers into its own memory); the last to arrive compares the posts
 * and reserves shared memory. Between the two every rank makes its own result from the
 * posts of all; after the second nobody reads them any more. A reduction of all to all is
 * cut by elements: rank r adds up its slice for everybody, in the order of ranks.
 *
 * The lock of the group guards everything in it but `posts` and `shared` between the two
 * meetings, when they are only read, or written each in its own slice. Whatever breaks
 * the group is kept in `why`, wakes all who wait, and is the answer to every later call.
 */
#include "comm/threads.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "comm/call.h"
#include "comm/comm_private.h"
#include "comm/reduce.h"

/* What a rank brings to a call. */
struct post {
    struct comm_call call;
    const void *in;
    const int64_t *counts, *receive; /* [world], or NULL */
};

struct comm_group {
    int world;
    int64_t timeout_ms;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int refs;
    /* [world]: the rank has its comm, has arrived, has closed its comm */
    bool *open, *here, *closed;
    int arrived;
    uint64_t meetings;      /* that are over */
    struct post *posts;     /* [world] */
    const void **inputs;    /* [world]: for comm_reduce() */
    unsigned char *shared;  /* result of an all_reduce */
    size_t room;            /* of it */
    struct comm_group *dup; /* of a dup under way: one reference */
    bool broken;
    enum rc rc; /* of `why` */
    struct err why;
};

struct thread_comm {
    struct comm comm;
    struct comm_group *group;
};

struct comm_group *comm_group_create(int world, int64_t timeout_ms)
{
    struct comm_group *g = mem_calloc(1, sizeof(*g));
    pthread_condattr_t attr;
    size_t n = (size_t)(world > 0 ? world : 1);
    g->world = world;
    g->timeout_ms = timeout_ms > 0 ? timeout_ms : COMM_TIMEOUT_MS;
    g->refs = 1;
    g->open = mem_calloc(n, sizeof(*g->open));
    g->here = mem_calloc(n, sizeof(*g->here));
    g->closed = mem_calloc(n, sizeof(*g->closed));
    g->posts = mem_calloc(n, sizeof(*g->posts));
    g->inputs = mem_calloc(n, sizeof(*g->inputs));
    pthread_mutex_init(&g->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&g->changed, &attr);
    pthread_condattr_destroy(&attr);
    return g;
}

void comm_group_unref(struct comm_group *g)
{
    if (!g)
        return;
    pthread_mutex_lock(&g->lock);
    int left = --g->refs;
    pthread_mutex_unlock(&g->lock);
    if (left > 0)
        return;
    comm_group_unref(g->dup);
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
    mem_free(g->open);
    mem_free(g->here);
    mem_free(g->closed);
    mem_free(g->posts);
    mem_free(g->inputs);
    mem_free(g->shared);
    mem_free(g);
}

/* The first reason stays. With the lock. */
static void break_group(struct comm_group *g, enum rc rc, const struct err *why)
{
    if (g->broken)
        return;
    g->broken = true;
    g->rc = rc;
    g->why = *why;
    pthread_cond_broadcast(&g->changed);
}

static enum rc broken_error(const struct comm_group *g, struct err *err)
{
    if (err)
        *err = g->why;
    return g->rc;
}

static struct comm_group *group_of(struct comm *c)
{
    return ((struct thread_comm *)c)->group;
}

static enum rc threads_open(const struct comm_conf *conf, struct comm **out,
                            struct err *err)
{
    struct comm_group *g = conf->group;
    if (!g || g->world != conf->world)
        return err_coded(err, RC_INVAL, E2504,
                         "comm 'threads' wants a group of %d ranks, not %d", conf->world,
                         g ? g->world : 0);
    pthread_mutex_lock(&g->lock);
    bool taken = g->open[conf->rank];
    g->open[conf->rank] = true;
    g->refs += !taken;
    pthread_mutex_unlock(&g->lock);
    if (taken)
        return err_coded(err, RC_INVAL, E2504, "rank %d is open already", conf->rank);
    struct thread_comm *c = mem_calloc(1, sizeof(*c));
    c->comm = (struct comm){.ops = &comm_threads_ops,
                            .rank = conf->rank,
                            .world = conf->world,
                            .step = conf->step};
    c->group = g;
    *out = &c->comm;
    return RC_OK;
}

static void threads_abort(struct comm *c, const struct err *why)
{
    struct comm_group *g = group_of(c);
    struct err e = {0};
    enum rc rc = err_coded(&e, RC_IO, E2501, "rank %d of %d gave up: %s", c->rank,
                           c->world, why ? why->msg : "no reason was given");
    pthread_mutex_lock(&g->lock);
    break_group(g, rc, &e);
    pthread_mutex_unlock(&g->lock);
}

static void threads_close(struct comm *c)
{
    struct comm_group *g = group_of(c);
    struct err e = {0};
    pthread_mutex_lock(&g->lock);
    if (g->arrived > 0) {
        enum rc rc =
            err_coded(&e, RC_IO, E2501, "rank %d of %d left while others waited for it",
                      c->rank, c->world);
        break_group(g, rc, &e);
    }
    g->closed[c->rank] = true;
    pthread_mutex_unlock(&g->lock);
    mem_free(c);
    comm_group_unref(g);
}

/* The ranks that did not come: "1, 3". */
static void name_absent(const struct comm_group *g, struct buf *out)
{
    for (int r = 0; r < g->world; r++)
        if (!g->here[r])
            buf_printf(out, "%s%d", out->n ? ", " : "", r);
}

static void time_out(struct comm_group *g, const struct comm *c)
{
    struct err e = {0};
    struct buf absent;
    buf_init(&absent, (size_t)1 << 16);
    name_absent(g, &absent);
    enum rc rc = err_coded(&e, RC_IO, E2502,
                           "%s: after %.3g s these of %d ranks have not come: %s",
                           comm_call_name(g->posts[c->rank].call.kind),
                           (double)g->timeout_ms * 1e-3, g->world, buf_str(&absent));
    break_group(g, rc, &e);
    buf_release(&absent);
}

static struct timespec deadline(const struct comm_group *g)
{
    int64_t at = clock_mono_ns() + g->timeout_ms * 1000000;
    return (struct timespec){.tv_sec = at / CLOCK_SECOND, .tv_nsec = at % CLOCK_SECOND};
}

static enum rc compare_posts(const struct comm_group *g, struct err *err)
{
    const struct post *a = &g->posts[0];
    enum rc rc = RC_OK;
    for (int r = 1; r < g->world && !rc; r++)
        rc = comm_call_compare(0, &a->call, r, &g->posts[r].call, err);
    if (rc || a->call.kind != CALL_ALL_TO_ALL)
        return rc;
    for (int r = 0; r < g->world; r++)
        for (int s = 0; s < g->world; s++)
            if (g->posts[r].counts[s] != g->posts[s].receive[r])
                return comm_call_differs(r, a->call.kind, s, a->call.kind,
                                         "what goes from one to the other", err);
    return RC_OK;
}

/* What the last to arrive does for all. */
static enum rc prepare_call(struct comm_group *g, struct err *err)
{
    enum rc rc = compare_posts(g, err);
    const struct post *a = &g->posts[0];
    for (int r = 0; r < g->world; r++)
        g->inputs[r] = g->posts[r].in;
    if (!rc && a->call.kind == CALL_DUP) {
        comm_group_unref(g->dup);
        g->dup = comm_group_create(g->world, g->timeout_ms);
    }
    size_t bytes = a->call.kind == CALL_ALL_REDUCE
                       ? (size_t)a->call.n * comm_type_size((enum comm_type)a->call.type)
                       : 0;
    if (rc || bytes <= g->room)
        return rc;
    mem_free(g->shared);
    g->shared = mem_try_alloc(bytes, 1);
    g->room = g->shared ? bytes : 0;
    if (!g->shared)
        return err_coded(err, RC_NOMEM, E2501, "all_reduce: no memory for %zu bytes",
                         bytes);
    return RC_OK;
}

static void end_meeting(struct comm_group *g)
{
    memset(g->here, 0, (size_t)g->world * sizeof(*g->here));
    g->arrived = 0;
    g->meetings++;
    pthread_cond_broadcast(&g->changed);
}

/* A rank that closed its comm will not come. */
static void look_for_closed(struct comm_group *g)
{
    struct err e = {0};
    for (int r = 0; r < g->world; r++)
        if (g->closed[r])
            break_group(
                g, err_coded(&e, RC_IO, E2501, "rank %d of %d has left", r, g->world),
                &e);
}

static void arrive(struct comm_group *g, const struct comm *c)
{
    g->here[c->rank] = true;
    g->arrived++;
}

/* The first meeting of a call: all bring their posts, or the group breaks. */
static enum rc meet_first(struct comm *c, const struct post *post, struct err *err)
{
    struct comm_group *g = group_of(c);
    struct err e = {0};
    pthread_mutex_lock(&g->lock);
    uint64_t mine = g->meetings;
    struct timespec until = deadline(g);
    g->posts[c->rank] = *post;
    look_for_closed(g);
    if (!g->broken)
        arrive(g, c);
    if (!g->broken && g->arrived == g->world) {
        enum rc rc = prepare_call(g, &e);
        if (rc)
            break_group(g, rc, &e);
        else
            end_meeting(g);
    }
    while (!g->broken && g->meetings == mine)
        if (pthread_cond_timedwait(&g->changed, &g->lock, &until) && !g->broken &&
            g->meetings == mine)
            time_out(g, c);
    /* who has met goes on to the second meeting, whatever broke since */
    enum rc rc = g->meetings == mine ? broken_error(g, err) : RC_OK;
    pthread_mutex_unlock(&g->lock);
    return rc;
}

/* The second: nobody may give back what others read until all are here. They do come, for
 * nothing between the two can fail or wait.
 */
static void meet_again(struct comm *c)
{
    struct comm_group *g = group_of(c);
    pthread_mutex_lock(&g->lock);
    uint64_t mine = g->meetings;
    arrive(g, c);
    if (g->arrived == g->world)
        end_meeting(g);
    while (g->meetings == mine)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static enum rc both_on_host(struct comm *c, struct comm_mem a, struct comm_mem b,
                            struct err *err)
{
    enum rc rc = comm_on_host(c, a, err);
    return rc ? rc : comm_on_host(c, b, err);
}

/* Elements [from, from + n) of all posts, combined. */
static void reduce_posts(const struct comm_group *g, enum comm_type type, enum comm_op op,
                         int64_t from, int64_t n, void *out)
{
    comm_reduce(type, op, g->inputs, g->world, from, n, out);
}

static enum rc threads_barrier(struct comm *c, struct err *err)
{
    enum rc rc = meet_first(c, &(struct post){.call = {.kind = CALL_BARRIER}}, err);
    if (!rc)
        meet_again(c);
    return rc;
}

static enum rc threads_dup(struct comm *c, struct comm **out, struct err *err)
{
    struct comm_group *g = group_of(c);
    enum rc rc = meet_first(c, &(struct post){.call = {.kind = CALL_DUP}}, err);
    if (rc)
        return rc;
    rc = threads_open(
        &(struct comm_conf){.rank = c->rank, .world = c->world, .group = g->dup}, out,
        err);
    meet_again(c);
    return rc;
}

static enum rc threads_broadcast(struct comm *c, struct comm_mem data, int64_t n,
                                 int root, struct err *err)
{
    struct comm_group *g = group_of(c);
    enum rc rc = comm_on_host(c, data, err);
    struct post post = {
        .call = {.kind = CALL_BROADCAST, .type = data.type, .root = root, .n = n},
        .in = data.data};
    if (!rc)
        rc = meet_first(c, &post, err);
    if (rc)
        return rc;
    if (c->rank != root && n)
        memcpy(data.data, g->posts[root].in, (size_t)n * comm_type_size(data.type));
    meet_again(c);
    return RC_OK;
}

static enum rc threads_all_reduce(struct comm *c, struct comm_mem data, int64_t n,
                                  enum comm_op op, struct err *err)
{
    struct comm_group *g = group_of(c);
    enum rc rc = comm_on_host(c, data, err);
    size_t size = comm_type_size(data.type);
    struct post post = {
        .call = {.kind = CALL_ALL_REDUCE, .type = data.type, .op = op, .n = n},
        .in = data.data};
    if (!rc)
        rc = meet_first(c, &post, err);
    if (rc)
        return rc;
    int64_t from = n * c->rank / c->world, to = n * (c->rank + 1) / c->world;
    reduce_posts(g, data.type, op, from, to - from, g->shared + (size_t)from * size);
    meet_again(c);
    if (n)
        memcpy(data.data, g->shared, (size_t)n * size);
    return RC_OK;
}

static int64_t sum_before(const int64_t *counts, int rank)
{
    int64_t n = 0;
    for (int r = 0; r < rank; r++)
        n += counts[r];
    return n;
}

static enum rc threads_reduce_scatter(struct comm *c, struct comm_mem in,
                                      const int64_t *counts, struct comm_mem out,
                                      enum comm_op op, struct err *err)
{
    struct comm_group *g = group_of(c);
    enum rc rc = both_on_host(c, in, out, err);
    struct post post = {.call = {.kind = CALL_REDUCE_SCATTER,
                                 .type = in.type,
                                 .op = op,
                                 .counts = comm_call_counts(counts, c->world)},
                        .in = in.data,
                        .counts = counts};
    if (!rc)
        rc = meet_first(c, &post, err);
    if (rc)
        return rc;
    reduce_posts(g, in.type, op, sum_before(counts, c->rank), counts[c->rank], out.data);
    meet_again(c);
    return RC_OK;
}

/* n elements from `at` on of what rank r posted. */
static void copy_posted(const struct comm_group *g, int r, int64_t at, int64_t n,
                        unsigned char *to)
{
    size_t size = comm_type_size((enum comm_type)g->posts[r].call.type);
    const unsigned char *from = g->posts[r].in;
    if (n && to != from + (size_t)at * size)
        memcpy(to, from + (size_t)at * size, (size_t)n * size);
}

static enum rc threads_all_gather(struct comm *c, struct comm_mem in, struct comm_mem out,
                                  const int64_t *counts, struct err *err)
{
    struct comm_group *g = group_of(c);
    enum rc rc = both_on_host(c, in, out, err);
    struct post post = {.call = {.kind = CALL_ALL_GATHER,
                                 .type = in.type,
                                 .counts = comm_call_counts(counts, c->world)},
                        .in = in.data,
                        .counts = counts};
    if (!rc)
        rc = meet_first(c, &post, err);
    if (rc)
        return rc;
    unsigned char *to = out.data;
    for (int r = 0; r < c->world; r++) {
        copy_posted(g, r, 0, counts[r], to);
        to += counts[r] ? (size_t)counts[r] * comm_type_size(in.type) : 0;
    }
    meet_again(c);
    return RC_OK;
}

static enum rc threads_all_to_all(struct comm *c, struct comm_mem in, const int64_t *send,
                                  struct comm_mem out, const int64_t *receive,
                                  struct err *err)
{
    struct comm_group *g = group_of(c);
    enum rc rc = both_on_host(c, in, out, err);
    struct post post = {.call = {.kind = CALL_ALL_TO_ALL, .type = in.type},
                        .in = in.data,
                        .counts = send,
                        .receive = receive};
    if (!rc)
        rc = meet_first(c, &post, err);
    if (rc)
        return rc;
    unsigned char *to = out.data;
    for (int r = 0; r < c->world; r++) {
        copy_posted(g, r, sum_before(g->posts[r].counts, c->rank), receive[r], to);
        to += receive[r] ? (size_t)receive[r] * comm_type_size(in.type) : 0;
    }
    meet_again(c);
    return RC_OK;
}

/* Who has no memory breaks the group: the others are told by the next call. */
static enum rc take_posts(struct comm *c, const struct comm_inbox *out,
                          const int64_t *receive, struct err *err)
{
    struct comm_group *g = group_of(c);
    int64_t n = sum_before(receive, c->world);
    unsigned char *to = out->reserve(out->arg, n);
    if (!to && n) {
        enum rc rc = err_coded(err, RC_NOMEM, E2501,
                               "rank %d of %d: send_all: no memory for %jd elements",
                               c->rank, c->world, (intmax_t)n);
        threads_abort(c, err);
        return rc;
    }
    for (int r = 0; r < c->world; r++) {
        copy_posted(g, r, sum_before(g->posts[r].counts, c->rank), receive[r], to);
        to += receive[r] ? (size_t)receive[r] * comm_type_size(out->type) : 0;
    }
    return RC_OK;
}

static enum rc threads_send_all(struct comm *c, struct comm_mem in, const int64_t *send,
                                const struct comm_inbox *out, int64_t *receive,
                                struct err *err)
{
    struct comm_group *g = group_of(c);
    enum rc rc = comm_on_host(c, in, err);
    struct post post = {
        .call = {.kind = CALL_SEND_ALL, .type = in.type}, .in = in.data, .counts = send};
    if (!rc)
        rc = meet_first(c, &post, err);
    if (rc)
        return rc;
    for (int r = 0; r < c->world; r++)
        receive[r] = g->posts[r].counts[c->rank];
    rc = take_posts(c, out, receive, err);
    meet_again(c);
    return rc;
}

const struct comm_ops comm_threads_ops = {
    .name = "threads",
    .summary = "ranks that are threads of one process",
    .open = threads_open,
    .dup = threads_dup,
    .close = threads_close,
    .abort = threads_abort,
    .barrier = threads_barrier,
    .broadcast = threads_broadcast,
    .all_reduce = threads_all_reduce,
    .reduce_scatter = threads_reduce_scatter,
    .all_gather = threads_all_gather,
    .all_to_all = threads_all_to_all,
    .send_all = threads_send_all,
};
