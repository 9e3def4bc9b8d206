/* SPDX-License-Identifier: Apache-2.0 */
/* Every stream is an easy handle of one multi handle. A reader that falls behind pauses its
 * stream, so that memory stays bounded and the server's send blocks.
 */
#include "io/http_stream.h"

#include <stdio.h>
#include <string.h>

#include "io/http_private.h"

#define BODY_MAX ((size_t)64 << 20)
#define KEEPALIVE_S 30L

struct io_http_streams {
    CURLM *multi;
};

/* What a reader sees comes first. */
struct whole {
    struct io_http_stream s;
    struct io_http_streams *set;
    CURL *curl;
    struct curl_slist *headers;
    bool paused;
    char error[CURL_ERROR_SIZE];
};

struct io_http_streams *io_http_streams_create(void)
{
    struct io_http_streams *set = mem_calloc(1, sizeof(*set));
    io_http_start();
    set->multi = curl_multi_init();
    if (set->multi)
        return set;
    mem_free(set);
    return NULL;
}

void io_http_streams_destroy(struct io_http_streams *set)
{
    if (set)
        curl_multi_cleanup(set->multi);
    mem_free(set);
}

static void note_status(struct whole *w)
{
    long status = 0;
    (void)curl_easy_getinfo(w->curl, CURLINFO_RESPONSE_CODE, &status);
    w->s.status = (int)status;
}

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
    struct whole *w = arg;
    note_status(w);
    if (w->s.body.n && n > w->s.body.max - w->s.body.n) {
        w->paused = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    buf_add(&w->s.body, p, n);
    return w->s.body.failed ? 0 : n;
}

enum rc io_http_stream_open(struct io_http_streams *set, const struct io_http_request *q,
                            struct io_http_stream **out, struct err *err)
{
    struct whole *w = mem_calloc(1, sizeof(*w));
    enum rc rc = io_http_make_headers(q, &w->headers, err);
    w->set = set;
    buf_init(&w->s.body, q->max ? q->max : BODY_MAX);
    w->curl = rc ? NULL : curl_easy_init();
    if (!rc && !w->curl)
        rc = err_set(err, RC_NOMEM, "no memory for a connection");
    if (!rc) {
        io_http_set_options(w->curl, q, w->error, w->headers);
        curl_easy_setopt(w->curl, CURLOPT_WRITEFUNCTION, on_body);
        curl_easy_setopt(w->curl, CURLOPT_WRITEDATA, w);
        curl_easy_setopt(w->curl, CURLOPT_PRIVATE, w);
        curl_easy_setopt(w->curl, CURLOPT_TCP_KEEPALIVE, 1L);
        curl_easy_setopt(w->curl, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_S);
        curl_easy_setopt(w->curl, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_S / 3);
        if (curl_multi_add_handle(set->multi, w->curl) != CURLM_OK)
            rc = err_set(err, RC_NOMEM, "no memory for a connection");
    }
    if (rc)
        io_http_stream_close(&w->s);
    else
        *out = &w->s;
    return rc;
}

void io_http_stream_close(struct io_http_stream *s)
{
    struct whole *w = (struct whole *)s;
    if (!w)
        return;
    if (w->curl) {
        curl_multi_remove_handle(w->set->multi, w->curl);
        curl_easy_cleanup(w->curl);
    }
    curl_slist_free_all(w->headers);
    buf_release(&w->s.body);
    mem_free(w);
}

static struct whole *stream_of(CURL *c)
{
    char *own = NULL;
    (void)curl_easy_getinfo(c, CURLINFO_PRIVATE, &own);
    return (struct whole *)(void *)own;
}

static void take_ends(struct io_http_streams *set)
{
    int left = 0;
    for (CURLMsg *m; (m = curl_multi_info_read(set->multi, &left));) {
        struct whole *w = m->msg == CURLMSG_DONE ? stream_of(m->easy_handle) : NULL;
        if (!w)
            continue;
        note_status(w);
        w->s.over = true;
        if (m->data.result != CURLE_OK)
            snprintf(w->s.why, sizeof(w->s.why), "%.255s",
                     w->error[0] ? w->error : curl_easy_strerror(m->data.result));
    }
}

void io_http_streams_work(struct io_http_streams *set, int wait_ms)
{
    int running = 0, ready = 0;
    (void)curl_multi_perform(set->multi, &running);
    if (wait_ms > 0) {
        (void)curl_multi_poll(set->multi, NULL, 0, wait_ms, &ready);
        (void)curl_multi_perform(set->multi, &running);
    }
    take_ends(set);
}

void io_http_stream_eat(struct io_http_stream *s, size_t n)
{
    struct whole *w = (struct whole *)s;
    if (n)
        memmove(s->body.p, s->body.p + n, s->body.n - n);
    s->body.n -= n;
    if (w->paused && s->body.n < s->body.max / 2) {
        w->paused = false;
        (void)curl_easy_pause(w->curl, CURLPAUSE_CONT);
    }
}
