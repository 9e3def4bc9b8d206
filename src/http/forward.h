/* SPDX-License-Identifier: Apache-2.0 */
/* http/forward.h - requests about files that another server on the same store holds.
 *
 * Several servers may share one PostgreSQL; logs and outputs of a job lie where it ran. A
 * server that is asked for another's files asks that server, with the caller's own token.
 */
#ifndef HTTP_FORWARD_H
#define HTTP_FORWARD_H

#include "http/call.h"

/* Answers with what the server of `node` answers. RC_IO (E5017) with status 503: there is
 * none, it does not answer, or it sent the request here.
 */
enum rc http_forward(struct http_call *c, const char *node, struct err *err) MUST_CHECK;
/* Did another server ask? */
bool http_forward_is(const struct http_call *c);
/* Adds what the server of `node` has at `path` to `out`, for a request that needs it to be
 * answered. RC_IO (E5017, E5031) likewise, or with what that server said.
 */
enum rc http_forward_fetch(struct http_call *c, const char *node, const char *path,
                           struct buf *out, struct err *err) MUST_CHECK;
/* The same for a file, of any size: it is passed on in parts. */
enum rc http_forward_file(struct http_call *c, const char *node,
                          struct err *err) MUST_CHECK;
/* The caller is told to ask there: for streams that have no end yet. */
enum rc http_forward_away(struct http_call *c, const char *node,
                          struct err *err) MUST_CHECK;

/* Asks this server as another would, at `url`, and warns in the log when its certificate is
 * not trusted.
 */
void http_forward_try(struct api *a, const char *url);

#endif
