/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/tune_common.h - what the commands about experiments share. */
#ifndef CMD_TUNE_COMMON_H
#define CMD_TUNE_COMMON_H

#include "base/opt.h"
#include "cmd/job_common.h"
#include "tune/experiment.h"

/* Where the jobs of trials lie; T has a struct job_where `where`. */
#define TUNE_JOB_OPTS(T)                                                               \
    {OPT_HEADING("Where trials run")},                                                 \
        {OPT_TEXT(T, where.dir, NULL, "directory of jobs, as `trainyard job` has it"), \
         .flag = "jobs-dir", .meta = "DIR"},                                           \
    {                                                                                  \
        OPT_TEXT(T, where.store, NULL, "their record, as `trainyard job` has it"),     \
            .meta = "WHERE"                                                            \
    }

/* The folder of an experiment: `dir`, or that of `id` below NNI's working directory; with
 * neither, the one that was made last. The caller's. E4008.
 */
enum rc tune_dir(const char *dir, const char *id, char **out, struct err *err) MUST_CHECK;
/* Below it lie the experiments that were made without --dir. The caller's. */
char *tune_home(void);

/* Runs it here until it is over, showing what happens; or starts a process that does, and
 * returns. */
enum rc tune_run(const char *dir, const struct job_where *jobs,
                 struct err *err) MUST_CHECK;
enum rc tune_start(const char *dir, const struct job_where *jobs,
                   struct err *err) MUST_CHECK;

/* Trials by their results, best first; then those without. The caller's, [trials.n]. */
int64_t *tune_ranking(const struct experiment *e);

#endif
