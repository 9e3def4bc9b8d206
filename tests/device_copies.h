/* SPDX-License-Identifier: Apache-2.0 */
/* device_copies.h - a device that is the CPU behind copies: its memory can be touched
 * inside of its calls alone. Between them the pages have no access rights, so that a host
 * pointer that somebody forgot crashes the test.
 */
#ifndef DEVICE_COPIES_H
#define DEVICE_COPIES_H

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "nn/cpu/cpu.h"
#include "nn/device.h"
#include "nn/graph_private.h"
#include "nn/optim/params.h"

struct copies_block {
    void *at;
    size_t bytes;
};

struct copies_sum {
    double *at, value;
};

struct copies {
    pthread_mutex_t lock; /* guards what follows */
    int inside;           /* calls under way */
    VEC(struct copies_block) blocks;
    /* As in a queue, sums of losses are there when somebody has waited for them. */
    VEC(struct copies_sum) sums;
    const char *fault; /* what the next wait reports; NULL: nothing */
};

static void copies_protect(const struct copies *c, int rights)
{
    for (size_t i = 0; i < c->blocks.n; i++)
        if (mprotect(c->blocks.at[i].at, c->blocks.at[i].bytes, rights))
            abort();
}

static void copies_enter(const struct device *d)
{
    struct copies *c = d->state;
    pthread_mutex_lock(&c->lock);
    if (c->inside++ == 0)
        copies_protect(c, PROT_READ | PROT_WRITE);
    pthread_mutex_unlock(&c->lock);
}

static void copies_leave(const struct device *d)
{
    struct copies *c = d->state;
    pthread_mutex_lock(&c->lock);
    if (--c->inside == 0)
        copies_protect(c, PROT_NONE);
    pthread_mutex_unlock(&c->lock);
}

static enum rc copies_open(void **state, struct err *err)
{
    struct copies *c = mem_calloc(1, sizeof(*c));
    pthread_mutex_init(&c->lock, NULL);
    *state = c;
    return RC_OK;
}

static void copies_close(void *state)
{
    struct copies *c = state;
    pthread_mutex_destroy(&c->lock);
    VEC_RELEASE(&c->blocks);
    VEC_RELEASE(&c->sums);
    mem_free(c);
}

static void *copies_alloc(const struct device *d, size_t bytes)
{
    struct copies *c = d->state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct copies_block b = {.bytes = (bytes + page) / page * page};
    b.at = mmap(NULL, b.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b.at == MAP_FAILED)
        return NULL;
    pthread_mutex_lock(&c->lock);
    VEC_PUSH(&c->blocks, b);
    if (c->inside)
        copies_protect(c, PROT_READ | PROT_WRITE);
    pthread_mutex_unlock(&c->lock);
    return b.at;
}

static void copies_free(const struct device *d, void *at)
{
    struct copies *c = d->state;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; at && i < c->blocks.n; i++) {
        if (c->blocks.at[i].at != at)
            continue;
        munmap(at, c->blocks.at[i].bytes);
        c->blocks.at[i] = c->blocks.at[--c->blocks.n];
        break;
    }
    pthread_mutex_unlock(&c->lock);
}

static void copies_copy(const struct device *d, void *to, const void *from, size_t bytes,
                        enum device_way way)
{
    copies_enter(d);
    memcpy(to, from, bytes);
    copies_leave(d);
}

static void copies_fill(const struct device *d, void *at, int byte, size_t bytes)
{
    copies_enter(d);
    memset(at, byte, bytes);
    copies_leave(d);
}

static enum rc copies_synchronise(const struct device *d, struct err *err)
{
    struct copies *c = d->state;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->sums.n; i++)
        *c->sums.at[i].at = c->sums.at[i].value;
    c->sums.n = 0;
    enum rc rc = c->fault ? err_set(err, RC_IO, "%s", c->fault) : RC_OK;
    c->fault = NULL;
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* The sums of the pass that was just made. */
static void copies_queue_sums(struct graph *g)
{
    struct copies *c = g->device->state;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < g->losses.n; i++) {
        double *at = &g->losses.at[i].sum;
        VEC_PUSH(&c->sums, ((struct copies_sum){at, *at}));
        *at = (double)NAN;
    }
    pthread_mutex_unlock(&c->lock);
}

static bool copies_has(const struct op *op)
{
    return nn_cpu_executor.has(op);
}

static enum rc copies_plan(struct graph *g, struct err *err)
{
    return nn_cpu_executor.plan(g, err);
}

static void copies_release(struct graph *g)
{
    enum rc rc = copies_synchronise(g->device, NULL); /* nobody waits for it any more */
    (void)rc;
    nn_cpu_executor.release(g);
}

static void copies_rows(struct graph *g)
{
    nn_cpu_executor.rows(g);
}

static void copies_forward(struct graph *g)
{
    copies_enter(g->device);
    nn_cpu_executor.forward(g);
    copies_leave(g->device);
    copies_queue_sums(g);
}

static void copies_backward(struct graph *g, bool zero)
{
    copies_enter(g->device);
    nn_cpu_executor.backward(g, zero);
    copies_leave(g->device);
}

static bool copies_scale(const struct device *d, const struct view *v, float by)
{
    copies_enter(d);
    bool finite = nn_cpu_executor.scale(d, v, by);
    copies_leave(d);
    return finite;
}

static bool copies_coded(struct graph *g, struct nn_val *v, int64_t col, int64_t width,
                         int64_t n)
{
    return nn_cpu_executor.coded(g, v, col, width, n);
}

static void copies_codes(struct graph *g, struct nn_val *v, const struct nn_code_ids *ids)
{
    copies_enter(g->device);
    nn_cpu_executor.codes(g, v, ids);
    copies_leave(g->device);
}

static void copies_update(const struct optim_param_set *s, const struct param_update *u)
{
    copies_enter(s->device);
    nn_cpu_params.update(s, u);
    copies_leave(s->device);
}

static double copies_norm(const struct optim_param_set *s, double p)
{
    copies_enter(s->device);
    double norm = nn_cpu_params.norm(s, p);
    copies_leave(s->device);
    return norm;
}

static void copies_clamp(const struct optim_param_set *s, float max)
{
    copies_enter(s->device);
    nn_cpu_params.clamp(s, max);
    copies_leave(s->device);
}

static void copies_multiply(const struct optim_param_set *s, float by)
{
    copies_enter(s->device);
    nn_cpu_params.multiply(s, by);
    copies_leave(s->device);
}

static bool copies_multiply_finite(const struct optim_param_set *s, float by)
{
    copies_enter(s->device);
    bool finite = nn_cpu_params.multiply_finite(s, by);
    copies_leave(s->device);
    return finite;
}

static void copies_average(const struct optim_param_set *s, float *avg, float keep,
                           float take, bool first)
{
    copies_enter(s->device);
    nn_cpu_params.average(s, avg, keep, take, first);
    copies_leave(s->device);
}

static void copies_exchange(const struct optim_param_set *s, float *avg)
{
    copies_enter(s->device);
    nn_cpu_params.exchange(s, avg);
    copies_leave(s->device);
}

static const struct param_ops copies_params = {
    .update = copies_update,
    .norm = copies_norm,
    .clamp = copies_clamp,
    .multiply = copies_multiply,
    .multiply_finite = copies_multiply_finite,
    .average = copies_average,
    .exchange = copies_exchange,
};

static const struct executor_ops copies_executor = {
    .has = copies_has,
    .plan = copies_plan,
    .release = copies_release,
    .rows = copies_rows,
    .forward = copies_forward,
    .backward = copies_backward,
    .scale = copies_scale,
    .coded = copies_coded,
    .codes = copies_codes,
    .params = &copies_params,
};

static const struct device_ops device_copies = {
    .name = "copies",
    .open = copies_open,
    .close = copies_close,
    .alloc = copies_alloc,
    .free = copies_free,
    .copy = copies_copy,
    .fill = copies_fill,
    .synchronise = copies_synchronise,
    .executor = &copies_executor,
};

#endif
