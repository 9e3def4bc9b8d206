/* SPDX-License-Identifier: Apache-2.0 */
/* Requests go through io/http.h, with the credential of the moment in each attempt. After a 401
 * the kubeconfig is read again, for somebody may have renewed what is in it.
 */
#include "kube/client.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "io/digest.h"
#include "kube/credential.h"
#include "text/json.h"

#define TIMEOUT_S 20
#define ATTEMPTS 2
#define WORDS_MAX 600

struct kube_client {
    struct kube_options options; /* owned texts */
    struct kube_config conf;
    struct kube_credential cred;
    bool stale; /* the configuration is to be read again */
    const char *type;
};

static char *copy_of(const char *s)
{
    return s ? mem_strdup(s) : NULL;
}

enum rc kube_client_open(const struct kube_options *o, struct kube_client **out,
                         struct err *err)
{
    struct kube_client *c = mem_calloc(1, sizeof(*c));
    c->options = (struct kube_options){
        .files = copy_of(o->files), .context = copy_of(o->context), .ns = copy_of(o->ns)};
    enum rc rc = kube_config_load(o, &c->conf, err);
    if (rc)
        kube_client_close(c);
    else
        *out = c;
    return rc;
}

void kube_client_close(struct kube_client *c)
{
    if (!c)
        return;
    kube_credential_release(&c->cred);
    kube_config_release(&c->conf);
    mem_free((void *)(uintptr_t)c->options.files);
    mem_free((void *)(uintptr_t)c->options.context);
    mem_free((void *)(uintptr_t)c->options.ns);
    mem_free(c);
}

const struct kube_config *kube_client_config(const struct kube_client *c)
{
    return &c->conf;
}

void kube_client_forget(struct kube_client *c)
{
    c->stale = true;
}

/* Somebody may have written a new token into the file. */
static enum rc freshen(struct kube_client *c, struct err *err)
{
    bool refused = c->stale;
    if (refused) {
        struct kube_config again;
        enum rc rc = kube_config_load(&c->options, &again, err);
        if (rc) {
            kube_config_release(&again);
            return err_wrap(err, RC_CANCELED, "the kubeconfig was read again");
        }
        kube_credential_release(&c->cred);
        kube_config_release(&c->conf);
        c->conf = again;
        c->stale = false;
    }
    return kube_credential_renew(&c->cred, &c->conf, refused, err);
}

static void add_basic(const struct kube_config *conf, struct io_http_lines *out)
{
    char *plain = mem_printf("%s:%s", conf->user, conf->password);
    size_t n = strlen(plain);
    char *text = mem_alloc(n / 3 * 4 + 8);
    digest_base64((const unsigned char *)plain, n, text);
    io_http_line(out, "Authorization: Basic %s", text);
    mem_free(text);
    mem_free(plain);
}

static enum rc add_headers(void *arg, struct io_http_lines *out, struct err *err)
{
    const struct kube_client *c = arg;
    io_http_line(out, "Accept: application/json, */*");
    io_http_line(out, "Content-Type: %s", c->type);
    if (c->cred.token && *c->cred.token)
        io_http_line(out, "Authorization: Bearer %s", c->cred.token);
    else if (c->conf.user && c->conf.password)
        add_basic(&c->conf, out);
    return RC_OK;
}

static void fill_request(struct kube_client *c, const char *url,
                         struct io_http_request *q)
{
    q->url = url;
    q->headers = add_headers;
    q->arg = c;
    q->ca = c->conf.ca;
    q->cert = c->cred.cert;
    q->key = c->cred.key;
    q->what = c->conf.name;
}

void kube_reply_release(struct kube_reply *r)
{
    doc_release(&r->doc);
    *r = (struct kube_reply){.status = 0};
}

/* "spec.template: ...; spec.x: ..." where the message does not have them already. */
static void add_causes(const struct node *o, const char *message, struct buf *out)
{
    const struct node *causes = node_get_list(node_get_map(o, "details"), "causes");
    for (size_t i = 0; causes && i < causes->list.n && i < 5; i++) {
        const char *field = node_get_text(causes->list.at[i], "field", NULL);
        const char *said = node_get_text(causes->list.at[i], "message", "");
        if (field && !strstr(message, field))
            buf_printf(out, "; %s: %s", field, said);
    }
}

void kube_status_words(int status, const char *body, size_t n, struct buf *out)
{
    struct doc d = {0};
    bool json = json_read("it", body, n, &d, NULL) == RC_OK;
    const char *message = json ? node_get_text(d.root, "message", NULL) : NULL;
    struct str line = str_of(body, n), first;
    if (message && *message) {
        buf_puts(out, message);
        add_causes(d.root, message, out);
    } else if (!json && str_trim(line).n && *str_trim(line).p != '<') {
        line = str_trim(line);
        (void)str_split(&line, '\n', &first);
        buf_printf(out, "%.*s", first.n < 200 ? (int)first.n : 200, first.p);
    } else {
        buf_printf(out, "the API server answers with status %d", status);
    }
    doc_release(&d);
}

/* Server-side apply answers an object that says something twice with 500. */
static bool is_our_fault(const struct io_http_reply *r)
{
    return r->status == 500 &&
           strstr(buf_str(&r->body), "failed to create typed patch object");
}

static enum rc failure(const struct kube_client *c, const struct io_http_reply *r,
                       struct err *err)
{
    struct buf b;
    buf_init(&b, WORDS_MAX);
    kube_status_words(r->status, buf_str(&r->body), r->body.n, &b);
    bool conflict = r->status == 409 && strstr(buf_str(&r->body), "\"Conflict\"");
    bool passes = r->status == 401 || r->status == 408 || r->status == 429 ||
                  (r->status >= 500 && !is_our_fault(r)) || conflict;
    enum rc rc = passes ? RC_CANCELED : r->status == 404 ? RC_NOTFOUND : RC_INVAL;
    if (r->status == 401)
        rc = err_set(err, rc,
                     "%s: the API server does not accept the credentials (401): %s",
                     c->conf.name, buf_str(&b));
    else
        rc = err_set(err, rc, "%s (%d)", buf_str(&b), r->status);
    buf_release(&b);
    return rc;
}

static enum rc send_once(struct kube_client *c, const struct kube_call *q,
                         struct io_http_reply *r, struct err *err)
{
    enum rc rc = freshen(c, err);
    if (rc)
        return rc;
    char *url = mem_printf("%s%s", c->conf.server, q->path);
    struct io_http_request h = {.method = q->method,
                                .body = q->body,
                                .n_body = q->body ? strlen(q->body) : 0,
                                .attempts = q->attempts ? q->attempts : ATTEMPTS,
                                .timeout_s = q->timeout_s ? q->timeout_s : TIMEOUT_S};
    c->type = q->type ? q->type : "application/json";
    fill_request(c, url, &h);
    rc = io_http_send(&h, r, err);
    mem_free(url);
    return rc ? err_wrap(err, RC_CANCELED, "the cluster cannot be reached") : RC_OK;
}

enum rc kube_client_call(struct kube_client *c, const struct kube_call *q,
                         struct kube_reply *r, struct err *err)
{
    struct io_http_reply got = {0};
    *r = (struct kube_reply){.status = 0};
    enum rc rc = send_once(c, q, &got, err);
    if (!rc && got.status == 401) {
        kube_client_forget(c);
        io_http_reply_release(&got);
        rc = send_once(c, q, &got, err);
        if (!rc && got.status == 401)
            kube_client_forget(c);
    }
    r->status = got.status;
    if (!rc && got.status / 100 != 2)
        rc = failure(c, &got, err);
    else if (!rc && got.body.n &&
             json_read("an answer of the API server", buf_str(&got.body), got.body.n,
                       &r->doc, NULL) == RC_OK)
        r->object = r->doc.root;
    io_http_reply_release(&got);
    return rc;
}

enum rc kube_client_apply(struct kube_client *c, const char *path, const char *json,
                          struct kube_reply *r, struct err *err)
{
    char *full = mem_printf(
        "%s?fieldManager=" KUBE_MANAGER "&force=true&fieldValidation=Strict", path);
    struct kube_call q = {.method = "PATCH",
                          .path = full,
                          .type = "application/apply-patch+yaml",
                          .body = json};
    enum rc rc = kube_client_call(c, &q, r, err);
    mem_free(full);
    return rc;
}

enum rc kube_client_stream(struct kube_client *c, struct io_http_streams *set,
                           const char *path, int idle_s, struct io_http_stream **out,
                           struct err *err)
{
    enum rc rc = freshen(c, err);
    if (rc)
        return rc;
    char *url = mem_printf("%s%s", c->conf.server, path);
    struct io_http_request h = {.method = "GET", .timeout_s = idle_s};
    c->type = "application/json";
    fill_request(c, url, &h);
    rc = io_http_stream_open(set, &h, out, err);
    mem_free(url);
    return rc;
}
