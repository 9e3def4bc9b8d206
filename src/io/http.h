/* SPDX-License-Identifier: Apache-2.0 */
/* io/http.h - one HTTP request and its reply, tried again when that may help.
 *
 * Connections are kept and shared by the whole process (a pool of libcurl handles): a
 * request never pays for a handshake that an earlier one made. Any thread may call; one
 * struct belongs to one thread at a time. Server certificates are always checked.
 *
 * Tried again, after a pause that doubles and is partly random: no connection, a
 * connection that broke or stood still, a body cut short, status 408, 429 and 5xx.
 * Certificates that fail are not. So a request may have its effect twice; all of ours
 * may.
 */
#ifndef IO_HTTP_H
#define IO_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

/* Lines "Name: value" of one attempt. */
struct io_http_lines {
    VEC(char *) at; /* owned texts */
};
void io_http_line(struct io_http_lines *l, const char *fmt, ...) PRINTF_LIKE(2, 3);

struct io_http_request {
    const char *method;
    const char *url; /* complete, escaped */
    const void *body;
    size_t n_body; /* sent when body is set, also when 0 */
    /* Adds the headers of one attempt; signatures hold a time, so it is asked anew for
     * each. May be NULL.
     */
    enum rc (*headers)(void *arg, struct io_http_lines *out, struct err *err);
    void *arg;
    void *to; /* a successful body goes here instead of reply.body */
    size_t to_size;
    size_t max;       /* bytes of a body in memory; 0: 64 MiB */
    int attempts;     /* 0: 5 */
    int timeout_s;    /* without a byte; 0: 30; of a stream also -1: no limit */
    const char *what; /* for messages: "'s3://bucket/key'" */
    /* Certificates (PEM) that the server's is checked against, and no others; NULL: those
     * of the machine, or the file that a variable names: SSL_CERT_FILE, else CURL_CA_BUNDLE. */
    const char *ca;
    bool object; /* of an object store: AWS_CA_BUNDLE comes before the others */
    const char *cert, *key; /* by which we are known to the server (PEM); NULL: none */
};

struct io_http_reply {
    int status;
    struct buf body;
    size_t got;      /* bytes of a successful body */
    bool overflowed; /* there was more than fits; the rest was not read */
    struct buf head; /* header lines as they came */
    int tries;
};

/* RC_OK whenever a server answered, whatever the status; release the reply in any case.
 * RC_IO E1607 (nobody answered), E1610 (certificate), RC_NOMEM.
 */
enum rc io_http_send(const struct io_http_request *q, struct io_http_reply *r,
                     struct err *err) MUST_CHECK;
void io_http_reply_release(struct io_http_reply *r);
/* The value of a header, empty when absent. Borrowed. */
struct str io_http_header(const struct io_http_reply *r, const char *name);

/* %XX for all but letters, digits and -._~ (and '/' when `keep_slash`). */
void io_http_escape(struct buf *out, struct str s, bool keep_slash);
/* Closes idle connections; for the end of the program and tests. */
void io_http_close_idle(void);

#endif
