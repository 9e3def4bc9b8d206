/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for the ends of jobs: all of them, or the first. They are looked at in turn, so
 * that one that ends is told at once, wherever it stands in the list.
 */
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "job/state.h"

/* Reads a job. *over: it has ended. A server that is away is waited for. */
static enum rc look_at(const struct cmd_place *p, const char *id, struct store_jobs *jobs,
                       bool *over, int64_t *lost, struct err *err)
{
    enum job_state state = JOB_Unknown;
    enum rc rc = p->ops->get(p, id, jobs, err);
    *over = !rc && job_state_find(jobs->at[0].state, &state) && job_state_ended(state);
    return rc && job_wait_for_server(rc, err, lost) ? RC_OK : rc;
}

static enum rc too_long(const char *id, const struct store_jobs *jobs, double seconds,
                        struct err *err)
{
    enum rc rc = err_coded(err, RC_CANCELED, E3013, "job %s is %s after %g s", id,
                           jobs->n ? jobs->at[0].state : "Unknown", seconds);
    if (err)
        err->exit = 124;
    return rc;
}

static bool is_over(int64_t from, double seconds)
{
    return seconds > 0 && (double)(clock_mono_ns() - from) > seconds * 1e9;
}

enum rc job_wait(const struct cmd_place *p, const char *id, double seconds,
                 struct err *err)
{
    int64_t from = clock_mono_ns(), lost = 0;
    for (bool over = false;;) {
        struct store_jobs jobs = {0};
        enum rc rc = look_at(p, id, &jobs, &over, &lost, err);
        if (!rc && !over && is_over(from, seconds))
            rc = too_long(id, &jobs, seconds, err);
        store_jobs_release(&jobs);
        if (rc || over)
            return rc;
        nanosleep(&(struct timespec){.tv_nsec = 2 * p->ops->nap_ns}, NULL);
    }
}

struct wait_conf {
    struct job_where where;
    double timeout;
    bool any;
};

static const struct opt wait_opts[] = {
    {OPT_BOOL(struct wait_conf, any, "false", "return when the first job ends")},
    {OPT_DURATION(struct wait_conf, timeout, "0", 0, 1e9,
                  "maximum time to wait; 0: forever")},
    JOB_WHERE_OPTS(struct wait_conf),
    JOB_SERVER_OPT(struct wait_conf),
    {0},
};

struct waiting {
    const struct cmd_place *p;
    const struct wait_conf *c;
    const struct job_id *ids; /* [n] */
    size_t n;
    bool *over;   /* [n] */
    size_t ended; /* of them */
    size_t worst; /* the first of the list that did not succeed, so far */
    struct err how;
    int64_t from, lost;
};

/* One job that has ended: the first of the list that failed speaks for all. */
static void take_end(struct waiting *w, size_t i, const struct store_job *j)
{
    struct err err = {0};
    printf("%s %s\n", j->id, j->state);
    fflush(stdout);
    w->over[i] = true;
    w->ended++;
    if (job_end_status(j, &err) && i < w->worst) {
        w->worst = i;
        w->how = err;
    }
}

/* Looks at all that have not ended. */
static enum rc look_around(struct waiting *w, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < w->n && !rc && !(w->c->any && w->ended); i++) {
        struct store_jobs jobs = {0};
        bool over = false;
        if (w->over[i])
            continue;
        rc = look_at(w->p, w->ids[i].text, &jobs, &over, &w->lost, err);
        if (!rc && over)
            take_end(w, i, &jobs.at[0]);
        else if (!rc && is_over(w->from, w->c->timeout))
            rc = too_long(w->ids[i].text, &jobs, w->c->timeout, err);
        store_jobs_release(&jobs);
    }
    return rc;
}

static enum rc wait_for_jobs(struct waiting *w, struct err *err)
{
    for (;;) {
        enum rc rc = look_around(w, err);
        if (rc)
            return rc;
        if (w->ended == w->n || (w->c->any && w->ended))
            break;
        nanosleep(&(struct timespec){.tv_nsec = 2 * w->p->ops->nap_ns}, NULL);
    }
    if (w->worst == SIZE_MAX)
        return RC_OK;
    *err = w->how;
    return RC_CANCELED;
}

static enum rc run_job_wait(const void *conf, const struct opt_args *args,
                            struct err *err)
{
    const struct wait_conf *c = conf;
    struct cmd_place p;
    struct job_ids ids = {.list = {0}};
    struct waiting w = {.p = &p, .c = c, .worst = SIZE_MAX, .from = clock_mono_ns()};
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    job_revive(&p);
    rc = job_pick_all(&p, args->at, args->n, &ids, err);
    w.ids = ids.list.at;
    w.n = ids.list.n;
    w.over = mem_calloc(w.n + 1, sizeof(*w.over));
    if (!rc)
        rc = wait_for_jobs(&w, err);
    mem_free(w.over);
    job_ids_release(&ids);
    cmd_place_close(&p);
    return rc;
}

static const struct cmd_example wait_examples[] = {
    {"in a script", "trainyard job wait --timeout 2h jb-0123456789ab"}, {0}};
const struct cmd cmd_job_wait = {
    .name = "job wait",
    .args = "ID...",
    .summary = "wait for jobs to end",
    .description =
        "Waits for all jobs and prints each one as it ends. Exit status: 0 if all "
        "succeeded, else that of the first job in the list that did not: its own status if "
        "it failed, 3 if it was stopped; 124 if --timeout expires first.",
    .examples = wait_examples,
    .opts = wait_opts,
    .conf_size = sizeof(struct wait_conf),
    .min_args = 1,
    .max_args = CMD_ANY,
    .run = run_job_wait,
};
