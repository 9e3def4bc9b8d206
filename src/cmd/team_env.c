/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/team_env.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define REDIRECTS_MAX 5

static int redirects(void)
{
    const char *text = getenv("TRAINYARD_NOTIFY_REDIRECTS");
    int64_t v = 0;
    if (!text || !str_to_i64(str_c(text), &v) || v < 0)
        return 0;
    return v > REDIRECTS_MAX ? REDIRECTS_MAX : (int)v;
}

struct team_daemon_conf team_env_daemon(const struct job_place *p)
{
    return (struct team_daemon_conf){.place = p,
                                     .env = (const char *const *)environ,
                                     .allow = getenv("TRAINYARD_NOTIFY_ALLOW"),
                                     .mail_command = getenv("TRAINYARD_MAIL_COMMAND"),
                                     .redirects = redirects()};
}

enum rc team_env_notify(const struct job_place *p, struct team_notify *out,
                        struct err *err)
{
    struct team_notify n = {.allow = NULL};
    enum rc rc = team_net_allow_open(getenv("TRAINYARD_NOTIFY_ALLOW"), &n.allow, err);
    if (!rc)
        rc = team_deliver_key(p->dir, &n.key, err);
    if (rc) {
        team_env_notify_release(&n);
        return rc;
    }
    n.conf = (struct team_deliver_conf){.allow = n.allow,
                                        .mail_command = getenv("TRAINYARD_MAIL_COMMAND"),
                                        .key = n.key,
                                        .account = p->account,
                                        .redirects = redirects()};
    *out = n;
    return RC_OK;
}

void team_env_notify_release(struct team_notify *n)
{
    team_net_allow_close(n->allow);
    mem_free(n->key);
    n->allow = NULL;
    n->key = NULL;
}
