/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/mem.h"
#include "cmd/job_common.h"
#include "cmd/storage_ops.h"
#include "cmd/tune_common.h"
#include "team/retention.h"
#include "tune/retain.h"

static enum rc storage_delete_local(const struct cmd_place *p, const char *id,
                                    struct err *err)
{
    return job_delete(&p->p, id, err);
}

static enum rc storage_report_local(const struct cmd_place *p, bool by_project,
                                    struct job_report *out, struct err *err)
{
    enum rc rc = job_report_read(&p->p, by_project, out, err);
    char *home = tune_home();
    if (!rc)
        tune_report_room(home, by_project, out);
    mem_free(home);
    return rc;
}

static enum rc storage_collect_local(const struct cmd_place *p, int64_t young_s, bool dry,
                                     struct job_removed *out, struct err *err)
{
    struct tune_removed n = {0};
    char *home = tune_home();
    enum rc rc = job_retain(&p->p, clock_wall_ns(), dry, out, err);
    if (!rc)
        rc = tune_retain(p->p.store, home, clock_wall_ns(), NULL, NULL, dry, &n, err);
    if (!rc)
        rc = job_collect(&p->p, young_s, dry, out, err);
    out->experiments = n.experiments;
    out->experiment_bytes = n.bytes;
    mem_free(home);
    return rc;
}

static enum rc retention_put_local(const struct cmd_place *p,
                                   const struct store_retention *x, struct err *err)
{
    return team_retention_put(p->p.store, p->p.account, x, err);
}

static enum rc retention_get_local(const struct cmd_place *p,
                                   struct store_retentions *out, struct err *err)
{
    return store_retention_get(p->p.store, NULL, out, err);
}

static enum rc retention_delete_local(const struct cmd_place *p, const char *name,
                                      struct err *err)
{
    return store_retention_delete(p->p.store, name, err);
}

const struct storage_ops storage_ops_local = {
    .delete_job = storage_delete_local,
    .report = storage_report_local,
    .collect = storage_collect_local,
    .retention_put = retention_put_local,
    .retention_get = retention_get_local,
    .retention_delete = retention_delete_local,
};
