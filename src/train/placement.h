/* SPDX-License-Identifier: Apache-2.0 */
/* train/placement.h - the tables of a model as the planner of dist/plan.h sees them.
 *
 * Of a table count the features that use it; the limits of placement are those of its
 * features, or of the whole model where they have none.
 */
#ifndef TRAIN_PLACEMENT_H
#define TRAIN_PLACEMENT_H

#include "base/vec.h"
#include "dist/plan.h"
#include "train/plan_file.h"
#include "train/session.h"

struct train_placement_conf {
    int ranks, hosts; /* as many ranks on each host */
    int64_t memory;   /* of a rank */
    double reserve;   /* share of it that is left alone */
    double intra,
        cross; /* bytes per millisecond within a host and between; 0: as usual */
    int bins;  /* of memory in the search, for one rank; 0: as usual */
};

struct train_placement {
    struct dist_topology topology;
    VEC(struct dist_plan_table) tables; /* in the order of the model */
    struct dist_plan plan;
};

/* Of a session that has seen no batch. RC_NOMEM E1408: no placement fits. The caller
 * releases *out in any case.
 */
enum rc train_placement_make(struct train_placement *out, const struct train_session *s,
                             const struct train_placement_conf *conf,
                             struct err *err) MUST_CHECK;
void train_placement_release(struct train_placement *p);

/* Of a session with several ranks: tables with limits lie where the planner puts them,
 * the others on all ranks. Every rank comes to the same. `pins`, of an earlier plan, may be
 * NULL. *whole (borrowed): a table whose limits want columns cut, but whose optimizer needs
 * whole rows; NULL: none. The caller releases *out in any case.
 */
enum rc train_placement_apply(struct train_session *s, const struct train_pins *pins,
                              struct train_placement *out, const char **whole,
                              struct err *err) MUST_CHECK;

#endif
