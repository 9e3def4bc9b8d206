/* SPDX-License-Identifier: Apache-2.0 */
/* http/conns.h - connections that take their time. A client that sends its head byte by
 * byte never is idle, so each connection has a moment by which its head, then its body,
 * must be complete; a thread closes those that are late.
 */
#ifndef HTTP_CONNS_H
#define HTTP_CONNS_H

#include <stdint.h>

#include "base/err.h"

struct conn; /* one connection */
struct conns;

enum rc conns_create(double header_s, double body_s, struct conns **out,
                     struct err *err) MUST_CHECK;
void conns_destroy(struct conns *c); /* NULL is fine; no connection may be left */

struct conn *conns_add(struct conns *c, int fd); /* waits for a head from now on */
void conns_remove(struct conns *c, struct conn *x);
void conns_body(struct conns *c, struct conn *x, int64_t bytes); /* and now for these */
void conns_answer(struct conns *c, struct conn *x); /* it is our turn: no limit */
void conns_idle(struct conns *c, struct conn *x);   /* and for the next head */
int64_t conns_count(struct conns *c);
int64_t conns_late(struct conns *c); /* closed so far */

#endif
