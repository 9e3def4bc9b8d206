/* SPDX-License-Identifier: Apache-2.0 */
/* Requests are put together the way they are signed: path and query are escaped once, and
 * the same texts go into the URL and the signature.
 */
#include <string.h>

#include "base/clock.h"
#include "io/object_private.h"

#define URL_MAX ((size_t)16 << 10)
static void put_path(const struct object_call *c, bool with_bucket, struct buf *out)
{
    buf_putc(out, '/');
    if (with_bucket)
        buf_printf(out, "%s/", c->o->bucket);
    if (!c->on_bucket)
        io_http_escape(out, str_c(c->o->key), true);
}

static void put_query(const struct object_call *c, struct buf *out)
{
    for (size_t i = 0; i < c->n_query; i++) {
        buf_printf(out, "%s%s", i ? "&" : "", c->query[i].name);
        if (c->query[i].value[0] || !c->o->store->bare_names)
            buf_putc(out, '=');
        io_http_escape(out, str_c(c->query[i].value), false);
    }
}

static void put_unsigned(const struct object_call *c, bool all, struct io_http_lines *out)
{
    if (c->if_match && all)
        io_http_line(out, "If-Match: %s", c->if_match);
    if (c->range && all)
        io_http_line(out, "Range: %s", c->range);
}

static enum rc object_call_renew(struct object *o, struct err *err)
{
    struct io_account fresh;
    if (io_credentials_fresh(&o->account.who))
        return RC_OK;
    enum rc rc = io_account_load(o->store, o->host, &fresh, err);
    if (rc)
        return rc;
    io_account_release(&o->account);
    o->account = fresh;
    return RC_OK;
}

static enum rc add_headers(void *arg, struct io_http_lines *out, struct err *err)
{
    struct object_signing *s = arg;
    struct object *o = s->call->o;
    struct sign_header h[OBJECT_HEADERS_MAX];
    char date[SIGN_DATE_SIZE];
    struct buf authorization;
    int64_t now = clock_wall_ns();
    if (s->call->body)
        io_http_line(out, "Content-Type: application/octet-stream");
    if (o->account.anonymous) {
        put_unsigned(s->call, true, out);
        return RC_OK;
    }
    pthread_mutex_lock(&o->lock);
    enum rc rc = object_call_renew(o, err);
    if (!rc) {
        struct io_account *a = &o->account;
        struct sign_key key = {.kind = o->store->sign,
                               .id = a->who.id,
                               .secret = a->who.secret,
                               .region = a->region,
                               .service = o->store->scheme};
        sign_date(now, date);
        size_t n = o->store->headers(s, &a->who, date, h);
        struct sign_request q = {.method = s->call->method,
                                 .path = buf_str(&s->path),
                                 .query = buf_str(&s->query),
                                 .headers = h,
                                 .n_headers = n,
                                 .payload = s->payload,
                                 .wall_ns = now};
        buf_init(&authorization, URL_MAX);
        sign_authorize(&key, &q, &authorization);
        rc = buf_check(&authorization, err);
        io_http_line(out, "Authorization: %s", buf_str(&authorization));
        buf_release(&authorization);
        for (size_t i = 0; i < n; i++)
            if (strcmp(h[i].name, "host") != 0 && strcmp(h[i].name, "content-type") != 0)
                io_http_line(out, "%s: %s", h[i].name, h[i].value);
        put_unsigned(s->call, !o->store->signs_all, out);
    }
    pthread_mutex_unlock(&o->lock);
    return rc;
}

static void object_call_prepare(struct object_signing *s)
{
    const struct object_call *c = s->call;
    const struct io_account *a = &c->o->account;
    if (a->virtual_host)
        buf_printf(&s->host, "%s.", c->o->bucket);
    buf_puts(&s->host, a->host);
    put_path(c, c->o->store->signs_bucket || !a->virtual_host, &s->path);
    put_query(c, &s->query);
    c->o->store->hash(s);
}

enum rc object_send(const struct object_call *c, struct io_http_reply *r, struct err *err)
{
    struct object_signing s = {.call = c};
    struct buf url;
    char *what = mem_printf("'%.300s'", c->o->url);
    buf_init(&s.path, URL_MAX);
    buf_init(&s.query, URL_MAX);
    buf_init(&s.host, URL_MAX);
    buf_init(&url, URL_MAX);
    object_call_prepare(&s);
    buf_printf(&url, "%s://%s", c->o->account.scheme, buf_str(&s.host));
    put_path(c, !c->o->account.virtual_host, &url);
    if (s.query.n)
        buf_printf(&url, "?%s", buf_str(&s.query));
    *r = (struct io_http_reply){0};
    enum rc rc = buf_check(&url, err);
    if (!rc && (s.path.failed || s.query.failed || s.host.failed))
        rc = err_set(err, RC_NOMEM, "%s: no memory for the request", what);
    struct io_http_request q = {.method = c->method,
                                .object = true,
                                .url = buf_str(&url),
                                .body = c->body,
                                .n_body = c->n_body,
                                .headers = add_headers,
                                .arg = &s,
                                .to = c->to,
                                .to_size = c->to_size,
                                .attempts = c->o->account.attempts,
                                .timeout_s = c->o->account.timeout_s,
                                .what = what};
    if (!rc)
        rc = io_http_send(&q, r, err);
    buf_release(&s.path);
    buf_release(&s.query);
    buf_release(&s.host);
    buf_release(&url);
    mem_free(what);
    return rc;
}
