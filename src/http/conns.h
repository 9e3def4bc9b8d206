/* SPDX-License-Identifier: Apache-2.0 */
/* http/conns.h - connections that take their time. A client that sends its head byte by
 * byte never is idle, so each connection has a moment by which its head, then its body,
 * must be complete; a thread closes those that are late.
 */
#ifndef HTTP_CONNS_H
#define HTTP_CONNS_H

#include <stdint.h>

#include "base/err.h"

struct http_conn; /* one connection */
struct http_conns;

/* Above `most` connections each new one closes the one that has waited longest for a head. */
enum rc http_conns_create(double header_s, double body_s, int64_t most,
                          struct http_conns **out, struct err *err) MUST_CHECK;
void http_conns_destroy(
    struct http_conns *c); /* NULL is fine; no connection may be left */

struct http_conn *http_conns_add(struct http_conns *c,
                                 int fd); /* waits for a head from now on */
void http_conns_remove(struct http_conns *c, struct http_conn *x);
void http_conns_body(struct http_conns *c, struct http_conn *x,
                     int64_t bytes); /* and now for these */
void http_conns_answer(struct http_conns *c,
                       struct http_conn *x); /* it is our turn: no limit */
void http_conns_idle(struct http_conns *c,
                     struct http_conn *x); /* and for the next head */
int64_t http_conns_count(struct http_conns *c);
int64_t http_conns_late(struct http_conns *c); /* closed so far */

#endif
