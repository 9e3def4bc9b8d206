/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/team_env.h - settings of notifications, from the environment. */
#ifndef CMD_TEAM_ENV_H
#define CMD_TEAM_ENV_H

#include "team/deliver.h"
#include "team/steward.h"

/* TRAINYARD_NOTIFY_ALLOW, TRAINYARD_NOTIFY_REDIRECTS, TRAINYARD_MAIL_COMMAND. */
struct steward_conf team_env_steward(const struct place *p);

/* The same for making rules; release it. E5302. */
struct team_notify {
    struct net_allow *allow;
    char *key;
    struct deliver_conf conf;
};
enum rc team_env_notify(const struct place *p, struct team_notify *out,
                        struct err *err) MUST_CHECK;
void team_env_notify_release(struct team_notify *n);

#endif
