/* SPDX-License-Identifier: Apache-2.0 */
/* ckpt/report.h - filling a struct ckpt_report. */
#ifndef CKPT_REPORT_H
#define CKPT_REPORT_H

#include "ckpt/state.h"

/* Name and text are copied. */
void ckpt_report_add(struct ckpt_report *r, enum ckpt_diff_kind kind, const char *name,
                     const char *text);
/* RC_INVAL with the first differences as its message. */
enum rc ckpt_report_error(const struct ckpt_report *r, struct err *err);

#endif
