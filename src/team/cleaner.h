/* SPDX-License-Identifier: Apache-2.0 */
/* team/cleaner.h - a server's own collection: policies and contents that nothing needs, every
 * now and then, of the jobs whose files lie in its directory.
 */
#ifndef TEAM_CLEANER_H
#define TEAM_CLEANER_H

#include "job/place.h"

struct team_cleaner;

/* Opens a store of its own; `every_s` above 0, the first time after one period. */
enum rc team_cleaner_create(const struct job_place *p, double every_s,
                            struct team_cleaner **out, struct err *err) MUST_CHECK;
void team_cleaner_destroy(struct team_cleaner *c); /* waits for its end; NULL is fine */

#endif
