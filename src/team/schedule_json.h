/* SPDX-License-Identifier: Apache-2.0 */
/* team/schedule_json.h - schedules and their runs as JSON, for programs. */
#ifndef TEAM_SCHEDULE_JSON_H
#define TEAM_SCHEDULE_JSON_H

#include "base/str.h"
#include "store/schedules.h"

/* One object. `runs` may be NULL. */
void team_schedule_json(const struct store_schedule *x, const struct store_run_rows *runs,
                        struct buf *out);
void team_schedule_run_json(const struct store_run_row *r, struct buf *out);
/* Who should have run it a minute ago: the server at x->node, which is away. */
bool team_schedule_late(const struct store_schedule *x);
/* The word of an outcome, and what stands behind it ("" for nothing). Borrowed. */
struct str team_schedule_outcome(const struct store_run_row *r, const char **message);

#endif
