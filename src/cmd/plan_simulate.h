/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/plan_simulate.h - `plan --simulate`: a step on many ranks, predicted. */
#ifndef CMD_PLAN_SIMULATE_H
#define CMD_PLAN_SIMULATE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "text/diag.h"

struct pc_EasyRecConfig;

struct plan_simulate_conf {
    int from, to;     /* ranks: from, 2 * from, ... up to `to` */
    int hosts;        /* of `from` ranks; as many ranks on each for all numbers */
    const char *link; /* "25Gbit,5us" */
    bool json;
};

/* "8" or "8..1024". RC_INVAL E0603. */
enum rc plan_ranks_range(const char *text, int *from, int *to,
                         struct err *err) MUST_CHECK;

/* Appends the table, or one object of JSON. RC_INVAL E0603: the link; what training says. */
enum rc plan_simulate_print(const struct pc_EasyRecConfig *config,
                            const struct plan_simulate_conf *conf, struct diags *diags,
                            struct buf *out, struct err *err) MUST_CHECK;

#endif
