/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/job_ops.h - where the commands about jobs, datasets, schedules, quotas and
 * notifications find them: in the store of this machine, or at a server. Everything that
 * differs between the two is here; no command asks which one it has.
 */
#ifndef CMD_JOB_OPS_H
#define CMD_JOB_OPS_H

#include "cmd/registry_ops.h"
#include "cmd/storage_ops.h"
#include "cmd/team_ops.h"
#include "job/outputs.h"
#include "job/spec.h"
#include "job/submit.h"
#include "store/store.h"

struct cmd_place;
struct job_exec_ask;

#define JOB_OUTPUT_PART ((size_t)16 << 20)

enum job_ask { JOB_ASK_STOP, JOB_ASK_KILL, JOB_ASK_SUSPEND, JOB_ASK_RESUME };

struct job_ops {
    const char *name;
    bool here;      /* directories of the caller mean something there */
    int64_t nap_ns; /* between two looks at something that grows */
    const struct team_ops *team;
    const struct storage_ops *storage;
    const struct registry_ops *models;
    enum rc (*get)(const struct cmd_place *p, const char *id, struct store_jobs *out,
                   struct err *err);
    enum rc (*list)(const struct cmd_place *p, const struct store_filter *f,
                    struct store_jobs *out, struct err *err);
    enum rc (*counts)(const struct cmd_place *p, struct store_count *out, size_t max,
                      size_t *n, struct err *err);
    enum rc (*spec)(const struct cmd_place *p, const char *id, char **out,
                    struct err *err);
    enum rc (*events)(const struct cmd_place *p, const char *id, int64_t after,
                      struct store_events *out, struct err *err);
    enum rc (*points)(const struct cmd_place *p, const char *id, int64_t after,
                      struct store_points *out, struct err *err);
    enum rc (*last_points)(const struct cmd_place *p, const char *id,
                           struct store_points *out, struct err *err);
    /* `spec` may be changed. An agent looks at the job afterwards. */
    enum rc (*submit)(const struct cmd_place *p, struct job_spec *spec, const char *cwd,
                      struct job_submit_result *out, struct err *err);
    enum rc (*ask)(const struct cmd_place *p, const char *id, enum job_ask what,
                   struct job_request_result *out, struct err *err);
    enum rc (*rerun)(const struct cmd_place *p, const char *id,
                     struct job_submit_result *out, struct err *err);
    enum rc (*why)(const struct cmd_place *p, const char *id, struct buf *out,
                   struct err *err);
    /* Runs a program beside a worker, on our three files, and waits: its exit status. */
    enum rc (*exec)(const struct cmd_place *p, const struct job_exec_ask *x, int *status,
                    struct err *err);
    /* Bytes of a log behind *at, added to `out`; none when there are none yet. *at moves
     * behind them.
     */
    enum rc (*log)(const struct cmd_place *p, const char *id, int64_t worker,
                   int64_t attempt, int64_t *at, struct buf *out, struct err *err);
    /* Where its last lines begin. */
    enum rc (*log_tail)(const struct cmd_place *p, const char *id, int64_t worker,
                        int64_t attempt, int64_t lines, int64_t *at, struct err *err);
    /* Where what was written at or behind this moment (wall clock, ms) begins. */
    enum rc (*log_moment)(const struct cmd_place *p, const char *id, int64_t worker,
                          int64_t attempt, int64_t ms, int64_t *at, struct err *err);
    /* What it has written so far. */
    enum rc (*outputs)(const struct cmd_place *p, const char *id, struct job_outputs *out,
                       struct err *err);
    /* Bytes of one behind `at`, JOB_OUTPUT_PART at most, added to `out`. `version` (may be
     * "") is set by the first part: RC_CANCELED (E5503) when a later one is of another.
     */
    enum rc (*output)(const struct cmd_place *p, const char *id,
                      const struct job_output *o, int64_t at, char version[80],
                      struct buf *out, struct err *err);
    /* d->id and d->created are filled in; texts lie in `a`. */
    enum rc (*dataset_create)(const struct cmd_place *p, struct store_dataset *d,
                              struct arena *a, struct err *err);
    enum rc (*dataset_get)(const struct cmd_place *p, const char *name,
                           struct store_datasets *out, struct err *err);
    enum rc (*dataset_delete)(const struct cmd_place *p, const char *name,
                              struct err *err);
};

extern const struct job_ops job_ops_local, job_ops_remote;

#endif
