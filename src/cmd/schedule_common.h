/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/schedule_common.h - what the commands about schedules share. */
#ifndef CMD_SCHEDULE_COMMON_H
#define CMD_SCHEDULE_COMMON_H

#include "store/schedules.h"
#include "team/schedule.h"

/* A moment on the schedule's own clock: "2024-03-01 02:30 +08:00"; "-" for 0. */
void schedule_put_time(const struct store_schedule *x, int64_t ns, struct buf *out);

#endif
