/* SPDX-License-Identifier: Apache-2.0 */
#include "team/quota.h"

#include <string.h>

#include "backend/share.h"
#include "base/clock.h"
#include "base/mem.h"
#include "text/job/job.h"

enum rc team_quota_key(enum team_quota_whose whose, const char *name, char **out,
                       struct err *err)
{
    bool all = whose == QUOTA_USER && strcmp(name, "*") == 0;
    const char *wrong = all ? NULL : jobspec_check_name(str_c(name));
    if (wrong)
        return err_coded(err, RC_INVAL, E5201, "%s '%.100s': %s",
                         whose == QUOTA_USER ? "user" : "project", name, wrong);
    *out = whose == QUOTA_USER ? mem_printf("%c%s", SHARE_USER, name) : mem_strdup(name);
    return RC_OK;
}

enum team_quota_whose team_quota_of(const struct store_project *p, const char **name)
{
    bool user = p->name[0] == SHARE_USER;
    *name = p->name + user;
    return user ? QUOTA_USER : QUOTA_PROJECT;
}

static bool count(struct str text, int64_t *out)
{
    int64_t v;
    if (!str_to_i64(text, &v) || v < 0 || v > 1000000)
        return false;
    *out = v;
    return true;
}

static bool processors(struct str text, int64_t *out)
{
    return str_is(text, "0") ? (*out = 0, true) : jobspec_cpu_milli(text, out);
}

static bool size(struct str text, int64_t *out)
{
    return str_is(text, "0") ? (*out = 0, true) : jobspec_bytes(text, out);
}

static enum rc change(const char *what, const char *text,
                      bool (*read)(struct str, int64_t *), int64_t *out, struct err *err)
{
    if (!text)
        return RC_OK;
    if (strcmp(text, "none") == 0) {
        *out = -1;
        return RC_OK;
    }
    if (read(str_c(text), out))
        return RC_OK;
    return err_coded(
        err, RC_INVAL, E5201,
        "%s: '%.60s' is not a limit: give a number from 0 on, or none for no "
        "limit",
        what, text);
}

enum rc team_quota_apply(const struct team_quota_change *c, struct store_project *p,
                         struct err *err)
{
    enum rc rc = change("cpu", c->cpu, processors, &p->cpu_milli, err);
    if (!rc)
        rc = change("memory", c->memory, size, &p->memory, err);
    if (!rc)
        rc = change("gpu", c->gpu, count, &p->gpu, err);
    if (!rc)
        rc = change("running", c->running, count, &p->running, err);
    if (!rc && (c->weight < 0 || c->weight > 10000))
        rc = err_coded(err, RC_INVAL, E5201, "weight: %jd is outside [1, 10000]",
                       (intmax_t)c->weight);
    if (!rc && c->weight)
        p->weight = c->weight;
    return rc;
}

enum rc team_quota_set(struct store *s, const char *key,
                       const struct team_quota_change *c, struct store_project *out,
                       struct err *err)
{
    struct store_projects l = {0};
    struct store_project p = {.cpu_milli = -1,
                              .memory = -1,
                              .gpu = -1,
                              .running = -1,
                              .weight = QUEUE_WEIGHT,
                              .created = clock_wall_ns()};
    enum rc rc = store_project_get(s, key, &l, err);
    if (rc && rc != RC_NOTFOUND)
        return rc;
    if (!rc)
        p = l.at[0];
    p.name = key;
    store_projects_release(&l);
    rc = team_quota_apply(c, &p, err);
    if (!rc)
        rc = store_project_put(s, &p, NULL, err);
    if (!rc)
        *out = p;
    return rc;
}

enum rc team_quota_delete(struct store *s, const char *key, struct err *err)
{
    enum rc rc = store_project_delete(s, key, err);
    if (rc != RC_NOTFOUND)
        return rc;
    bool user = key[0] == SHARE_USER;
    return err_coded(err, rc, E5202, "%s '%.128s' has no quota",
                     user ? "user" : "project", key + user);
}
