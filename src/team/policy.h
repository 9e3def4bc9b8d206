/* SPDX-License-Identifier: Apache-2.0 */
/* team/policy.h - what a server's administrator lets the jobs of a role ask for.
 *
 * Read once, at the start, from the file of `server --policy`; every job of a user of the
 * server is held to it when it is submitted, whichever way (job/gate.h).
 */
#ifndef TEAM_POLICY_H
#define TEAM_POLICY_H

#include "job/gate.h"

struct team_policy;

/* RC_INVAL, RC_FORMAT: the first problem of the file, with its line; RC_IO. */
enum rc team_policy_open(const char *path, struct team_policy **out,
                         struct err *err) MUST_CHECK;
void team_policy_close(struct team_policy *p); /* NULL is fine */
/* For a job_place; valid until the close. */
const struct job_gate *team_policy_gate(const struct team_policy *p);

#endif
