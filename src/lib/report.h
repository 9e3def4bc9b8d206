/* SPDX-License-Identifier: Apache-2.0 */
/* lib/report.h - failures in the form of the installed headers. */
#ifndef LIB_REPORT_H
#define LIB_REPORT_H

#include "base/err.h"
#include "text/diag.h"
#include "trainyard/scoring.h"

/* 0 for RC_OK, else 1. `out` may be NULL. */
int lib_report(enum rc rc, const struct err *err, struct ty_error *out);
/* The same; the first error among `diags`, if there is one, says more than `err`. */
int lib_report_diags(enum rc rc, const struct diags *diags, const struct err *err,
                     struct ty_error *out);

#endif
