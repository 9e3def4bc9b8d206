/* SPDX-License-Identifier: Apache-2.0 */
/* Remembered callers lie in a small table, each where the hash of its token says; a new
 * one takes the place of an old one. The hash is compared as a whole, in constant time.
 */
#include "http/auth.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "io/httpd.h"

#define SLOTS 1024
#define REMEMBER_NS (2 * CLOCK_SECOND)
#define TOUCH_NS (60 * CLOCK_SECOND) /* `used` is as exact as this */
#define PREFIX "ty_"
#define LINK_PREFIX "tl_" /* of the same length */
#define LINK_NOTE "one-time link"
#define LINK_S 300

struct slot {
    char hash[SHA256_TEXT_SIZE];
    int64_t until; /* monotonic */
    int64_t expires;
    struct http_caller caller;
};

struct http_auth {
    pthread_mutex_t lock; /* guards all below */
    struct slot slots[SLOTS];
};

struct http_auth *http_auth_create(void)
{
    struct http_auth *a = mem_calloc(1, sizeof(*a));
    pthread_mutex_init(&a->lock, NULL);
    return a;
}

void http_auth_destroy(struct http_auth *a)
{
    if (!a)
        return;
    pthread_mutex_destroy(&a->lock);
    mem_free(a);
}

void http_auth_forget(struct http_auth *a)
{
    pthread_mutex_lock(&a->lock);
    memset(a->slots, 0, sizeof(a->slots));
    pthread_mutex_unlock(&a->lock);
}

static void hash_of(const char *token, char out[SHA256_TEXT_SIZE])
{
    struct sha256 s;
    sha256_init(&s);
    sha256_add(&s, token, strlen(token));
    sha256_text(&s, out);
}

static struct slot *slot_of(struct http_auth *a, const char *hash)
{
    unsigned at = 0;
    for (int i = 0; i < 4; i++)
        at = at << 4 | (unsigned)(hash[i] <= '9' ? hash[i] - '0' : hash[i] - 'a' + 10);
    return &a->slots[at % SLOTS];
}

static enum rc refused(struct err *err)
{
    return err_coded(err, RC_INVAL, E5008, "a valid token is required");
}

static enum rc expired(struct err *err)
{
    return err_coded(err, RC_INVAL, E5009, "the token has expired");
}

static bool recall(struct http_auth *a, const char *hash, int64_t *expires,
                   struct http_caller *out)
{
    pthread_mutex_lock(&a->lock);
    const struct slot *s = slot_of(a, hash);
    bool found = s->until > clock_mono_ns() && httpd_same(s->hash, hash);
    if (found) {
        *out = s->caller;
        *expires = s->expires;
    }
    pthread_mutex_unlock(&a->lock);
    return found;
}

static void remember(struct http_auth *a, const char *hash, int64_t expires,
                     const struct http_caller *c)
{
    pthread_mutex_lock(&a->lock);
    struct slot *s = slot_of(a, hash);
    *s = (struct slot){
        .until = clock_mono_ns() + REMEMBER_NS, .expires = expires, .caller = *c};
    memcpy(s->hash, hash, SHA256_TEXT_SIZE);
    pthread_mutex_unlock(&a->lock);
}

static void add_name(char *list, struct str name)
{
    size_t n = strlen(list);
    snprintf(list + n, AUTH_PROJECTS_SIZE - n, "%s%.*s", n ? "," : "", (int)name.n,
             name.p);
}

/* A token that may only look administers nothing. */
static void take_projects(const char *projects, struct http_caller *out)
{
    struct str rest = str_c(projects), part;
    bool leads;
    while (rest.n && str_split(&rest, ',', &part)) {
        struct str name = store_user_project(part, &leads);
        if (!name.n)
            continue;
        add_name(out->projects, name);
        if (leads && out->role >= ROLE_SUBMITTER)
            add_name(out->leads, name);
    }
}

static enum rc caller_of(const struct store_token *t, const struct store_user *u,
                         struct http_caller *out, struct err *err)
{
    enum http_role role = ROLE_NONE;
    if (u->disabled)
        return err_coded(err, RC_INVAL, E5008,
                         "the user '%.100s' is disabled; ask an admin", u->name);
    if (!http_role_find(http_role_least(t->role, u->role), &role))
        return refused(err);
    *out = (struct http_caller){.role = role,
                                .expires = t->expires,
                                .session = str_starts(t->note, STORE_SESSION)};
    snprintf(out->name, sizeof(out->name), "%s", u->name);
    snprintf(out->token, sizeof(out->token), "%s", t->id);
    take_projects(u->projects, out);
    return RC_OK;
}

/* Asks the store. */
static enum rc look_up(struct http_auth *a, struct store *s, const char *hash,
                       struct http_caller *out, struct err *err)
{
    struct store_tokens tokens = {0};
    struct store_users users = {0};
    int64_t now = clock_wall_ns();
    enum rc rc = store_token_by_hash(s, hash, &tokens, err);
    if (rc)
        return rc == RC_NOTFOUND ? refused(err) : rc;
    const struct store_token *t = &tokens.at[0];
    if (!httpd_same(t->hash, hash))
        rc = refused(err);
    else if (t->expires && t->expires <= now)
        rc = expired(err);
    if (!rc) {
        rc = store_user_get(s, t->owner, &users, err);
        if (rc == RC_NOTFOUND)
            rc = refused(err);
    }
    if (!rc)
        rc = caller_of(t, &users.at[0], out, err);
    if (!rc)
        remember(a, hash, t->expires, out);
    if (!rc && now - t->used > TOUCH_NS) {
        enum rc touched = store_token_touch(s, t->id, now, NULL);
        (void)touched; /* nobody's request fails for it */
    }
    store_users_release(&users);
    store_tokens_release(&tokens);
    return rc;
}

enum rc http_auth_find(struct http_auth *a, struct store *s, const char *token,
                       struct http_caller *out, struct err *err)
{
    char hash[SHA256_TEXT_SIZE];
    int64_t expires = 0;
    if (strnlen(token, AUTH_TOKEN_SIZE) >= AUTH_TOKEN_SIZE ||
        strncmp(token, PREFIX, strlen(PREFIX)) != 0)
        return refused(err);
    hash_of(token, hash);
    if (!recall(a, hash, &expires, out))
        return look_up(a, s, hash, out, err);
    return expires && expires <= clock_wall_ns() ? expired(err) : RC_OK;
}

static enum rc random_hex(char *out, size_t bytes, struct err *err)
{
    unsigned char raw[32];
    if (getrandom(raw, bytes, 0) != (ssize_t)bytes)
        return err_sys(err, errno, "cannot get random numbers");
    for (size_t i = 0; i < bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", raw[i]);
    return RC_OK;
}

static enum rc make_secret(struct store *s, const char *prefix, struct store_token *t,
                           struct arena *arena, char text[AUTH_TOKEN_SIZE],
                           struct err *err)
{
    char id[16], hash[SHA256_TEXT_SIZE];
    memcpy(text, prefix, sizeof(PREFIX));
    enum rc rc = random_hex(text + strlen(prefix), 32, err);
    if (!rc)
        rc = random_hex(id, 6, err);
    if (rc)
        return rc;
    hash_of(text, hash);
    t->id = arena_printf(arena, "tk-%s", id);
    t->hash = arena_strdup(arena, hash);
    t->created = clock_wall_ns();
    return store_token_create(s, t, err);
}

enum rc http_auth_make(struct store *s, struct store_token *t, struct arena *arena,
                       char text[AUTH_TOKEN_SIZE], struct err *err)
{
    return make_secret(s, PREFIX, t, arena, text, err);
}

enum rc http_auth_link_make(struct store *s, const char *user, char text[AUTH_TOKEN_SIZE],
                            struct err *err)
{
    struct arena arena = {0};
    struct store_token t = {.owner = user,
                            .role = "admin",
                            .note = LINK_NOTE,
                            .expires = clock_wall_ns() + LINK_S * CLOCK_SECOND};
    enum rc rc = make_secret(s, LINK_PREFIX, &t, &arena, text, err);
    arena_release(&arena);
    return rc;
}

static enum rc link_gone(struct err *err)
{
    return err_coded(err, RC_INVAL, E5039,
                     "this link was used, or is older than %d minutes", LINK_S / 60);
}

enum rc http_auth_link_use(struct store *s, const char *text, struct http_caller *out,
                           struct err *err)
{
    struct store_tokens tokens = {0};
    struct store_users users = {0};
    char hash[SHA256_TEXT_SIZE];
    if (strnlen(text, AUTH_TOKEN_SIZE) >= AUTH_TOKEN_SIZE ||
        strncmp(text, LINK_PREFIX, strlen(LINK_PREFIX)) != 0)
        return link_gone(err);
    hash_of(text, hash);
    enum rc rc = store_token_by_hash(s, hash, &tokens, err);
    if (rc)
        return rc == RC_NOTFOUND ? link_gone(err) : rc;
    const struct store_token *t = &tokens.at[0];
    rc = store_token_delete(s, t->id, err); /* of two who come at once, one */
    if (rc == RC_NOTFOUND || (!rc && t->expires <= clock_wall_ns()))
        rc = link_gone(err);
    if (!rc)
        rc = store_user_get(s, t->owner, &users, err);
    if (!rc)
        rc = caller_of(t, &users.at[0], out, err);
    else if (rc == RC_NOTFOUND)
        rc = refused(err);
    if (!rc)
        out->expires = 0; /* of the link; the session has its own */
    store_users_release(&users);
    store_tokens_release(&tokens);
    return rc;
}

enum rc http_auth_first(struct store *s, const char *path, bool *made, struct err *err)
{
    struct store_users users = {0};
    struct arena arena = {0};
    char text[AUTH_TOKEN_SIZE + 1];
    *made = false;
    enum rc rc = store_user_get(s, NULL, &users, err);
    size_t n = users.n;
    store_users_release(&users);
    if (rc || n)
        return rc;
    struct store_user admin = {
        .name = "admin", .role = "admin", .created = clock_wall_ns(), .inherits = true};
    struct store_token t = {
        .owner = "admin", .role = "admin", .note = "made at the first start"};
    rc = http_auth_make(s, &t, &arena, text, err);
    if (!rc) {
        size_t length = strlen(text);
        text[length] = '\n';
        rc = fs_write(path, text, length + 1, 0600, err);
    }
    /* The user last: with it, everything is there. */
    if (!rc) {
        rc = store_user_create(s, &admin, err);
        *made = rc == RC_OK || rc == RC_INVAL;
        rc = *made ? RC_OK : rc; /* RC_INVAL: another server was as quick */
    }
    arena_release(&arena);
    explicit_bzero(text, sizeof(text));
    return rc;
}
