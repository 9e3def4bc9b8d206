/* SPDX-License-Identifier: Apache-2.0 */
/* http/auth.h - who asks: tokens, users, and what follows from them.
 *
 * A token is "ty_" and 64 hexadecimal digits; the store has its SHA-256. What was found
 * is remembered for two seconds, so a token or user that was changed through another
 * server is refused that soon; changes through this one count at once. Any thread may
 * call.
 */
#ifndef HTTP_AUTH_H
#define HTTP_AUTH_H

#include "http/role.h"
#include "store/users.h"

#define AUTH_NAME_SIZE 132
#define AUTH_PROJECTS_SIZE 2048
#define AUTH_TOKEN_SIZE 68

struct http_caller {
    enum http_role role;                              /* ROLE_NONE: nobody */
    char name[AUTH_NAME_SIZE], token[AUTH_NAME_SIZE]; /* user; id of the token */
    char projects[AUTH_PROJECTS_SIZE];                /* with ',' between them */
    char leads[AUTH_PROJECTS_SIZE]; /* those of them that the user administers */
    int64_t expires;                /* of the token, ns; 0: never */
    bool session;                   /* the token is one of a browser's session */
};

struct http_auth;
struct http_auth *http_auth_create(void);
void http_auth_destroy(struct http_auth *a); /* NULL is fine */
void http_auth_forget(struct http_auth *a);  /* everything that was remembered */

/* `token` as it came. RC_INVAL (E5008): none that is valid; E5009: it has expired. */
enum rc http_auth_find(struct http_auth *a, struct store *s, const char *token,
                       struct http_caller *out, struct err *err) MUST_CHECK;

/* A new token for `user`, recorded; its text goes to `text`. `t` has owner, role, note
 * and expires; the rest is filled in (texts lie in `arena`).
 */
enum rc http_auth_make(struct store *s, struct store_token *t, struct arena *arena,
                       char text[AUTH_TOKEN_SIZE], struct err *err) MUST_CHECK;
/* A link that opens one session of a browser as `user`, within a few minutes: "tl_" and 64
 * hexadecimal digits, which are no token.
 */
enum rc http_auth_link_make(struct store *s, const char *user, char text[AUTH_TOKEN_SIZE],
                            struct err *err) MUST_CHECK;
/* Uses it up: whoever comes second, or late, is refused. RC_INVAL (E5039, E5008). */
enum rc http_auth_link_use(struct store *s, const char *text, struct http_caller *out,
                           struct err *err) MUST_CHECK;
/* When there is no user at all: makes "admin" and writes a token to `path` (0600). */
enum rc http_auth_first(struct store *s, const char *path, bool *made,
                        struct err *err) MUST_CHECK;

#endif
