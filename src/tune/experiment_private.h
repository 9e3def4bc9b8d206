/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUNE_EXPERIMENT_PRIVATE_H
#define TUNE_EXPERIMENT_PRIVATE_H

#include "tune/experiment.h"

/* Does what one event of the log says. */
enum rc experiment_apply(struct experiment *e, const struct node *n,
                         struct err *err) MUST_CHECK;
/* Adds the trial that the tuner gave last. */
void experiment_add(struct experiment *e, int64_t asked, int64_t time);
/* The built-in tuner over the space as it is now. */
enum rc experiment_make_tuner(struct experiment *e, struct err *err) MUST_CHECK;

/* Gives each whole line of the log to `fn`. */
typedef enum rc experiment_log_fn(struct experiment *e, const struct node *n,
                                  struct err *err);
enum rc experiment_each(struct experiment *e, experiment_log_fn *fn,
                        struct err *err) MUST_CHECK;

/* What happened, passed on to custom algorithms; nothing without them. */
enum rc experiment_pass_result(struct experiment *e, int64_t trial, bool final,
                               int64_t step, const char *json, bool *stop,
                               struct err *err) MUST_CHECK;
enum rc experiment_pass_end(struct experiment *e, int64_t trial,
                            struct err *err) MUST_CHECK;

#endif
