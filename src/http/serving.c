/* SPDX-License-Identifier: Apache-2.0 */
/* Model servers (`trainyard serve`) that this server knows by name: what they serve, their
 * counters, and requests that somebody wants to try. The browser asks this server, which asks
 * them with a token that no browser sees; only addresses that were given at the start are ever asked.
 */
#include <string.h>

#include "base/code.h"
#include "http/api_private.h"
#include "http/handlers.h"
#include "http/schemas_private.h"
#include "http/serving.h"
#include "io/http.h"
#include "job/status.h"
#include "text/node.h"

#define ANSWER_MOST ((size_t)16 << 20)
#define PATIENCE_S 15

static bool is_url(const char *text)
{
    struct str s = str_c(text);
    size_t scheme = str_starts(text, "http://")    ? 7
                    : str_starts(text, "https://") ? 8
                                                   : 0;
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f || strchr("?#@\\", *c))
            return false;
    return scheme && s.n > scheme && text[scheme] != '/' && text[s.n - 1] != '/';
}

static size_t name_length(const char *given)
{
    const char *eq = strchr(given, '=');
    return eq ? (size_t)(eq - given) : 0;
}

enum rc http_serving_check(const char *const *all, struct err *err)
{
    for (size_t i = 0; all && all[i]; i++) {
        size_t n = name_length(all[i]);
        if (!n || http_schema_name_check(str_of(all[i], n)) || !is_url(all[i] + n + 1))
            return err_coded(err, RC_INVAL, E5040,
                             "--serving: '%.200s' is not NAME=URL, such as "
                             "ctr=http://127.0.0.1:8500",
                             all[i]);
        for (size_t k = 0; k < i; k++)
            if (name_length(all[k]) == n && strncmp(all[k], all[i], n) == 0)
                return err_coded(err, RC_INVAL, E5040, "--serving: '%.*s' is there twice",
                                 (int)n, all[i]);
    }
    return RC_OK;
}

/* The address of params[0]; NULL: there is none of this name. */
static const char *url_of(const struct http_call *c)
{
    const char *const *all = c->api->o.serving;
    size_t n = strlen(c->params[0]);
    for (size_t i = 0; all && all[i]; i++)
        if (name_length(all[i]) == n && strncmp(all[i], c->params[0], n) == 0)
            return all[i] + n + 1;
    return NULL;
}

static enum rc put_token(void *arg, struct io_http_lines *out, struct err *err)
{
    const struct http_call *c = arg;
    if (c->api->o.serving_token)
        io_http_line(out, "Authorization: Bearer %s", c->api->o.serving_token);
    if (c->raw.n)
        io_http_line(out, "Content-Type: application/json");
    return RC_OK;
}

/* What it says is wrong is passed on with its own code where that is one of ours. */
static enum rc pass_error(struct http_call *c, const struct io_http_reply *r,
                          struct err *err)
{
    struct doc doc = {0};
    const struct node *why = node_find(job_json_open(buf_str(&r->body), &doc), "error");
    const struct code_info *code = code_find(node_get_text(why, "code", ""));
    bool theirs = r->status >= 400 && r->status < 500 && r->status != 401 && why;
    c->status = theirs ? (unsigned)r->status : 503;
    enum rc rc =
        r->status == 401
            ? err_coded(err, RC_INVAL, E5041,
                        "model server '%.128s' does not accept the token of "
                        "--serving-token-file",
                        c->params[0])
            : err_coded(err, RC_INVAL, code ? code->code : E5041,
                        "model server '%.128s' answered %d: %.300s", c->params[0],
                        r->status, node_get_text(why, "message", "no reason"));
    if (doc.src)
        doc_release(&doc);
    return rc;
}

static enum rc take_json(struct http_call *c, const struct io_http_reply *r,
                         struct err *err)
{
    struct doc doc = {0};
    const struct node *root = job_json_open(buf_str(&r->body), &doc);
    bool good = root && root->kind == NODE_MAP;
    if (doc.src)
        doc_release(&doc);
    if (!good) {
        c->status = 503;
        return err_coded(err, RC_INVAL, E5041,
                         "the answer of model server '%.128s' is no JSON object",
                         c->params[0]);
    }
    buf_add(&c->out, buf_str(&r->body), r->body.n);
    return RC_OK;
}

static enum rc ask(struct http_call *c, const char *path, struct io_http_reply *r,
                   struct err *err)
{
    struct err why = {0};
    const char *url = url_of(c);
    if (!url)
        return err_coded(err, RC_NOTFOUND, E3111, "no model server '%.128s'",
                         c->params[0]);
    url = arena_printf(&c->arena, "%s%s", url, path);
    struct io_http_request q = {.method = c->route->method,
                                .url = url,
                                .body = c->raw.n ? c->raw.p : NULL,
                                .n_body = c->raw.n,
                                .headers = put_token,
                                .arg = c,
                                .max = ANSWER_MOST,
                                .attempts = 1,
                                .timeout_s = PATIENCE_S,
                                .ca = c->api->peer_ca,
                                .what = url};
    enum rc rc = io_http_send(&q, r, &why);
    if (rc) {
        c->status = 503;
        return err_coded(err, RC_IO, E5041, "model server '%.128s': %.300s", c->params[0],
                         why.msg);
    }
    return r->status == 200 ? RC_OK : pass_error(c, r, err);
}

static enum rc ask_json(struct http_call *c, const char *path, struct err *err)
{
    struct io_http_reply r = {0};
    enum rc rc = ask(c, path, &r, err);
    if (!rc)
        rc = take_json(c, &r, err);
    io_http_reply_release(&r);
    return rc;
}

enum rc http_list_serving(struct http_call *c, struct err *err)
{
    const char *const *all = c->api->o.serving;
    json_open(&c->json, NULL, '{');
    json_open(&c->json, "serving", '[');
    for (size_t i = 0; all && all[i]; i++) {
        size_t n = name_length(all[i]);
        json_open(&c->json, NULL, '{');
        json_put_str(&c->json, "name", arena_strndup(&c->arena, all[i], n));
        json_put_str(&c->json, "url", all[i] + n + 1);
        json_close(&c->json, '}');
    }
    json_close(&c->json, ']');
    json_close(&c->json, '}');
    return RC_OK;
}

enum rc http_get_serving(struct http_call *c, struct err *err)
{
    return ask_json(c, "/model", err);
}

enum rc http_get_serving_samples(struct http_call *c, struct err *err)
{
    return ask_json(c, "/samples", err);
}

enum rc http_score_serving(struct http_call *c, struct err *err)
{
    return ask_json(c, "/score", err);
}

enum rc http_get_serving_counters(struct http_call *c, struct err *err)
{
    struct io_http_reply r = {0};
    enum rc rc = ask(c, "/metrics", &r, err);
    if (!rc)
        buf_add(&c->out, buf_str(&r.body), r.body.n);
    c->type = "text/plain; charset=utf-8";
    io_http_reply_release(&r);
    return rc;
}
