/* SPDX-License-Identifier: Apache-2.0 */
#include "http/cookie.h"

#include <string.h>
#include <strings.h>

#include "http/api_private.h"

static const char *cookie_header(struct http_call *c, const char *name)
{
    return MHD_lookup_connection_value(c->conn, MHD_HEADER_KIND, name);
}

/* A proxy on this machine may have ended TLS; who says so wrongly harms only themselves. */
static bool is_secure(struct http_call *c)
{
    const char *outside = cookie_header(c, "X-Forwarded-Proto");
    return c->api->cert || (outside && strcasecmp(outside, "https") == 0);
}

static const char *cookie_name(struct http_call *c)
{
    const char *host = cookie_header(c, "Host");
    const char *colon = host ? strrchr(host, ':') : NULL;
    bool port = colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1);
    return arena_printf(&c->arena, "%strainyard%s%s", is_secure(c) ? "__Host-" : "",
                        port ? "-" : "", port ? colon + 1 : "");
}

struct sessions {
    const char *name, **at;
    size_t n;
};

static enum MHD_Result take_session(void *arg, enum MHD_ValueKind kind, const char *key,
                                    const char *value)
{
    struct sessions *s = arg;
    if (value && strcmp(key, s->name) == 0 && s->n < HTTP_COOKIES_MAX)
        s->at[s->n++] = value;
    return MHD_YES;
}

size_t http_cookie_sessions(struct http_call *c, const char *out[HTTP_COOKIES_MAX])
{
    struct sessions s = {.name = cookie_name(c), .at = out};
    MHD_get_connection_values(c->conn, MHD_COOKIE_KIND, take_session, &s);
    return s.n;
}

void http_cookie_set(struct http_call *c, const char *token, int64_t seconds)
{
    http_call_header(
        c, "Set-Cookie",
        arena_printf(&c->arena, "%s=%s; Path=/; Max-Age=%jd; HttpOnly; SameSite=Strict%s",
                     cookie_name(c), token, (intmax_t)seconds,
                     is_secure(c) ? "; Secure" : ""));
}

void http_cookie_csrf(const char *token, char out[SHA256_TEXT_SIZE])
{
    static const char salt[] = "trainyard csrf\n";
    struct sha256 s;
    sha256_init(&s);
    sha256_add(&s, salt, strlen(salt));
    sha256_add(&s, token, strlen(token));
    sha256_text(&s, out);
}

static enum rc not_the_page(struct http_call *c, struct err *err, const char *why)
{
    c->status = 403;
    return err_coded(err, RC_INVAL, E5038, "%s", why);
}

enum rc http_cookie_check(struct http_call *c, struct err *err)
{
    const char *site = cookie_header(c, "Sec-Fetch-Site"),
               *given = cookie_header(c, HTTP_CSRF_HEADER);
    char want[SHA256_TEXT_SIZE];
    if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
        return not_the_page(c, err, "a page of another site asks with this session");
    if (strcmp(c->route->method, "GET") == 0)
        return RC_OK;
    http_cookie_csrf(c->bearer + strlen("Bearer "), want);
    if (!given || !httpd_same(given, want))
        return not_the_page(c, err,
                            "a change by a session needs the header " HTTP_CSRF_HEADER
                            " with the value that GET /api/v1/session tells");
    return RC_OK;
}
