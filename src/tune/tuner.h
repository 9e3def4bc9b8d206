/* SPDX-License-Identifier: Apache-2.0 */
/* tune/tuner.h - who says what to try next.
 *
 * A tuner is a pure function of its settings, its seed and the calls made to it: the same
 * asks and results in the same order give the same suggestions, so an experiment is
 * resumed by calling everything again that its log holds. An ask that yields nothing
 * leaves no trace. One thread at a time.
 */
#ifndef TUNE_TUNER_H
#define TUNE_TUNER_H

#include "base/err.h"
#include "base/str.h"
#include "text/nni/space.h"
#include "text/node.h"
#include "tune/history.h"

#define TUNER_ID_SIZE 48

struct tuner;

struct tuner_conf {
    const char *name;        /* of NNI's register, in any case */
    const struct node *args; /* classArgs without errors (nni_args_check), or NULL */
    const struct nni_space *space; /* borrowed */
    uint64_t seed;                 /* where the arguments give none */
    const char *checkpoint_dir;    /* of the experiment, for PBT; may be NULL */
    int64_t n_objectives;          /* 0: one, the arguments say in which direction */
    const bool *maximize;          /* [n_objectives]; with none, the arguments say it */
    int64_t asked;                 /* asks of tuners before it, so that it draws anew */
};

/* RC_UNSUPPORTED (E4001): no such tuner here. */
enum rc tuner_create(const struct tuner_conf *conf, struct tuner **out,
                     struct err *err) MUST_CHECK;
void tuner_destroy(struct tuner *t); /* NULL is fine */

enum tuner_answer {
    TUNER_GIVES, /* *trial is a new trial */
    TUNER_WAITS, /* nothing until some trial ends */
    TUNER_ENDS,  /* nothing ever again, as things stand */
};
enum tuner_answer tuner_ask(struct tuner *t, int64_t *trial);

/* A trial of a log, whose point is known (tuner_history()): as tuner_ask() would have
 * given it, without the work where that is possible. RC_FORMAT: this tuner, with these
 * settings, would have given another; nothing was added.
 */
enum rc tuner_replay(struct tuner *t, const double *x, int64_t *trial,
                     struct err *err) MUST_CHECK;

/* The parameters of a trial as the JSON object that it gets, and its parameter_id as JSON
 * (a number, or a string such as "0-3_0_12").
 */
void tuner_params(const struct tuner *t, int64_t trial, struct buf *out);
void tuner_param_id(const struct tuner *t, int64_t trial, char out[TUNER_ID_SIZE]);

/* An intermediate result; `step` counts from 0. Most tuners do not care. */
void tuner_report(struct tuner *t, int64_t trial, int64_t step, double value);
/* The final result: values as reported, [n_objectives]. A second one is ignored. */
void tuner_tell(struct tuner *t, int64_t trial, const double *values, double violation);
/* The trial is over. Without a result it failed. */
void tuner_end(struct tuner *t, int64_t trial);
/* A result from elsewhere: user-made trials, another experiment. RC_INVAL: not a point of
 * the space; the message says what does not fit.
 */
enum rc tuner_import(struct tuner *t, const struct node *params, const double *values,
                     double violation, struct err *err) MUST_CHECK;

/* The trial to go on with, -1: none has a result. With several objectives the first of the
 * front. A tuner that models noise may name another trial than the one with the best result.
 */
int64_t tuner_best(struct tuner *t);

/* For the best trial and the like. */
const struct tune_history *tuner_history(const struct tuner *t);
bool tuner_maximizes(const struct tuner *t, int64_t objective);
uint64_t tuner_seed(const struct tuner *t);

#endif
