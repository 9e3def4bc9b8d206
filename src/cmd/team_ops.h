/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/team_ops.h - schedules, quotas, rules of notifications and use, of this machine's
 * store or at a server; part of job_ops.h.
 */
#ifndef CMD_TEAM_OPS_H
#define CMD_TEAM_OPS_H

#include "job/place.h"
#include "store/notify.h"
#include "store/projects.h"
#include "store/schedules.h"
#include "team/deliver.h"
#include "team/quota.h"

struct cmd_place;
struct team_schedule_change;

struct team_ops {
    /* `x` is what was asked for, and then what is kept; new texts lie in `a`. */
    enum rc (*schedule_create)(const struct cmd_place *p, struct store_schedule *x,
                               struct arena *a, struct err *err);
    enum rc (*schedule_update)(const struct cmd_place *p, const char *name,
                               const struct team_schedule_change *change,
                               struct err *err);
    /* `name` NULL: all. *runs (may be NULL): the last ones of that one, at most `limit`. */
    enum rc (*schedule_get)(const struct cmd_place *p, const char *name,
                            struct store_schedules *out, struct store_run_rows *runs,
                            size_t limit, struct err *err);
    enum rc (*schedule_pause)(const struct cmd_place *p, const char *name, bool pause,
                              struct err *err);
    enum rc (*schedule_delete)(const struct cmd_place *p, const char *name,
                               struct err *err);
    /* *existed: a job of this time was submitted before. */
    enum rc (*schedule_run)(const struct cmd_place *p, const char *name, int64_t at,
                            char id[JOB_ID_SIZE], bool *existed, struct err *err);

    /* `key` as team_quota_key() has it; `row` is what holds then. */
    enum rc (*quota_set)(const struct cmd_place *p, const char *key,
                         const struct team_quota_change *change,
                         struct store_project *row, struct err *err);
    enum rc (*quota_list)(const struct cmd_place *p, struct store_projects *out,
                          struct err *err);
    enum rc (*quota_delete)(const struct cmd_place *p, const char *key, struct err *err);

    /* `r` has kind, target and condition, and then the rest; texts lie in `a`. `secret` is
     * what messages are signed with.
     */
    enum rc (*rule_create)(const struct cmd_place *p, struct store_rule *r,
                           char secret[DELIVER_SECRET_SIZE], struct arena *a,
                           struct err *err);
    enum rc (*rule_list)(const struct cmd_place *p, struct store_rules *out,
                         struct err *err);
    enum rc (*rule_delete)(const struct cmd_place *p, const char *id, struct err *err);
    enum rc (*deliveries)(const struct cmd_place *p, const char *rule, size_t limit,
                          struct store_deliveries *out, struct err *err);

    enum rc (*usage)(const struct cmd_place *p, bool projects, int64_t since,
                     struct store_usages *out, struct err *err);
};

extern const struct team_ops team_ops_local, team_ops_remote;

#endif
