/* SPDX-License-Identifier: Apache-2.0 */
/* http/aside.h - requests that take long are answered aside.
 *
 * A thread of the server has many connections. While it reads files of a job, or waits for a
 * provider of logins, all of them would wait. So the connection of such a request is
 * suspended, and threads of their own answer it: few at a time for one user, and few for all
 * who have no token, so that nobody takes them all. The others stand in line.
 */
#ifndef HTTP_ASIDE_H
#define HTTP_ASIDE_H

#include <stdbool.h>

#include "base/err.h"

#define ASIDE_THREADS 6

struct http_aside;
struct http_call;
struct http_route;

/* Whether requests of this route are answered so. */
bool http_aside_is(const struct http_route *r);
/* Or does what this request asks for? Its body is there. */
bool http_aside_wants(const struct http_call *c);

enum rc http_aside_create(struct http_aside **out, struct err *err) MUST_CHECK;
/* From the handler of the connection, which is suspended until api_answer() was called for
 * it. False: too many are in line; nothing has happened.
 */
bool http_aside_take(struct http_aside *a, struct http_call *c);
/* The request is over: its answer was sent, or its client has gone. */
void http_aside_back(struct http_aside *a);
/* Those in line are refused, those at work are waited for; then all connections that are
 * not yet back, for a second.
 */
void http_aside_end(struct http_aside *a);     /* NULL is fine */
void http_aside_destroy(struct http_aside *a); /* NULL is fine */

#endif
