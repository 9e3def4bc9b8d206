/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures are the older of the two kinds that the service takes (HMAC-SHA1 over
 * method, type, date, x-odps headers and resource): it needs no region.
 */
#include "data/odps/client.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/env.h"
#include "base/mem.h"
#include "data/odps/encoding.h"
#include "io/account.h"
#include "io/digest.h"
#include "io/xml.h"

#define CONF_MAX ((size_t)1 << 20)
#define URL_MAX ((size_t)64 << 10)
#define ANSWER_MAX ((size_t)16 << 20)
#define TUNNEL_VERSION "6"

struct odps {
    pthread_mutex_t lock; /* guards the two below */
    struct io_credentials who;
    char *tunnel; /* endpoint; NULL: not asked for yet */
    char *endpoint;
    char *quota;          /* of the tunnel; NULL: the project's */
    const char *encoding; /* asked for; NULL: none */
    bool renewable;       /* credentials come from a service */
    int attempts, timeout_s;
};

void odps_close(struct odps *o)
{
    if (!o)
        return;
    pthread_mutex_destroy(&o->lock);
    io_credentials_release(&o->who);
    mem_free(o->tunnel);
    mem_free(o->endpoint);
    mem_free(o->quota);
    mem_free(o);
}

const char *odps_quota(const struct odps *o)
{
    return o->quota;
}

static char *dup_env(const char *name)
{
    const char *v = env_get(name);
    return v ? mem_strdup(v) : NULL;
}

/* Lines key=value without sections. */
static enum rc read_conf(struct odps *o, const char *path, struct err *err)
{
    char *text = NULL;
    size_t n;
    enum rc rc = fs_read(path, CONF_MAX, &text, &n, err);
    if (rc)
        return err_wrap(err, rc, "MaxCompute");
    struct str s = str_of(text, n);
    o->who.id = io_ini_get(s, "", "access_id", false);
    o->who.secret = io_ini_get(s, "", "access_key", false);
    o->who.token = io_ini_get(s, "", "sts_token", false);
    o->endpoint = io_ini_get(s, "", "end_point", false);
    o->tunnel = io_ini_get(s, "", "tunnel_endpoint", false);
    const char *missing = !o->who.id       ? "access_id"
                          : !o->who.secret ? "access_key"
                          : !o->endpoint   ? "end_point"
                                           : NULL;
    mem_free(text);
    return missing ? err_coded(err, RC_INVAL, E1702, "'%.300s' has no line %s=", path,
                               missing)
                   : RC_OK;
}

/* Keys of the environment. None: id stays NULL. */
static enum rc env_keys(struct odps *o, struct err *err)
{
    static const char *const ids[] = {"ODPS_ACCESS_ID", "ACCESS_ID", NULL},
                             *const keys[] = {"ODPS_ACCESS_KEY", "ACCESS_KEY", NULL},
                             *const tokens[] = {"ODPS_STS_TOKEN", "STS_TOKEN", NULL};
    if (env_first(ids) && env_first(keys)) {
        o->who.id = mem_strdup(env_first(ids));
        o->who.secret = mem_strdup(env_first(keys));
        o->who.token = env_first(tokens) ? mem_strdup(env_first(tokens)) : NULL;
        return RC_OK;
    }
    o->renewable = true;
    return io_credentials_aliyun(&o->who, err);
}

static enum rc odps_client_load(struct odps *o, struct err *err)
{
    const char *conf = env_get("ODPS_CONFIG_FILE_PATH");
    if (conf)
        return read_conf(o, conf, err);
    enum rc rc = env_keys(o, err);
    if (rc)
        return rc;
    o->endpoint = dup_env("ODPS_ENDPOINT");
    if (o->who.id && o->endpoint)
        return RC_OK;
    char *home = env_home_path(".odps_config.ini");
    if (!o->who.id && home && fs_exists(home)) {
        mem_free(o->endpoint);
        o->endpoint = NULL;
        rc = read_conf(o, home, err);
        mem_free(home);
        return rc;
    }
    mem_free(home);
    if (!o->who.id)
        return err_coded(
            err, RC_INVAL, E1702,
            "no credentials for MaxCompute: set ODPS_CONFIG_FILE_PATH, or "
            "ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET");
    return err_coded(err, RC_INVAL, E1702,
                     "no endpoint for MaxCompute: set ODPS_ENDPOINT, such as "
                     "https://service.cn-hangzhou.maxcompute.aliyun.com/api");
}

static void trim_slash(char *s)
{
    size_t n = s ? strlen(s) : 0;
    while (n && s[n - 1] == '/')
        s[--n] = '\0';
}

static enum rc check_endpoint(const char *text, struct err *err)
{
    if (str_starts(text, "http://") || str_starts(text, "https://"))
        return RC_OK;
    return err_coded(err, RC_INVAL, E1702,
                     "the endpoint '%.200s' of MaxCompute does not begin with http:// or "
                     "https://",
                     text);
}

static const char *encoding_of(const char *compression)
{
    if (compression && strcmp(compression, "LZ4_FRAME") == 0)
        return ODPS_LZ4;
    return compression && strcmp(compression, "ZSTD") == 0 ? ODPS_ZSTD : NULL;
}

enum rc odps_open(const struct odps_conf *conf, struct odps **out, struct err *err)
{
    struct odps *o = mem_calloc(1, sizeof(*o));
    o->quota = conf->quota ? mem_strdup(conf->quota) : NULL;
    o->encoding = encoding_of(conf->compression);
    pthread_mutex_init(&o->lock, NULL);
    o->attempts = (int)env_int("AWS_MAX_ATTEMPTS", 1, 100, 5);
    o->timeout_s = (int)env_int("TUNNEL_READ_TIMEOUT", 1, 86400, 120);
    enum rc rc = odps_client_load(o, err);
    char *tunnel = dup_env("ODPS_TUNNEL_ENDPOINT");
    if (tunnel) {
        mem_free(o->tunnel);
        o->tunnel = tunnel;
    }
    trim_slash(o->endpoint);
    trim_slash(o->tunnel);
    if (!rc)
        rc = check_endpoint(o->endpoint, err);
    if (!rc && o->tunnel)
        rc = check_endpoint(o->tunnel, err);
    if (rc) {
        odps_close(o);
        return rc;
    }
    *out = o;
    return RC_OK;
}

void odps_canonical(const char *method, const char *type, const char *date,
                    const char *const *lines, size_t n, const char *resource,
                    const struct odps_param *params, size_t n_params, struct buf *out)
{
    buf_printf(out, "%s\n\n%s\n%s\n", method, type, date);
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s\n", lines[i]);
    buf_puts(out, resource);
    for (size_t i = 0; i < n_params; i++) {
        buf_printf(out, "%c%s", i ? '&' : '?', params[i].name);
        if (params[i].value && params[i].value[0])
            buf_printf(out, "=%s", params[i].value);
    }
}

struct signing {
    struct odps *o;
    const char *method, *resource;
    const struct odps_param *params;
    size_t n_params;
    const char *type;     /* of the body; "": none */
    const char *encoding; /* of the answer, asked for; NULL: any */
    bool tunnel, block;
};

static enum rc odps_client_renew(struct odps *o, struct err *err)
{
    if (!o->renewable || io_credentials_fresh(&o->who))
        return RC_OK;
    io_credentials_release(&o->who);
    return io_credentials_aliyun(&o->who, err);
}

static void http_date(char *out, size_t n)
{
    time_t now = time(NULL);
    struct tm tm = {0};
    (void)gmtime_r(&now, &tm);
    (void)strftime(out, n, "%a, %d %b %Y %H:%M:%S GMT", &tm);
}

static enum rc add_headers(void *arg, struct io_http_lines *out, struct err *err)
{
    const struct signing *s = arg;
    static const char *const lines[] = {"x-odps-tunnel-version:" TUNNEL_VERSION,
                                        "x-odps-user-agent:trainyard/" TY_VERSION};
    size_t skip = s->tunnel ? 0 : 1;
    char date[64], base64[64];
    unsigned char hash[DIGEST_SHA1];
    struct buf text;
    http_date(date, sizeof(date));
    buf_init(&text, URL_MAX);
    odps_canonical(s->method, s->type, date, lines + skip, ARRAY_LEN(lines) - skip,
                   s->resource, s->params, s->n_params, &text);
    enum rc rc = buf_check(&text, err);
    pthread_mutex_lock(&s->o->lock);
    if (!rc)
        rc = odps_client_renew(s->o, err);
    if (!rc) {
        digest_hmac_sha1(s->o->who.secret, strlen(s->o->who.secret),
                         str_of(buf_str(&text), text.n), hash);
        digest_base64(hash, sizeof(hash), base64);
        io_http_line(out, "Authorization: ODPS %s:%s", s->o->who.id, base64);
        if (s->o->who.token)
            io_http_line(out, "authorization-sts-token: %s", s->o->who.token);
    }
    pthread_mutex_unlock(&s->o->lock);
    buf_release(&text);
    io_http_line(out, "Date: %s", date);
    for (size_t i = skip; i < ARRAY_LEN(lines); i++) {
        const char *colon = strchr(lines[i], ':');
        io_http_line(out, "%.*s: %s", (int)(colon - lines[i]), lines[i], colon + 1);
    }
    if (s->tunnel) {
        io_http_line(out, "odps-tunnel-date-transform: v1");
        io_http_line(out, "odps-tunnel-sdk-support-schema-evolution: true");
    }
    io_http_line(out, s->type[0] ? "Content-Type: %s" : "Content-Type:%s", s->type);
    if (s->encoding)
        io_http_line(out, "Accept-Encoding: %s", s->encoding);
    if (s->block)
        io_http_line(out, "Transfer-Encoding: chunked");
    return rc;
}

static void put_url(struct buf *out, const char *endpoint, const struct signing *s)
{
    buf_printf(out, "%s%s", endpoint, s->resource);
    for (size_t i = 0; i < s->n_params; i++) {
        buf_printf(out, "%c%s", i ? '&' : '?', s->params[i].name);
        if (!s->params[i].value)
            continue;
        buf_putc(out, '=');
        io_http_escape(out, str_c(s->params[i].value), false);
    }
}

static enum rc send(struct odps *o, const char *endpoint, struct signing *s,
                    const struct odps_call *c, struct io_http_reply *r, struct err *err)
{
    struct buf url;
    char *what = mem_printf("'%.300s'", c->path->url);
    buf_init(&url, URL_MAX);
    put_url(&url, endpoint, s);
    *r = (struct io_http_reply){0};
    enum rc rc = buf_check(&url, err);
    struct io_http_request q = {.method = c->method,
                                .url = buf_str(&url),
                                .body = c->body,
                                .n_body = c->n_body,
                                .headers = add_headers,
                                .arg = s,
                                .max = c->max ? c->max : ANSWER_MAX,
                                .attempts = o->attempts,
                                .timeout_s = o->timeout_s,
                                .what = what};
    if (!rc)
        rc = io_http_send(&q, r, err);
    buf_release(&url);
    mem_free(what);
    return rc;
}

/* The service tells where its tunnel is. */
static enum rc find_tunnel(struct odps *o, const struct odps_path *path, char **out,
                           struct err *err)
{
    pthread_mutex_lock(&o->lock);
    *out = o->tunnel ? mem_strdup(o->tunnel) : NULL;
    pthread_mutex_unlock(&o->lock);
    if (*out)
        return RC_OK;
    char *resource = mem_printf("/projects/%s/tunnel", path->project);
    struct odps_param params[3] = {{"curr_project", path->project}};
    size_t n = 1;
    if (o->quota) /* may have a tunnel of its own */
        params[n++] = (struct odps_param){"quotaName", o->quota};
    params[n++] = (struct odps_param){"service", NULL};
    struct signing s = {.o = o,
                        .method = "GET",
                        .resource = resource,
                        .params = params,
                        .n_params = n,
                        .type = ""};
    struct odps_call c = {.method = "GET", .path = path};
    struct io_http_reply r;
    enum rc rc = send(o, o->endpoint, &s, &c, &r, err);
    struct str host = str_trim(str_of(buf_str(&r.body), r.body.n));
    if (!rc && r.status != 200)
        rc = odps_refused(path, &r, err);
    else if (!rc && (!host.n || host.n > 255 || memchr(host.p, '<', host.n) ||
                     memchr(host.p, '/', host.n)))
        rc = err_coded(
            err, RC_FORMAT, E1705,
            "'%.300s': the service does not tell the address of its tunnel: set "
            "ODPS_TUNNEL_ENDPOINT",
            path->url);
    if (!rc) {
        bool tls = str_starts(o->endpoint, "https:");
        *out = mem_printf("http%s://%.*s", tls ? "s" : "", (int)host.n, host.p);
        pthread_mutex_lock(&o->lock);
        if (!o->tunnel)
            o->tunnel = mem_strdup(*out);
        pthread_mutex_unlock(&o->lock);
    }
    io_http_reply_release(&r);
    mem_free(resource);
    return rc;
}

enum rc odps_send(struct odps *o, const struct odps_call *c, struct io_http_reply *r,
                  struct err *err)
{
    char *tunnel = NULL;
    *r = (struct io_http_reply){0};
    enum rc rc = find_tunnel(o, c->path, &tunnel, err);
    if (rc)
        return rc;
    char *resource =
        c->path->schema
            ? mem_printf("/projects/%s/schemas/%s/tables/%s", c->path->project,
                         c->path->schema, c->path->table)
            : mem_printf("/projects/%s/tables/%s", c->path->project, c->path->table);
    struct signing s = {.o = o,
                        .method = c->method,
                        .resource = resource,
                        .params = c->params,
                        .n_params = c->n_params,
                        .tunnel = true,
                        .block = c->body && c->n_body,
                        .type = c->body && c->n_body ? "application/octet-stream" : "",
                        .encoding = c->compressed ? o->encoding : NULL};
    rc = send(o, tunnel, &s, c, r, err);
    mem_free(resource);
    mem_free(tunnel);
    return rc;
}

enum rc odps_ask(struct odps *o, const struct odps_call *c, const char *resource,
                 struct io_http_reply *r, struct err *err)
{
    char *whole = mem_printf("/projects/%s%s", c->path->project, resource);
    struct signing s = {.o = o,
                        .method = c->method,
                        .resource = whole,
                        .params = c->params,
                        .n_params = c->n_params,
                        .type = c->body ? "application/xml" : ""};
    enum rc rc = send(o, o->endpoint, &s, c, r, err);
    mem_free(whole);
    return rc;
}

/* Errors come as XML or JSON, both with Code and Message. */
static char *word_of(const struct io_http_reply *r, const char *name)
{
    struct str body = str_of(buf_str(&r->body), r->body.n);
    char *text = xml_text(body, name);
    if (!text)
        text = io_json_get(body, name);
    for (char *c = text; c && *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    return text;
}

static bool begins(const char *s, const char *prefix)
{
    return s && str_starts(s, prefix);
}

bool odps_lacks_table(const struct io_http_reply *r)
{
    char *code = r->status == 404 ? word_of(r, "Code") : NULL;
    bool lacks = code && strcmp(code, "NoSuchTable") == 0;
    mem_free(code);
    return lacks;
}

enum rc odps_refused(const struct odps_path *path, const struct io_http_reply *r,
                     struct err *err)
{
    char *code = word_of(r, "Code"), *message = word_of(r, "Message");
    const char *c = code ? code : "", *m = message ? message : "";
    enum rc rc;
    if (begins(code, "NoSuch") || r->status == 404)
        rc = err_coded(err, RC_NOTFOUND, E1703, "'%.300s': %.60s: %.300s", path->url,
                       c[0] ? c : "not found", m);
    else if (begins(code, "InvalidDownload") || strstr(m, "xpired"))
        rc = err_coded(err, RC_IO, E1708,
                       "'%.300s': the session is gone: %d %.60s: %.300s", path->url,
                       r->status, c, m);
    else if (r->status == 401 || r->status == 403 || begins(code, "NoPermission") ||
             begins(code, "InvalidAccess") || begins(code, "Signature") ||
             begins(code, "Unauthorized"))
        rc =
            err_coded(err, RC_IO, E1704, "'%.300s': the server refuses: %d %.60s: %.300s",
                      path->url, r->status, c, m);
    else if (r->status >= 500)
        rc = err_coded(err, RC_IO, E1607,
                       "'%.300s': the server fails: %d %.60s: %.300s (%d attempt%s)",
                       path->url, r->status, c, m, r->tries, r->tries == 1 ? "" : "s");
    else
        rc = err_coded(err, RC_FORMAT, E1705,
                       "'%.300s': the server answers: %d %.60s: %.300s", path->url,
                       r->status, c, m);
    mem_free(code);
    mem_free(message);
    return rc;
}
