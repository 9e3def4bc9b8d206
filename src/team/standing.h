/* SPDX-License-Identifier: Apache-2.0 */
/* team/standing.h - whether people may still do what something does in their name: a schedule
 * that submits their jobs, a rule that tells them about a project's.
 *
 * A store without users is somebody's own, and everybody in it may. Where there are users,
 * an owner must be one of them, or the account that the server (or root) works under at its
 * own command line.
 */
#ifndef TEAM_STANDING_H
#define TEAM_STANDING_H

#include "store/notify.h"
#include "store/schedules.h"
#include "store/users.h"

struct team_standing {
    struct store *store;      /* borrowed */
    const char *account;      /* borrowed; see struct job_place. NULL: users alone */
    struct store_users users; /* as they were at the opening */
    struct arena arena;       /* of reasons */
};

enum rc team_standing_open(struct store *s, const char *account,
                           struct team_standing *out, struct err *err) MUST_CHECK;
void team_standing_close(struct team_standing *t);

/* Why `owner` may not look at (`submits`: run) jobs of `project`, "" for their own: "'ann' is
 * disabled". NULL: may. Valid until the close.
 */
const char *team_standing_wrong(struct team_standing *t, const char *owner,
                                const char *project, bool submits);
/* Fills in `stopped` and `muted`; the same lifetime. */
void team_standing_schedules(struct team_standing *t, struct store_schedules *l);
void team_standing_rules(struct team_standing *t, struct store_rules *l);

#endif
