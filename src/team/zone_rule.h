/* SPDX-License-Identifier: Apache-2.0 */
/* team/zone_rule.h - the rule for years that a zone's table does not reach, in the form
 * of POSIX's TZ variable: "CET-1CEST,M3.5.0,M10.5.0/3".
 */
#ifndef TEAM_ZONE_RULE_H
#define TEAM_ZONE_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "team/zone.h"

struct team_zone_day {
    char kind; /* 'M': month, week, weekday; 'J': day 1..365 without 29 February; 0: day
                  0..365 */
    int month, week, day;
    int64_t time; /* seconds behind midnight, may be negative */
};

struct team_zone_rule {
    int64_t std, dst; /* seconds east */
    bool changes;     /* else `std` all year round */
    struct team_zone_day start, end;
};

bool team_zone_rule_parse(struct str text, struct team_zone_rule *out) MUST_CHECK;
/* The span that holds t. */
struct team_zone_span team_zone_rule_at(const struct team_zone_rule *r, int64_t t);

#endif
