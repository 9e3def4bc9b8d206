/* SPDX-License-Identifier: Apache-2.0 */
/* Three threads with a store each, because a store belongs to one thread. `decide` fires
 * schedules and looks for what is to be told, `renew` keeps the lease while a long step is
 * under way, `tell` sends. A beat is a second; a thread that does not lead only waits.
 */
#include "team/daemon.h"

#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "team/deliver.h"
#include "team/fire.h"
#include "team/lead.h"
#include "team/notice.h"

#define LOG_AREA "daemon"
#define BEAT_MS LEAD_RENEW_MS
#define STUCK_NS (120 * CLOCK_SECOND)

enum { DECIDES, TELLS, RENEWS, THREADS };

struct team_daemon {
    const struct team_daemon_conf *c;
    struct job_place place; /* with the store of the thread that decides */
    struct store *sender;   /* of the one that tells */
    struct store *lessee;   /* of the one that renews the lease */
    _Atomic int64_t alive;  /* monotonic, ns: when it last decided something */
    struct team_net_allow *allow;
    char *key;
    struct team_lead lead;
    struct team_schedule_ticker ticker;
    struct team_notice notice;
    pthread_t threads[THREADS];
    int n_threads;

    pthread_mutex_t lock; /* guards the field below */
    pthread_cond_t wake;
    bool stop;
};

/* Sleeps until the next beat. False: it is over. */
static bool next_beat(struct team_daemon *s)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += BEAT_MS / 1000;
    pthread_mutex_lock(&s->lock);
    while (!s->stop)
        if (pthread_cond_timedwait(&s->wake, &s->lock, &at) != 0)
            break;
    bool on = !s->stop;
    pthread_mutex_unlock(&s->lock);
    return on;
}

static void beat(struct team_daemon *s)
{
    struct err err = {0};
    int64_t fired = 0, added = 0;
    bool leads = team_lead_is(&s->lead);
    if (leads)
        team_lead_fence(&s->lead, s->place.store);
    else
        store_fence(s->place.store, NULL, NULL, 0);
    enum rc rc = team_schedule_tick(&s->ticker, &s->place, s->c->env, leads,
                                    clock_wall_ns(), &fired, &err);
    if (!rc)
        rc = team_notice_look(&s->notice, &s->place, leads && team_lead_is(&s->lead),
                              clock_wall_ns(), &added, &err);
    if (fired && s->c->submitted)
        s->c->submitted(s->c->arg);
    if (rc)
        log_warn("%s", err.msg);
    atomic_store(&s->alive, clock_mono_ns());
}

static void *decide(void *arg)
{
    struct team_daemon *s = arg;
    do
        beat(s);
    while (next_beat(s));
    return NULL;
}

/* Copying the code of a job may take longer than a lease lasts; one that decides nothing
 * for minutes has lost its right to it.
 */
static void *renew(void *arg)
{
    struct team_daemon *s = arg;
    do {
        struct err err = {0};
        if (clock_mono_ns() - atomic_load(&s->alive) < STUCK_NS &&
            team_lead_renew(&s->lead, s->lessee, &err))
            log_warn("%s", err.msg);
    } while (next_beat(s));
    return NULL;
}

static bool may_send(void *arg)
{
    struct team_daemon *s = arg;
    return team_lead_is(&s->lead);
}

static void *tell(void *arg)
{
    struct team_daemon *s = arg;
    struct team_deliver_conf c = {.allow = s->allow,
                                  .mail_command = s->c->mail_command,
                                  .key = s->key,
                                  .account = s->place.account,
                                  .redirects = s->c->redirects,
                                  .may = may_send,
                                  .arg = s};
    do {
        struct err err = {0};
        int64_t sent = 0;
        if (team_lead_is(&s->lead) &&
            team_deliver_due(s->sender, &c, clock_wall_ns(), &sent, &err))
            log_warn("%s", err.msg);
    } while (next_beat(s));
    return NULL;
}

static enum rc start(struct team_daemon *s, struct err *err)
{
    void *(*const fns[THREADS])(void *) = {
        [DECIDES] = decide, [TELLS] = tell, [RENEWS] = renew};
    for (int i = 0; i < THREADS; i++) {
        int failed = pthread_create(&s->threads[i], NULL, fns[i], s);
        if (failed)
            return err_sys(err, failed, "cannot start a thread");
        s->n_threads++;
    }
    return RC_OK;
}

enum rc team_daemon_create(const struct team_daemon_conf *c, struct team_daemon **out,
                           struct err *err)
{
    struct team_daemon *s = mem_calloc(1, sizeof(*s));
    pthread_condattr_t attr;
    s->c = c;
    s->place = *c->place;
    s->place.store = NULL;
    team_lead_init(&s->lead);
    atomic_init(&s->alive, clock_mono_ns());
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &attr);
    pthread_condattr_destroy(&attr);
    enum rc rc = team_net_allow_open(c->allow, &s->allow, err);
    if (!rc)
        rc = team_deliver_key(c->place->dir, &s->key, err);
    if (!rc)
        rc = store_open(c->place->where, &s->place.store, err);
    if (!rc)
        rc = store_open(c->place->where, &s->sender, err);
    if (!rc)
        rc = store_open(c->place->where, &s->lessee, err);
    if (!rc)
        rc =
            team_lead_renew(&s->lead, s->lessee, err); /* so that the first beat counts */
    if (!rc)
        rc = start(s, err);
    if (rc) {
        team_daemon_destroy(s);
        return rc;
    }
    *out = s;
    return RC_OK;
}

void team_daemon_destroy(struct team_daemon *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->lock);
    for (int i = 0; i < s->n_threads; i++)
        pthread_join(s->threads[i], NULL);
    if (s->lessee)
        team_lead_give_up(&s->lead, s->lessee);
    store_close(s->place.store);
    store_close(s->sender);
    store_close(s->lessee);
    team_notice_release(&s->notice);
    team_net_allow_close(s->allow);
    mem_free(s->key);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

bool team_daemon_leads(struct team_daemon *s)
{
    return team_lead_is(&s->lead);
}
