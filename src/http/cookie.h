/* SPDX-License-Identifier: Apache-2.0 */
/* http/cookie.h - the cookie by which a browser keeps its session.
 *
 * Its value is an ordinary token (http/auth.h), so a session lasts through a restart, is
 * listed and revoked like any token, and holds at every server of a store. Scripts cannot
 * read it (HttpOnly), other sites cannot have it sent (SameSite=Strict), and over TLS it goes
 * nowhere else (Secure, __Host-). Its name has the port of the Host header, because browsers
 * give the cookies of one port to all others of the machine.
 */
#ifndef HTTP_COOKIE_H
#define HTTP_COOKIE_H

#include "base/sha256.h"
#include "http/call.h"

#define HTTP_CSRF_HEADER "X-Trainyard-Csrf"

/* The tokens in the request's cookies; how many. Another port of the same host may have set one of
 * the same name for a longer path, which browsers send first.
 */
#define HTTP_COOKIES_MAX 4
size_t http_cookie_sessions(struct http_call *c, const char *out[HTTP_COOKIES_MAX]);
/* The answer sets it, for so many seconds; 0 takes it away. */
void http_cookie_set(struct http_call *c, const char *token, int64_t seconds);
/* What a change must bring along; it follows from the token, and says nothing about it. */
void http_cookie_csrf(const char *token, char out[SHA256_TEXT_SIZE]);
/* A request with a cookie: is it the page of this server that asks? RC_INVAL (E5038), with
 * status 403.
 */
enum rc http_cookie_check(struct http_call *c, struct err *err) MUST_CHECK;

#endif
