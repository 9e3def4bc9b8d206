/* SPDX-License-Identifier: Apache-2.0 */
/* team/schedule.h - which planned times of a schedule are to be run now. Pure functions:
 * the record and the clock are the callers'.
 *
 * Times are wall clock, ns. `next` of a schedule is the first planned time that was not
 * dealt with yet, so a program that was not running for a while finds what it missed. A
 * run is known by its schedule and its planned time, whatever the clock says when it is
 * submitted: a clock that is set back finds the runs that were, and starts none twice.
 */
#ifndef TEAM_SCHEDULE_H
#define TEAM_SCHEDULE_H

#include "base/str.h"
#include "base/vec.h"
#include "team/cron.h"

#define SCHEDULE_CATCH_MAX 1000 /* runs that are made up for at most */
#define SCHEDULE_LATE_S 300     /* later than this is missed */

enum team_schedule_catch_up {
    SCHEDULE_CATCH_NONE, /* what was missed is left out */
    SCHEDULE_CATCH_LAST, /* the latest of what was missed is run */
    SCHEDULE_CATCH_ALL,  /* the latest `limit` are, the oldest first */
};

/* When the job of an earlier run has not ended. */
enum team_schedule_overlap {
    SCHEDULE_OVERLAP_SKIP,    /* this run is left out */
    SCHEDULE_OVERLAP_QUEUE,   /* it waits for the other's end */
    SCHEDULE_OVERLAP_REPLACE, /* the other is stopped */
    SCHEDULE_OVERLAP_ALLOW,   /* both run */
};

struct team_schedule_policy {
    enum team_schedule_catch_up catch_up;
    int64_t limit; /* of SCHEDULE_CATCH_ALL */
    enum team_schedule_overlap overlap;
};

/* "none", "last", "all", "all:20"; "skip", "queue", "replace", "allow". RC_INVAL (E5105).
 */
enum rc team_schedule_policy_read(const char *catch_up, const char *overlap,
                                  struct team_schedule_policy *out,
                                  struct err *err) MUST_CHECK;
/* As the store keeps it in one text, "last skip". */
enum rc team_schedule_policy_parse(const char *text, struct team_schedule_policy *out,
                                   struct err *err) MUST_CHECK;
void team_schedule_catch_up_print(const struct team_schedule_policy *p, struct buf *out);
const char *team_schedule_overlap_name(enum team_schedule_overlap o);

/* What becomes due at `now`. */
struct team_schedule_due {
    VEC(int64_t) fire; /* planned times to run, the oldest first */
    int64_t missed;    /* the latest planned time that is left out; 0: none */
    int64_t next;      /* 0: never again */
};
void team_schedule_due_release(struct team_schedule_due *d);
/* `next` 0: never. Nothing is due while next > now, and d->next is `next` then. */
void team_schedule_due_at(const struct team_cron *c, const struct team_zone *z,
                          const struct team_schedule_policy *p, int64_t next, int64_t now,
                          struct team_schedule_due *d);
/* The first planned time behind `after`; 0: none. */
int64_t team_schedule_next(const struct team_cron *c, const struct team_zone *z,
                           int64_t after);

#endif
