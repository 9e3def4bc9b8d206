/* SPDX-License-Identifier: Apache-2.0 */
/* team/retention.h - policies for jobs that have ended, as people set them. */
#ifndef TEAM_RETENTION_H
#define TEAM_RETENTION_H

#include "store/retention.h"

/* Writes a policy for somebody who is there: a user, or `account` (may be NULL), or an owner of
 * jobs. Projects need not exist. RC_INVAL (E5504).
 */
enum rc team_retention_put(struct store *s, const char *account,
                           const struct store_retention *x, struct err *err) MUST_CHECK;

#endif
