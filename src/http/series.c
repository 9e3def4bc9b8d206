/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of a job: of each metric as many values as a screen can show, chosen so that every
 * peak stays (http/thin.h), and how many there were. Only what came since the last answer is read
 * (http/curves.h), in pages, so memory is that of the curves alone. Values of later attempts
 * follow those of earlier ones.
 */
#include "http/api_private.h"
#include "http/curves.h"
#include "http/handlers.h"

#define POINTS 1000

static void take_point(void *arg, const struct store_point *p)
{
    http_curves_add(arg, p->name, p->worker, p->step, p->time, p->value);
}

enum rc http_list_series(struct http_call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    enum rc rc = http_call_job(c, &jobs, err);
    store_jobs_release(&jobs);
    if (rc)
        return rc;
    const char *name = http_schema_text(c->query, "name", NULL);
    int64_t points = http_schema_int(c->query, "points", POINTS);
    const char *key = arena_printf(&c->arena, "%s %jd %s", c->params[0], (intmax_t)points,
                                   name ? name : "");
    struct http_curves *l = http_curve_cache_take(c->api->curves, key);
    if (!l)
        l = http_curves_create((size_t)points);
    rc = store_points_each(c->place.store, c->params[0], name, &l->after, take_point, l,
                           err);
    if (rc) {
        http_curves_destroy(l);
        return rc;
    }
    http_curves_put(&c->json, l);
    http_curve_cache_give(c->api->curves, key, l);
    return RC_OK;
}
