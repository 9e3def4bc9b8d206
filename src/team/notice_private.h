/* SPDX-License-Identifier: Apache-2.0 */
/* team/notice_private.h - one look at jobs, shared by the files that look. */
#ifndef TEAM_NOTICE_PRIVATE_H
#define TEAM_NOTICE_PRIVATE_H

#include "base/vec.h"
#include "team/notice.h"
#include "team/rule.h"

#define NOTICE_WORKERS_MAX 64 /* of a job whose logs are looked at */

/* What is known of one job. */
struct team_watched {
    int64_t round;                    /* of the last look */
    int64_t seq;                      /* last event */
    int64_t points;                   /* cursor of metrics */
    int64_t attempt;                  /* that `logs` is about */
    int64_t logs[NOTICE_WORKERS_MAX]; /* bytes read */
    struct map told;                  /* rule and what: no need to ask the store again */
};

struct team_looking {
    const struct job_place *p;
    int64_t now, added;
    VEC(struct team_rule) rules;
};

/* Is the rule about this job, labels included? */
bool team_notice_about(const struct team_looking *l, const struct team_rule *r,
                       const struct store_job *j);
/* Writes the message down unless it is known. */
enum rc team_notice_tell(struct team_looking *l, struct team_watched *w,
                         const struct team_rule *r, const struct team_rule_fact *f,
                         struct err *err) MUST_CHECK;

/* Of a job whose files are here. `ended`: a last line may have no end. */
enum rc team_notice_logs(struct team_looking *l, struct team_watched *w,
                         const struct store_job *j, bool ended,
                         struct err *err) MUST_CHECK;
enum rc team_notice_stall(struct team_looking *l, struct team_watched *w,
                          const struct store_job *j, struct err *err) MUST_CHECK;

#endif
