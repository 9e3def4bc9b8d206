/* SPDX-License-Identifier: Apache-2.0 */
/* tune/retain.h - the end of experiments: deletion, and policies that delete them; and how much
 * room they take. Policies are those of store/retention.h whose name begins with
 * "experiments:".
 */
#ifndef TUNE_RETAIN_H
#define TUNE_RETAIN_H

#include "job/report.h"
#include "store/retention.h"

#define TUNE_POLICY \
    RETENTION_EXPERIMENTS /* and then "default", "user:NAME", "project:NAME" */

/* Removes the folder `dir` of the experiment `id`, and what leads to it from `home`, the
 * directory of all. Whoever calls knows that it does not run. Jobs of its trials stay.
 */
enum rc tune_remove(const char *home, const char *dir, const char *id,
                    struct err *err) MUST_CHECK;

struct tune_removed {
    int64_t experiments, bytes;
};
/* Whether somebody runs the experiment in `dir`, beside what its own lock tells. */
typedef bool tune_busy_fn(void *arg, const char *dir);
/* Deletes experiments of `home` that the policies no longer keep, except those that run or have
 * not come to an end. The latest change of its log counts as the end of an experiment. `busy`
 * may be NULL; `dry`: only counts.
 */
enum rc tune_retain(struct store *s, const char *home, int64_t now_ns, tune_busy_fn *busy,
                    void *arg, bool dry, struct tune_removed *out,
                    struct err *err) MUST_CHECK;

/* Makes the store's list of code that experiments of `node` need (store/experiments.h) that of
 * the folders of `home`: what was deleted here needs nothing any more. A home that is not there
 * changes nothing.
 */
enum rc tune_note_code(struct store *s, const char *node, const char *home,
                       struct err *err) MUST_CHECK;

/* Adds the experiments of `home` to the rows of their owners, or projects. */
void tune_report_room(const char *home, bool by_project, struct job_report *r);

#endif
