/* SPDX-License-Identifier: Apache-2.0 */
#include "http/rights.h"

#include <string.h>

#include "base/clock.h"

enum rc http_rights_open(struct store *s, struct http_rights *out, struct err *err)
{
    *out = (struct http_rights){.now = clock_wall_ns()};
    enum rc rc = store_user_get(s, NULL, &out->users, err);
    return rc ? rc : store_token_list(s, NULL, &out->tokens, err);
}

void http_rights_close(struct http_rights *r)
{
    store_users_release(&r->users);
    store_tokens_release(&r->tokens);
}

static const struct store_token *find_token(const struct http_rights *r, const char *id)
{
    for (size_t i = 0; i < r->tokens.n; i++)
        if (strcmp(r->tokens.at[i].id, id) == 0)
            return &r->tokens.at[i];
    return NULL;
}

static const struct store_user *find_user(const struct http_rights *r, const char *name)
{
    for (size_t i = 0; i < r->users.n; i++)
        if (strcmp(r->users.at[i].name, name) == 0)
            return &r->users.at[i];
    return NULL;
}

/* The user of a token that still counts, and what both may; NULL: it does not. */
static const struct store_user *holder_of(const struct http_rights *r, const char *token,
                                          enum http_role *role)
{
    const struct store_token *t = find_token(r, token);
    const struct store_user *u = t ? find_user(r, t->owner) : NULL;
    if (!u || u->disabled || (t->expires && t->expires <= r->now) ||
        !http_role_find(http_role_least(t->role, u->role), role))
        return NULL;
    return u;
}

bool http_rights_holds(const struct http_rights *r, const char *token)
{
    enum http_role role = ROLE_NONE;
    return holder_of(r, token, &role) != NULL;
}

bool http_rights_sees(const struct http_rights *r, const struct http_rights_case *c)
{
    enum http_role role = ROLE_NONE;
    const struct store_user *u = holder_of(r, c->token, &role);
    if (!u)
        return false;
    return http_role_sees_all(role) || strcmp(u->name, c->owner) == 0 ||
           (*c->project && store_user_in_project(u->projects, c->project, NULL));
}
