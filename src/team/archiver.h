/* SPDX-License-Identifier: Apache-2.0 */
/* team/archiver.h - a thread of a server that moves outputs of ended jobs to its store of
 * artifacts (job/archive.h). A store that is away is asked again, later and later up to a
 * minute; until then the files stay where they are.
 */
#ifndef TEAM_ARCHIVER_H
#define TEAM_ARCHIVER_H

#include "job/place.h"

struct team_archiver;

/* Opens a store of jobs of its own. */
enum rc team_archiver_create(const struct job_place *p, struct team_archiver **out,
                             struct err *err) MUST_CHECK;
void team_archiver_destroy(struct team_archiver *a); /* waits for its end; NULL is fine */

#endif
