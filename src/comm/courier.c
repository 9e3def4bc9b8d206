/* SPDX-License-Identifier: Apache-2.0 */
/* A list of errands and one thread that runs them. While nobody waits the comm is patient:
 * its implementation gives the core away between looks at its peers, which the caller
 * computes on.
 */
#include "comm/courier.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/mem.h"

struct comm_courier {
    struct comm *comm;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    struct comm_errand *first, **last; /* the first may be under way */
    bool over;
};

static struct comm_errand *await_errand(struct comm_courier *c)
{
    pthread_mutex_lock(&c->lock);
    while (!c->first && !c->over)
        pthread_cond_wait(&c->changed, &c->lock);
    struct comm_errand *e = c->first;
    pthread_mutex_unlock(&c->lock);
    return e;
}

static void tell_done(struct comm_courier *c, struct comm_errand *e)
{
    pthread_mutex_lock(&c->lock);
    c->first = e->next;
    if (!c->first)
        c->last = &c->first;
    e->done = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

/* Time of the comm is counted by who waits for it. */
static void run_errand(struct comm *comm, struct comm_errand *e)
{
    int64_t ns = comm_ns(comm);
    e->rc = e->run(e->arg, &e->err);
    comm_add_ns(comm, ns - comm_ns(comm));
}

static void *courier_thread(void *arg)
{
    struct comm_courier *c = arg;
    struct comm_errand *e;
    while ((e = await_errand(c)) != NULL) {
        run_errand(c->comm, e);
        tell_done(c, e);
    }
    return NULL;
}

enum rc comm_courier_create(struct comm *comm, struct comm_courier **out, struct err *err)
{
    struct comm_courier *c = mem_calloc(1, sizeof(*c));
    c->comm = comm;
    c->last = &c->first;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    int failed = pthread_create(&c->thread, NULL, courier_thread, c);
    if (!failed) {
        *out = c;
        return RC_OK;
    }
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
    return err_sys(err, failed, "cannot start a thread");
}

void comm_courier_destroy(struct comm_courier *c)
{
    struct err why = {0};
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    bool pending = c->first != NULL;
    c->over = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    if (pending) {
        err_set(&why, RC_CANCELED, "it ended in the middle of a step");
        comm_abort(c->comm, &why);
    }
    pthread_join(c->thread, NULL);
    comm_be_patient(c->comm, false);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
}

void comm_courier_post(struct comm_courier *c, struct comm_errand *e)
{
    e->next = NULL;
    e->err = (struct err){0};
    e->done = false;
    e->posted = true;
    if (!c) {
        e->rc = e->run(e->arg, &e->err);
        e->done = true;
        return;
    }
    pthread_mutex_lock(&c->lock);
    if (!c->first)
        comm_be_patient(c->comm, true);
    *c->last = e;
    c->last = &e->next;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

static void await_done(struct comm_courier *c, const struct comm_errand *e)
{
    int64_t start = clock_mono_ns();
    comm_be_patient(c->comm, false);
    pthread_mutex_lock(&c->lock);
    while (!e->done)
        pthread_cond_wait(&c->changed, &c->lock);
    if (c->first) /* others go on, and nobody waits for them */
        comm_be_patient(c->comm, true);
    pthread_mutex_unlock(&c->lock);
    comm_add_ns(c->comm, clock_mono_ns() - start);
}

enum rc comm_courier_wait(struct comm_courier *c, struct comm_errand *e, struct err *err)
{
    if (!e->posted)
        return RC_OK;
    if (c)
        await_done(c, e);
    e->posted = false;
    if (e->rc && err)
        *err = e->err;
    return e->rc;
}
