/* SPDX-License-Identifier: Apache-2.0 */
/* team/notice.h - looks at jobs and writes down what is to be told. Sending is another's
 * business (deliver.h).
 *
 * What was seen is remembered for speed alone: a message has a key made of its rule, its
 * job and what happened, so that a second look, by whomever, finds it known. Changes of
 * state and metrics are looked at by the one who leads; logs and silence by whoever has
 * the job's files.
 */
#ifndef TEAM_NOTICE_H
#define TEAM_NOTICE_H

#include "base/map.h"
#include "job/place.h"

/* Zeroed before its first use. */
struct team_notice {
    struct map jobs; /* of struct team_watched */
    int64_t round;
    int64_t marked; /* when the mark in the store was written, ns */
};

/* `now`: wall clock, ns. *added: new messages. */
enum rc team_notice_look(struct team_notice *n, const struct job_place *p, bool leads,
                         int64_t now, int64_t *added, struct err *err) MUST_CHECK;
void team_notice_release(struct team_notice *n);

#endif
