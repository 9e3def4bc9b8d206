/* SPDX-License-Identifier: Apache-2.0 */
/* io/http_stream.h - answers that are read while they come, for as long as the server goes
 * on sending: several at a time, by one thread that never waits for any of them alone.
 *
 *     struct io_http_streams *set = io_http_streams_create();
 *     struct io_http_stream *s = NULL;
 *     struct io_http_request q = {.method = "GET", .url = "http://127.0.0.1:1/"};
 *     if (io_http_stream_open(set, &q, &s, NULL) == RC_OK)
 *         while (!s->over) {
 *             io_http_streams_work(set, 1000);
 *             io_http_stream_eat(s, s->body.n); // what it did with s->body
 *         }
 *     io_http_stream_close(s);
 *     io_http_streams_destroy(set);
 *
 * Nothing is tried again: whoever reads knows how to go on from where the stream broke.
 */
#ifndef IO_HTTP_STREAM_H
#define IO_HTTP_STREAM_H

#include "io/http.h"

struct io_http_streams;

struct io_http_stream {
    int status;      /* 0: no answer yet */
    struct buf body; /* what came and was not eaten */
    bool over;       /* nothing more comes */
    char why[256];   /* of a stream that broke; "": it came to its end */
};

struct io_http_streams *io_http_streams_create(void); /* NULL: no memory */
void io_http_streams_destroy(
    struct io_http_streams *set); /* all are closed; NULL is fine */
/* Begins. `q` is used during the call alone; of a body that is not eaten up to `q->max`
 * bytes (0: 64 MiB) are kept, then the server has to wait. RC_NOMEM.
 */
enum rc io_http_stream_open(struct io_http_streams *set, const struct io_http_request *q,
                            struct io_http_stream **out, struct err *err) MUST_CHECK;
void io_http_stream_close(struct io_http_stream *s); /* NULL is fine */
/* Does what can be done for all of them; if there is nothing, waits up to so long. */
void io_http_streams_work(struct io_http_streams *set, int wait_ms);
/* The first `n` bytes of the body were used. */
void io_http_stream_eat(struct io_http_stream *s, size_t n);

#endif
