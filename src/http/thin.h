/* SPDX-License-Identifier: Apache-2.0 */
/* http/thin.h - a long row of values as a short one that looks the same: of every stretch its
 * least and its greatest value, so that no peak is lost.
 *
 * Values come one by one and their number need not be known: when there are too many
 * stretches, two and two become one.
 */
#ifndef HTTP_THIN_H
#define HTTP_THIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_thin_point {
    int64_t index; /* how many came before it */
    int64_t step, time;
    double value;
};

/* Where the least and the greatest value of a stretch are. */
struct http_thin_stretch {
    struct http_thin_point least, greatest;
};

struct http_thin {
    struct http_thin_stretch *at; /* owned, [most] */
    size_t n, most;               /* even */
    int64_t total, wide;          /* values that came; values per stretch */
};

/* At most `points` values will be left; at least 4. */
void http_thin_init(struct http_thin *t, size_t points);
void http_thin_release(struct http_thin *t);
/* `value` is finite. */
void http_thin_add(struct http_thin *t, int64_t step, int64_t time, double value);
/* Values of `step` and later count no more. */
void http_thin_cut(struct http_thin *t, int64_t step);
/* What is left of stretch `i` < t->n, in the order in which it came: one value or two. */
size_t http_thin_get(const struct http_thin *t, size_t i, struct http_thin_point out[2]);

#endif
