/* SPDX-License-Identifier: Apache-2.0 */
/* A forwarded request carries a header that says so, and is never forwarded again: two
 * servers that both believe the other has a job do not send it back and forth. Answers up to
 * some MiB are read whole. A file is fetched part by part while it is sent, so a large one
 * costs no more memory than a part; every part must be of the version of the first.
 */
#include "http/forward.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/range.h"
#include "io/http.h"
#include "job/status.h"
#include "store/servers.h"

#define LOG_AREA "server"
#define FORWARDED "Trainyard-Forwarded"
#define ANSWER_MAX ((size_t)64 << 20)
#define PART ((int64_t)1 << 20)
#define PATIENCE_S 20

static const char *forward_header(const struct http_call *c, const char *name)
{
    return MHD_lookup_connection_value(c->conn, MHD_HEADER_KIND, name);
}

bool http_forward_is(const struct http_call *c)
{
    return forward_header(c, FORWARDED) != NULL;
}

static enum rc unreachable(struct http_call *c, const char *node, const char *why,
                           struct err *err)
{
    c->status = 503;
    return err_coded(err, RC_IO, E5017, "the files for this are at %.200s: %.200s", node,
                     why);
}

/* The answer did not come: why. */
static enum rc no_answer(struct http_call *c, const char *node, const char *url,
                         const struct err *why, struct err *err)
{
    int host = (int)strcspn(url + strcspn(url, ":") + 3, "/");
    if (why->code != E1610)
        return unreachable(c, node, "its server does not answer", err);
    c->status = 503;
    return err_coded(err, RC_IO, E5031,
                     "the files for this are at %.200s: the certificate of %.*s is not "
                     "trusted; start this server with --peer-ca FILE",
                     node, (int)(strcspn(url, ":") + 3) + host, url);
}

/* The address of what was asked for, at the other server; in the arena. */
static enum rc find_server(struct http_call *c, const char *node, const char **url,
                           struct err *err)
{
    struct store_servers l = {0};
    if (forward_header(c, FORWARDED))
        return unreachable(c, node, "this server was asked for them by mistake", err);
    enum rc rc = store_server_get(c->place.store, node, &l, err);
    if (rc)
        return rc;
    if (l.n)
        *url = arena_printf(&c->arena, "%s%s", l.at[0].url, c->uri);
    else
        rc = unreachable(c, node, "no server of that machine is known", err);
    store_servers_release(&l);
    return rc;
}

/* What is sent along. */
struct asking {
    const char *token, *type, *range;
};

static enum rc put_headers(void *arg, struct io_http_lines *out, struct err *err)
{
    const struct asking *a = arg;
    io_http_line(out, FORWARDED ": 1");
    if (a->token)
        io_http_line(out, "Authorization: %s", a->token);
    if (a->type)
        io_http_line(out, "Content-Type: %s", a->type);
    if (a->range)
        io_http_line(out, "Range: %s", a->range);
    return RC_OK;
}

static void copy_answer(struct http_call *c, const struct io_http_reply *r)
{
    struct str type = io_http_header(r, "Content-Type");
    struct str over = io_http_header(r, "Log-Over");
    c->status = (unsigned)r->status;
    c->type = type.n ? arena_strndup(&c->arena, type.p, type.n) : NULL;
    buf_add(&c->out, buf_str(&r->body), r->body.n);
    if (!str_to_i64(io_http_header(r, "Log-Attempt"), &c->log_attempt) ||
        !str_to_i64(io_http_header(r, "Log-Size"), &c->log_size))
        c->log_attempt = 0;
    if (!str_to_i64(io_http_header(r, "Log-Next"), &c->log_next))
        c->log_next = 0;
    c->log_over = str_is(over, "true");
}

enum rc http_forward(struct http_call *c, const char *node, struct err *err)
{
    const char *url = NULL;
    struct io_http_reply reply = {0};
    struct err why = {0};
    struct asking a = {.token = c->bearer, .type = forward_header(c, "Content-Type")};
    enum rc rc = find_server(c, node, &url, err);
    if (rc)
        return rc;
    struct io_http_request q = {.method = c->route->method,
                                .url = url,
                                .body = c->raw.n ? c->raw.p : NULL,
                                .n_body = c->raw.n,
                                .headers = put_headers,
                                .arg = &a,
                                .max = ANSWER_MAX,
                                .attempts = 1,
                                .timeout_s = PATIENCE_S,
                                .ca = c->api->peer_ca,
                                .what = url};
    if (io_http_send(&q, &reply, &why))
        rc = no_answer(c, node, url, &why, err);
    else
        copy_answer(c, &reply);
    io_http_reply_release(&reply);
    return rc;
}

/* What the other server answered instead. */
static enum rc pass_refusal(struct http_call *c, const struct io_http_reply *r,
                            struct err *err)
{
    struct doc doc = {0};
    const struct node *root = job_json_open(buf_str(&r->body), &doc);
    const struct node *why = root ? node_find(root, "error") : NULL;
    c->status = r->status < 500 ? (unsigned)r->status : 503;
    enum rc rc = err_coded(err, RC_IO, E5017, "the other server answered %d: %.300s",
                           (int)r->status, node_get_text(why, "message", ""));
    if (doc.src)
        doc_release(&doc);
    return rc;
}

enum rc http_forward_fetch(struct http_call *c, const char *node, const char *path,
                           struct buf *out, struct err *err)
{
    const char *url = NULL, *own = c->uri;
    struct io_http_reply reply = {0};
    struct err why = {0};
    struct asking a = {.token = c->bearer};
    c->uri = path;
    enum rc rc = find_server(c, node, &url, err);
    c->uri = own;
    if (rc)
        return rc;
    struct io_http_request q = {.method = "GET",
                                .url = url,
                                .headers = put_headers,
                                .arg = &a,
                                .max = ANSWER_MAX,
                                .attempts = 2,
                                .timeout_s = PATIENCE_S,
                                .ca = c->api->peer_ca,
                                .what = url};
    if (io_http_send(&q, &reply, &why))
        rc = no_answer(c, node, url, &why, err);
    else if (reply.status != 200)
        rc = pass_refusal(c, &reply, err);
    else
        buf_add(out, buf_str(&reply.body), reply.body.n);
    io_http_reply_release(&reply);
    return rc;
}

/* A file on its way through. */
struct relay {
    char *url, *token, *tag; /* owned */
    const char *ca;          /* of the server */
    int64_t at, end;
    struct buf part;
    size_t used;
};

static void relay_destroy(void *arg)
{
    struct relay *r = arg;
    buf_release(&r->part);
    mem_free(r->url);
    mem_free(r->token);
    mem_free(r->tag);
    mem_free(r);
}

static bool relay_fetch(struct relay *r)
{
    char range[64];
    int64_t n = r->end - r->at < PART ? r->end - r->at : PART;
    struct io_http_reply reply = {0};
    snprintf(range, sizeof(range), "bytes=%jd-%jd", (intmax_t)r->at,
             (intmax_t)(r->at + n - 1));
    struct asking a = {.token = r->token, .range = range};
    struct io_http_request q = {.method = "GET",
                                .url = r->url,
                                .headers = put_headers,
                                .arg = &a,
                                .max = (size_t)PART * 2,
                                .attempts = 2,
                                .timeout_s = PATIENCE_S,
                                .ca = r->ca,
                                .what = r->url};
    bool good = io_http_send(&q, &reply, NULL) == RC_OK && reply.status == 206 &&
                (int64_t)reply.body.n == n &&
                str_is(io_http_header(&reply, "ETag"), r->tag);
    buf_clear(&r->part);
    r->used = 0;
    if (good)
        buf_add(&r->part, buf_str(&reply.body), reply.body.n);
    io_http_reply_release(&reply);
    return good;
}

static ssize_t relay_read(void *arg, uint64_t pos, char *out, size_t most)
{
    struct relay *r = arg;
    if (r->at >= r->end)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (r->used == r->part.n && !relay_fetch(r))
        return MHD_CONTENT_READER_END_WITH_ERROR;
    size_t n = r->part.n - r->used < most ? r->part.n - r->used : most;
    memcpy(out, buf_str(&r->part) + r->used, n);
    r->used += n;
    r->at += (int64_t)n;
    return (ssize_t)n;
}

/* "bytes 0-0/TOTAL", or "bytes * /TOTAL" of an empty file. */
static bool read_total(const struct io_http_reply *r, int64_t *total)
{
    struct str all = io_http_header(r, "Content-Range");
    const char *slash = all.n ? memchr(all.p, '/', all.n) : NULL;
    return slash &&
           str_to_i64(str_of(slash + 1, all.n - (size_t)(slash + 1 - all.p)), total);
}

static enum rc relay_start(struct http_call *c, const char *url, struct str tag,
                           int64_t total, struct err *err)
{
    int64_t first = 0, n = 0;
    const char *plain =
        arena_strndup(&c->arena, tag.n > 2 ? tag.p + 1 : "", tag.n > 2 ? tag.n - 2 : 0);
    if (!http_range_decide(c, total, plain, &first, &n))
        return RC_OK;
    const char *token = c->bearer;
    struct relay *r = mem_calloc(1, sizeof(*r));
    *r = (struct relay){.url = mem_strdup(url),
                        .token = token ? mem_strdup(token) : NULL,
                        .tag = mem_strndup(tag.p, tag.n),
                        .ca = c->api->peer_ca,
                        .at = first,
                        .end = first + n};
    buf_init(&r->part, (size_t)PART * 2);
    c->streaming = MHD_create_response_from_callback((uint64_t)n, 1 << 16, relay_read, r,
                                                     relay_destroy);
    if (!c->streaming) {
        relay_destroy(r);
        return err_set(err, RC_NOMEM, "no memory for the answer");
    }
    return RC_OK;
}

enum rc http_forward_file(struct http_call *c, const char *node, struct err *err)
{
    const char *url = NULL;
    struct io_http_reply reply = {0};
    struct err why = {0};
    struct asking a = {.token = c->bearer, .range = "bytes=0-0"};
    int64_t total = 0;
    enum rc rc = find_server(c, node, &url, err);
    if (rc)
        return rc;
    struct io_http_request q = {.method = "GET",
                                .url = url,
                                .headers = put_headers,
                                .arg = &a,
                                .attempts = 1,
                                .timeout_s = PATIENCE_S,
                                .ca = c->api->peer_ca,
                                .what = url};
    if (io_http_send(&q, &reply, &why))
        rc = no_answer(c, node, url, &why, err);
    else if ((reply.status == 206 || reply.status == 416) && read_total(&reply, &total))
        rc = relay_start(c, url, io_http_header(&reply, "ETag"), total, err);
    else
        copy_answer(c, &reply);
    io_http_reply_release(&reply);
    return rc;
}

enum rc http_forward_away(struct http_call *c, const char *node, struct err *err)
{
    const char *url = NULL;
    enum rc rc = find_server(c, node, &url, err);
    if (rc)
        return rc;
    c->status = 307;
    c->location = url;
    return RC_OK;
}

void http_forward_try(struct api *a, const char *url)
{
    struct io_http_reply reply = {0};
    struct err why = {0};
    char *health = mem_printf("%s/healthz", url);
    struct io_http_request q = {.method = "GET",
                                .url = health,
                                .attempts = 1,
                                .timeout_s = 2,
                                .ca = a->peer_ca,
                                .what = url};
    if (io_http_send(&q, &reply, &why) && why.code == E1610)
        log_warn(
            "this machine does not trust the certificate of %s: other servers on this "
            "database cannot ask this one for files of jobs; give them all --peer-ca",
            url);
    io_http_reply_release(&reply);
    mem_free(health);
}
