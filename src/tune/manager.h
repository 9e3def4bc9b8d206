/* SPDX-License-Identifier: Apache-2.0 */
/* tune/manager.h - the process that runs an experiment: asks the tuner, submits a job for
 * every trial, reads what trials report, and writes it all to the log.
 *
 * One per experiment, made sure of by a lock. It may die at any moment: the trials go on,
 * because jobs do, and the next manager reads their results from where the log ends.
 */
#ifndef TUNE_MANAGER_H
#define TUNE_MANAGER_H

#include "job/place.h"
#include "tune/experiment.h"

struct tune_manager_options {
    const char *const *env; /* for trials; NULL behind the last */
    int signals;            /* readable: the manager ends, trials go on; or -1 */
    const char *workdir;    /* of trials whose code is a snapshot */
    /* Of a server: may this experiment have another trial? NULL: always. What it answers
     * ends the experiment. */
    enum rc (*may)(void *arg, const struct experiment *e, struct err *err);
    void (*wake)(void *arg); /* there are new jobs; NULL: an agent is started */
    /* Told after every change; may be NULL. */
    void (*changed)(void *arg, const struct experiment *e);
    void *arg;
};

/* Until the experiment is over, was asked to stop, or a signal came (RC_CANCELED, trials
 * go on). E4006: another manager runs it.
 */
enum rc tune_manager_run(struct experiment *e, const struct job_place *jobs,
                         const struct tune_manager_options *o,
                         struct err *err) MUST_CHECK;

/* What others ask of the manager, picked up within a second; without one, by the next. */
enum rc tune_manager_request_stop(const char *dir, struct err *err) MUST_CHECK;
enum rc tune_manager_request_kill(const char *dir, const char *trial,
                                  struct err *err) MUST_CHECK;
/* A limit below 0 stays as it is. */
enum rc tune_manager_request_limits(const char *dir, const struct exp_limits *limits,
                                    struct err *err) MUST_CHECK;
/* `json`: a search space that experiment_space() will take. */
enum rc tune_manager_request_space(const char *dir, const char *json,
                                   struct err *err) MUST_CHECK;
bool tune_manager_alive(const char *dir);

#endif
