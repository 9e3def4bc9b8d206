/* SPDX-License-Identifier: Apache-2.0 */
/* What is decided before a body is read: is the address one of ours, is it meant for us,
 * who asks, may they, and do they not ask too often.
 */
#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/cookie.h"

#define JSON_MAX ((size_t)8 << 20) /* a tree takes many times what its text does */

static const char *admit_header(struct http_call *c, const char *name)
{
    return MHD_lookup_connection_value(c->conn, MHD_HEADER_KIND, name);
}

/* The name before the port; "[::1]:80" is "::1". */
static bool host_part(const char *host, char out[256])
{
    size_t n = strlen(host);
    const char *end = host[0] == '[' ? strchr(host, ']') : strchr(host, ':');
    if (host[0] == '[') {
        if (!end || (end[1] && end[1] != ':'))
            return false;
        host++;
        n = (size_t)(end - host);
    } else if (end) {
        n = (size_t)(end - host);
    }
    if (n == 0 || n >= 256)
        return false;
    memcpy(out, host, n);
    out[n] = '\0';
    return true;
}

/* Numbers cannot be made to mean another machine by a name server; names can. */
static bool host_ok(const struct api *a, const char *host)
{
    char name[256];
    unsigned char address[16];
    if (!host_part(host, name))
        return false;
    if (inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1)
        return true;
    if (strcasecmp(name, "localhost") == 0)
        return true;
    for (const char *const *h = a->o.hosts; h && *h; h++)
        if (strcasecmp(name, *h) == 0)
            return true;
    return false;
}

static enum rc check_host(struct http_call *c, struct err *err)
{
    const char *host = admit_header(c, "Host"), *origin = admit_header(c, "Origin");
    if (!host || !host_ok(c->api, host)) {
        c->status = 421;
        return err_coded(err, RC_INVAL, E5004,
                         "this server does not answer to '%.100s'; --host adds a name",
                         host ? host : "");
    }
    if (!origin)
        return RC_OK;
    const char *rest = strstr(origin, "://");
    if (rest && strcasecmp(rest + 3, host) == 0)
        return RC_OK;
    c->status = 403;
    return err_coded(err, RC_INVAL, E5005,
                     "requests from pages of '%.100s' are not "
                     "allowed",
                     origin);
}

static enum rc find_route(struct http_call *c, struct err *err)
{
    struct buf allow;
    const char *method = c->type; /* kept there until there is an answer */
    enum rc rc = http_target_parse(c->uri, &c->arena, &c->target, err);
    if (rc && strlen(c->uri) > TARGET_BYTES_MAX)
        c->status = 414;
    if (rc)
        return rc;
    buf_init(&allow, 1000);
    switch (http_route_find(method, &c->target, &c->route, c->params, &allow)) {
    case ROUTE_FOUND:
        break;
    case ROUTE_NO_PATH:
        c->status = 404;
        rc = err_coded(err, RC_NOTFOUND, E5007, "nothing is served at this path");
        break;
    case ROUTE_NO_METHOD:
        c->status = 405;
        c->allow = arena_strdup(&c->arena, buf_str(&allow));
        rc = err_coded(err, RC_INVAL, E5007, "%.20s is not served here, but %s", method,
                       c->allow);
        break;
    }
    buf_release(&allow);
    return rc;
}

static enum rc too_many(struct http_call *c, struct err *err)
{
    c->status = 429;
    return err_coded(err, RC_INVAL, E5011, "too many requests; retry later");
}

/* Of several cookies the one that counts; those of two users are nobody's. */
static enum rc find_session(struct http_call *c, struct store *s, struct err *err)
{
    const char *all[HTTP_COOKIES_MAX];
    size_t n = http_cookie_sessions(c, all);
    enum rc rc = err_coded(err, RC_INVAL, E5008, "a valid token is required");
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        struct http_caller who;
        struct err why = {0};
        enum rc one = http_auth_find(c->api->auth, s, all[i], &who, &why);
        c->by_cookie = true;
        if (one) {
            if (!found) {
                rc = one;
                *err = why;
            }
            continue;
        }
        if (found && strcmp(who.name, c->who.name) != 0)
            return err_coded(
                err, RC_INVAL, E5008,
                "the browser sends sessions of two users: delete the cookies "
                "of this address");
        c->who = who;
        c->bearer = arena_printf(&c->arena, "Bearer %s", all[i]);
        found = true;
        rc = RC_OK;
    }
    return rc;
}

static enum rc find_caller(struct http_call *c, struct store *s, struct err *err)
{
    const char *given = admit_header(c, "Authorization");
    if (!given)
        return find_session(c, s, err);
    if (strncasecmp(given, "Bearer ", 7) != 0)
        return err_coded(err, RC_INVAL, E5008, "a valid token is required");
    c->bearer = given;
    return http_auth_find(c->api->auth, s, given + strlen("Bearer "), &c->who, err);
}

/* Who has no valid token is counted by address, so that guessing is slow. */
static enum rc check_token(struct http_call *c, struct err *err)
{
    int64_t now = clock_mono_ns();
    struct api *a = c->api;
    enum rc rc = RC_INVAL;
    if (c->route->role == ROLE_NONE) /* what asks others is slower, as guessing is */
        return http_limit_take(http_aside_is(c->route) ? a->strangers : a->callers,
                               c->address, now)
                   ? RC_OK
                   : too_many(c, err);
    struct http_db *d = api_db(a);
    rc = find_caller(c, d->store, err);
    api_db_back(a, d);
    if (rc == RC_INVAL)
        return http_limit_take(a->strangers, c->address, now) ? (c->status = 401, rc)
                                                              : too_many(c, err);
    if (!rc && !http_limit_take(a->callers, c->who.token, now))
        return too_many(c, err);
    return !rc && c->by_cookie ? http_cookie_check(c, err) : rc;
}

static enum rc check_role(struct http_call *c, struct err *err)
{
    if (http_role_may(c->who.role, c->route->role))
        return RC_OK;
    return http_call_forbid(c, err, "this needs the role %s, the token has %s",
                            http_role_name(c->route->role), http_role_name(c->who.role));
}

static enum rc check_body_head(struct http_call *c, struct err *err)
{
    const char *length = admit_header(c, "Content-Length"),
               *type = admit_header(c, "Content-Type");
    enum http_schema_kind kind = c->route->body->kind;
    int64_t n = 0;
    c->raw.max = kind == SCHEMA_NOTHING ? 4096 : (size_t)c->api->o.max_body;
    if (kind != SCHEMA_NOTHING && kind != SCHEMA_BYTES && c->raw.max > JSON_MAX)
        c->raw.max = JSON_MAX;
    if (length && (!str_to_i64(str_c(length), &n) || n > (int64_t)c->raw.max)) {
        c->status = 413;
        return err_coded(err, RC_INVAL, E5012, "the body has more than %zu bytes",
                         c->raw.max);
    }
    bool json = kind == SCHEMA_OBJECT || kind == SCHEMA_JOB_SPEC;
    if (json && type && strncasecmp(type, "application/json", 16) != 0) {
        c->status = 415;
        return err_coded(err, RC_INVAL, E5013,
                         "the body is JSON: Content-Type is "
                         "application/json, not '%.60s'",
                         type);
    }
    return RC_OK;
}

enum rc api_admit(struct http_call *c, struct err *err)
{
    enum rc rc = check_host(c, err);
    if (!rc)
        rc = find_route(c, err);
    if (!rc)
        rc = check_token(c, err);
    if (!rc)
        rc = check_role(c, err);
    if (!rc)
        rc = check_body_head(c, err);
    if (!rc)
        rc = http_schema_query(c->route->query, &c->target, &c->arena, &c->query, err);
    return rc;
}
