/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/storage_ops.h - room on the disk, of this machine or of a server's. Like job_ops. */
#ifndef CMD_STORAGE_OPS_H
#define CMD_STORAGE_OPS_H

#include "job/remove.h"
#include "job/report.h"
#include "store/retention.h"

struct cmd_place;

struct storage_ops {
    enum rc (*delete_job)(const struct cmd_place *p, const char *id, struct err *err);
    enum rc (*report)(const struct cmd_place *p, bool by_project, struct job_report *out,
                      struct err *err);
    enum rc (*collect)(const struct cmd_place *p, int64_t young_s, bool dry,
                       struct job_removed *out, struct err *err);
    enum rc (*retention_put)(const struct cmd_place *p, const struct store_retention *x,
                             struct err *err);
    enum rc (*retention_get)(const struct cmd_place *p, struct store_retentions *out,
                             struct err *err);
    enum rc (*retention_delete)(const struct cmd_place *p, const char *name,
                                struct err *err);
};

extern const struct storage_ops storage_ops_local, storage_ops_remote;

#endif
