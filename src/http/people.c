/* SPDX-License-Identifier: Apache-2.0 */
/* Users and their tokens. Everybody has their own tokens; all else is for admins, and the last admin can be
 * neither disabled nor deleted nor given a smaller role. The text of a token is told
 * once, in the answer that makes it; lists show its id. Whatever may take a right away
 * makes http/auth.c forget the tokens that it has looked up, so the right ends with the
 * next request to this server.
 */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/experiments.h"
#include "http/handlers.h"
#include "store/users.h"
#include "team/leave.h"

#define LOG_AREA "server"

static void put_names(struct json_out *j, const char *key, const char *names)
{
    struct str rest = str_c(names), part;
    char one[AUTH_NAME_SIZE + sizeof(STORE_PROJECT_ADMIN)];
    json_open(j, key, '[');
    while (rest.n && str_split(&rest, ',', &part)) {
        if (!part.n || part.n >= sizeof(one))
            continue;
        memcpy(one, part.p, part.n);
        one[part.n] = '\0';
        json_put_str(j, NULL, one);
    }
    json_close(j, ']');
}

static void put_user(struct http_call *c, const struct store_user *u)
{
    struct json_out *j = &c->json;
    json_open(j, NULL, '{');
    json_put_str(j, "name", u->name);
    json_put_str(j, "role", u->role);
    put_names(j, "projects", u->projects);
    json_put_bool(j, "disabled", u->disabled != 0);
    if (u->uid)
        json_put_int(j, "uid", u->uid);
    json_put_time(j, "created", u->created);
    json_close(j, '}');
}

enum rc http_get_me(struct http_call *c, struct err *err)
{
    json_open(&c->json, NULL, '{');
    json_put_str(&c->json, "name", c->who.name);
    json_put_str(&c->json, "role", http_role_name(c->who.role));
    put_names(&c->json, "projects", c->who.projects);
    put_names(&c->json, "leads", c->who.leads);
    json_put_str(&c->json, "token", c->who.token);
    json_put_time(&c->json, "expires", c->who.expires);
    json_close(&c->json, '}');
    return RC_OK;
}

/* The token of the first start lies in a file until somebody keeps it elsewhere. */
static void remove_first_token(struct http_call *c)
{
    const char *given =
        MHD_lookup_connection_value(c->conn, MHD_HEADER_KIND, "Authorization");
    char *path = fs_join(c->place.dir, "admin.token"), *text = NULL;
    size_t n = 0;
    if (given && strlen(given) > 7 && fs_read(path, 4096, &text, &n, NULL) == RC_OK) {
        struct str kept = str_trim(str_of(text, n));
        text[kept.p - text + (ptrdiff_t)kept.n] = '\0';
        if (httpd_same(kept.p, given + 7) && unlink(path) == 0)
            log_info("admin.token was used to log in and is removed");
        explicit_bzero(text, n);
    }
    mem_free(text);
    mem_free(path);
}

enum rc http_stored_token(struct http_call *c, struct err *err)
{
    remove_first_token(c);
    return http_get_me(c, err);
}

enum rc http_list_users(struct http_call *c, struct err *err)
{
    struct store_users l = {0};
    enum rc rc = store_user_get(c->place.store, NULL, &l, err);
    if (rc)
        return rc;
    json_open(&c->json, NULL, '{');
    json_open(&c->json, "users", '[');
    for (size_t i = 0; i < l.n; i++)
        put_user(c, &l.at[i]);
    json_close(&c->json, ']');
    json_close(&c->json, '}');
    store_users_release(&l);
    return RC_OK;
}

enum rc http_get_user(struct http_call *c, struct err *err)
{
    struct store_users l = {0};
    enum rc rc = store_user_get(c->place.store, c->params[0], &l, err);
    if (!rc)
        put_user(c, &l.at[0]);
    store_users_release(&l);
    return rc;
}

/* The list of the body with ',' between the names; NULL: none was given. */
static enum rc projects_of(struct http_call *c, const char **out, struct err *err)
{
    const struct node *list = node_find(c->body, "projects");
    struct buf b;
    *out = NULL;
    if (!list)
        return RC_OK;
    buf_init(&b, AUTH_PROJECTS_SIZE - 1);
    for (size_t i = 0; i < list->list.n; i++)
        buf_printf(&b, "%s%s", i ? "," : "", list->list.at[i]->text.p);
    enum rc rc = b.failed ? err_coded(err, RC_INVAL, E5006,
                                      "'projects': names of more than %d bytes in all",
                                      AUTH_PROJECTS_SIZE - 1)
                          : RC_OK;
    *out = arena_strdup(&c->arena, buf_str(&b));
    buf_release(&b);
    return rc;
}

/* Admins may do everything anyway. */
static enum rc let_in(struct http_call *c, const char *name, const char *role,
                      struct err *err)
{
    if (c->api->o.others || strcmp(role, "admin") == 0)
        return RC_OK;
    c->status = 409;
    return err_coded(err, RC_INVAL, E5020,
                     "jobs of '%.100s' would run as the server: it cannot isolate them, "
                     "and --trust-submitters was not given",
                     name);
}

enum rc http_create_user(struct http_call *c, struct err *err)
{
    struct store_user u = {.name = http_schema_text(c->body, "name", ""),
                           .role = http_schema_text(c->body, "role", "viewer"),
                           .created = clock_wall_ns()};
    u.inherits = http_schema_bool(c->body, "inherit", false);
    enum rc rc = projects_of(c, &u.projects, err);
    if (!rc)
        rc = let_in(c, u.name, u.role, err);
    if (!rc)
        u.projects = u.projects ? u.projects : "";
    if (!rc && !u.inherits)
        rc = http_experiments_left(c, u.name, err);
    if (!rc)
        rc = team_leave_enter(&c->place, &u, err);
    if (rc)
        return rc;
    c->location = arena_printf(&c->arena, "/api/v1/users/%s", u.name);
    put_user(c, &u);
    return RC_OK;
}

/* Somebody must be left who can do everything. */
enum rc http_keep_an_admin(struct http_call *c, const char *except, struct err *err)
{
    struct store_users l = {0};
    bool found = false;
    enum rc rc = store_user_get(c->place.store, NULL, &l, err);
    for (size_t i = 0; i < l.n && !rc; i++)
        found |= strcmp(l.at[i].role, "admin") == 0 && !l.at[i].disabled &&
                 strcmp(l.at[i].name, except) != 0;
    store_users_release(&l);
    if (rc || found)
        return rc;
    c->status = 409;
    return err_coded(err, RC_INVAL, E5016, "'%s' is the last admin", except);
}

enum rc http_change_user(struct http_call *c, struct err *err)
{
    struct store_users l = {0};
    const char *projects = NULL;
    enum rc rc = store_user_get(c->place.store, c->params[0], &l, err);
    if (!rc)
        rc = projects_of(c, &projects, err);
    if (!rc) {
        struct store_user u = l.at[0];
        bool off = http_schema_bool(c->body, "disabled", u.disabled != 0);
        bool was_admin = strcmp(u.role, "admin") == 0 && !u.disabled;
        u.role = http_schema_text(c->body, "role", u.role);
        u.projects = projects ? projects : u.projects;
        u.disabled = off ? u.disabled ? u.disabled : clock_wall_ns() : 0;
        if (was_admin && (off || strcmp(u.role, "admin") != 0))
            rc = http_keep_an_admin(c, u.name, err);
        if (!rc && !off)
            rc = let_in(c, u.name, u.role, err);
        if (!rc)
            rc = store_user_update(c->place.store, &u, err);
        if (!rc && node_find(c->body, "oidc"))
            rc = store_user_oidc(c->place.store, u.name,
                                 http_schema_bool(c->body, "oidc", false), err);
        int64_t stopped;
        if (!rc && http_schema_bool(c->body, "stop_jobs", false))
            rc = team_leave_stop(&c->place, u.name, &stopped, err);
        if (!rc)
            put_user(c, &u);
    }
    http_auth_forget(c->api->auth);
    backend_watchdog_poke(c->api->watchdog);
    store_users_release(&l);
    return rc;
}

enum rc http_delete_user(struct http_call *c, struct err *err)
{
    const char *name = c->params[0];
    struct store_users l = {0};
    bool purge = http_schema_bool(c->query, "purge", false), any = false;
    enum rc rc = store_user_get(c->place.store, name, &l, err), gone = rc;
    if (rc == RC_NOTFOUND && purge)
        rc = RC_OK; /* deleted before, without what belonged to them */
    if (!rc && l.n && strcmp(l.at[0].role, "admin") == 0 && !l.at[0].disabled)
        rc = http_keep_an_admin(c, name, err);
    if (!rc && strcmp(name, c->who.name) == 0)
        rc = http_call_forbid(c, err, "you cannot delete yourself; another admin can");
    if (!rc && purge)
        rc = http_experiments_purge(c, name, &any, err);
    if (!rc && purge) {
        bool more = false;
        rc = team_leave_purge(&c->place, name, &more, err);
        any |= more;
    }
    if (!rc && l.n)
        rc = store_user_delete(c->place.store, name, err);
    else if (!rc && !any)
        rc = gone; /* neither a user nor anything of one: `err` says so */
    http_auth_forget(c->api->auth);
    store_users_release(&l);
    return rc;
}

static void put_token(struct json_out *j, const struct store_token *t, const char *role)
{
    json_open(j, NULL, '{');
    json_put_str(j, "id", t->id);
    json_put_str(j, "owner", t->owner);
    json_put_str(j, "role", http_role_least(t->role, role));
    json_put_str(j, "note", t->note);
    json_put_time(j, "created", t->created);
    json_put_time(j, "expires", t->expires);
    json_put_time(j, "used", t->used);
    json_close(j, '}');
}

/* Those of `name`, or (NULL) of everybody, each with the role that it really has. */
static enum rc list_tokens(struct http_call *c, const char *name, struct err *err)
{
    struct store_users u = {0};
    struct store_tokens l = {0};
    enum rc rc = store_user_get(c->place.store, name, &u, err);
    if (!rc)
        rc = store_token_list(c->place.store, name, &l, err);
    if (!rc) {
        json_open(&c->json, NULL, '{');
        json_open(&c->json, "tokens", '[');
        for (size_t i = 0; i < l.n; i++)
            for (size_t k = 0; k < u.n; k++)
                if (strcmp(u.at[k].name, l.at[i].owner) == 0)
                    put_token(&c->json, &l.at[i], u.at[k].role);
        json_close(&c->json, ']');
        json_close(&c->json, '}');
    }
    store_tokens_release(&l);
    store_users_release(&u);
    return rc;
}

/* What is another's is for admins, and to look at for auditors. */
static enum rc need_self(struct http_call *c, bool allowed, struct err *err)
{
    return allowed || strcmp(c->params[0], c->who.name) == 0
               ? RC_OK
               : err_coded(err, RC_NOTFOUND, E3111,
                           "'%.100s' is not you, and tokens of others are for admins",
                           c->params[0]);
}

enum rc http_list_tokens(struct http_call *c, struct err *err)
{
    enum rc rc = need_self(c, http_role_sees_all(c->who.role), err);
    return rc ? rc : list_tokens(c, c->params[0], err);
}

enum rc http_list_all_tokens(struct http_call *c, struct err *err)
{
    return list_tokens(c, NULL, err);
}

/* It may no more and lives no longer than the token that asks for it. */
static enum rc bound_token(const struct http_call *c, struct store_token *t,
                           struct err *err)
{
    int64_t end = c->who.expires;
    const char *asked = http_schema_text(c->body, "role", NULL);
    t->role = http_role_least(t->role, http_role_name(c->who.role));
    if (asked && strcmp(asked, t->role) != 0)
        return err_coded(err, RC_INVAL, E5010,
                         "the role '%.20s' is more than this token has", asked);
    if (end && (!t->expires || t->expires > end))
        t->expires = end;
    return RC_OK;
}

enum rc http_create_token(struct http_call *c, struct err *err)
{
    struct store_users u = {0};
    char text[AUTH_TOKEN_SIZE];
    int64_t seconds = http_schema_int(c->body, "expires_s", 0);
    bool admin = c->who.role == ROLE_ADMIN;
    enum rc rc = need_self(c, admin, err);
    if (!rc)
        rc = store_user_get(c->place.store, c->params[0], &u, err);
    if (rc)
        return rc;
    struct store_token t = {.owner = u.at[0].name,
                            .role = http_schema_text(c->body, "role", u.at[0].role),
                            .note = http_schema_text(c->body, "note", ""),
                            .expires =
                                seconds ? clock_wall_ns() + seconds * CLOCK_SECOND : 0};
    if (!admin)
        rc = bound_token(c, &t, err);
    if (!rc)
        rc = http_auth_make(c->place.store, &t, &c->arena, text, err);
    if (!rc) {
        c->location = arena_printf(&c->arena, "/api/v1/tokens/%s", t.id);
        json_open(&c->json, NULL, '{');
        json_put_str(&c->json, "id", t.id);
        json_put_str(&c->json, "token", text);
        json_put_str(&c->json, "owner", t.owner);
        json_put_str(&c->json, "role", http_role_least(t.role, u.at[0].role));
        json_put_time(&c->json, "expires", t.expires);
        json_close(&c->json, '}');
    }
    explicit_bzero(text, sizeof(text));
    store_users_release(&u);
    return rc;
}

/* A token that may less than another does not revoke it. */
static enum rc need_own_token(struct http_call *c, struct err *err)
{
    struct store_tokens l = {0};
    bool mine = false;
    enum rc rc = store_token_list(c->place.store, c->who.name, &l, err);
    for (size_t i = 0; i < l.n && !rc; i++) {
        const char *both = http_role_least(l.at[i].role, http_role_name(c->who.role));
        if (strcmp(l.at[i].id, c->params[0]) == 0)
            mine =
                strcmp(l.at[i].id, c->who.token) == 0 || strcmp(both, l.at[i].role) == 0;
    }
    store_tokens_release(&l);
    if (rc || mine)
        return rc;
    return err_coded(err, RC_NOTFOUND, E3111, "you have no token '%.100s' to revoke",
                     c->params[0]);
}

enum rc http_delete_token(struct http_call *c, struct err *err)
{
    enum rc rc = c->who.role == ROLE_ADMIN ? RC_OK : need_own_token(c, err);
    if (!rc)
        rc = store_token_delete(c->place.store, c->params[0], err);
    http_auth_forget(c->api->auth);
    return rc;
}
