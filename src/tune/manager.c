/* SPDX-License-Identifier: Apache-2.0 */
/* The loop that runs an experiment, about five rounds a second: take requests of users,
 * look at the trials, end those that an advisor gave up, ask the tuner for more up to the
 * concurrency, and decide what the experiment is now. Everything that counts is in the
 * experiment and its log; struct tune_manager holds only the time spent and what is to be
 * done next. A flock on the folder's file `lock` keeps a second manager away and goes
 * with the process. If nothing but failures comes at the start, the experiment ends with
 * the first one's message rather than going on.
 */
#include "tune/manager.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "backend/agent.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "tune/manager_private.h"

#define LOG_AREA "tune"
#define PERIOD_MS 200
#define GIVE_UP 3 /* so many trials at the start that all fail end the experiment */

static enum rc lock_dir(const struct experiment *e, int *fd, struct err *err)
{
    char *path = fs_join(e->dir, "lock");
    enum rc rc = RC_OK;
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (*fd < 0)
        rc = err_set(err, RC_IO, "cannot open '%s'", path);
    else if (flock(*fd, LOCK_EX | LOCK_NB) != 0)
        rc = err_coded(err, RC_INVAL, E4006, "experiment %s is run by another process",
                       e->set.id);
    mem_free(path);
    return rc;
}

static int64_t spent(const struct tune_manager *m)
{
    return m->spent + clock_mono_ns() / 1000000 - m->began;
}

static enum rc set_status(struct tune_manager *m, enum exp_status s, const char *error,
                          struct err *err)
{
    if (m->e->status == s)
        return RC_OK;
    return experiment_status(m->e, s, error, spent(m), err);
}

static bool limit_reached(const struct tune_manager *m)
{
    const struct exp_limits *l = &m->e->limits;
    return (l->trials > 0 && (int64_t)m->e->trials.n >= l->trials) ||
           (l->seconds > 0 && spent(m) >= l->seconds * 1000);
}

/* True when nothing worked from the start: then more of the same will not either. */
static bool hopeless(const struct experiment *e)
{
    int64_t failed = 0, all = (int64_t)e->trials.n, least = GIVE_UP;
    if (e->limits.concurrency > least)
        least = e->limits.concurrency;
    if (e->limits.trials > 0 && e->limits.trials < least)
        least = e->limits.trials;
    for (int64_t i = 0; i < all; i++) {
        if (e->trials.at[i].status == TS_SUCCEEDED ||
            e->trials.at[i].status == TS_EARLY_STOPPED)
            return false;
        failed += e->trials.at[i].status == TS_FAILED;
    }
    return failed >= least;
}

static enum rc poll_trials(struct tune_manager *m, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < m->e->trials.n && !rc; i++) {
        if (trial_status_ended(m->e->trials.at[i].status))
            continue;
        rc = m->e->trials.at[i].job[0] ? tune_trial_poll(m, (int64_t)i, err)
                                       : tune_trial_submit(m, (int64_t)i, err);
    }
    return rc;
}

/* Trials that an advisor wants ended. */
static enum rc take_kills(struct tune_manager *m, struct err *err)
{
    enum rc rc = RC_OK;
    char *id;
    while (!rc && m->e->custom_tuner &&
           (id = tune_custom_take_kill(m->e->custom_tuner))) {
        for (size_t i = 0; i < m->e->trials.n && !rc; i++)
            if (strcmp(m->e->trials.at[i].id, id) == 0 &&
                !trial_status_ended(m->e->trials.at[i].status))
                rc = tune_trial_stop(m, (int64_t)i, TS_EARLY_STOPPED, false, err);
        mem_free(id);
    }
    return rc;
}

static enum rc ask_more(struct tune_manager *m, struct err *err)
{
    enum rc rc = RC_OK;
    m->e->exhausted = false;
    while (!rc && experiment_live(m->e) < m->e->limits.concurrency && !limit_reached(m)) {
        enum tuner_answer answer = TUNER_WAITS;
        int64_t trial;
        if (m->o->may)
            rc = m->o->may(m->o->arg, m->e, err);
        if (!rc)
            rc = experiment_ask(m->e, &answer, &trial, err);
        if (rc || answer != TUNER_GIVES) {
            m->e->exhausted = !rc && answer == TUNER_ENDS;
            break;
        }
        rc = tune_trial_submit(m, trial, err);
    }
    return rc;
}

static enum rc stop_all(struct tune_manager *m, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < m->e->trials.n && !rc; i++)
        if (!trial_status_ended(m->e->trials.at[i].status) &&
            !m->e->trials.at[i].stopping)
            rc = tune_trial_stop(m, (int64_t)i, TS_USER_CANCELED, false, err);
    return rc;
}

static const char *first_failure(const struct experiment *e)
{
    for (size_t i = 0; i < e->trials.n; i++)
        if (e->trials.at[i].status == TS_FAILED)
            return e->trials.at[i].message;
    return "";
}

/* What the experiment is now; true when there is nothing left to do. */
static enum rc conclude(struct tune_manager *m, bool *over, struct err *err)
{
    struct experiment *e = m->e;
    int64_t live = experiment_live(e);
    *over = false;
    if (!m->stop && hopeless(e)) {
        char *why = mem_printf("all trials failed: %s", first_failure(e));
        enum rc rc = stop_all(m, err);
        if (!rc && live == 0) {
            *over = true;
            rc = set_status(m, EXP_ERROR, why, err);
        }
        mem_free(why);
        return rc;
    }
    if (m->stop) {
        *over = live == 0;
        return *over ? set_status(m, EXP_STOPPED, "", err) : stop_all(m, err);
    }
    bool limit = limit_reached(m);
    if (live == 0 && (limit || e->exhausted)) {
        *over = true;
        return set_status(m, EXP_DONE, "", err);
    }
    return set_status(m,
                      limit          ? EXP_NO_MORE_TRIAL
                      : e->exhausted ? EXP_TUNER_NO_MORE_TRIAL
                                     : EXP_RUNNING,
                      "", err);
}

static enum rc round_once(struct tune_manager *m, bool *over, struct err *err)
{
    enum rc rc = tune_requests_take(m, err);
    if (!rc)
        rc = poll_trials(m, err);
    if (!rc)
        rc = take_kills(m, err);
    if (!rc && !m->stop && !hopeless(m->e))
        rc = ask_more(m, err);
    if (!rc)
        rc = conclude(m, over, err);
    if (!rc && m->new_jobs) {
        m->new_jobs = false;
        if (m->o->wake)
            m->o->wake(m->o->arg);
        else
            rc = backend_agent_wake(m->jobs, err);
    }
    return rc;
}

/* Another try would end alike: a tuner that failed; at a server, which nobody watches, also a
 * trial that is refused. Otherwise whoever started it has the message, and resumes it.
 */
static bool is_final(const struct tune_manager_options *o, enum rc rc, enum code code)
{
    bool refused = rc == RC_INVAL || rc == RC_NOTFOUND || rc == RC_UNSUPPORTED;
    return code == E4011 || code == E4016 || (o->may && refused);
}

enum rc tune_manager_run(struct experiment *e, const struct job_place *jobs,
                         const struct tune_manager_options *o, struct err *err)
{
    struct tune_manager m = {
        .e = e, .jobs = jobs, .o = o, .spent = e->spent_ms, .new_jobs = true};
    bool over = false;
    int lock = -1;
    enum rc rc = lock_dir(e, &lock, err);
    m.began = clock_mono_ns() / 1000000;
    if (!rc)
        rc = experiment_attach(e, err);
    while (!rc && !over) {
        rc = round_once(&m, &over, err);
        if (o->changed)
            o->changed(o->arg, e);
        struct pollfd p = {.fd = o->signals, .events = POLLIN};
        if (!rc && !over && poll(&p, o->signals >= 0, PERIOD_MS) > 0)
            rc = err_set(err, RC_CANCELED,
                         "interrupted; trials keep running, `trainyard tune resume` "
                         "continues the experiment");
    }
    if (rc && err && is_final(o, rc, err->code) &&
        set_status(&m, EXP_ERROR, err->msg, NULL))
        log_error("experiment %s: its error cannot be written down", e->set.id);
    if (lock >= 0)
        close(lock);
    return rc;
}
