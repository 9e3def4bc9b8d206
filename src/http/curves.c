/* SPDX-License-Identifier: Apache-2.0 */
/* Curves are found by name, beginning behind the one before, as they mostly come in turns. An entry
 * of the cache belongs to nobody or to one request at a time: who finds none reads anew, and the
 * last to give back wins.
 */
#include "http/curves.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

#define CACHE_BYTES ((size_t)96 << 20)
#define CACHE_MOST 256

struct http_curves *http_curves_create(size_t points)
{
    struct http_curves *l = mem_calloc(1, sizeof(*l));
    l->points = points;
    return l;
}

void http_curves_destroy(struct http_curves *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->at.n; i++) {
        mem_free(l->at.at[i].name);
        http_thin_release(&l->at.at[i].thin);
    }
    for (size_t i = 0; i < l->files.n; i++)
        mem_free(l->files.at[i].path);
    VEC_RELEASE(&l->at);
    VEC_RELEASE(&l->files);
    mem_free(l);
}

static struct http_curve *curve_of(struct http_curves *l, const char *name,
                                   int64_t worker)
{
    for (size_t i = 0; i < l->at.n; i++) {
        size_t k = (l->last + i) % l->at.n;
        if (l->at.at[k].worker == worker && strcmp(l->at.at[k].name, name) == 0) {
            l->last = k + 1; /* they often come in turns */
            return &l->at.at[k];
        }
    }
    if (l->at.n == CURVES_MAX) {
        l->more = true;
        return NULL;
    }
    struct http_curve x = {.name = mem_strdup(name), .worker = worker};
    http_thin_init(&x.thin, l->points);
    VEC_PUSH(&l->at, x);
    return &l->at.at[l->at.n - 1];
}

void http_curves_add(struct http_curves *l, const char *name, int64_t worker,
                     int64_t step, int64_t time, double value)
{
    struct http_curve *x = isfinite(value) ? curve_of(l, name, worker) : NULL;
    if (x)
        http_thin_add(&x->thin, step, time, value);
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

void http_curves_put(struct json_out *j, const struct http_curves *l)
{
    json_open(j, NULL, '{');
    json_open(j, "series", '[');
    for (size_t i = 0; i < l->at.n; i++) {
        const struct http_curve *x = &l->at.at[i];
        json_open(j, NULL, '{');
        json_put_str(j, "name", x->name);
        json_put_int(j, "worker", x->worker);
        json_put_int(j, "total", x->thin.total);
        put_column(j, "steps", &x->thin, COLUMN_STEPS);
        put_column(j, "times", &x->thin, COLUMN_TIMES);
        put_column(j, "values", &x->thin, COLUMN_VALUES);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_put_bool(j, "more", l->more);
    json_close(j, '}');
}

struct kept {
    char *key;
    struct http_curves *curves;
    size_t bytes;
};

struct http_curve_cache {
    pthread_mutex_t lock;
    VEC(struct kept) at; /* the latest last */
    size_t bytes;
};

struct http_curve_cache *http_curve_cache_create(void)
{
    struct http_curve_cache *c = mem_calloc(1, sizeof(*c));
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

/* With the lock: takes entry `i` out; its curves are the caller's. */
static struct http_curves *take_out(struct http_curve_cache *c, size_t i)
{
    struct http_curves *l = c->at.at[i].curves;
    c->bytes -= c->at.at[i].bytes;
    mem_free(c->at.at[i].key);
    memmove(&c->at.at[i], &c->at.at[i + 1], (c->at.n - i - 1) * sizeof(*c->at.at));
    c->at.n--;
    return l;
}

void http_curve_cache_destroy(struct http_curve_cache *c)
{
    if (!c)
        return;
    while (c->at.n)
        http_curves_destroy(take_out(c, 0));
    VEC_RELEASE(&c->at);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
}

struct http_curves *http_curve_cache_take(struct http_curve_cache *c, const char *key)
{
    struct http_curves *l = NULL;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->at.n && !l; i++)
        if (strcmp(c->at.at[i].key, key) == 0)
            l = take_out(c, i);
    pthread_mutex_unlock(&c->lock);
    return l;
}

void http_curve_cache_give(struct http_curve_cache *c, const char *key,
                           struct http_curves *l)
{
    struct kept one = {.key = mem_strdup(key), .curves = l, .bytes = sizeof(*l)};
    for (size_t i = 0; i < l->at.n; i++)
        one.bytes += l->at.at[i].thin.most * sizeof(struct http_thin_stretch) + 64;
    pthread_mutex_lock(&c->lock);
    for (size_t i = c->at.n; i-- > 0;)
        if (strcmp(c->at.at[i].key, key) == 0) /* somebody else read the same */
            http_curves_destroy(take_out(c, i));
    VEC_PUSH(&c->at, one);
    c->bytes += one.bytes;
    while (c->at.n > 1 && (c->bytes > CACHE_BYTES || c->at.n > CACHE_MOST))
        http_curves_destroy(take_out(c, 0));
    pthread_mutex_unlock(&c->lock);
}
