/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/team_remote.h - schedules, quotas and notifications at a server: its answers become
 * the rows that the store of this machine would have given.
 */
#ifndef CMD_TEAM_REMOTE_H
#define CMD_TEAM_REMOTE_H

#include "cmd/job_common.h"
#include "store/notify.h"
#include "store/projects.h"
#include "store/schedules.h"

/* `name`, escaped, between two parts of a path. The caller's. */
char *team_remote_path(const char *before, const char *name, const char *behind);
/* One request; `path` is below /api/v1 and is freed, `body` is JSON or NULL. *doc may be
 * NULL; else release it when doc->src is set.
 */
enum rc team_remote_ask(const struct job_place *p, const char *method, char *path,
                        const char *body, struct doc *doc, struct err *err) MUST_CHECK;

/* `name` NULL: all. *runs (may be NULL) are those of the one. */
enum rc team_remote_schedules(const struct job_place *p, const char *name,
                              struct store_schedules *out, struct store_run_rows *runs,
                              struct err *err) MUST_CHECK;
enum rc team_remote_rules(const struct job_place *p, struct store_rules *out,
                          struct err *err) MUST_CHECK;
enum rc team_remote_deliveries(const struct job_place *p, const char *rule, size_t limit,
                               struct store_deliveries *out, struct err *err) MUST_CHECK;
enum rc team_remote_usage(const struct job_place *p, bool projects, int64_t since,
                          struct store_usages *out, struct err *err) MUST_CHECK;
enum rc team_remote_projects(const struct job_place *p, struct store_projects *out,
                             struct err *err) MUST_CHECK;

#endif
