/* SPDX-License-Identifier: Apache-2.0 */
/* comm/threads.h - ranks that are threads of one process, for tests and for trying out on
 * one machine what a cluster does.
 *
 *     struct comm_group *group = comm_group_create(2, 0);
 *     struct comm *c = NULL;
 *     // in the thread of rank 1
 *     struct comm_conf conf = {.rank = 1, .world = 2, .group = group};
 *     enum rc rc = comm_open("threads", &conf, &c, err);
 *     ...
 *     comm_group_unref(group);
 */
#ifndef COMM_THREADS_H
#define COMM_THREADS_H

#include "comm/comm.h"

/* What `world` ranks meet in; each opens its comm once. The timeout is the group's: 0 is
 * COMM_TIMEOUT_MS. One reference is the caller's, each open comm has another.
 */
struct comm_group *comm_group_create(int world, int64_t timeout_ms) MUST_CHECK;
void comm_group_unref(struct comm_group *g); /* NULL is fine */

#endif
