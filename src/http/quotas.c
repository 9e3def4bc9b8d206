/* SPDX-License-Identifier: Apache-2.0 */
/* Quotas of users; those of projects are with them. */
#include <string.h>

#include "base/mem.h"
#include "http/api_private.h"
#include "http/handlers.h"
#include "store/users.h"
#include "team/quota.h"

static void put_one(struct http_call *c, const struct store_project *p)
{
    struct json_out *j = &c->json;
    const char *name;
    team_quota_of(p, &name);
    json_open(j, NULL, '{');
    json_put_str(j, "user", name);
    http_limits_put(j, p);
    json_close(j, '}');
}

/* What is agreed for others is theirs to know. */
static bool quotas_seen(const struct http_call *c, const struct store_project *p)
{
    const char *name;
    return team_quota_of(p, &name) == QUOTA_USER &&
           (http_role_sees_all(c->who.role) || strcmp(name, "*") == 0 ||
            strcmp(name, c->who.name) == 0);
}

enum rc http_list_quotas(struct http_call *c, struct err *err)
{
    struct store_projects l = {0};
    enum rc rc = store_project_get(c->place.store, NULL, &l, err);
    if (rc)
        return rc;
    json_open(&c->json, NULL, '{');
    json_open(&c->json, "quotas", '[');
    for (size_t i = 0; i < l.n; i++)
        if (quotas_seen(c, &l.at[i]))
            put_one(c, &l.at[i]);
    json_close(&c->json, ']');
    json_close(&c->json, '}');
    store_projects_release(&l);
    return RC_OK;
}

enum rc http_get_quota(struct http_call *c, struct err *err)
{
    struct store_projects l = {0};
    char *key = NULL;
    enum rc rc = team_quota_key(QUOTA_USER, c->params[0], &key, err);
    if (!rc)
        rc = store_project_get(c->place.store, key, &l, err);
    if (rc == RC_NOTFOUND)
        rc = err_coded(err, rc, E5202, "user '%.128s' has no quota", c->params[0]);
    if (!rc)
        put_one(c, &l.at[0]);
    store_projects_release(&l);
    mem_free(key);
    return rc;
}

/* A name that is nobody's would be a limit for nobody. */
static enum rc check_user(struct http_call *c, const char *name, struct err *err)
{
    struct store_users l = {0};
    if (strcmp(name, "*") == 0 ||
        store_user_is_local(c->place.store, c->place.account, name))
        return RC_OK;
    enum rc rc = store_user_get(c->place.store, name, &l, err);
    store_users_release(&l);
    return rc;
}

enum rc http_put_quota(struct http_call *c, struct err *err)
{
    char *key = NULL;
    enum rc rc = check_user(c, c->params[0], err);
    if (!rc)
        rc = team_quota_key(QUOTA_USER, c->params[0], &key, err);
    struct store_project p = http_limits_asked(c, key);
    if (!rc)
        rc = store_project_put(c->place.store, &p, NULL, err);
    mem_free(key);
    if (rc)
        return rc;
    backend_watchdog_poke(c->api->watchdog);
    return http_get_quota(c, err);
}

enum rc http_delete_quota(struct http_call *c, struct err *err)
{
    char *key = NULL;
    enum rc rc = team_quota_key(QUOTA_USER, c->params[0], &key, err);
    if (!rc)
        rc = team_quota_delete(c->place.store, key, err);
    mem_free(key);
    return rc;
}
