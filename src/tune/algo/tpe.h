/* SPDX-License-Identifier: Apache-2.0 */
/* tune/algo/tpe.h - tree-structured Parzen estimators: what the two kinds share.
 *
 * Both split the results into a few good ones and the rest, and propose where the good
 * are dense compared with the rest. NNI's way looks at one parameter at a time; the joint
 * way (the default) models parameters that exist together as one density, so that what
 * they do together is learnt.
 */
#ifndef TUNE_ALGO_TPE_H
#define TUNE_ALGO_TPE_H

#include "tune/tuner_private.h"

enum tpe_liar { LIAR_NONE, LIAR_BEST, LIAR_WORST, LIAR_MEAN };

struct tpe_settings {
    bool joint;
    bool by_share;      /* a tenth of the results is good; else gamma sqrt(n) */
    int64_t good_most;  /* but no more than these */
    bool by_time;       /* old results are forgotten first; else, as in NNI, good ones */
    enum tpe_liar liar; /* what is assumed of running trials */
    int64_t n_startup, n_candidates, forget;
    double prior_weight, gamma;
};

/* How many of n results count as good. */
int64_t tpe_good(const struct tpe_settings *s, int64_t n);

/* One parameter after the other. */
void tpe_single(const struct tune_history *h, const struct tpe_settings *s, struct rng *r,
                double *x);

/* Blocks of parameters that are active together. */
struct tpe_joint;
struct tpe_joint *tpe_joint_create(const struct nni_space *space);
void tpe_joint_destroy(struct tpe_joint *j); /* NULL is fine */
void tpe_joint_add(struct tpe_joint *j, const struct tune_history *h, int64_t trial);
void tpe_joint_ask(struct tpe_joint *j, const struct tune_history *h,
                   const struct tpe_settings *s, struct rng *r, double *x);

#endif
