/* SPDX-License-Identifier: Apache-2.0 */
/* Three requests at most: the provider's own description, once; the exchange of a code for
 * tokens; and, where the identity token does not name the user, the user's description. The
 * answers of a provider are bounded, must be JSON, and are believed only as far as TLS says
 * who gave them. A description must name the issuer it was asked at, so that one provider
 * cannot speak for another.
 */
#include "http/oidc.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/digest.h"
#include "io/http.h"
#include "job/status.h"
#include "text/json.h"

#define ANSWER_MAX ((size_t)1 << 20)
#define TIMEOUT_S 10
#define SLACK_S 60 /* clocks differ */

struct http_oidc {
    const struct http_oidc_conf *c;
    pthread_mutex_t lock; /* guards `about` */
    struct doc about;     /* the provider's description; src NULL: not read yet */
};

static bool is_safe(const char *url)
{
    return str_starts(url, "https://") || str_starts(url, "http://127.0.0.1:") ||
           str_starts(url, "http://localhost:") || str_starts(url, "http://[::1]:");
}

enum rc http_oidc_open(const struct http_oidc_conf *c, struct http_oidc **out,
                       struct err *err)
{
    if (!is_safe(c->issuer))
        return err_coded(err, RC_INVAL, E5032,
                         "--oidc-issuer: '%.200s' is not an https:// address", c->issuer);
    if (!c->client_id || !*c->client_id)
        return err_coded(err, RC_INVAL, E5032, "--oidc-issuer needs --oidc-client-id");
    struct http_oidc *o = mem_calloc(1, sizeof(*o));
    o->c = c;
    pthread_mutex_init(&o->lock, NULL);
    *out = o;
    return RC_OK;
}

void http_oidc_close(struct http_oidc *o)
{
    if (!o)
        return;
    if (o->about.src)
        doc_release(&o->about);
    pthread_mutex_destroy(&o->lock);
    mem_free(o);
}

static enum rc no_provider(struct err *err, const char *url, const char *what)
{
    return err_coded(err, RC_IO, E5033, "the OpenID provider: %.200s %s", url, what);
}

struct asking {
    const char *type, *bearer;
};

static enum rc oidc_headers(void *arg, struct io_http_lines *out, struct err *err)
{
    const struct asking *q = arg;
    io_http_line(out, "Accept: application/json");
    if (q->type)
        io_http_line(out, "Content-Type: %s", q->type);
    if (q->bearer)
        io_http_line(out, "Authorization: Bearer %s", q->bearer);
    return RC_OK;
}

/* One request; *status as it came, the body as a tree. */
static enum rc oidc_ask(const char *method, const char *url, const struct buf *form,
                        const char *bearer, int *status, struct doc *out, struct err *err)
{
    struct asking asking = {.type = form ? "application/x-www-form-urlencoded" : NULL,
                            .bearer = bearer};
    struct io_http_request q = {.method = method,
                                .url = url,
                                .body = form ? form->p : NULL,
                                .n_body = form ? form->n : 0,
                                .headers = oidc_headers,
                                .arg = &asking,
                                .max = ANSWER_MAX,
                                .attempts = 2,
                                .timeout_s = TIMEOUT_S,
                                .what = url};
    struct io_http_reply reply = {0};
    struct err why = {0};
    if (!is_safe(url))
        return no_provider(err, url, "is not an https:// address");
    enum rc rc = io_http_send(&q, &reply, &why);
    if (rc)
        rc = no_provider(err, url, why.msg);
    *status = reply.status;
    if (!rc && !job_json_open(buf_str(&reply.body), out))
        rc = no_provider(err, url, "answers with something that is not JSON");
    io_http_reply_release(&reply);
    return rc;
}

/* With the lock: the provider's description, read once. */
static enum rc read_about(struct http_oidc *o, struct err *err)
{
    size_t n = strlen(o->c->issuer);
    int status = 0;
    if (o->about.src)
        return RC_OK;
    while (n && o->c->issuer[n - 1] == '/')
        n--;
    char *url = mem_printf("%.*s/.well-known/openid-configuration", (int)n, o->c->issuer);
    enum rc rc = oidc_ask("GET", url, NULL, NULL, &status, &o->about, err);
    const char *issuer = rc ? "" : node_get_text(o->about.root, "issuer", "");
    if (!rc && (status != 200 || strcmp(issuer, o->c->issuer) != 0))
        rc = no_provider(err, url, "does not describe this issuer");
    if (rc && o->about.src) {
        doc_release(&o->about);
        o->about = (struct doc){0};
    }
    mem_free(url);
    return rc;
}

/* An address of the provider by its name there; *out lies in `a`, NULL: it has none. */
static enum rc oidc_endpoint(struct http_oidc *o, const char *name, struct arena *a,
                             const char **out, struct err *err)
{
    pthread_mutex_lock(&o->lock);
    enum rc rc = read_about(o, err);
    const char *url = rc ? NULL : node_get_text(o->about.root, name, NULL);
    *out = url ? arena_strdup(a, url) : NULL;
    pthread_mutex_unlock(&o->lock);
    return rc;
}

enum rc http_oidc_endpoints(struct http_oidc *o, struct arena *a, const char **browser,
                            const char **device, struct err *err)
{
    enum rc rc = oidc_endpoint(o, "authorization_endpoint", a, browser, err);
    return rc ? rc : oidc_endpoint(o, "device_authorization_endpoint", a, device, err);
}

static void put_field(struct buf *b, const char *name, const char *value)
{
    buf_printf(b, "%s%s=", b->n ? "&" : "", name);
    io_http_escape(b, str_c(value), false);
}

static void put_client(const struct http_oidc *o, struct buf *form)
{
    put_field(form, "client_id", o->c->client_id);
    if (o->c->secret)
        put_field(form, "client_secret", o->c->secret);
}

static enum rc refused(struct err *err, const struct node *answer, const char *what)
{
    return err_coded(err, RC_INVAL, E5034, "%s: %.100s %.200s", what,
                     node_get_text(answer, "error", ""),
                     node_get_text(answer, "error_description", ""));
}

enum rc http_oidc_device(struct http_oidc *o, struct doc *out, struct err *err)
{
    struct arena a = {0};
    const char *url = NULL;
    struct buf form;
    int status = 0;
    buf_init(&form, 1 << 16);
    put_client(o, &form);
    put_field(&form, "scope", "openid profile email");
    enum rc rc = oidc_endpoint(o, "device_authorization_endpoint", &a, &url, err);
    if (!rc && !url)
        rc = err_coded(err, RC_INVAL, E5034,
                       "the OpenID provider has no login for devices");
    if (!rc)
        rc = oidc_ask("POST", url, &form, NULL, &status, out, err);
    if (!rc && status != 200)
        rc = refused(err, out->root, "the OpenID provider refuses the device");
    buf_release(&form);
    arena_release(&a);
    return rc;
}

static void put_proof(const struct http_oidc_proof *p, struct buf *form)
{
    if (p->device_code) {
        put_field(form, "grant_type", "urn:ietf:params:oauth:grant-type:device_code");
        put_field(form, "device_code", p->device_code);
        return;
    }
    put_field(form, "grant_type", "authorization_code");
    put_field(form, "code", p->code);
    put_field(form, "code_verifier", p->verifier);
    put_field(form, "redirect_uri", p->redirect);
}

static enum rc exchange(struct http_oidc *o, const struct http_oidc_proof *p,
                        struct doc *out, bool *pending, struct err *err)
{
    struct arena a = {0};
    const char *url = NULL;
    struct buf form;
    int status = 0;
    buf_init(&form, 1 << 17);
    put_client(o, &form);
    put_proof(p, &form);
    enum rc rc = oidc_endpoint(o, "token_endpoint", &a, &url, err);
    if (!rc && !url)
        rc = no_provider(err, o->c->issuer, "has no token_endpoint");
    if (!rc)
        rc = oidc_ask("POST", url, &form, NULL, &status, out, err);
    const char *error = rc ? "" : node_get_text(out->root, "error", "");
    *pending =
        strcmp(error, "authorization_pending") == 0 || strcmp(error, "slow_down") == 0;
    if (!rc && status != 200 && !*pending)
        rc = refused(err, out->root, "the OpenID provider refuses the login");
    if (form.p)
        explicit_bzero(form.p, form.n);
    buf_release(&form);
    arena_release(&a);
    return rc;
}

static int value_of(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '-'             ? 62
           : c == '_'             ? 63
                                  : -1;
}

/* Base64 as in URLs, without padding. False: it is not. */
static bool decode(struct str s, struct buf *out)
{
    unsigned bits = 0;
    int n = 0;
    for (size_t i = 0; i < s.n; i++) {
        int v = value_of(s.p[i]);
        if (v < 0)
            return false;
        bits = bits << 6 | (unsigned)v;
        n += 6;
        if (n >= 8) {
            n -= 8;
            buf_putc(out, (char)(bits >> n & 0xff));
        }
    }
    return n < 6;
}

enum rc http_oidc_claims(const char *token, struct doc *out, struct err *err)
{
    struct str rest = str_c(token), head, body;
    struct buf text;
    buf_init(&text, ANSWER_MAX);
    bool is = str_split(&rest, '.', &head) && str_split(&rest, '.', &body) && rest.n &&
              decode(body, &text) && !memchr(buf_str(&text), 0, text.n) &&
              job_json_open(buf_str(&text), out) && out->root->kind == NODE_MAP;
    buf_release(&text);
    return is ? RC_OK : err_coded(err, RC_INVAL, E5034, "not an identity token");
}

static bool is_for_us(const struct http_oidc_conf *c, const struct node *claims)
{
    const struct node *aud = node_find(claims, "aud");
    if (aud && aud->kind == NODE_STR)
        return strcmp(aud->text.p, c->client_id) == 0;
    bool found = false;
    for (size_t i = 0; aud && aud->kind == NODE_LIST && i < aud->list.n; i++)
        found |= aud->list.at[i]->kind == NODE_STR &&
                 strcmp(aud->list.at[i]->text.p, c->client_id) == 0;
    return found && (aud->list.n == 1 ||
                     strcmp(node_get_text(claims, "azp", ""), c->client_id) == 0);
}

enum rc http_oidc_check(const struct http_oidc_conf *c, const struct node *claims,
                        const char *nonce, int64_t now, struct err *err)
{
    int64_t s = now / CLOCK_SECOND;
    const char *wrong = NULL;
    if (strcmp(node_get_text(claims, "iss", ""), c->issuer) != 0)
        wrong = "is of another issuer";
    else if (!is_for_us(c, claims))
        wrong = "is for another client";
    else if (node_get_int(claims, "exp", 0) + SLACK_S < s)
        wrong = "has expired";
    else if (node_get_int(claims, "iat", s) - SLACK_S > s)
        wrong = "is of the future";
    else if (nonce && strcmp(node_get_text(claims, "nonce", ""), nonce) != 0)
        wrong = "answers another login";
    else if (!*node_get_text(claims, "sub", ""))
        wrong = "names nobody";
    return wrong ? err_coded(err, RC_INVAL, E5034, "the identity token %s", wrong)
                 : RC_OK;
}

/* More about the user, where the identity token has no name. */
static enum rc user_info(struct http_oidc *o, const char *access, const char *subject,
                         struct doc *out, struct err *err)
{
    struct arena a = {0};
    const char *url = NULL;
    int status = 0;
    enum rc rc = oidc_endpoint(o, "userinfo_endpoint", &a, &url, err);
    if (!rc && (!url || !*access))
        rc = err_coded(err, RC_INVAL, E5034, "the OpenID provider does not tell '%.60s'",
                       o->c->claim);
    if (!rc)
        rc = oidc_ask("GET", url, NULL, access, &status, out, err);
    if (!rc &&
        (status != 200 || strcmp(node_get_text(out->root, "sub", ""), subject) != 0))
        rc = err_coded(err, RC_INVAL, E5034,
                       "the OpenID provider speaks of somebody else");
    arena_release(&a);
    return rc;
}

/* The user's name here: the claim, less the domain of an address. */
static enum rc name_of(const struct http_oidc_conf *c, const struct node *claims,
                       struct arena *a, const char **out, struct err *err)
{
    const char *text = node_get_text(claims, c->claim, NULL);
    const char *at = text ? strchr(text, '@') : NULL;
    const struct node *verified = node_find(claims, "email_verified");
    if (!text || !*text)
        return RC_NOTFOUND;
    if (!at) {
        *out = arena_strdup(a, text);
        return RC_OK;
    }
    if (!c->domain || strcmp(at + 1, c->domain) != 0)
        return err_coded(err, RC_INVAL, E5034, "'%.100s' is not of the domain '%.100s'",
                         text, c->domain ? c->domain : "(--oidc-domain is not set)");
    if (strcmp(c->claim, "email") == 0 &&
        !(verified && verified->kind == NODE_BOOL && verified->flag))
        return err_coded(err, RC_INVAL, E5034, "'%.100s' is not a verified address",
                         text);
    *out = arena_strndup(a, text, (size_t)(at - text));
    return RC_OK;
}

static enum rc read_person(struct http_oidc *o, const struct http_oidc_proof *p,
                           const struct node *tokens, struct arena *a,
                           struct http_oidc_person *out, struct err *err)
{
    struct doc claims = {0}, more = {0};
    enum rc rc = http_oidc_claims(node_get_text(tokens, "id_token", ""), &claims, err);
    if (!rc)
        rc = http_oidc_check(o->c, claims.root, p->device_code ? NULL : p->nonce,
                             clock_wall_ns(), err);
    if (!rc) {
        out->subject = arena_strdup(a, node_get_text(claims.root, "sub", ""));
        rc = name_of(o->c, claims.root, a, &out->name, err);
    }
    if (rc == RC_NOTFOUND) {
        rc = user_info(o, node_get_text(tokens, "access_token", ""), out->subject, &more,
                       err);
        if (!rc)
            rc = name_of(o->c, more.root, a, &out->name, err);
        if (rc == RC_NOTFOUND)
            rc = err_coded(err, RC_INVAL, E5034,
                           "the OpenID provider does not tell '%.60s'", o->c->claim);
    }
    if (claims.src)
        doc_release(&claims);
    if (more.src)
        doc_release(&more);
    return rc;
}

enum rc http_oidc_person(struct http_oidc *o, const struct http_oidc_proof *p,
                         struct arena *a, struct http_oidc_person *out, bool *pending,
                         struct err *err)
{
    struct doc tokens = {0};
    enum rc rc = exchange(o, p, &tokens, pending, err);
    if (!rc && !*pending)
        rc = read_person(o, p, tokens.root, a, out, err);
    if (tokens.src)
        doc_release(&tokens);
    return rc;
}
