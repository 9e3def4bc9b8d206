/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of browsers: opened by a token or by a one-time link, kept as a token of its own in
 * a cookie (http/cookie.h), closed by revoking that. The new token may no more and lives no
 * longer than the one it was opened with, and goes with it. A session opens no other. A user has a limited number of sessions: the oldest
 * goes when one too many is opened, and those that have expired go with it.
 */
#include <string.h>

#include "base/clock.h"
#include "http/api_private.h"
#include "http/cookie.h"
#include "http/handlers.h"

#define SESSIONS_MAX 50
#define LIFETIME_S ((int64_t)7 * 86400)

static void put_list(struct json_out *j, const char *key, const char *names,
                     struct arena *a)
{
    struct str rest = str_c(names), part;
    json_open(j, key, '[');
    while (rest.n && str_split(&rest, ',', &part))
        json_put_str(j, NULL, arena_strndup(a, part.p, part.n));
    json_close(j, ']');
}

static void put_session(struct http_call *c, const char *token)
{
    struct json_out *j = &c->json;
    char csrf[SHA256_TEXT_SIZE];
    json_open(j, NULL, '{');
    json_put_str(j, "name", c->who.name);
    json_put_str(j, "role", http_role_name(c->who.role));
    put_list(j, "projects", c->who.projects, &c->arena);
    put_list(j, "leads", c->who.leads, &c->arena);
    if (token) {
        http_cookie_csrf(token, csrf);
        json_put_str(j, "csrf", csrf);
    }
    json_put_time(j, "expires", c->who.expires);
    json_put_str(j, "version", c->api->o.version);
    json_put_bool(j, "queue", c->api->watchdog != NULL);
    json_close(j, '}');
}

enum rc http_get_session(struct http_call *c, struct err *err)
{
    put_session(c, c->by_cookie ? c->bearer + strlen("Bearer ") : NULL);
    return RC_OK;
}

static bool is_session(const struct store_token *t)
{
    return str_starts(t->note, STORE_SESSION);
}

/* Makes room for one more. They are listed by age, the oldest first. */
static enum rc trim_sessions(struct http_call *c, struct err *err)
{
    struct store_tokens l = {0};
    int64_t now = clock_wall_ns();
    size_t have = 0;
    enum rc rc = store_token_list(c->place.store, c->who.name, &l, err);
    for (size_t i = 0; i < l.n && !rc; i++)
        have += is_session(&l.at[i]);
    for (size_t i = 0; i < l.n && !rc; i++) {
        bool over = l.at[i].expires && l.at[i].expires <= now;
        if (!is_session(&l.at[i]) || (!over && have < SESSIONS_MAX))
            continue;
        rc = store_token_delete(c->place.store, l.at[i].id, err);
        rc = rc == RC_NOTFOUND ? RC_OK : rc; /* somebody else was as quick */
        have--;
    }
    store_tokens_release(&l);
    return rc;
}

/* `note`: whose the session is. */
static enum rc make_session(struct http_call *c, const char *note, struct err *err)
{
    char text[AUTH_TOKEN_SIZE];
    int64_t now = clock_wall_ns(), most = now + LIFETIME_S * CLOCK_SECOND;
    struct store_token t = {
        .owner = c->who.name, .role = http_role_name(c->who.role), .note = note};
    t.expires = c->who.expires && c->who.expires < most ? c->who.expires : most;
    enum rc rc = trim_sessions(c, err);
    if (!rc)
        rc = http_auth_make(c->place.store, &t, &c->arena, text, err);
    if (rc)
        return rc;
    c->who.expires = t.expires;
    http_cookie_set(c, text, (t.expires - now) / CLOCK_SECOND);
    put_session(c, text);
    http_auth_forget(c->api->auth); /* who went with it is refused at once */
    explicit_bzero(text, sizeof(text));
    return RC_OK;
}

enum rc http_open_session(struct http_call *c, struct err *err)
{
    const char *token = http_schema_text(c->body, "token", NULL),
               *link = http_schema_text(c->body, "link", NULL);
    enum rc rc;
    if (!token == !link)
        return err_coded(err, RC_INVAL, E5006, "either 'token' or 'link' is required");
    if (token) {
        rc = http_auth_find(c->api->auth, c->place.store, token, &c->who, err);
        if (!rc && c->who.session)
            rc = err_coded(err, RC_INVAL, E5008,
                           "a session opens no other: use a token that was made as one");
    } else {
        rc = http_auth_link_use(c->place.store, link, &c->who, err);
    }
    if (rc == RC_INVAL &&
        !http_limit_take(c->api->strangers, c->address, clock_mono_ns())) {
        c->status = 429; /* who brings what is good is let in beside those who guess */
        return err_coded(err, RC_INVAL, E5011, "too many requests; retry later");
    }
    if (rc == RC_INVAL)
        c->status = 401;
    if (rc)
        return rc;
    return make_session(c,
                        token
                            ? arena_printf(&c->arena, STORE_SESSION_OF "%s", c->who.token)
                            : STORE_SESSION,
                        err);
}

enum rc http_close_session(struct http_call *c, struct err *err)
{
    if (!c->by_cookie) {
        c->status = 409;
        return err_coded(err, RC_INVAL, E5008,
                         "this request is by a token, not by a session");
    }
    enum rc rc = store_token_delete(c->place.store, c->who.token, err);
    if (rc && rc != RC_NOTFOUND)
        return rc;
    http_auth_forget(c->api->auth);
    http_cookie_set(c, "", 0);
    return RC_OK;
}
