/* SPDX-License-Identifier: Apache-2.0 */
/* team/dates.h - the dates of a scheduled run, put into texts as DataWorks does it.
 *
 *     ${bizdate}                  the day before the planned one, 20240229
 *     ${cyctime}                  the planned moment, 20240301023000
 *     ${gmtdate}, ${bizmonth}     the planned day; the month before it
 *     ${yyyymmdd} ${yyyy-mm-dd}   parts of the day before, in any arrangement
 *     ${yyyymmdd-7} ${yyyymm-1}   days earlier; with no finer part months or years
 * earlier
 *     $[yyyymmddhh24miss]         the same of the planned moment
 *     $[hh24-1/24] $[hh24mi-30/24/60]         an hour, half an hour earlier
 *     $[add_months(yyyymmdd,-1)]  a month earlier, at its last day if need be
 *     ${name}                     a parameter of the schedule
 *
 * Parts: yyyy mm dd hh24 mi ss; between them '-', '/', ':', '.', '_', 'T' and blanks. A
 * parameter goes before a date of the same name. Everything else with a '$' stays as it
 * is: texts are often meant for a shell.
 */
#ifndef TEAM_DATES_H
#define TEAM_DATES_H

#include <stddef.h>

#include "base/str.h"
#include "team/civil.h"

struct team_dates_param {
    const char *name, *value;
};

struct team_dates {
    struct team_civil at; /* planned, on the schedule's clock */
    const struct team_dates_param *params;
    size_t n;
};

/* Adds `text` to `out` with what it knows replaced. */
void team_dates_expand(const struct team_dates *d, struct str text, struct buf *out);
/* The value of a parameter: as above, and "$bizdate", "$cyctime" and the like as the
 * whole value, too. Values do not refer to other parameters.
 */
void team_dates_value(const struct team_dates *d, const char *text, struct buf *out);
/* 1 to 64 letters, digits and '_', no digit first. */
bool team_dates_name_ok(struct str name);

#endif
