/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUNE_MANAGER_PRIVATE_H
#define TUNE_MANAGER_PRIVATE_H

#include "tune/manager.h"

struct tune_manager {
    struct experiment *e;
    const struct job_place *jobs;
    const struct tune_manager_options *o;
    int64_t began; /* ms, monotonic */
    int64_t spent; /* ms of earlier managers */
    bool stop;     /* asked for by a user */
    bool new_jobs; /* the queue is to be woken */
};

/* The job of a trial: made, or found when a manager before us had made it. */
enum rc tune_trial_submit(struct tune_manager *m, int64_t trial,
                          struct err *err) MUST_CHECK;
/* Reads what the trial reported since, and how its job fares. */
enum rc tune_trial_poll(struct tune_manager *m, int64_t trial,
                        struct err *err) MUST_CHECK;
enum rc tune_trial_stop(struct tune_manager *m, int64_t trial, enum trial_status as,
                        bool out_of_time, struct err *err) MUST_CHECK;

/* Requests that lie in the folder. */
enum rc tune_requests_take(struct tune_manager *m, struct err *err) MUST_CHECK;

#endif
