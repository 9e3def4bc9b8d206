/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/registry_ops.h - named outputs, of this machine or of a server's. Like job_ops. */
#ifndef CMD_REGISTRY_OPS_H
#define CMD_REGISTRY_OPS_H

#include "job/model.h"

struct cmd_place;

struct registry_ops {
    enum rc (*create)(const struct cmd_place *p, const char *job,
                      const struct job_model_new *n, int64_t *version, struct err *err);
    /* NULL: all; version 0: all of the name, -1: the latest. */
    enum rc (*get)(const struct cmd_place *p, const char *name, int64_t version,
                   struct store_models *out, struct err *err);
    enum rc (*files)(const struct cmd_place *p, const struct store_model *m,
                     struct job_outputs *out, struct err *err);
    /* As job_ops.output. */
    enum rc (*file)(const struct cmd_place *p, const struct store_model *m,
                    const char *path, int64_t at, char version[80], struct buf *out,
                    struct err *err);
    enum rc (*delete_version)(const struct cmd_place *p, const struct store_model *m,
                              struct err *err);
};

extern const struct registry_ops registry_ops_local, registry_ops_remote;

#endif
