/* SPDX-License-Identifier: Apache-2.0 */
/* team/quota.h - what users and projects may have at a time, as it is agreed on.
 *
 * The store keeps both in one table; see backend/share.h for the names of users in it.
 */
#ifndef TEAM_QUOTA_H
#define TEAM_QUOTA_H

#include "store/projects.h"

enum team_quota_whose { QUOTA_PROJECT, QUOTA_USER };

/* The name in the store: the caller's, to mem_free(). RC_INVAL (E5201). User "*": all
 * users that have none of their own.
 */
enum rc team_quota_key(enum team_quota_whose whose, const char *name, char **out,
                       struct err *err) MUST_CHECK;
/* Of a row of the store: whose it is, and the name without marks. */
enum team_quota_whose team_quota_of(const struct store_project *p, const char **name);

/* Limits as people write them; NULL leaves one as it is, "none" takes it away. */
struct team_quota_change {
    const char *cpu, *memory, *gpu, *running;
    int64_t weight; /* 0: as it is */
};
/* Changes the limits of `p`. RC_INVAL (E5201). */
enum rc team_quota_apply(const struct team_quota_change *c, struct store_project *p,
                         struct err *err) MUST_CHECK;
/* Makes the row when it is not there: no limits, usual weight. *out is the row as
 * written, its name borrowed from `key`. RC_INVAL (E5201).
 */
enum rc team_quota_set(struct store *s, const char *key,
                       const struct team_quota_change *c, struct store_project *out,
                       struct err *err) MUST_CHECK;
/* RC_NOTFOUND (E5202). */
enum rc team_quota_delete(struct store *s, const char *key, struct err *err) MUST_CHECK;

#endif
