/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/launch_hub.h - where the launchers of the other hosts meet node 0.
 *
 *     launch_hub_open(&conf, &hub, err)          listens; launchers may come from now on
 *     launch_hub_gather(hub, &hosts, err)        waits for enough of them
 *     // mpirun --host HOSTS, whose agent is launch_hub_agent()
 *     launch_hub_close(hub, status, why)         tells all of them how it ended
 *
 * mpirun asks its agent to start a daemon on a host, as it would ask ssh. The agent hands
 * the command to this launcher, which passes it to that of the host.
 */
#ifndef CMD_LAUNCH_HUB_H
#define CMD_LAUNCH_HUB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct launch_hub;

struct launch_hub_conf {
    const char *port, *secret;
    int64_t least, most; /* hosts, this one included */
    int64_t ranks;       /* of this one */
    double timeout_s;    /* for hosts to come */
    int signals;         /* fd on which the user asks to stop */
};

struct launch_hosts {
    struct buf list; /* for mpirun: "name:ranks,..." */
    int n, ranks;
};

/* Whether the address is this machine's and nobody has the port: node 0 is here. */
bool launch_hub_may_listen(const char *address, const char *port);

/* RC_IO E2504: the port is in use. */
enum rc launch_hub_open(const struct launch_hub_conf *conf, struct launch_hub **out,
                        struct err *err) MUST_CHECK;
/* Until as many hosts as wanted are here, or enough of them and no other for a while. The
 * caller releases hosts->list. RC_IO E2502, naming who did not come; RC_INVAL E2503: a host
 * with another version; RC_CANCELED: the user.
 */
enum rc launch_hub_gather(struct launch_hub *h, struct launch_hosts *hosts,
                          struct err *err) MUST_CHECK;
/* Whether a host of the last gathering is gone; its name. Any thread. */
bool launch_hub_lost(struct launch_hub *h, char *host, size_t size);
/* Under this name the agent finds us. Borrowed. */
const char *launch_hub_name(const struct launch_hub *h);
void launch_hub_close(struct launch_hub *h, int status, const char *why); /* NULL: fine */

/* What mpirun runs in place of ssh: the command for a host; its exit status in *status. */
enum rc launch_hub_agent(const char *name, const char *host, const char *command,
                         int *status, struct err *err) MUST_CHECK;

#endif
