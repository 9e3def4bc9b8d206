/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of a job: of each metric as many values as a screen can show, chosen so that every
 * peak stays (http/thin.h), and how many there were. The store is read in pages, so memory is
 * that of the curves alone. Values of later attempts follow those of earlier ones.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/handlers.h"
#include "http/thin.h"

#define POINTS 1000
#define NAMES_MAX 200 /* metrics of one answer */
#define PAGE STORE_ROWS_MAX

struct curve {
    const char *name;
    int64_t worker;
    struct http_thin thin;
};

struct curves {
    struct curve at[NAMES_MAX];
    size_t n, last; /* where the value before went: the next is often there, too */
    bool more;      /* there are names that found no place */
};

static struct curve *curve_of(struct http_call *c, struct curves *l,
                              const struct store_point *p, size_t points)
{
    for (size_t i = 0; i < l->n; i++) {
        size_t k = (l->last + i) % l->n;
        if (l->at[k].worker == p->worker && strcmp(l->at[k].name, p->name) == 0) {
            l->last = k;
            return &l->at[k];
        }
    }
    if (l->n == NAMES_MAX) {
        l->more = true;
        return NULL;
    }
    struct curve *x = &l->at[l->n++];
    x->name = arena_strdup(&c->arena, p->name);
    x->worker = p->worker;
    http_thin_init(&x->thin, points);
    return x;
}

static enum rc read_curves(struct http_call *c, struct curves *l, struct err *err)
{
    const char *name = http_schema_text(c->query, "name", NULL);
    size_t points = (size_t)http_schema_int(c->query, "points", POINTS), n = PAGE;
    int64_t after = 0;
    enum rc rc = RC_OK;
    while (!rc && n == PAGE) {
        struct store_points page = {0};
        rc =
            store_points_get(c->place.store, c->params[0], name, after, PAGE, &page, err);
        n = rc ? 0 : page.n;
        for (size_t i = 0; i < n; i++) {
            const struct store_point *p = &page.at[i];
            struct curve *x = isfinite(p->value) ? curve_of(c, l, p, points) : NULL;
            if (x)
                http_thin_add(&x->thin, p->step, p->time, p->value);
        }
        after = page.next;
        store_points_release(&page);
    }
    return rc;
}

enum column { COLUMN_STEPS, COLUMN_TIMES, COLUMN_VALUES };

static void put_column(struct json_out *j, const char *key, const struct http_thin *t,
                       enum column column)
{
    struct http_thin_point p[2];
    json_open(j, key, '[');
    for (size_t i = 0; i < t->n; i++) {
        size_t n = http_thin_get(t, i, p);
        for (size_t k = 0; k < n; k++)
            if (column == COLUMN_STEPS)
                json_put_int(j, NULL, p[k].step);
            else if (column == COLUMN_TIMES)
                json_put_int(j, NULL, p[k].time / (CLOCK_SECOND / 1000));
            else
                json_put_num(j, NULL, p[k].value);
    }
    json_close(j, ']');
}

static void put_curves(struct json_out *j, const struct curves *l)
{
    json_open(j, NULL, '{');
    json_open(j, "series", '[');
    for (size_t i = 0; i < l->n; i++) {
        json_open(j, NULL, '{');
        json_put_str(j, "name", l->at[i].name);
        json_put_int(j, "worker", l->at[i].worker);
        json_put_int(j, "total", l->at[i].thin.total);
        put_column(j, "steps", &l->at[i].thin, COLUMN_STEPS);
        put_column(j, "times", &l->at[i].thin, COLUMN_TIMES);
        put_column(j, "values", &l->at[i].thin, COLUMN_VALUES);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_put_bool(j, "more", l->more);
    json_close(j, '}');
}

enum rc http_list_series(struct http_call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    enum rc rc = http_call_job(c, &jobs, err);
    store_jobs_release(&jobs);
    if (rc)
        return rc;
    struct curves *l = mem_calloc(1, sizeof(*l));
    rc = read_curves(c, l, err);
    if (!rc)
        put_curves(&c->json, l);
    for (size_t i = 0; i < l->n; i++)
        http_thin_release(&l->at[i].thin);
    mem_free(l);
    return rc;
}
