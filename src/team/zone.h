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

struct zone;

/* "UTC", "Asia/Shanghai", "+08:00" (east of Greenwich), or "local": what /etc/localtime
 * says, UTC where it says nothing. RC_NOTFOUND, RC_INVAL, RC_FORMAT (E5102).
 */
enum rc zone_open(const char *name, struct zone **out, struct err *err) MUST_CHECK;
void zone_close(struct zone *z); /* NULL is fine */

/* For as long as from <= t < to, the local clock shows t + offset. */
struct zone_span {
    int64_t from, to; /* INT64_MIN, INT64_MAX: no change before, after */
    int64_t offset;   /* seconds east */
};
struct zone_span zone_at(const struct zone *z, int64_t t);

#endif
