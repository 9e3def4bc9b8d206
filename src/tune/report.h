/* SPDX-License-Identifier: Apache-2.0 */
/* tune/report.h - experiments as JSON, for commands and servers: in our own form, and in
 * the shapes of NNI's REST interface, which its clients and its web page read.
 */
#ifndef TUNE_REPORT_H
#define TUNE_REPORT_H

#include "tune/experiment.h"

/* {"id": ..., "status": ..., "trials": {"SUCCEEDED": 8, ...}, "best": {...}, ...} */
void tune_report_experiment(const struct experiment *e, bool alive, const char *held,
                            struct buf *out);
void tune_report_trial(const struct experiment *e, const struct exp_trial *t,
                       struct buf *out);
/* An array, in the order of `order` ([n] numbers of trials). */
void tune_report_trials(const struct experiment *e, const int64_t *order, int64_t n,
                        struct buf *out);
/* {"trial": ..., "value": ..., "parameters": ...}; with several objectives
 * {"front": [...]}. False, and nothing is written, when no trial has a result. */
bool tune_report_best(const struct experiment *e, struct buf *out);
/* Trials by their results, best first; then those without. The caller's, [trials.n]. */
int64_t *tune_report_ranking(const struct experiment *e);

/* NNI's: GET /experiment, and its `params` alone; /check-status; /experiment-metadata and
 * one entry of /experiments-info; /job-statistics; /export-data. */
void tune_report_nni_profile(const struct experiment *e, struct buf *out);
void tune_report_nni_config(const struct experiment *e, struct buf *out);
void tune_report_nni_status(const struct experiment *e, struct buf *out);
void tune_report_nni_metadata(const struct experiment *e, bool alive, struct buf *out);
void tune_report_nni_statistics(const struct experiment *e, struct buf *out);
void tune_report_nni_export(const struct experiment *e, bool intermediate,
                            struct buf *out);
/* /trial-jobs, of one status or (NULL) all; /trial-jobs/ID, false when there is none. */
void tune_report_nni_trials(const struct experiment *e, const char *status,
                            struct buf *out);
bool tune_report_nni_trial(const struct experiment *e, const char *id, struct buf *out);

/* /metric-data and its relatives. */
struct tune_report_metrics {
    const char *trial;   /* of this id; NULL: all */
    const char *type;    /* "PERIODICAL" or "FINAL"; NULL: both */
    int64_t first, last; /* numbers of trials */
    bool latest;         /* of the intermediate ones only the newest */
};
void tune_report_nni_metrics(const struct experiment *e,
                             const struct tune_report_metrics *which, struct buf *out);

/* Answers a path of NNI's interface below /api/v1/nni, such as "/trial-jobs/AbCdE" with
 * the query "status=RUNNING" (may be ""). False: no such path, or nothing there.
 */
bool tune_report_nni_path(const struct experiment *e, bool alive, const char *path,
                          const char *query, struct buf *out);

#endif
