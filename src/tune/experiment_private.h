/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUNE_EXPERIMENT_PRIVATE_H
#define TUNE_EXPERIMENT_PRIVATE_H

#include "tune/experiment.h"

/* Does what one event of the log says. */
enum rc experiment_apply(struct experiment *e, const struct node *n,
                         struct err *err) MUST_CHECK;

#endif
