/* SPDX-License-Identifier: Apache-2.0 */
/* http/follow.h - logs as they grow, as server-sent events.
 *
 *     id: 1.4096               attempt and offset behind this event: Last-Event-ID
 *     event: log
 *     data: {"attempt":1,"offset":4000,"text":"..."}
 *
 *     event: end
 *     data: {"state":"Succeeded"}
 *
 * One thread looks at each file that is followed and at the state of its job, however
 * many follow it; a follower costs a connection and some bytes, no thread.
 */
#ifndef HTTP_FOLLOW_H
#define HTTP_FOLLOW_H

#include <microhttpd.h>
#include <stdint.h>

#include "http/rights.h"
#include "job/place.h"

struct http_follows;

/* `place` and its store (used by that thread alone from here on) outlive it. */
enum rc http_follows_create(const struct job_place *place, struct http_follows **out,
                            struct err *err) MUST_CHECK;
/* Ends all streams; call it before the server stops, then http_follows_destroy(). */
void http_follows_end(struct http_follows *f);
void http_follows_destroy(struct http_follows *f); /* NULL is fine */
int64_t http_follows_count(struct http_follows *f);

struct http_follow_start {
    const char *job, *log; /* "0", "prepare" */
    int64_t attempt, offset;
    bool fixed;                  /* this attempt alone */
    struct http_rights_case who; /* asked again while it lasts */
};
/* The answer to the connection. RC_NOMEM; RC_INVAL (E5011) when the user has HTTP_STREAMS_MAX. */
enum rc http_follows_open(struct http_follows *f, struct MHD_Connection *conn,
                          const struct http_follow_start *start,
                          struct MHD_Response **out, struct err *err) MUST_CHECK;

/* DIR/jobs/ID/logs/...; the caller's. */
char *http_follow_path(const struct job_place *p, const char *job, const char *log,
                       int64_t attempt);

#endif
