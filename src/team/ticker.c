/* SPDX-License-Identifier: Apache-2.0 */
#include "team/ticker.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"

struct team_ticker {
    team_tick_fn *tick;
    void *arg;
    int64_t wait_ns;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* guards the field below */
    pthread_cond_t wake;
    bool stop;
};

static bool ticker_wait(struct team_ticker *t)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    int64_t ns = at.tv_sec * CLOCK_SECOND + at.tv_nsec + t->wait_ns;
    at.tv_sec = ns / CLOCK_SECOND;
    at.tv_nsec = ns % CLOCK_SECOND;
    pthread_mutex_lock(&t->lock);
    while (!t->stop)
        if (pthread_cond_timedwait(&t->wake, &t->lock, &at) != 0)
            break;
    bool on = !t->stop;
    pthread_mutex_unlock(&t->lock);
    return on;
}

static void *ticker_run(void *arg)
{
    struct team_ticker *t = arg;
    while (ticker_wait(t))
        t->wait_ns = t->tick(t->arg);
    return NULL;
}

enum rc team_ticker_create(int64_t first_ns, team_tick_fn *tick, void *arg,
                           struct team_ticker **out, struct err *err)
{
    struct team_ticker *t = mem_calloc(1, sizeof(*t));
    pthread_condattr_t attr;
    *t = (struct team_ticker){.tick = tick, .arg = arg, .wait_ns = first_ns};
    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&t->wake, &attr);
    pthread_condattr_destroy(&attr);
    int failed = pthread_create(&t->thread, NULL, ticker_run, t);
    t->started = !failed;
    if (failed) {
        team_ticker_destroy(t);
        return err_sys(err, failed, "cannot start a thread");
    }
    *out = t;
    return RC_OK;
}

void team_ticker_destroy(struct team_ticker *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_cond_broadcast(&t->wake);
    pthread_mutex_unlock(&t->lock);
    if (t->started)
        pthread_join(t->thread, NULL);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
    mem_free(t);
}
