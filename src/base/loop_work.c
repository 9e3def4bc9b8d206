/* SPDX-License-Identifier: Apache-2.0 */
/* Other threads: posted functions and work items. Both come back over two lists behind
 * one lock and one eventfd. Threads are started when an item finds none idle, so a
 * program that never blocks has none.
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/loop_private.h"
#include "base/mem.h"

struct loop_call {
    struct loop_call *next;
    loop_fn *fn;
    void *arg;
};

/* Appends to a list with a pointer to its end; NULL there stands for its head. */
#define APPEND(list, end, node)              \
    do {                                     \
        (node)->next = NULL;                 \
        *((end) ? (end) : &(list)) = (node); \
        (end) = &(node)->next;               \
    } while (0)

void loop_wake(struct loop *l)
{
    uint64_t one = 1;
    ssize_t n = write(l->wake_fd, &one, sizeof(one));
    (void)n; /* full means that it is awake already */
}

void loop_post(struct loop *l, loop_fn *fn, void *arg)
{
    struct loop_call *c = mem_alloc(sizeof(*c));
    *c = (struct loop_call){.fn = fn, .arg = arg};
    pthread_mutex_lock(&l->lock);
    APPEND(l->calls, l->calls_end, c);
    pthread_mutex_unlock(&l->lock);
    loop_wake(l);
}

static void run_calls(struct loop_call *c)
{
    while (c) {
        struct loop_call *next = c->next;
        c->fn(c->arg);
        mem_free(c);
        c = next;
    }
}

static void run_done(struct loop_work *w)
{
    while (w) {
        struct loop_work *next = w->next; /* done() may free or reuse it */
        w->loop = NULL;
        w->done(w->arg, w->canceled);
        w = next;
    }
}

/* False when nothing was there. */
static bool hand_over(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    struct loop_call *calls = l->calls;
    struct loop_work *done = l->done;
    l->calls = NULL;
    l->calls_end = NULL;
    l->done = NULL;
    l->done_end = NULL;
    pthread_mutex_unlock(&l->lock);
    run_calls(calls);
    run_done(done);
    return calls || done;
}

void loop_on_wake(void *arg, int fd, unsigned events)
{
    uint64_t count;
    ssize_t n = read(fd, &count, sizeof(count));
    (void)n;
    hand_over(arg);
}

/* With the lock held. */
static struct loop_work *loop_work_take(struct loop *l)
{
    struct loop_work *w = l->queue;
    if (w) {
        l->queue = w->next;
        if (!l->queue)
            l->queue_end = NULL;
    }
    return w;
}

static void *serve(void *arg)
{
    struct loop *l = arg;
    pthread_mutex_lock(&l->lock);
    for (;;) {
        struct loop_work *w = l->closing ? NULL : loop_work_take(l);
        if (w) {
            pthread_mutex_unlock(&l->lock);
            w->work(w->arg);
            pthread_mutex_lock(&l->lock);
            APPEND(l->done, l->done_end, w);
            loop_wake(l);
        } else if (l->closing) {
            break;
        } else {
            l->n_idle++;
            pthread_cond_wait(&l->more, &l->lock);
            l->n_idle--;
        }
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* Signals are for the loop's thread. With the lock held. */
static void start_thread(struct loop *l)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&l->workers[l->n_workers], NULL, serve, l) == 0)
        pthread_setname_np(l->workers[l->n_workers++], "ty-work");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void loop_work_start(struct loop *l, struct loop_work *w, loop_fn *work,
                     loop_done_fn *done, void *arg)
{
    *w = (struct loop_work){.loop = l, .work = work, .done = done, .arg = arg};
    pthread_mutex_lock(&l->lock);
    w->canceled = l->closing;
    if (l->closing)
        APPEND(l->done, l->done_end, w);
    else
        APPEND(l->queue, l->queue_end, w);
    size_t waiting = 0;
    for (const struct loop_work *q = l->queue; q && waiting <= LOOP_WORKERS_MAX;
         q = q->next)
        waiting++;
    if (waiting > (size_t)l->n_idle && l->n_workers < l->n_workers_max)
        start_thread(l);
    bool alone = l->n_workers == 0 && !l->closing; /* the system refused a first thread */
    if (alone) {
        loop_work_take(l);
        APPEND(l->done, l->done_end, w);
    }
    pthread_cond_signal(&l->more);
    pthread_mutex_unlock(&l->lock);
    if (alone) {
        work(arg);
        loop_wake(l);
    }
}

void loop_end_work(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    l->closing = true;
    for (struct loop_work *w = loop_work_take(l); w; w = loop_work_take(l)) {
        w->canceled = true;
        APPEND(l->done, l->done_end, w);
    }
    pthread_cond_broadcast(&l->more);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->n_workers; i++)
        pthread_join(l->workers[i], NULL);
    while (hand_over(l))
        ;
}
