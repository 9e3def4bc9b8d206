/* SPDX-License-Identifier: Apache-2.0 */
/* Logging in through an OpenID provider, or with a password of LDAP. Who comes for the first
 * time becomes a user, with the role of --oidc-role or of the LDAP groups, and is bound to the
 * provider's subject (of LDAP: the name of the entry) by a mark with a hash of it.
 * A user whom an admin made is bound only after the admin allowed it (`user update --oidc`),
 * and whoever has a name at the provider that is bound to somebody else is refused, so a name
 * that is given out twice, or chosen by its holder, opens nothing. What a login gets is an
 * ordinary token with an end.
 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "http/api_private.h"
#include "http/experiments.h"
#include "http/handlers.h"
#include "http/ldap.h"
#include "http/oidc.h"
#include "http/schemas_private.h"
#include "store/notify.h"
#include "store/users.h"
#include "team/leave.h"

#define MARK "oidc/%s"

enum rc http_get_login(struct http_call *c, struct err *err)
{
    const char *browser = NULL, *device = NULL;
    enum rc rc = RC_OK;
    if (c->api->oidc)
        rc = http_oidc_endpoints(c->api->oidc, &c->arena, &browser, &device, err);
    if (rc)
        return rc;
    json_open(&c->json, NULL, '{');
    json_put_bool(&c->json, "oidc", c->api->oidc != NULL);
    if (browser) {
        json_put_str(&c->json, "authorization_endpoint", browser);
        json_put_str(&c->json, "client_id", c->api->o.oidc.client_id);
        json_put_str(&c->json, "scope", "openid profile email");
    }
    json_put_bool(&c->json, "device", device != NULL);
    json_put_bool(&c->json, "ldap", c->api->ldap != NULL);
    json_close(&c->json, '}');
    return RC_OK;
}

static enum rc need_provider(struct http_call *c, struct err *err)
{
    if (c->api->oidc)
        return RC_OK;
    c->status = 409;
    return err_coded(err, RC_INVAL, E5034, "this server has no OpenID provider");
}

enum rc http_ask_device(struct http_call *c, struct err *err)
{
    static const char *const texts[] = {"device_code", "user_code", "verification_uri",
                                        "verification_uri_complete"};
    struct doc doc = {0};
    enum rc rc = need_provider(c, err);
    if (!rc)
        rc = http_oidc_device(c->api->oidc, &doc, err);
    if (!rc) {
        json_open(&c->json, NULL, '{');
        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
            const char *text = node_get_text(doc.root, texts[i], NULL);
            if (text)
                json_put_str(&c->json, texts[i], text);
        }
        json_put_int(&c->json, "interval", node_get_int(doc.root, "interval", 5));
        json_put_int(&c->json, "expires_in", node_get_int(doc.root, "expires_in", 600));
        json_close(&c->json, '}');
    }
    if (doc.src)
        doc_release(&doc);
    return rc;
}

/* Somebody, as whoever was asked knows them. */
struct login_person {
    const char *name;    /* for a user here */
    const char *from;    /* who says so: the address of the provider */
    const char *subject; /* who it is there, for good */
    const char *role;    /* for a new user; NULL: nobody new is taken */
    bool ruled;          /* the role is theirs to say at every login */
    const char *way;     /* "the OpenID provider" */
    int64_t lifetime_s;
};

/* 63 bits of a hash; never 0 nor below, which mean something else. */
static int64_t mark_of(const struct login_person *p)
{
    struct sha256 h;
    char text[SHA256_TEXT_SIZE];
    uint64_t v = 0;
    char *line = mem_printf("%s\n%s", p->from, p->subject);
    sha256_init(&h);
    sha256_add(&h, line, strlen(line));
    sha256_text(&h, text);
    for (int i = 0; i < 16; i++)
        v = v << 4 | (uint64_t)(text[i] <= '9' ? text[i] - '0' : text[i] - 'a' + 10);
    mem_free(line);
    return (int64_t)(v >> 1) | 1;
}

static enum rc not_you(struct http_call *c, struct err *err, const char *name,
                       const char *why)
{
    c->status = 403;
    return err_coded(err, RC_INVAL, E5034, "'%.100s' %s", name, why);
}

static enum rc add_user(struct http_call *c, const struct login_person *p,
                        struct err *err)
{
    struct store_user u = {
        .name = p->name, .role = p->role, .projects = "", .created = clock_wall_ns()};
    if (!p->role)
        return not_you(c, err, p->name,
                       "is not a user of this server; an admin can create one");
    if (!c->api->o.others)
        return not_you(c, err, p->name,
                       "cannot be let in: this server cannot isolate jobs");
    enum rc rc = http_experiments_left(c, p->name, err);
    return rc ? rc : team_leave_enter(&c->place, &u, err);
}

/* Makes or finds the user, and binds it to the subject. */
static enum rc bind_user(struct http_call *c, const struct login_person *p,
                         struct store_users *out, struct err *err)
{
    struct store *s = c->place.store;
    char *mark = mem_printf(MARK, p->name);
    int64_t is = 0, own = mark_of(p);
    enum rc rc = store_user_get(s, p->name, out, NULL);
    bool fresh = rc == RC_NOTFOUND;
    if (fresh)
        rc = add_user(c, p, err);
    if (!rc)
        rc = store_mark_get(s, mark, &is, err);
    if (!rc && !fresh && is == 0)
        rc = not_you(c, err, p->name,
                     arena_printf(&c->arena,
                                  "is a user with tokens; an admin can allow logins "
                                  "through %s: `trainyard user update NAME --oidc`",
                                  p->way));
    else if (!rc && !fresh && is > 0 && is != own)
        rc = not_you(c, err, p->name,
                     arena_printf(&c->arena, "belongs to somebody else at %s", p->way));
    if (!rc && is != own)
        rc = store_mark_set(s, mark, own, err);
    if (!rc && fresh)
        rc = store_user_get(s, p->name, out, err);
    if (!rc && out->at[0].disabled)
        rc = not_you(c, err, p->name, "is disabled");
    mem_free(mark);
    return rc;
}

/* Groups may have changed since the last login; old tokens can do no more than the user. */
static enum rc follow_role(struct http_call *c, const struct login_person *p,
                           struct store_user *u, struct err *err)
{
    if (!p->ruled || strcmp(u->role, p->role) == 0)
        return RC_OK;
    struct store_user now = *u;
    now.role = p->role;
    enum rc rc = RC_OK;
    if (strcmp(u->role, "admin") == 0)
        rc = http_keep_an_admin(c, u->name, err);
    if (!rc)
        rc = store_user_update(c->place.store, &now, err);
    if (!rc)
        u->role = arena_strdup(&c->arena, p->role);
    http_auth_forget(c->api->auth);
    return rc;
}

static enum rc hand_out(struct http_call *c, const struct login_person *p,
                        const struct store_user *u, struct err *err)
{
    char text[AUTH_TOKEN_SIZE];
    struct store_token t = {.owner = u->name,
                            .role = u->role,
                            .note = arena_printf(&c->arena, "login through %s", p->way),
                            .expires = clock_wall_ns() + p->lifetime_s * CLOCK_SECOND};
    enum rc rc = http_auth_make(c->place.store, &t, &c->arena, text, err);
    if (!rc) {
        json_open(&c->json, NULL, '{');
        json_put_bool(&c->json, "pending", false);
        json_put_str(&c->json, "token", text);
        json_put_str(&c->json, "name", u->name);
        json_put_str(&c->json, "role", u->role);
        json_put_time(&c->json, "expires", t.expires);
        json_close(&c->json, '}');
    }
    explicit_bzero(text, sizeof(text));
    return rc;
}

static enum rc let_in(struct http_call *c, const struct login_person *p, struct err *err)
{
    struct store_users users = {0};
    enum rc rc = RC_OK;
    if (http_schema_name_check(str_c(p->name)))
        rc = not_you(c, err, p->name, "is not a valid user name here");
    http_call_lock(c); /* and not while a provider was asked */
    if (!rc)
        rc = bind_user(c, p, &users, err);
    if (!rc)
        rc = follow_role(c, p, &users.at[0], err);
    if (!rc)
        rc = hand_out(c, p, &users.at[0], err);
    http_call_unlock(c);
    store_users_release(&users);
    return rc;
}

/* Servers and templates differ in the case of names that they take for the same. */
static const char *fold_dn(struct arena *a, const char *dn)
{
    char *out = arena_strdup(a, dn);
    for (char *p = out; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
    return out;
}

static enum rc login_ldap(struct http_call *c, const char *name, struct err *err)
{
    struct http_ldap_person person;
    const char *password = http_schema_text(c->body, "password", "");
    if (!c->api->ldap) {
        c->status = 409;
        return err_coded(err, RC_INVAL, E5034, "this server takes no passwords");
    }
    if (http_schema_name_check(str_c(name)))
        return not_you(c, err, name, "is not a valid user name here");
    enum rc rc = http_ldap_person(c->api->ldap, name, password, &c->arena, &person, err);
    if (rc) {
        c->status = rc == RC_IO ? 503 : err_code_of(err, rc) == E5011 ? 429 : 403;
        return rc;
    }
    const char *const *groups = c->api->o.ldap.groups;
    struct login_person p = {.name = name,
                             .from = "ldap:", /* whichever of its addresses is asked */
                             .subject = fold_dn(&c->arena, person.dn),
                             .role = person.role,
                             .ruled = groups && groups[0],
                             .way = "LDAP",
                             .lifetime_s = c->api->o.ldap.lifetime_s};
    return let_in(c, &p, err);
}

static enum rc take_proof(struct http_call *c, struct http_oidc_proof *p, struct err *err)
{
    *p = (struct http_oidc_proof){
        .code = http_schema_text(c->body, "code", NULL),
        .verifier = http_schema_text(c->body, "code_verifier", NULL),
        .redirect = http_schema_text(c->body, "redirect_uri", NULL),
        .nonce = http_schema_text(c->body, "nonce", NULL),
        .device_code = http_schema_text(c->body, "device_code", NULL)};
    if (!p->device_code && (!p->code || !p->verifier || !p->redirect || !p->nonce))
        return err_coded(
            err, RC_INVAL, E5006,
            "give device_code, or code, code_verifier, redirect_uri and nonce, or name "
            "and password");
    return RC_OK;
}

static enum rc login_oidc(struct http_call *c, struct err *err)
{
    struct http_oidc_proof proof;
    struct http_oidc_person person = {.name = NULL};
    bool pending = false;
    enum rc rc = need_provider(c, err);
    if (!rc)
        rc = take_proof(c, &proof, err);
    if (!rc)
        rc = http_oidc_person(c->api->oidc, &proof, &c->arena, &person, &pending, err);
    if (rc == RC_INVAL && !c->status)
        c->status = 403;
    if (!rc && pending) {
        c->status = 202;
        json_open(&c->json, NULL, '{');
        json_put_bool(&c->json, "pending", true);
        json_close(&c->json, '}');
    }
    if (rc || pending)
        return rc;
    struct login_person p = {.name = person.name,
                             .from = c->api->o.oidc.issuer,
                             .subject = person.subject,
                             .role = c->api->o.oidc.role,
                             .way = "the OpenID provider",
                             .lifetime_s = c->api->o.oidc.lifetime_s};
    return let_in(c, &p, err);
}

enum rc http_login(struct http_call *c, struct err *err)
{
    const char *name = http_schema_text(c->body, "name", NULL);
    return name ? login_ldap(c, name, err) : login_oidc(c, err);
}
