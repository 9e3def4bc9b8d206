/* SPDX-License-Identifier: Apache-2.0 */
/* http/execs.h - programs that users run beside the workers of their jobs, over HTTP.
 *
 * A session is a process of ours (`trainyard job exec`) with a thread that reads what it
 * writes. A client asks for output with the number of bytes that it has; the answer comes
 * when there is more, or empty after a while. Input comes in requests of its own, with its
 * offset, so that one that is sent again does nothing. A session whose client closes its
 * connection or does not ask any more is ended, and all end with the server, however that
 * ends.
 *
 * Output is frames: one byte (EXEC_OUT, EXEC_ERR, EXEC_END), four bytes of length, most
 * significant first, and so many bytes. The last has the exit status as a text.
 */
#ifndef HTTP_EXECS_H
#define HTTP_EXECS_H

#include <microhttpd.h>

#include "base/err.h"
#include "job/place.h"

enum { EXEC_OUT = 1, EXEC_ERR = 2, EXEC_END = 3 };
#define EXEC_ID_SIZE 16

struct http_execs;

enum rc http_execs_create(struct http_execs **out, struct err *err) MUST_CHECK;
void http_execs_end(
    struct http_execs *x); /* ends all sessions; waits for their threads */
void http_execs_destroy(struct http_execs *x); /* NULL is fine */

struct http_exec_start {
    const struct job_place *place;
    const char *job, *user;
    int64_t worker;
    const char *const *argv; /* NULL behind the last */
    bool terminal;
    int64_t rows, columns;
    const char *term;
};
/* RC_INVAL (E5011): too many of this user. */
enum rc http_execs_start(struct http_execs *x, const struct http_exec_start *s,
                         char id[EXEC_ID_SIZE], struct err *err) MUST_CHECK;
/* What came behind `after`, as the answer of `conn`. RC_NOTFOUND: no such session. */
enum rc http_execs_read(struct http_execs *x, const char *id, const char *job,
                        const char *user, int64_t after, struct MHD_Connection *conn,
                        struct MHD_Response **out, struct err *err) MUST_CHECK;
struct http_exec_input {
    const void *data;
    size_t n;
    int64_t at;            /* offset of the first byte */
    bool end;              /* no more follows */
    int64_t rows, columns; /* 0: as before */
};
enum rc http_execs_write(struct http_execs *x, const char *id, const char *job,
                         const char *user, const struct http_exec_input *in,
                         int64_t *taken, struct err *err) MUST_CHECK;
/* Ends the program: HUP, and after a while KILL. What it still writes can be read. */
enum rc http_execs_stop(struct http_execs *x, const char *id, const char *job,
                        const char *user, struct err *err) MUST_CHECK;

#endif
