/* SPDX-License-Identifier: Apache-2.0 */
/* Log files are read as they grow; the store says when there will be no more. struct
 * following keeps how far each worker's log was read in the present attempt. Each nap the
 * files are copied on, every fourth one the job's state is read first: what was written
 * before the end is then in the files that are read after it. When the job has moved to
 * another attempt, the old logs are read to their end before the new ones. A server that
 * does not answer is waited for, up to a minute. The log of what came before the workers
 * (packages) is read until a worker of the attempt has written.
 */
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/job_common.h"
#include "job/log_clean.h"
#include "job/state.h"

#define PATIENCE_NS (60 * CLOCK_SECOND)
#define LOOK_EVERY 4 /* naps between looks at the store */

struct place_in_log {
    int64_t at, end; /* end: nothing behind it is shown; 0: no end */
    bool none;       /* nothing of it is shown */
    bool midline;
    struct job_log_clean clean; /* what was written may be meant for a terminal */
};

struct following {
    const struct cmd_place *p;
    const char *id;
    const struct job_follow *f;
    int64_t workers, attempt;  /* the attempt that is read */
    struct place_in_log *logs; /* [workers + 1] of that attempt, the last: prepare */
    bool wrote, worked;        /* anything; a worker, in this attempt */
    enum rc failed;            /* how the last log could not be read */
    struct err why;
};

static struct place_in_log *place_of(struct following *x, int64_t worker)
{
    return &x->logs[worker == JOB_LOG_PREPARE ? x->workers : worker];
}

static void put_prefixed(struct place_in_log *l, int64_t worker, FILE *to, const char *p,
                         size_t n)
{
    while (n) {
        const char *end = memchr(p, '\n', n);
        size_t part = end ? (size_t)(end - p) + 1 : n;
        if (!l->midline && worker == JOB_LOG_PREPARE)
            fputs("prepare| ", to);
        else if (!l->midline)
            fprintf(to, "worker-%jd| ", (intmax_t)worker);
        fwrite(p, 1, part, to);
        l->midline = !end;
        p += part;
        n -= part;
    }
}

/* The output of a program is for stdout; what prepared it, in one of several logs, has a
 * mark.
 */
static void put_part(struct following *x, int64_t worker, const char *p, size_t n)
{
    struct place_in_log *l = place_of(x, worker);
    bool prepare = worker == JOB_LOG_PREPARE, one = x->f->worker != JOB_FOLLOW_ALL;
    FILE *to = prepare && x->f->program ? stderr : stdout;
    struct buf clean;
    buf_init(&clean, (size_t)16 << 20);
    if (!x->f->raw) {
        job_log_clean(&l->clean, p, n, &clean);
        p = buf_str(&clean);
        n = clean.n;
    }
    if (!one && (prepare || x->workers > 1))
        put_prefixed(l, worker, to, p, n);
    else
        fwrite(p, 1, n, to);
    buf_release(&clean);
}

static bool copy_log(struct following *x, int64_t worker)
{
    struct place_in_log *l = place_of(x, worker);
    struct buf part;
    bool any = false;
    buf_init(&part, (size_t)8 << 20);
    while (!l->none) {
        buf_clear(&part);
        enum rc rc =
            x->p->ops->log(x->p, x->id, worker, x->attempt, &l->at, &part, &x->why);
        x->failed = rc ? rc : x->failed;
        if (!rc && l->end && l->at > l->end) {
            int64_t behind = l->at - l->end, n = (int64_t)part.n;
            part.n = (size_t)(behind < n ? n - behind : 0);
            l->at = l->end;
        }
        if (rc || !part.n)
            break;
        put_part(x, worker, part.p, part.n);
        any = true;
    }
    buf_release(&part);
    x->wrote |= any;
    x->worked |= any && worker >= 0;
    return any;
}

static bool wanted(const struct following *x, int64_t worker)
{
    if (x->f->worker != JOB_FOLLOW_ALL)
        return x->f->worker == worker;
    return worker >= 0 || (x->f->tail < 0 && !x->worked);
}

static bool copy_all(struct following *x)
{
    bool any = wanted(x, JOB_LOG_PREPARE) && copy_log(x, JOB_LOG_PREPARE);
    for (int64_t i = 0; i < x->workers; i++)
        if (wanted(x, i))
            any |= copy_log(x, i);
    if (any)
        fflush(stdout);
    return any;
}

static void set_tails(struct following *x)
{
    for (int64_t i = JOB_LOG_PREPARE; x->f->tail >= 0 && i < x->workers; i++) {
        if (i == JOB_FOLLOW_ALL || (i < 0 && !wanted(x, i)))
            continue;
        int64_t *at = &place_of(x, i)->at;
        if (x->p->ops->log_tail(x->p, x->id, i, x->attempt, x->f->tail, at, NULL))
            *at = 0;
    }
}

/* Of each log of this attempt the part that was asked for. */
static void set_times(struct following *x)
{
    for (int64_t i = JOB_LOG_PREPARE; i < x->workers; i++) {
        if (i == JOB_FOLLOW_ALL || !wanted(x, i))
            continue;
        struct place_in_log *l = place_of(x, i);
        if (x->f->since && x->p->ops->log_moment(x->p, x->id, i, x->attempt, x->f->since,
                                                 &l->at, NULL) != RC_OK)
            l->at = 0;
        if (x->f->until && x->p->ops->log_moment(x->p, x->id, i, x->attempt, x->f->until,
                                                 &l->end, NULL) != RC_OK)
            l->end = 0;
        l->none = x->f->until && l->end <= l->at;
    }
}

static void next_attempt(struct following *x)
{
    x->attempt++;
    x->worked = false;
    memset(x->logs, 0, ((size_t)x->workers + 1) * sizeof(*x->logs));
    set_times(x);
}

static void check_signals(const struct job_follow *f)
{
    struct signalfd_siginfo info;
    if (f->signals >= 0 && read(f->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        f->on_interrupt(f->arg);
}

/* A server that is being started again is waited for; jobs go on meanwhile. *since is 0
 * while it answers.
 */
bool job_wait_for_server(enum rc rc, const struct err *err, int64_t *since)
{
    int64_t now = clock_mono_ns();
    if (rc == RC_OK || !err || err->code != E5017) {
        *since = 0;
        return false;
    }
    if (!*since)
        fprintf(stderr, "trainyard: waiting up to a minute: %s\n", err->msg);
    if (!*since)
        *since = now;
    return now - *since < PATIENCE_NS;
}

/* Reads what there is; true when there will be no more. */
static enum rc one_look(struct following *x, bool *over, struct err *err)
{
    struct store_jobs jobs = {0};
    enum job_state state = JOB_Unknown;
    enum rc rc = x->p->ops->get(x->p, x->id, &jobs, err);
    if (rc)
        return rc;
    bool known = job_state_find(jobs.at[0].state, &state);
    int64_t last = jobs.at[0].attempt;
    store_jobs_release(&jobs);
    x->failed = RC_OK;
    /* The state first, then the files: what was written before the end is there. */
    copy_all(x);
    while (!x->f->attempt && x->attempt < last) {
        copy_all(x);
        next_attempt(x);
        copy_all(x);
    }
    *over = !x->f->follow || (known && job_state_ended(state));
    if (x->failed && err)
        *err = x->why;
    return x->failed;
}

enum rc job_follow_run(const struct cmd_place *p, const char *id,
                       const struct job_follow *f, struct err *err)
{
    struct following x = {.p = p, .id = id, .f = f, .attempt = 1};
    struct store_jobs jobs = {0};
    bool over = false;
    int64_t lost = 0;
    enum rc rc = p->ops->get(p, id, &jobs, err);
    if (rc)
        return rc;
    x.workers = jobs.at[0].workers;
    if (f->attempt)
        x.attempt = f->attempt;
    else if (f->tail >= 0 && jobs.at[0].attempt)
        x.attempt = jobs.at[0].attempt;
    store_jobs_release(&jobs);
    if (f->worker >= x.workers)
        return err_coded(err, RC_INVAL, E3015, "job %s has %jd workers, numbered from 0",
                         id, (intmax_t)x.workers);
    x.logs = mem_calloc((size_t)x.workers + 1, sizeof(*x.logs));
    set_tails(&x);
    set_times(&x);
    for (int64_t i = 0; !rc && !over; i++) {
        bool look = i % LOOK_EVERY == 0;
        check_signals(f);
        if (look)
            rc = one_look(&x, &over, err);
        else
            copy_all(&x);
        if (look && f->follow && job_wait_for_server(rc, err, &lost)) {
            rc = RC_OK;
            over = false;
        }
        if (!rc && !over)
            nanosleep(&(struct timespec){.tv_nsec = p->ops->nap_ns}, NULL);
    }
    mem_free(x.logs);
    if (!rc && !x.wrote && f->attempt)
        rc = err_coded(err, RC_NOTFOUND, E3015, "job %s: no log of attempt %jd", id,
                       (intmax_t)f->attempt);
    return rc;
}
