/* SPDX-License-Identifier: Apache-2.0 */
/* compat/tzrec.h - TorchEasyRec's programs by their module names, for the fronts that
 * start modules: `tzrec train_eval`, `python -m tzrec.train_eval`, `torchrun -m ...`.
 */
#ifndef COMPAT_TZREC_H
#define COMPAT_TZREC_H

#include "compat/front.h"

/* "tzrec.train_eval", "train_eval", "some/where/tzrec/train_eval.py". */
bool tzrec_is_module(const char *name);

/* Translates `module` with the arguments behind it. RC_INVAL E2203: no such program;
 * E2204: an argument that it cannot do without is missing.
 */
enum rc tzrec_translate(const char *module, const struct front_args *in,
                        struct front_call *out, struct err *err) MUST_CHECK;

#endif
