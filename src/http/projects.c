/* SPDX-License-Identifier: Apache-2.0 */
#include "store/projects.h"

#include "backend/share.h"
#include "base/clock.h"
#include "http/api_private.h"
#include "http/handlers.h"

void http_limits_put(struct json_out *j, const struct store_project *p)
{
    json_put_int(j, "cpu_milli", p->cpu_milli);
    json_put_int(j, "memory", p->memory);
    json_put_int(j, "gpu", p->gpu);
    json_put_int(j, "running", p->running);
    json_put_int(j, "weight", p->weight);
    json_put_time(j, "created", p->created);
}

struct store_project http_limits_asked(const struct http_call *c, const char *name)
{
    return (struct store_project){.name = name,
                                  .cpu_milli = http_schema_int(c->body, "cpu_milli", -1),
                                  .memory = http_schema_int(c->body, "memory", -1),
                                  .gpu = http_schema_int(c->body, "gpu", -1),
                                  .running = http_schema_int(c->body, "running", -1),
                                  .weight = http_schema_int(c->body, "weight", 100),
                                  .created = clock_wall_ns()};
}

static void put_one(struct http_call *c, const struct store_project *p)
{
    struct json_out *j = &c->json;
    json_open(j, NULL, '{');
    json_put_str(j, "name", p->name);
    http_limits_put(j, p);
    json_close(j, '}');
}

enum rc http_list_projects(struct http_call *c, struct err *err)
{
    struct store_projects l = {0};
    enum rc rc = store_project_get(c->place.store, NULL, &l, err);
    if (rc)
        return rc;
    json_open(&c->json, NULL, '{');
    json_open(&c->json, "projects", '[');
    for (size_t i = 0; i < l.n; i++)
        if (l.at[i].name[0] != SHARE_USER && http_call_in_project(c, l.at[i].name))
            put_one(c, &l.at[i]);
    json_close(&c->json, ']');
    json_close(&c->json, '}');
    store_projects_release(&l);
    return RC_OK;
}

enum rc http_get_project(struct http_call *c, struct err *err)
{
    struct store_projects l = {0};
    enum rc rc = store_project_get(c->place.store, c->params[0], &l, err);
    if (!rc && !http_call_in_project(c, l.at[0].name))
        rc = err_coded(err, RC_NOTFOUND, E3111, "no project '%.200s'", c->params[0]);
    if (!rc)
        put_one(c, &l.at[0]);
    store_projects_release(&l);
    return rc;
}

enum rc http_put_project(struct http_call *c, struct err *err)
{
    struct store_project p = http_limits_asked(c, c->params[0]);
    struct store_projects l = {0};
    enum rc rc = store_project_put(c->place.store, &p, NULL, err);
    if (!rc)
        rc = store_project_get(c->place.store, p.name, &l, err);
    if (!rc)
        put_one(c, &l.at[0]);
    store_projects_release(&l);
    backend_watchdog_poke(c->api->watchdog);
    return rc;
}

enum rc http_delete_project(struct http_call *c, struct err *err)
{
    return store_project_delete(c->place.store, c->params[0], err);
}
