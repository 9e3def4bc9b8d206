/* SPDX-License-Identifier: Apache-2.0 */
/* base/loop_private.h - what loop.c and loop_work.c share. */
#ifndef BASE_LOOP_PRIVATE_H
#define BASE_LOOP_PRIVATE_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>

#include "base/loop.h"
#include "base/vec.h"

#define LOOP_EVENTS 64
#define LOOP_WORKERS_MAX 64

struct loop_call; /* a function to be called on the loop's thread */

struct loop {
    int epoll;
    struct epoll_event events[LOOP_EVENTS]; /* of this round */
    int n_events;
    VEC(struct loop_timer *) timers;
    uint64_t order;

    int signal_fd; /* -1 until the first signal */
    sigset_t mask;
    struct loop_fd signal_watch;
    struct loop_signal *signals, *next_signal;
    struct loop_child *children, *next_child; /* those without a pidfd */
    struct loop_signal child_signal;
    struct loop_timer child_timer;

    int wake_fd;
    struct loop_fd wake_watch;
    atomic_bool stopped;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t more;  /* there is work, or `closing` */
    struct loop_call *calls, **calls_end;
    struct loop_work *queue, **queue_end; /* not begun */
    struct loop_work *done, **done_end;
    int n_workers, n_idle;
    bool closing;
    /* Not guarded: only the loop's thread uses these. */
    int n_workers_max;
    pthread_t workers[LOOP_WORKERS_MAX];
};

void loop_wake(struct loop *l); /* any thread */
/* Runs what other threads handed over. */
void loop_on_wake(void *arg, int fd, unsigned events);
/* Joins the threads and calls whatever is left to be called. */
void loop_end_work(struct loop *l);

#endif
