/* SPDX-License-Identifier: Apache-2.0 */
/* http/limit.h - how often somebody may ask: a bucket per name that fills steadily. */
#ifndef HTTP_LIMIT_H
#define HTTP_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct http_limit;
/* `rate` per second, twice that at once; 0: no limit. */
struct http_limit *http_limit_create(double rate);
/* The same, and `most` at once. */
struct http_limit *http_limit_create_burst(double rate, double most);
void http_limit_destroy(struct http_limit *l); /* NULL is fine */
/* One more of `name` at `now` (monotonic, ns). False: too many. Any thread. */
bool http_limit_take(struct http_limit *l, const char *name, int64_t now);

#endif
