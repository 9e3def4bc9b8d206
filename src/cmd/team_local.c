/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules, quotas, rules and use of the store of this machine: what a server's handlers do with
 * the same things, done here with the store that is open, in the name of whoever runs the command.
 */
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/job_common.h"
#include "cmd/team_env.h"
#include "cmd/team_ops.h"
#include "team/fire.h"
#include "team/standing.h"

static const char *keep_reason(struct arena *a, const char *why)
{
    return why ? arena_strdup(a, why) : NULL;
}

static enum rc local_schedule_create(const struct cmd_place *p, struct store_schedule *x,
                                     struct arena *a, struct err *err)
{
    x->owner = p->owner;
    return team_schedule_create(&p->p, x, NULL, clock_wall_ns(), err);
}

static enum rc local_schedule_update(const struct cmd_place *p, const char *name,
                                     const struct team_schedule_change *change,
                                     struct err *err)
{
    return team_schedule_update(&p->p, name, change, NULL, clock_wall_ns(), err);
}

static enum rc local_schedule_get(const struct cmd_place *p, const char *name,
                                  struct store_schedules *out,
                                  struct store_run_rows *runs, size_t limit,
                                  struct err *err)
{
    enum rc rc = name ? team_schedule_get(&p->p, name, out, err)
                      : store_schedule_get(p->p.store, NULL, out, err);
    if (!rc && name && runs && limit)
        rc = store_schedule_runs(p->p.store, name, 0, limit, runs, err);
    struct team_standing people = {0};
    if (!rc)
        rc = team_standing_open(p->p.store, p->p.account, &people, err);
    team_standing_schedules(&people, out);
    for (size_t i = 0; i < out->n; i++)
        out->at[i].stopped = keep_reason(&out->arena, out->at[i].stopped);
    team_standing_close(&people);
    return rc;
}

static enum rc local_schedule_pause(const struct cmd_place *p, const char *name,
                                    bool pause, struct err *err)
{
    return team_schedule_pause(&p->p, name, pause, clock_wall_ns(), err);
}

static enum rc local_schedule_delete(const struct cmd_place *p, const char *name,
                                     struct err *err)
{
    return team_schedule_delete(&p->p, name, err);
}

static enum rc local_schedule_run(const struct cmd_place *p, const char *name, int64_t at,
                                  char id[JOB_ID_SIZE], bool *existed, struct err *err)
{
    return team_schedule_run(&p->p, (const char *const *)environ, name, at, id, existed,
                             err);
}

static enum rc local_quota_set(const struct cmd_place *p, const char *key,
                               const struct team_quota_change *change,
                               struct store_project *row, struct err *err)
{
    return team_quota_set(p->p.store, key, change, row, err);
}

static enum rc local_quota_list(const struct cmd_place *p, struct store_projects *out,
                                struct err *err)
{
    return store_project_get(p->p.store, NULL, out, err);
}

static enum rc local_quota_delete(const struct cmd_place *p, const char *key,
                                  struct err *err)
{
    return team_quota_delete(p->p.store, key, err);
}

static enum rc local_rule_create(const struct cmd_place *p, struct store_rule *r,
                                 char secret[DELIVER_SECRET_SIZE], struct arena *a,
                                 struct err *err)
{
    struct team_notify n;
    enum rc rc = team_env_notify(&p->p, &n, err);
    if (rc)
        return rc;
    r->owner = p->owner;
    r->created = clock_wall_ns();
    rc = team_deliver_rule_create(p->p.store, &n.conf, r, err);
    if (!rc) {
        char *id = (char *)(uintptr_t)r->id;
        team_deliver_secret(&n.conf, id, secret);
        r->id = arena_strdup(a, id);
        mem_free(id);
    }
    team_env_notify_release(&n);
    return rc;
}

static enum rc local_rule_list(const struct cmd_place *p, struct store_rules *out,
                               struct err *err)
{
    struct team_standing people = {0};
    enum rc rc = store_rule_get(p->p.store, NULL, NULL, out, err);
    if (!rc)
        rc = team_standing_open(p->p.store, p->p.account, &people, err);
    team_standing_rules(&people, out);
    for (size_t i = 0; i < out->n; i++)
        out->at[i].muted = keep_reason(&out->arena, out->at[i].muted);
    team_standing_close(&people);
    return rc;
}

static enum rc local_rule_delete(const struct cmd_place *p, const char *id,
                                 struct err *err)
{
    return store_rule_delete(p->p.store, id, err);
}

static enum rc local_deliveries(const struct cmd_place *p, const char *rule, size_t limit,
                                struct store_deliveries *out, struct err *err)
{
    return store_delivery_list(p->p.store, rule, limit, out, err);
}

static enum rc local_usage(const struct cmd_place *p, bool projects, int64_t since,
                           struct store_usages *out, struct err *err)
{
    return store_usage_get(p->p.store, projects ? STORE_BY_PROJECT : STORE_BY_OWNER,
                           since, clock_wall_ns(), out, err);
}

const struct team_ops team_ops_local = {
    .schedule_create = local_schedule_create,
    .schedule_update = local_schedule_update,
    .schedule_get = local_schedule_get,
    .schedule_pause = local_schedule_pause,
    .schedule_delete = local_schedule_delete,
    .schedule_run = local_schedule_run,
    .quota_set = local_quota_set,
    .quota_list = local_quota_list,
    .quota_delete = local_quota_delete,
    .rule_create = local_rule_create,
    .rule_list = local_rule_list,
    .rule_delete = local_rule_delete,
    .deliveries = local_deliveries,
    .usage = local_usage,
};
