/* SPDX-License-Identifier: Apache-2.0 */
/* tune/assessor.h - who says that a trial is not worth going on with.
 *
 * Like a tuner, an assessor is a pure function of its settings and the calls made to it.
 * It judges a trial's intermediate results in the order of their steps; a step that is
 * missing holds back those behind it until it comes.
 */
#ifndef TUNE_ASSESSOR_H
#define TUNE_ASSESSOR_H

#include "base/err.h"
#include "text/node.h"

struct assessor;

struct assessor_conf {
    const char *name;        /* of NNI's register, in any case */
    const struct node *args; /* classArgs without errors (nni_args_check), or NULL */
    const char *experiment;  /* its name or id: deals the brackets of HyperbandPruner */
};

/* RC_UNSUPPORTED (E4001): no such assessor here. */
enum rc assessor_create(const struct assessor_conf *conf, struct assessor **out,
                        struct err *err) MUST_CHECK;
void assessor_destroy(struct assessor *a); /* NULL is fine */

/* Result `value` of step `step` (from 0) of a trial: false when the trial is to be
 * stopped. A step that was reported before is ignored.
 */
bool assessor_report(struct assessor *a, int64_t trial, int64_t step, double value);
/* The trial is over; `ok`: by itself and with a result. */
void assessor_end(struct assessor *a, int64_t trial, bool ok);

#endif
