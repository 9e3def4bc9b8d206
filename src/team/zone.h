/* SPDX-License-Identifier: Apache-2.0 */
/* team/zone.h - time zones, from the machine's own files (tzdata).
 *
 * The C library has one zone per process, set by a variable; a server has schedules of
 * many. A zone is read once, is never changed and may be used by any thread. Moments are
 * seconds since 1970-01-01 UTC.
 */
#ifndef TEAM_ZONE_H
#define TEAM_ZONE_H

#include <stdint.h>

#include "base/err.h"

struct team_zone;

/* "UTC", "Asia/Shanghai", "+08:00" (east of Greenwich), or "local": what /etc/localtime
 * says, UTC where it says nothing. RC_INVAL, RC_FORMAT (E5102).
 */
enum rc team_zone_open(const char *name, struct team_zone **out,
                       struct err *err) MUST_CHECK;
void team_zone_close(struct team_zone *z); /* NULL is fine */

/* For as long as from <= t < to, the local clock shows t + offset. */
struct team_zone_span {
    int64_t from, to; /* INT64_MIN, INT64_MAX: no change before, after */
    int64_t offset;   /* seconds east */
};
struct team_zone_span team_zone_at(const struct team_zone *z, int64_t t);

#endif
