/* SPDX-License-Identifier: Apache-2.0 */
/* store/schedules.h - routine runs: what, when, and what became of each planned time.
 *
 * RC_INVAL (E3110) for a name that is taken, RC_NOTFOUND (E3111) for one that is not
 * there. What cron lines and policies mean is not the store's business.
 */
#ifndef STORE_SCHEDULES_H
#define STORE_SCHEDULES_H

#include "store/store.h"

struct store_schedule {
    const char *name, *owner, *project;
    const char *cron, *zone; /* the line, and the time zone it is read in */
    const char *spec;        /* JSON of the job, with ${...} in it */
    const char *params;      /* JSON object of parameters */
    const char *catch_up;    /* what to do about times that were missed */
    int64_t paused;          /* 0 or 1 */
    int64_t created;         /* ns */
    int64_t next;            /* planned time of the next run, ns; 0: none */
    const char *node;        /* who alone has its files (see struct store_job); "": all */
    const char *stopped;     /* not kept: why its owner may not run it; NULL, "": may */
};
struct store_schedules {
    struct arena arena;
    struct store_schedule *at;
    size_t n;
};
void store_schedules_release(struct store_schedules *l);
enum rc store_schedule_create(struct store *s, const struct store_schedule *x,
                              struct err *err) MUST_CHECK;
/* Everything but name, owner and created becomes that of `x`. RC_NOTFOUND also when the name is
 * another schedule's by now, made later.
 */
enum rc store_schedule_update(struct store *s, const struct store_schedule *x,
                              struct err *err) MUST_CHECK;
/* `name` NULL: all, by name. */
enum rc store_schedule_get(struct store *s, const char *name, struct store_schedules *out,
                           struct err *err) MUST_CHECK;
/* Not paused and planned for `now` or before, oldest first. */
enum rc store_schedule_due(struct store *s, int64_t now, struct store_schedules *out,
                           struct err *err) MUST_CHECK;
/* Moves `next` from `from` to `to`; *moved false: somebody else had moved it. */
enum rc store_schedule_move(struct store *s, const char *name, int64_t from, int64_t to,
                            bool *moved, struct err *err) MUST_CHECK;
/* With its runs. */
enum rc store_schedule_delete(struct store *s, const char *name,
                              struct err *err) MUST_CHECK;

struct store_run_row {
    const char *schedule;
    int64_t planned, fired; /* ns; one row for each planned time of a schedule */
    const char *job;        /* id, "" when there is none */
    const char *outcome;    /* a word, and why */
};
struct store_run_rows {
    struct arena arena;
    struct store_run_row *at;
    size_t n;
};
void store_run_rows_release(struct store_run_rows *l);
/* *first false: this planned time has a row already, which was not changed. */
enum rc store_schedule_claim(struct store *s, const struct store_run_row *r, bool *first,
                             struct err *err) MUST_CHECK;
/* Writes job and outcome of a row that is there. */
enum rc store_schedule_settle(struct store *s, const struct store_run_row *r,
                              struct err *err) MUST_CHECK;
/* The latest first, those planned before `before` (0: all). */
enum rc store_schedule_runs(struct store *s, const char *schedule, int64_t before,
                            size_t limit, struct store_run_rows *out,
                            struct err *err) MUST_CHECK;

#endif
