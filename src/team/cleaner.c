/* SPDX-License-Identifier: Apache-2.0 */
#include "team/cleaner.h"

#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "job/remove.h"

#define LOG_AREA "cleaner"
#define COLLECT_EVERY 6 /* periods: it reads the specification of every job */

struct team_cleaner {
    struct job_place place; /* with its own store */
    int64_t every_ns;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* guards the field below */
    pthread_cond_t wake;
    bool stop;
};

static bool cleaner_wait(struct team_cleaner *c)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    int64_t ns = at.tv_sec * CLOCK_SECOND + at.tv_nsec + c->every_ns;
    at.tv_sec = ns / CLOCK_SECOND;
    at.tv_nsec = ns % CLOCK_SECOND;
    pthread_mutex_lock(&c->lock);
    while (!c->stop)
        if (pthread_cond_timedwait(&c->wake, &c->lock, &at) != 0)
            break;
    bool on = !c->stop;
    pthread_mutex_unlock(&c->lock);
    return on;
}

static void *cleaner_run(void *arg)
{
    struct team_cleaner *c = arg;
    for (int64_t i = 0; cleaner_wait(c); i++) {
        struct job_removed n = {0};
        struct err err = {0};
        enum rc rc = job_retain(&c->place, clock_wall_ns(), false, &n, &err);
        if (!rc && (n.jobs || i % COLLECT_EVERY == 0))
            rc = job_collect(&c->place, COLLECT_YOUNG_S, false, &n, &err);
        if (rc)
            log_warn("%s", err.msg);
        else if (n.jobs || n.objects || n.orphans)
            log_info(
                "removed %jd jobs by policy, %jd contents, %jd directories without a "
                "job",
                (intmax_t)n.jobs, (intmax_t)n.objects, (intmax_t)n.orphans);
    }
    return NULL;
}

enum rc team_cleaner_create(const struct job_place *p, double every_s,
                            struct team_cleaner **out, struct err *err)
{
    struct team_cleaner *c = mem_calloc(1, sizeof(*c));
    pthread_condattr_t attr;
    c->place = *p;
    c->place.store = NULL;
    c->every_ns = (int64_t)(every_s * 1e9);
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->wake, &attr);
    pthread_condattr_destroy(&attr);
    enum rc rc = store_open(p->where, &c->place.store, err);
    if (!rc) {
        int failed = pthread_create(&c->thread, NULL, cleaner_run, c);
        c->started = !failed;
        rc = failed ? err_sys(err, failed, "cannot start a thread") : RC_OK;
    }
    if (rc)
        team_cleaner_destroy(c);
    else
        *out = c;
    return rc;
}

void team_cleaner_destroy(struct team_cleaner *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_broadcast(&c->wake);
    pthread_mutex_unlock(&c->lock);
    if (c->started)
        pthread_join(c->thread, NULL);
    store_close(c->place.store);
    pthread_cond_destroy(&c->wake);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
}
