/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/watchdog.h"

#include <pthread.h>
#include <time.h>

#include "backend/agent.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "job/file.h"
#include "job/state.h"

#define LOG_AREA "watchdog"
#define LOOK_S 1

struct backend_watchdog {
    const struct job_place *p;
    char *lock_path, *control; /* owned: of the agent */
    struct proc *agent;        /* that we started; the thread's own */
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t sign;
    bool poked, stop;
};

/* Ours that has ended is taken note of, or it would stay a zombie. */
static bool ours_lives(struct backend_watchdog *k)
{
    struct proc_exit exit;
    if (k->agent && proc_poll(k->agent, &exit)) {
        proc_destroy(k->agent);
        k->agent = NULL;
    }
    return k->agent != NULL;
}

static void start_agent(struct backend_watchdog *k)
{
    struct err err = {0};
    if (ours_lives(k))
        return; /* it is just starting or ending: the next look sees */
    if (backend_agent_start(k->p, &k->agent, &err))
        log_error("cannot start the agent: %s", err.msg);
}

static void look(struct backend_watchdog *k, bool poked)
{
    struct store_filter f = {.node = k->p->node, .states = job_live_states(), .limit = 1};
    struct store_jobs jobs = {0};
    struct err err = {0};
    bool lives = ours_lives(k);
    if (poked && !job_wake_send(k->control)) {
        start_agent(k);
        return;
    }
    if (poked || lives || job_lock_held(k->lock_path))
        return;
    if (store_list(k->p->store, &f, &jobs, &err))
        log_warn("%s", err.msg);
    if (jobs.n)
        start_agent(k);
    store_jobs_release(&jobs);
}

static void *keep(void *arg)
{
    struct backend_watchdog *k = arg;
    pthread_mutex_lock(&k->lock);
    k->poked = true; /* jobs of an earlier server */
    while (!k->stop) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += LOOK_S;
        if (!k->poked)
            pthread_cond_timedwait(&k->sign, &k->lock, &until);
        bool poked = k->poked;
        k->poked = false;
        pthread_mutex_unlock(&k->lock);
        look(k, poked);
        pthread_mutex_lock(&k->lock);
        if (poked && !k->stop) { /* many signs in short time are one */
            clock_gettime(CLOCK_REALTIME, &until);
            until.tv_nsec += 10000000;
            until.tv_sec += until.tv_nsec / 1000000000;
            until.tv_nsec %= 1000000000;
            pthread_cond_timedwait(&k->sign, &k->lock, &until);
        }
    }
    pthread_mutex_unlock(&k->lock);
    return NULL;
}

enum rc backend_watchdog_create(const struct job_place *p, struct backend_watchdog **out,
                                struct err *err)
{
    struct backend_watchdog *k = mem_calloc(1, sizeof(*k));
    k->p = p;
    k->lock_path = fs_join(p->dir, "agent.lock");
    k->control = fs_join(p->dir, "agent.fifo");
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->sign, NULL);
    int failed = pthread_create(&k->thread, NULL, keep, k);
    if (!failed) {
        *out = k;
        return RC_OK;
    }
    k->stop = true;
    mem_free(k->control);
    mem_free(k->lock_path);
    pthread_cond_destroy(&k->sign);
    pthread_mutex_destroy(&k->lock);
    mem_free(k);
    return err_sys(err, failed, "cannot start a thread");
}

void backend_watchdog_destroy(struct backend_watchdog *k)
{
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    k->stop = true;
    pthread_cond_signal(&k->sign);
    pthread_mutex_unlock(&k->lock);
    pthread_join(k->thread, NULL);
    if (k->agent)
        proc_disown(k->agent);
    pthread_cond_destroy(&k->sign);
    pthread_mutex_destroy(&k->lock);
    mem_free(k->control);
    mem_free(k->lock_path);
    mem_free(k);
}

void backend_watchdog_poke(struct backend_watchdog *k)
{
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    k->poked = true;
    pthread_cond_signal(&k->sign);
    pthread_mutex_unlock(&k->lock);
}
