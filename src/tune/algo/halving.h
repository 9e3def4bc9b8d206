/* SPDX-License-Identifier: Apache-2.0 */
/* tune/algo/halving.h - brackets of successive halving, for Hyperband and BOHB.
 *
 * A bracket starts many configurations with a small budget; the best of each round go on
 * with eta times as much. Each continuation is a trial of its own, whose parameters hold
 * TRIAL_BUDGET.
 */
#ifndef TUNE_ALGO_HALVING_H
#define TUNE_ALGO_HALVING_H

#include "tune/tuner_private.h"

struct halving_conf {
    double most, eta; /* budget of the last round; one in eta goes on */
    int64_t s_max;    /* rounds of the longest bracket, less one */
    bool one_by_one;  /* the next bracket waits until the last round was issued */
    bool plain_ids;   /* "3_0_12" in the first pass over the brackets, not "0-3_0_12" */
};

struct halving;
struct halving *halving_create(const struct halving_conf *conf);
void halving_destroy(struct halving *h); /* NULL is fine */

/* What comes next. *fresh: a new configuration, which the caller draws into x; else x is
 * filled with one that goes on. The trial must be announced with halving_issued().
 */
enum tuner_answer halving_next(struct halving *h, int64_t n_params, double *x,
                               bool *fresh);
void halving_issued(struct halving *h, int64_t trial, const double *x);
void halving_report(struct halving *h, int64_t trial, int64_t step, double loss);
void halving_told(struct halving *h, int64_t trial, double loss);
void halving_ended(struct halving *h, int64_t trial);

/* 0: a trial from elsewhere. */
int64_t halving_budget(const struct halving *h, int64_t trial);
void halving_id(const struct halving *h, int64_t trial, char out[TUNER_ID_SIZE]);

/* The operations of a tuner whose `self` starts with a struct halving pointer. */
void halving_op_issued(struct tuner *t, int64_t trial);
void halving_op_report(struct tuner *t, int64_t trial, int64_t step, double loss);
void halving_op_told(struct tuner *t, int64_t trial);
void halving_op_ended(struct tuner *t, int64_t trial, bool ok);
void halving_op_extra(const struct tuner *t, int64_t trial, bool first, struct buf *out);
void halving_op_id(const struct tuner *t, int64_t trial, char out[TUNER_ID_SIZE]);

#endif
