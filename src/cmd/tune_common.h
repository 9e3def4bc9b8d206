/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/tune_common.h - what the commands about experiments share. */
#ifndef CMD_TUNE_COMMON_H
#define CMD_TUNE_COMMON_H

#include <stdio.h>

#include "base/opt.h"
#include "cmd/job_common.h"
#include "text/conf.h"
#include "tune/experiment.h"

struct tune_at;

/* Where the jobs of trials lie; T has a struct job_where `where`. */
#define TUNE_JOB_OPTS(T)                                                         \
    {OPT_HEADING("Where trials run")},                                           \
        {OPT_TEXT(T, where.dir, NULL, "jobs directory, as for `trainyard job`"), \
         .flag = "jobs-dir", .meta = "DIR"},                                     \
    {                                                                            \
        OPT_TEXT(T, where.store, NULL, "job store, as for `trainyard job`"),     \
            .meta = "WHERE"                                                      \
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

/* `path` as seen from the directory `base`, "~" being the home of the user, without links
 * where it exists. The caller's. */
char *tune_absolute(const char *path, const char *base);
/* What an experiment file says, in the words of the engine; `base` is its directory.
 * `backend` (NULL: what the file says) is where jobs run. Texts lie in `a` or in the
 * conf. What is not done as the file says is told on stderr. E4010: it cannot run here.
 */
enum rc tune_settings(struct conf *c, const char *base, const char *backend,
                      struct diags *diags, struct exp_settings *s, struct arena *a,
                      struct err *err) MUST_CHECK;

/* How an experiment stands, for people; `width` columns at most where it is not 0. */
void tune_show(const struct experiment *e, const struct tune_at *at, size_t width,
               struct buf *b);
/* The same again and again until nobody runs it: drawn over on a terminal, else a line
 * whenever something changed. */
enum rc tune_watch(struct tune_at *at, FILE *to, struct err *err) MUST_CHECK;
/* How it ended, on stderr; RC_INVAL (E4009) when it failed. */
enum rc tune_outcome(const struct experiment *e, struct err *err) MUST_CHECK;

#endif
