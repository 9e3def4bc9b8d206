/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/launch_node.h - the launcher of a host but the first: joins node 0, starts the
 * daemons of mpirun that it sends, and ends with the run.
 */
#ifndef CMD_LAUNCH_NODE_H
#define CMD_LAUNCH_NODE_H

#include <stdint.h>

#include "base/err.h"

struct launch_node_conf {
    const char *address, *port, *secret;
    int64_t node_rank; /* -1: whichever is free */
    int64_t ranks;     /* of this host */
    double timeout_s;  /* for node 0 to come */
    int signals;       /* fd on which the user asks to stop */
};

/* Returns at the end of the run; err->exit is its status, with an empty message where node
 * 0 has told the user. RC_IO E2501, E2502; RC_INVAL E2503, E2504.
 */
enum rc launch_node_run(const struct launch_node_conf *conf, struct err *err) MUST_CHECK;

#endif
