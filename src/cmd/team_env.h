/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/team_env.h - settings of notifications, from the environment. */
#ifndef CMD_TEAM_ENV_H
#define CMD_TEAM_ENV_H

#include "team/daemon.h"
#include "team/deliver.h"

/* TRAINYARD_NOTIFY_ALLOW, TRAINYARD_NOTIFY_REDIRECTS, TRAINYARD_MAIL_COMMAND. */
struct team_daemon_conf team_env_daemon(const struct job_place *p);

/* The same for making rules; release it. E5302. */
struct team_notify {
    struct team_net_allow *allow;
    char *key;
    struct team_deliver_conf conf;
};
enum rc team_env_notify(const struct job_place *p, struct team_notify *out,
                        struct err *err) MUST_CHECK;
void team_env_notify_release(struct team_notify *n);

#endif
