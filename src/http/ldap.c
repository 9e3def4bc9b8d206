/* SPDX-License-Identifier: Apache-2.0 */
/* A login is at most three connections one after the other: who searches finds the name of the
 * user's entry, the user's own password opens it, and who searches (or, without one, the user)
 * looks whether it is a member of the groups that have a role. An empty password never gets as
 * far as the server, which would take it for nobody and say yes (RFC 4513, 5.1.2). Wrong
 * passwords of one name are counted, and after some of them the name waits.
 */
#include "http/ldap.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "http/ldap_lib.h"
#include "http/role.h"

#define PATIENCE_S 10
#define TEXT_MAX 8192
#define GUESS_SLOTS 1024
#define GUESSES_MAX 5
#define GUESS_WAIT_NS (30 * CLOCK_SECOND)

struct http_ldap {
    const struct http_ldap_conf *c;
    struct http_ldap_lib lib;
    pthread_mutex_t lock; /* guards the field below */
    struct {
        uint64_t name; /* hash */
        int wrong;
        int64_t until; /* monotonic; no login before that */
    } guesses[GUESS_SLOTS];
};

void http_ldap_escape_filter(struct buf *out, const char *value)
{
    for (const unsigned char *p = (const unsigned char *)value; *p; p++)
        if (*p < 0x20 || *p >= 0x7f || strchr("*()\\", *p))
            buf_printf(out, "\\%02x", *p);
        else
            buf_putc(out, (char)*p);
}

void http_ldap_escape_dn(struct buf *out, const char *value)
{
    for (const unsigned char *p = (const unsigned char *)value; *p; p++) {
        bool edge = (p == (const unsigned char *)value && (*p == ' ' || *p == '#')) ||
                    (*p == ' ' && !p[1]);
        if (*p < 0x20 || *p >= 0x7f || edge || strchr(",+\"\\<>;=/", *p))
            buf_printf(out, "\\%02x", *p);
        else
            buf_putc(out, (char)*p);
    }
}

/* `form` with the escaped value in the place of each {}. */
static char *fill_in(const char *form, const char *value,
                     void (*escape)(struct buf *, const char *))
{
    struct buf b;
    buf_init(&b, TEXT_MAX);
    for (const char *p = form; *p;) {
        if (p[0] == '{' && p[1] == '}') {
            escape(&b, value);
            p += 2;
        } else {
            buf_putc(&b, *p++);
        }
    }
    char *out = buf_check(&b, NULL) ? NULL : mem_strdup(buf_str(&b));
    buf_release(&b);
    return out;
}

static enum rc bad_conf(struct err *err, const char *option, const char *why)
{
    return err_coded(err, RC_INVAL, E5035, "%s %s", option, why);
}

static enum rc check_groups(const struct http_ldap_conf *c, struct err *err)
{
    for (const char *const *g = c->groups; g && *g; g++) {
        char *role = mem_strndup(*g, strcspn(*g, "="));
        enum http_role found;
        bool good = http_role_find(role, &found) && found > ROLE_NONE &&
                    (*g)[strlen(role)] == '=' && (*g)[strlen(role) + 1];
        mem_free(role);
        if (!good)
            return err_coded(
                err, RC_INVAL, E5035,
                "--ldap-group '%.200s': ROLE=DN is required, with one of the "
                "roles viewer, auditor, submitter, admin",
                *g);
    }
    return RC_OK;
}

static enum rc check_conf(const struct http_ldap_conf *c, struct err *err)
{
    if (!str_starts(c->url, "ldaps://") && !str_starts(c->url, "ldap://"))
        return bad_conf(err, "--ldap-url", "takes ldaps://HOST or ldap://HOST");
    if (!c->user_dn == !c->base)
        return bad_conf(err, "--ldap-user-dn",
                        "or --ldap-base is required, and not both");
    if (c->user_dn && !strstr(c->user_dn, "{}"))
        return bad_conf(err, "--ldap-user-dn", "needs {} in the place of the name");
    if (c->base && !strstr(c->filter, "{}"))
        return bad_conf(err, "--ldap-filter", "needs {} in the place of the name");
    if (!c->bind_dn != !c->password)
        return bad_conf(err, "--ldap-bind-dn", "and --ldap-password-file go together");
    if (c->password && !*c->password)
        return bad_conf(err, "--ldap-password-file", "is empty");
    if (!c->role && (!c->groups || !c->groups[0]))
        return bad_conf(err, "--ldap-role", "or --ldap-group is required: who is let in");
    if (c->ca && !fs_exists(c->ca))
        return bad_conf(err, "--ldap-ca", "is no file");
    return check_groups(c, err);
}

enum rc http_ldap_open(const struct http_ldap_conf *c, struct http_ldap **out,
                       struct err *err)
{
    enum rc rc = check_conf(c, err);
    if (rc)
        return rc;
    struct http_ldap *l = mem_calloc(1, sizeof(*l));
    l->c = c;
    pthread_mutex_init(&l->lock, NULL);
    rc = http_ldap_lib_load(&l->lib, err);
    if (rc)
        http_ldap_close(l);
    else
        *out = l;
    return rc;
}

void http_ldap_close(struct http_ldap *l)
{
    if (!l)
        return;
    pthread_mutex_destroy(&l->lock);
    mem_free(l);
}

/* The library has one code for all that goes wrong with TLS, and often no words: what a
 * server of a private authority answers without --ldap-ca, most of the time.
 */
static enum rc untrusted(const struct http_ldap *l, const char *more, struct err *err)
{
    bool words = more && *more && !strstr(more, "unknown error");
    return err_coded(err, RC_IO, E5036, "%.200s: TLS failed%s%.150s: %s%.200s", l->c->url,
                     words ? ": " : "", words ? more : "",
                     l->c->ca ? "its certificate is for another name, or not from "
                                "--ldap-ca "
                              : "its certificate is not trusted; name the authority's "
                                "with --ldap-ca FILE",
                     l->c->ca ? l->c->ca : "");
}

static enum rc unreachable(const struct http_ldap *l, struct http_ldap_conn *ld,
                           int result, struct err *err)
{
    char *more = NULL;
    if (ld)
        l->lib.get_option(ld, LIB_DIAGNOSTIC, &more);
    bool tls = result == LIB_CONNECT_ERROR ||
               (result == LIB_SERVER_DOWN && more &&
                (strstr(more, "certificate") || strstr(more, "unknown error")));
    enum rc rc = tls ? untrusted(l, more, err)
                     : err_coded(err, RC_IO, E5036, "%.200s: %.100s%s%.200s", l->c->url,
                                 l->lib.words(result), more && *more ? ": " : "",
                                 more ? more : "");
    if (more)
        l->lib.free_text(more);
    return rc;
}

/* TLS with a certificate that is checked, or nothing. */
static int secure(const struct http_ldap *l, struct http_ldap_conn *ld)
{
    const struct http_ldap_lib *lib = &l->lib;
    int version = 3, demand = LIB_TLS_DEMAND, client = 0;
    struct timeval wait = {.tv_sec = PATIENCE_S};
    int rc = lib->set_option(ld, LIB_VERSION, &version);
    rc = rc ? rc : lib->set_option(ld, LIB_REFERRALS, NULL); /* off */
    rc = rc ? rc : lib->set_option(ld, LIB_NETWORK_TIMEOUT, &wait);
    rc = rc ? rc : lib->set_option(ld, LIB_TIMEOUT, &wait);
    rc = rc ? rc : lib->set_option(ld, LIB_TLS_REQUIRE_CERT, &demand);
    if (!rc && l->c->ca)
        rc = lib->set_option(ld, LIB_TLS_CA_FILE, l->c->ca);
    rc = rc ? rc : lib->set_option(ld, LIB_TLS_NEW_CONTEXT, &client);
    if (!rc && str_starts(l->c->url, "ldap://"))
        rc = lib->start_tls(ld, NULL, NULL);
    return rc;
}

/* A connection as `dn`, NULL: as nobody. *wrong: the password is not that one's. */
static enum rc connect_as(const struct http_ldap *l, const char *dn, const char *password,
                          struct http_ldap_conn **out, bool *wrong, struct err *err)
{
    struct http_ldap_conn *ld = NULL;
    struct http_ldap_value word = {.n = password ? strlen(password) : 0,
                                   .p = (char *)(uintptr_t)(password ? password : "")};
    int result = l->lib.initialize(&ld, l->c->url);
    if (!result)
        result = secure(l, ld);
    if (!result)
        result = l->lib.bind(ld, dn ? dn : "", NULL, &word, NULL, NULL, NULL);
    *wrong = result == LIB_BAD_CREDENTIALS || result == LIB_NO_OBJECT ||
             result == LIB_INAPPROPRIATE || result == LIB_BAD_DN;
    enum rc rc = result && !*wrong ? unreachable(l, ld, result, err) : RC_OK;
    if (result && ld) {
        l->lib.unbind(ld, NULL, NULL);
        ld = NULL;
    }
    *out = result ? NULL : ld;
    return rc;
}

static void disconnect(const struct http_ldap *l, struct http_ldap_conn *ld)
{
    if (ld)
        l->lib.unbind(ld, NULL, NULL);
}

static enum rc connect_searcher(const struct http_ldap *l, struct http_ldap_conn **out,
                                struct err *err)
{
    bool wrong = false;
    enum rc rc = connect_as(l, l->c->bind_dn, l->c->password, out, &wrong, err);
    if (!rc && wrong)
        rc =
            err_coded(err, RC_IO, E5036, "%.200s does not accept --ldap-bind-dn '%.200s'",
                      l->c->url, l->c->bind_dn ? l->c->bind_dn : "");
    return rc;
}

/* Entries that fit, at most two; *dn (may be NULL) is that of the first, in `a`. */
static enum rc count_fits(const struct http_ldap *l, struct http_ldap_conn *ld,
                          const char *base, int scope, const char *filter,
                          struct arena *a, int *n, const char **dn, struct err *err)
{
    char none[] = "1.1", *attrs[] = {none, NULL};
    struct timeval wait = {.tv_sec = PATIENCE_S};
    struct http_ldap_message *m = NULL;
    int result =
        l->lib.search(ld, base, scope, filter, attrs, 0, NULL, NULL, &wait, 2, &m);
    enum rc rc = RC_OK;
    *n = 0;
    if (result == LIB_SUCCESS || result == LIB_SIZE_LIMIT)
        *n = l->lib.count_entries(ld, m);
    else if (result != LIB_NO_OBJECT)
        rc = unreachable(l, ld, result, err);
    char *text = *n == 1 && dn ? l->lib.get_dn(ld, l->lib.first_entry(ld, m)) : NULL;
    if (text) {
        *dn = arena_strdup(a, text);
        l->lib.free_text(text);
    }
    l->lib.free_message(m);
    return rc;
}

static enum rc find_dn(const struct http_ldap *l, const char *name, struct arena *a,
                       const char **out, struct err *err)
{
    struct http_ldap_conn *ld = NULL;
    int n = 0;
    if (l->c->user_dn) {
        char *dn = fill_in(l->c->user_dn, name, http_ldap_escape_dn);
        *out = dn ? arena_strdup(a, dn) : NULL;
        mem_free(dn);
        return RC_OK;
    }
    char *filter = fill_in(l->c->filter, name, http_ldap_escape_filter);
    enum rc rc = connect_searcher(l, &ld, err);
    if (!rc && filter)
        rc = count_fits(l, ld, l->c->base, LIB_SCOPE_TREE, filter, a, &n, out, err);
    disconnect(l, ld);
    mem_free(filter);
    return rc;
}

static enum rc is_member(const struct http_ldap *l, struct http_ldap_conn *ld,
                         const char *group, const char *dn, const char *name,
                         struct arena *a, bool *out, struct err *err)
{
    struct buf f;
    int n = 0;
    buf_init(&f, TEXT_MAX);
    buf_puts(&f, "(|(member=");
    http_ldap_escape_filter(&f, dn);
    buf_puts(&f, ")(uniqueMember=");
    http_ldap_escape_filter(&f, dn);
    buf_puts(&f, ")(memberUid=");
    http_ldap_escape_filter(&f, name);
    buf_puts(&f, "))");
    enum rc rc = buf_check(&f, err);
    if (!rc)
        rc = count_fits(l, ld, group, LIB_SCOPE_BASE, buf_str(&f), a, &n, NULL, err);
    *out = n > 0;
    buf_release(&f);
    return rc;
}

/* The highest role of all groups; NULL: of none. */
static enum rc role_of(const struct http_ldap *l, struct http_ldap_conn *ld,
                       const char *dn, const char *name, struct arena *a,
                       const char **out, struct err *err)
{
    enum http_role best = ROLE_NONE, is;
    enum rc rc = RC_OK;
    *out = l->c->role;
    for (const char *const *g = l->c->groups; g && *g && !rc; g++) {
        const char *role = arena_strndup(a, *g, strcspn(*g, "="));
        bool in = false;
        rc = is_member(l, ld, *g + strlen(role) + 1, dn, name, a, &in, err);
        if (rc || !in || !http_role_find(role, &is) || is <= best)
            continue;
        best = is;
        *out = role;
    }
    return rc;
}

static uint64_t name_hash(const char *name)
{
    return hash_xxh3(name, strlen(name));
}

static bool may_try(struct http_ldap *l, const char *name)
{
    uint64_t h = name_hash(name);
    pthread_mutex_lock(&l->lock);
    bool waits = l->guesses[h % GUESS_SLOTS].name == h &&
                 clock_mono_ns() < l->guesses[h % GUESS_SLOTS].until;
    pthread_mutex_unlock(&l->lock);
    return !waits;
}

static void note_guess(struct http_ldap *l, const char *name, bool right)
{
    uint64_t h = name_hash(name);
    size_t i = h % GUESS_SLOTS;
    pthread_mutex_lock(&l->lock);
    if (l->guesses[i].name != h || right)
        l->guesses[i].wrong = 0;
    l->guesses[i].name = h;
    l->guesses[i].until = 0;
    if (!right && ++l->guesses[i].wrong >= GUESSES_MAX)
        l->guesses[i].until = clock_mono_ns() + GUESS_WAIT_NS;
    pthread_mutex_unlock(&l->lock);
}

static enum rc refuse_password(struct err *err)
{
    return err_coded(err, RC_INVAL, E5034, "wrong name or password");
}

/* Opens the user's entry; *ld: as whom groups are asked for. */
static enum rc open_entry(struct http_ldap *l, const char *dn, const char *name,
                          const char *password, struct http_ldap_conn **ld,
                          struct err *err)
{
    bool wrong = true;
    enum rc rc = dn && *dn ? connect_as(l, dn, password, ld, &wrong, err) : RC_OK;
    if (rc)
        return rc;
    note_guess(l, name, !wrong);
    if (wrong)
        return refuse_password(err);
    if (l->c->bind_dn) {
        disconnect(l, *ld);
        *ld = NULL;
        rc = connect_searcher(l, ld, err);
    }
    return rc;
}

enum rc http_ldap_person(struct http_ldap *l, const char *name, const char *password,
                         struct arena *a, struct http_ldap_person *out, struct err *err)
{
    struct http_ldap_conn *ld = NULL;
    const char *dn = NULL, *role = NULL;
    if (!*password || !*name)
        return refuse_password(err);
    if (!may_try(l, name))
        return err_coded(err, RC_INVAL, E5011,
                         "too many wrong passwords for '%.100s'; wait %d seconds", name,
                         (int)(GUESS_WAIT_NS / CLOCK_SECOND));
    enum rc rc = find_dn(l, name, a, &dn, err);
    if (!rc)
        rc = open_entry(l, dn, name, password, &ld, err);
    if (!rc)
        rc = role_of(l, ld, dn, name, a, &role, err);
    disconnect(l, ld);
    if (!rc && !role)
        rc = err_coded(err, RC_INVAL, E5034, "'%.100s' is in no group that is let in",
                       name);
    if (!rc)
        *out = (struct http_ldap_person){.dn = dn, .role = role};
    return rc;
}
