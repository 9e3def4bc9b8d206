/* SPDX-License-Identifier: Apache-2.0 */
/* team/cron.h - lines that say when, in the five fields of cron: minute, hour, day of the
 * month, month, day of the week.
 *
 * A field is '*' or a list of numbers and ranges, each with an optional step; months and
 * weekdays have names; 7 is Sunday, too. When both days are restricted, either one is
 * enough; a field that begins with '*' restricts nothing in this sense. "@daily" and its
 * kin stand for whole lines.
 *
 * When the clock is changed twice a year: a line whose minute or hour begins with '*'
 * follows the clock as it is, so the hour that comes twice counts twice and the one that
 * is left out does not count. Any other line means certain times of the day, each once:
 * what falls into the hour left out comes due the moment after, and what came due in the
 * first of two equal hours does not in the second.
 */
#ifndef TEAM_CRON_H
#define TEAM_CRON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "team/civil.h"
#include "team/zone.h"

struct team_cron {
    uint64_t minutes;                       /* bit n: minute n */
    uint32_t hours, days, months, weekdays; /* the same; Sunday is 0 */
    bool any_day, any_weekday;              /* the field begins with '*' */
    bool follows_clock;                     /* minute or hour does */
};

/* RC_INVAL (E5101): which field, which value, what would be right. A line that can never
 * come due (30 February) is refused as well.
 */
enum rc team_cron_parse(const char *line, struct team_cron *out,
                        struct err *err) MUST_CHECK;
/* Does a clock that shows `c` (seconds aside) fit? */
bool team_cron_fits(const struct team_cron *c, const struct team_civil *at);
/* The first moment behind `after` (seconds, UTC) at which the line comes due. False:
 * none before the year 2200.
 */
bool team_cron_next(const struct team_cron *c, const struct team_zone *z, int64_t after,
                    int64_t *next) MUST_CHECK;

#endif
