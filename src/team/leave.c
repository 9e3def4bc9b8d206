/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a job on another machine are collected there, as those of every job without a
 * record.
 */
#include "team/leave.h"

#include <string.h>

#include "backend/agent.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/artifacts.h"
#include "job/isolation.h"
#include "job/remove.h"
#include "job/state.h"
#include "job/submit.h"
#include "store/models.h"
#include "store/notify.h"
#include "store/schedules.h"

/* Uploads, what was counted of them, and the number that jobs ran under. */
static enum rc forget_files(const struct job_place *p, const char *name, struct err *err)
{
    char *dir = mem_printf("%s/users/%s", p->dir, name),
         *stored = mem_printf("users/%s/", name);
    enum rc rc = fs_exists(dir) ? fs_remove_all(dir, err) : RC_OK;
    enum rc away = job_artifacts_remove(p, stored, NULL);
    (void)away; /* nothing refers to them: the next collection tries again */
    mem_free(stored);
    mem_free(dir);
    return rc ? rc : job_isolation_retire(p, name, err);
}

enum rc team_leave_enter(const struct job_place *p, const struct store_user *u,
                         struct err *err)
{
    enum rc rc = store_user_create(p->store, u, err);
    return rc || u->inherits ? rc : forget_files(p, u->name, err);
}

static enum rc check_ended(const struct job_place *p, const char *name, struct err *err)
{
    struct store_jobs live = {0};
    struct store_filter f = {.owner = name, .states = job_live_states()};
    enum rc rc = store_list(p->store, &f, &live, err);
    if (!rc && live.n)
        rc = err_coded(err, RC_CANCELED, E5022,
                       "%zu jobs of '%.100s' have not ended, such as %s; stop them first",
                       live.n, name, live.at[0].id);
    store_jobs_release(&live);
    return rc;
}

enum rc team_leave_stop(const struct job_place *p, const char *name, int64_t *n,
                        struct err *err)
{
    struct store_jobs live = {0};
    struct store_filter f = {.owner = name, .states = job_live_states()};
    enum rc rc = store_list(p->store, &f, &live, err);
    bool alone = false;
    *n = 0;
    for (size_t i = 0; i < live.n && !rc; i++) {
        struct job_request_result r = {.alone = false};
        rc = job_request_stop(p, live.at[i].id, false, &r, err);
        alone |= r.alone && strcmp(live.at[i].node, p->node) == 0;
        ++*n;
    }
    store_jobs_release(&live);
    return rc || !alone ? rc : backend_agent_wake(p, err);
}

static enum rc purge_jobs(const struct job_place *p, const char *name, struct err *err)
{
    struct store_filter f = {.owner = name, .limit = 500};
    for (;;) {
        struct store_jobs l = {0};
        enum rc rc = store_list(p->store, &f, &l, err);
        size_t n = l.n;
        for (size_t i = 0; i < l.n && !rc; i++)
            rc = job_delete(p, l.at[i].id, err);
        store_jobs_release(&l);
        if (rc || !n)
            return rc;
    }
}

static enum rc purge_schedules(const struct job_place *p, const char *name,
                               struct err *err)
{
    struct store_schedules l = {0};
    enum rc rc = store_schedule_get(p->store, NULL, &l, err);
    for (size_t i = 0; i < l.n && !rc; i++)
        if (strcmp(l.at[i].owner, name) == 0)
            rc = store_schedule_delete(p->store, l.at[i].name, err);
    store_schedules_release(&l);
    return rc;
}

static enum rc purge_rules(const struct job_place *p, const char *name, struct err *err)
{
    struct store_rules l = {0};
    enum rc rc = store_rule_get(p->store, NULL, name, &l, err);
    for (size_t i = 0; i < l.n && !rc; i++)
        rc = store_rule_delete(p->store, l.at[i].id, err);
    store_rules_release(&l);
    return rc;
}

static enum rc purge_models(const struct job_place *p, const char *name, struct err *err)
{
    struct store_models l = {0};
    enum rc rc = store_model_get(p->store, NULL, 0, &l, err);
    for (size_t i = 0; i < l.n && !rc; i++)
        if (strcmp(l.at[i].owner, name) == 0)
            rc = store_model_delete(p->store, l.at[i].name, l.at[i].version, err);
    store_models_release(&l);
    return rc;
}

static enum rc purge_datasets(const struct job_place *p, const char *name,
                              struct err *err)
{
    struct store_datasets l = {0};
    enum rc rc = store_dataset_get(p->store, NULL, &l, err);
    for (size_t i = 0; i < l.n && !rc; i++)
        if (strcmp(l.at[i].owner, name) == 0)
            rc = store_dataset_delete(p->store, l.at[i].name, err);
    store_datasets_release(&l);
    return rc;
}

enum rc team_leave_purge(const struct job_place *p, const char *name, bool *any,
                         struct err *err)
{
    static enum rc (*const steps[])(const struct job_place *, const char *,
                                    struct err *) = {
        check_ended,  purge_schedules, purge_rules, purge_jobs,
        purge_models, purge_datasets,  forget_files};
    struct store_user_left l = {0};
    enum rc rc = store_user_left_get(p->store, name, &l, err);
    *any = !rc && l.jobs + l.schedules + l.rules + l.models + l.datasets > 0;
    for (size_t i = 0; i < ARRAY_LEN(steps) && !rc; i++)
        rc = steps[i](p, name, err);
    return rc;
}
