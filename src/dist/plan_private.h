/* SPDX-License-Identifier: Apache-2.0 */
/* dist/plan_private.h - what the files of the planner share: plan_cost.c says what an option
 * costs, plan.c chooses, plan_place.c gives parts to ranks.
 */
#ifndef DIST_PLAN_PRIVATE_H
#define DIST_PLAN_PRIVATE_H

#include "dist/plan.h"

/* All options of all tables. */
struct dist_options {
    int n;                        /* tables */
    int *first;                   /* [n + 1]: options of table i begin at all[first[i]] */
    struct dist_plan_option *all; /* owned */
};

/* A choice of one option per table: an index into `all` each. Ranks of its shards are
 * filled in; false when some do not fit, *failed: which table then.
 */
bool dist_plan_place(const struct dist_topology *t, const struct dist_options *o,
                     const int *choice, struct dist_plan *out, int *failed);

#endif
