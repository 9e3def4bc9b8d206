/* SPDX-License-Identifier: Apache-2.0 */
/* http/curves.h - curves of a job or a run, thinned out (http/thin.h), and a cache of them.
 *
 * Values are only ever added, so what was thinned once is kept, with the place up to which it was
 * read: the next answer reads what came since. The cache forgets what was not asked for
 * longest.
 */
#ifndef HTTP_CURVES_H
#define HTTP_CURVES_H

#include "base/vec.h"
#include "http/call.h"
#include "http/thin.h"

#define CURVES_MAX 200 /* of one answer */

struct http_curve {
    char *name; /* owned */
    int64_t worker;
    struct http_thin thin;
};
/* A file that was read up to `offset`. */
struct http_curve_file {
    char *path; /* owned */
    int64_t offset;
};
struct http_curves {
    size_t points; /* of each, at most */
    VEC(struct http_curve) at;
    size_t last;   /* where the value before went: the next is often there, too */
    bool more;     /* there are names that found no place */
    int64_t after; /* of a job: the cursor of the store */
    VEC(struct http_curve_file) files;
};

struct http_curves *http_curves_create(size_t points);
void http_curves_destroy(struct http_curves *l); /* NULL is fine */
/* Values that are not finite are left out. */
void http_curves_add(struct http_curves *l, const char *name, int64_t worker,
                     int64_t step, int64_t time, double value);
/* The answer SeriesList. */
void http_curves_put(struct json_out *j, const struct http_curves *l);

struct http_curve_cache;
struct http_curve_cache *http_curve_cache_create(void);
void http_curve_cache_destroy(struct http_curve_cache *c); /* NULL is fine */
/* The caller's until it is given back, or destroyed; NULL: it is not there, or in use. */
struct http_curves *http_curve_cache_take(struct http_curve_cache *c, const char *key);
void http_curve_cache_give(struct http_curve_cache *c, const char *key,
                           struct http_curves *l);

#endif
