/* SPDX-License-Identifier: Apache-2.0 */
/* One thread per experiment, each with a connection to the store. The thread opens the
 * folder, which replays its log, and runs the manager until the experiment is over or the
 * server ends: an eventfd of the run becomes readable then. Threads that are done are
 * joined when the next one starts, or at the end. Before every trial the owner is looked
 * up again, so who is disabled or leaves a project gets no further trials.
 */
#include "http/runs.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/experiments.h"
#include "team/standing.h"
#include "tune/manager.h"

#define LOG_AREA "tune"
#define RUNS_MAX 64
#define RUNS_OF_ONE 16

struct run {
    struct http_runs *all;
    char *dir, *owner; /* owned */
    pthread_t thread;
    int end; /* eventfd */
    struct job_place place;
    _Atomic bool over;
};

struct http_runs {
    struct api *api;
    pthread_mutex_t lock; /* guards `runs` */
    VEC(struct run *) runs;
};

static enum rc runs_may(void *arg, const struct experiment *e, struct err *err)
{
    const struct run *r = arg;
    struct team_standing people;
    enum rc rc = team_standing_open(r->place.store, NULL, &people, err);
    const char *wrong =
        rc ? NULL : team_standing_wrong(&people, e->set.owner, e->set.project, true);
    if (wrong)
        rc = err_coded(err, RC_INVAL, E4016, "%s", wrong);
    team_standing_close(&people);
    return rc;
}

static void runs_wake(void *arg)
{
    const struct run *r = arg;
    backend_watchdog_poke(r->all->api->watchdog);
}

static enum rc run_one(struct run *r, struct err *err)
{
    struct api *a = r->all->api;
    struct experiment *e = NULL;
    struct tune_manager_options o = {.env = (const char *const *)a->job_env,
                                     .signals = r->end,
                                     .workdir = a->empty,
                                     .may = runs_may,
                                     .wake = runs_wake,
                                     .arg = r};
    r->place = a->o.place;
    r->place.owner = r->owner;
    r->place.served = true;
    r->place.store = NULL;
    enum rc rc = store_open(a->o.place.where, &r->place.store, err);
    if (!rc)
        rc = experiment_open(r->dir, &e, err);
    if (!rc)
        rc = tune_manager_run(e, &r->place, &o, err);
    experiment_close(e);
    store_close(r->place.store);
    return rc;
}

static void *run_thread(void *arg)
{
    struct run *r = arg;
    struct err err = {0};
    enum rc rc = run_one(r, &err);
    if (rc && rc != RC_CANCELED)
        log_warn("experiment in %s: %s", r->dir, err.msg);
    r->over = true;
    return NULL;
}

static void run_end(struct run *r)
{
    pthread_join(r->thread, NULL);
    close(r->end);
    mem_free(r->dir);
    mem_free(r->owner);
    mem_free(r);
}

/* With the lock: joins what is over, counts the rest. */
static void runs_sweep(struct http_runs *all, const char *owner, size_t *own)
{
    size_t k = 0;
    *own = 0;
    for (size_t i = 0; i < all->runs.n; i++) {
        struct run *r = all->runs.at[i];
        if (r->over) {
            run_end(r);
            continue;
        }
        *own += strcmp(r->owner, owner) == 0;
        all->runs.at[k++] = r;
    }
    all->runs.n = k;
}

static enum rc runs_check(const struct http_runs *all, const char *dir, const char *owner,
                          size_t own, struct err *err)
{
    for (size_t i = 0; i < all->runs.n; i++)
        if (strcmp(all->runs.at[i]->dir, dir) == 0)
            return err_coded(err, RC_CANCELED, E4006, "the experiment runs already");
    if (own >= RUNS_OF_ONE)
        return err_coded(err, RC_CANCELED, E4017,
                         "'%s' has %zu experiments running, the most", owner, own);
    if (all->runs.n >= RUNS_MAX)
        return err_coded(err, RC_CANCELED, E4017,
                         "this server runs %zu experiments, the most", all->runs.n);
    return RC_OK;
}

enum rc http_runs_start(struct http_runs *all, const char *dir, const char *owner,
                        struct err *err)
{
    size_t own = 0;
    pthread_mutex_lock(&all->lock);
    runs_sweep(all, owner, &own);
    enum rc rc = runs_check(all, dir, owner, own, err);
    if (!rc) {
        struct run *r = mem_calloc(1, sizeof(*r));
        r->all = all;
        r->dir = mem_strdup(dir);
        r->owner = mem_strdup(owner);
        r->end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (r->end < 0 || pthread_create(&r->thread, NULL, run_thread, r) != 0) {
            rc = err_set(err, RC_IO, "cannot start a thread for the experiment");
            if (r->end >= 0)
                close(r->end);
            mem_free(r->dir);
            mem_free(r->owner);
            mem_free(r);
        } else {
            VEC_PUSH(&all->runs, r);
        }
    }
    pthread_mutex_unlock(&all->lock);
    return rc;
}

bool http_runs_has(struct http_runs *all, const char *dir)
{
    bool has = false;
    if (!all)
        return false;
    pthread_mutex_lock(&all->lock);
    for (size_t i = 0; i < all->runs.n; i++)
        has |= !all->runs.at[i]->over && strcmp(all->runs.at[i]->dir, dir) == 0;
    pthread_mutex_unlock(&all->lock);
    return has;
}

/* Whether a manager has something to do there: it was not over, or has trials left. */
static bool goes_on(const char *dir)
{
    struct experiment *e = NULL;
    if (experiment_open(dir, &e, NULL) != RC_OK)
        return false;
    bool on =
        (e->status != EXP_DONE && e->status != EXP_STOPPED && e->status != EXP_ERROR) ||
        experiment_live(e) > 0;
    experiment_close(e);
    return on;
}

static void runs_continue(struct http_runs *all)
{
    const char *home = all->api->o.experiments;
    struct fs_names names = {0};
    struct exp_peek peek;
    struct err err = {0};
    if (!home || !fs_is_dir(home) || fs_list(home, &names, NULL))
        return;
    for (size_t i = 0; i < names.n; i++) {
        char *dir = fs_join(home, names.at[i]);
        if (names.at[i][0] != '_' && names.at[i][0] != '.' &&
            experiment_peek(dir, &peek, NULL) == RC_OK && *peek.owner && goes_on(dir) &&
            http_runs_start(all, dir, peek.owner, &err))
            log_warn("experiment %s: %s", peek.id, err.msg);
        mem_free(dir);
    }
    fs_names_release(&names);
}

struct http_runs *http_runs_create(struct api *a)
{
    struct http_runs *all = mem_calloc(1, sizeof(*all));
    all->api = a;
    pthread_mutex_init(&all->lock, NULL);
    runs_continue(all);
    return all;
}

void http_runs_destroy(struct http_runs *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->runs.n; i++)
        if (eventfd_write(all->runs.at[i]->end, 1) != 0)
            log_warn("an experiment does not hear of the end");
    for (size_t i = 0; i < all->runs.n; i++)
        run_end(all->runs.at[i]);
    VEC_RELEASE(&all->runs);
    pthread_mutex_destroy(&all->lock);
    mem_free(all);
}
