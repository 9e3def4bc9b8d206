/* SPDX-License-Identifier: Apache-2.0 */
/* store/users.h - who may do what: users, and the tokens that speak for them.
 *
 * Only the hash of a token is kept. Codes: RC_INVAL (E3110) for a name that is taken,
 * RC_NOTFOUND (E3111) for one that is not there. Texts of what is read are never NULL.
 */
#ifndef STORE_USERS_H
#define STORE_USERS_H

#include "base/str.h"
#include "store/store.h"

struct store_user {
    const char *name;
    const char *role;     /* "viewer", "submitter", "admin" */
    const char *projects; /* names with ',' between them, NAME:admin for those that the
                             user administers; "" is none */
    int64_t created;      /* wall clock, ns */
    int64_t disabled;     /* when, ns; 0: is not */
    int64_t uid;   /* that jobs of the user run under (store/accounts.h); 0: none yet;
                             only read */
    bool inherits; /* not kept: store_user_create() gives them what is left */
};
struct store_users {
    struct arena arena;
    struct store_user *at;
    size_t n;
};
void store_users_release(struct store_users *l);
/* What belongs to a name, whether there is such a user or not. */
struct store_user_left {
    int64_t jobs, schedules, rules, models, datasets;
};
enum rc store_user_left_get(struct store *s, const char *name,
                            struct store_user_left *out, struct err *err) MUST_CHECK;
/* RC_INVAL (E3112): something is left under that name, which would become this user's, and
 * u->inherits does not say that it should.
 */
enum rc store_user_create(struct store *s, const struct store_user *u,
                          struct err *err) MUST_CHECK;
/* Role, projects and disabled become those of `u`. */
enum rc store_user_update(struct store *s, const struct store_user *u,
                          struct err *err) MUST_CHECK;
/* `name` NULL: all, by name. */
enum rc store_user_get(struct store *s, const char *name, struct store_users *out,
                       struct err *err) MUST_CHECK;
/* Those whose jobs do not start: disabled, or viewers by now. */
enum rc store_user_barred(struct store *s, struct store_users *out,
                          struct err *err) MUST_CHECK;
#define STORE_PROJECT_ADMIN ":admin"
/* Is `project` among the names of `projects`? *leads (may be NULL): as one of its admins. */
bool store_user_in_project(const char *projects, const char *project, bool *leads);
/* One entry of the list: its name. */
struct str store_user_project(struct str entry, bool *leads);
/* Whether a user of this name was deleted, and none was created since. */
enum rc store_user_former(struct store *s, const char *name, bool *former,
                          struct err *err) MUST_CHECK;
/* Whether `owner` of something is nobody that a server let in: it was made at the command
 * line by `account`, which the server works under, or by root, or the store has no users.
 */
bool store_user_is_local(struct store *s, const char *account, const char *owner);
/* Whether somebody may be bound to the user by an OpenID provider, at the next login: a mark
 * "oidc/NAME" below 0. Any earlier bond ends. */
enum rc store_user_oidc(struct store *s, const char *name, bool may,
                        struct err *err) MUST_CHECK;
/* With its tokens; that there was one is remembered. */
enum rc store_user_delete(struct store *s, const char *name, struct err *err) MUST_CHECK;

struct store_token {
    const char *id;
    const char *hash;  /* SHA-256 of the token, hexadecimal */
    const char *owner; /* the user */
    const char *role;  /* it can do no more than this, whatever the user may */
    const char *note;  /* for people */
    int64_t created, expires, used; /* ns; expires 0: never; used 0: never */
};
struct store_tokens {
    struct arena arena;
    struct store_token *at;
    size_t n;
};
void store_tokens_release(struct store_tokens *l);
enum rc store_token_create(struct store *s, const struct store_token *t,
                           struct err *err) MUST_CHECK;
/* `owner` NULL: of all users. By owner, then age. */
enum rc store_token_list(struct store *s, const char *owner, struct store_tokens *out,
                         struct err *err) MUST_CHECK;
enum rc store_token_by_hash(struct store *s, const char *hash, struct store_tokens *out,
                            struct err *err) MUST_CHECK;
/* Notes that it was used at `now`; fine when it is gone. */
enum rc store_token_touch(struct store *s, const char *id, int64_t now,
                          struct err *err) MUST_CHECK;
/* Also the sessions of browsers that were opened with it: their note is STORE_SESSION_OF and its id. */
#define STORE_SESSION "browser session"
#define STORE_SESSION_OF STORE_SESSION " of "
enum rc store_token_delete(struct store *s, const char *id, struct err *err) MUST_CHECK;

#endif
