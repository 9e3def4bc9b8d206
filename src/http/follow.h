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

#include "job/place.h"

struct follows;

/* `place` and its store (used by that thread alone from here on) outlive it. */
enum rc follows_create(const struct place *place, struct follows **out,
                       struct err *err) MUST_CHECK;
/* Ends all streams; call it before the server stops, then follows_destroy(). */
void follows_end(struct follows *f);
void follows_destroy(struct follows *f); /* NULL is fine */
int64_t follows_count(struct follows *f);

struct follow_start {
    const char *job, *log; /* "0", "prepare" */
    int64_t attempt, offset;
    bool fixed; /* this attempt alone */
};
/* The answer to the connection. RC_NOMEM. */
enum rc follows_open(struct follows *f, struct MHD_Connection *conn,
                     const struct follow_start *start, struct MHD_Response **out,
                     struct err *err) MUST_CHECK;

/* DIR/jobs/ID/logs/...; the caller's. */
char *follow_path(const struct place *p, const char *job, const char *log,
                  int64_t attempt);

#endif
