/* SPDX-License-Identifier: Apache-2.0 */
/* Which server is meant is decided in one place: the flag, the variable, what login stored.
 * An error of the server keeps its code and words, so that it reads as if it had happened
 * here.
 */
#include "cmd/remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/status.h"

#define ATTEMPTS 3
#define ATTEMPTS_PATIENT 10 /* about half a minute */

#define LOGIN_MAX ((size_t)2 << 20)
#define CA_MAX ((size_t)1 << 20)

static char *login_path(void)
{
    const char *config = env_get("XDG_CONFIG_HOME");
    if (config)
        return fs_join(config, "trainyard/login.json");
    return env_home_path(".config/trainyard/login.json");
}

static char *clean_url(const char *url)
{
    size_t n = strlen(url);
    while (n && url[n - 1] == '/')
        n--;
    return mem_strndup(url, n);
}

/* What was stored; both NULL when there is nothing. */
static enum rc read_login(struct remote *out, struct err *err)
{
    char *path = login_path(), *text = NULL;
    size_t n;
    struct stat st;
    struct doc doc = {0};
    *out = (struct remote){.url = NULL};
    if (!path || stat(path, &st) < 0) {
        mem_free(path);
        return RC_OK;
    }
    enum rc rc = RC_OK;
    if (st.st_mode & 077)
        rc = err_coded(err, RC_INVAL, E5019, "'%s' can be read by others: chmod 600",
                       path);
    if (!rc)
        rc = fs_read(path, LOGIN_MAX, &text, &n, err);
    const struct node *root = rc ? NULL : job_json_open(text, &doc);
    if (!rc && !root)
        rc = err_coded(err, RC_FORMAT, E5019, "'%s' is damaged; log in again", path);
    if (!rc) {
        out->url = mem_strdup(node_get_text(root, "url", ""));
        out->token = mem_strdup(node_get_text(root, "token", ""));
        const char *ca = node_get_text(root, "ca", NULL);
        out->ca = ca ? mem_strdup(ca) : NULL;
    }
    if (doc.src)
        doc_release(&doc);
    if (text)
        explicit_bzero(text, n);
    mem_free(text);
    mem_free(path);
    return rc;
}

enum rc remote_stored(struct remote *out, struct err *err)
{
    return read_login(out, err);
}

/* The host of an http:// URL is this machine: by its name, or by a number. */
static bool is_near(const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_starts(host, names[i]) && strchr(":/", host[strlen(names[i])]))
            return true; /* the NUL at the end counts as one of them */
    return false;
}

/* Bytes that may not stand in a line of a request. */
static bool has_gaps(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || *text == 0x7f)
            return true;
    return false;
}

/* But for the end of the line, as files have it. */
static bool has_gaps_inside(const char *token)
{
    size_t n = strcspn(token, "\r\n");
    if (strspn(token + n, "\r\n") < strlen(token + n))
        return true;
    char *line = mem_strndup(token, n);
    bool gaps = has_gaps(line);
    explicit_bzero(line, n);
    mem_free(line);
    return gaps;
}

enum rc remote_check_url(const char *url, struct err *err)
{
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    if (has_gaps(url))
        return err_coded(err, RC_INVAL, E5017,
                         "the server URL holds a blank or a control character");
    if (memchr(host, '@', strcspn(host, "/")))
        return err_coded(err, RC_INVAL, E5017,
                         "the server URL names a user or a password, which are not sent: "
                         "log in, or set TRAINYARD_TOKEN");
    if (str_starts(url, "https://") || (str_starts(url, "http://") && is_near(url + 7)))
        return RC_OK;
    return err_coded(err, RC_INVAL, E5017,
                     "'%.200s' is not a server URL: https://..., or http:// to this "
                     "machine alone, because the token would travel in the clear",
                     url);
}

enum rc remote_server(const char *given, bool stored, struct remote *out, struct err *err)
{
    const char *url = given && *given ? given : env_get("TRAINYARD_SERVER");
    const char *token = env_get("TRAINYARD_TOKEN");
    struct remote login = {0};
    *out = (struct remote){.url = NULL};
    if (url && strcmp(url, "local") == 0)
        return RC_OK;
    if (!url && !stored)
        return RC_OK;
    enum rc rc = url ? remote_check_url(url, err) : RC_OK;
    if (!rc)
        rc = read_login(&login, err);
    if (rc)
        return rc;
    if (!url && !login.url)
        return RC_OK;
    if (token && has_gaps_inside(token))
        rc = err_coded(err, RC_INVAL, E5017,
                       "TRAINYARD_TOKEN holds a blank or a control character");
    if (rc) {
        remote_release(&login);
        return rc;
    }
    out->url = clean_url(url ? url : login.url);
    if (token)
        out->token = mem_strndup(token, strcspn(token, "\r\n")); /* as files end */
    else if (login.url && strcmp(out->url, login.url) == 0)
        out->token = mem_strdup(login.token);
    if (login.url && login.ca && strcmp(out->url, login.url) == 0)
        out->ca = mem_strdup(login.ca);
    remote_release(&login);
    return RC_OK;
}

void remote_release(struct remote *r)
{
    if (r->token)
        explicit_bzero(r->token, strlen(r->token));
    mem_free(r->token);
    mem_free(r->ca);
    mem_free(r->url);
    *r = (struct remote){.url = NULL};
}

enum rc remote_store(const struct remote *r, char **out, struct err *err)
{
    char *path = login_path();
    struct buf b;
    if (!path)
        return err_coded(err, RC_INVAL, E5019, "there is no home directory");
    char *dir = fs_dirname(path);
    buf_init(&b, LOGIN_MAX);
    buf_puts(&b, "{\"url\": ");
    buf_json_str(&b, r->url, strlen(r->url));
    buf_puts(&b, ", \"token\": ");
    buf_json_str(&b, r->token, strlen(r->token));
    if (r->ca) {
        buf_puts(&b, ", \"ca\": ");
        buf_json_str(&b, r->ca, strlen(r->ca));
    }
    buf_puts(&b, "}\n");
    enum rc rc = buf_check(&b, err);
    if (!rc)
        rc = fs_mkdirs(dir, 0700, err);
    if (!rc)
        rc = fs_write(path, b.p, b.n, 0600, err);
    if (rc && err)
        err->code = E5019;
    if (b.p)
        explicit_bzero(b.p, b.n);
    buf_release(&b);
    mem_free(dir);
    if (rc)
        mem_free(path);
    else
        *out = path;
    return rc;
}

enum rc remote_forget(bool *was, struct err *err)
{
    char *path = login_path();
    enum rc rc = RC_OK;
    *was = path && unlink(path) == 0;
    if (path && !*was && errno != ENOENT)
        rc = err_coded(err, RC_IO, E5019, "'%s': %s", path, strerror(errno));
    mem_free(path);
    return rc;
}

enum rc remote_read_ca(const char *path, char **out, struct err *err)
{
    size_t n = 0;
    char *text = NULL;
    enum rc rc = fs_read(path, CA_MAX, &text, &n, err);
    if (!rc && !strstr(text, "-----BEGIN CERTIFICATE-----"))
        rc = err_coded(err, RC_INVAL, E5031, "'%.200s' holds no certificate (PEM)", path);
    if (rc)
        mem_free(text);
    else
        *out = text;
    return rc;
}

/* Who issued the certificate is not known here: what to do about it. */
static enum rc not_trusted(const struct remote *r, struct err *err)
{
    static const char *const names[] = {"SSL_CERT_FILE", "CURL_CA_BUNDLE"};
    size_t i = 0;
    while (i < ARRAY_LEN(names) && !env_get(names[i]))
        i++;
    if (r->ca || i == ARRAY_LEN(names))
        return err_coded(
            err, RC_IO, E5031,
            "the certificate of %s is not trusted: log in with --ca FILE, or name "
            "the file in SSL_CERT_FILE",
            r->url);
    return err_coded(
        err, RC_IO, E5031,
        "the certificate of %s is not trusted by '%.200s', which %s names: log "
        "in with --ca FILE, or name another file in SSL_CERT_FILE",
        r->url, env_get(names[i]), names[i]);
}

/* A port that speaks TLS hangs up on plain HTTP. */
static enum rc not_reached(const struct remote *r, enum rc rc, struct err *err)
{
    if (str_starts(r->url, "http://") && strstr(err->msg, "Empty reply"))
        return err_coded(err, rc, E5017, "%s does not answer http; try https%s", r->url,
                         r->url + strlen("http"));
    err->code = E5017;
    return rc;
}

struct sending {
    const struct remote *r;
    const struct remote_ask *q;
};

static enum rc put_headers(void *arg, struct io_http_lines *out, struct err *err)
{
    const struct sending *s = arg;
    if (s->r->token)
        io_http_line(out, "Authorization: Bearer %s", s->r->token);
    if (s->q->type)
        io_http_line(out, "Content-Type: %s", s->q->type);
    if (s->q->range)
        io_http_line(out, "Range: %s", s->q->range);
    return RC_OK;
}

static enum rc rc_of(int status)
{
    return status == 404   ? RC_NOTFOUND
           : status == 409 ? RC_CANCELED
           : status == 400 || status == 413 || status == 415 || status == 422 ? RC_INVAL
                                                                              : RC_IO;
}

/* {"code", "message"} of the server becomes our failure. */
static enum rc take_error(const struct remote *r, const struct io_http_reply *reply,
                          struct err *err)
{
    struct doc doc = {0};
    const struct node *root = job_json_open(buf_str(&reply->body), &doc);
    const char *message = node_get_text(root, "message", NULL);
    const char *id = node_get_text(root, "code", "");
    const struct code_info *known = code_find(id);
    enum code code = known ? known->code : E5018;
    enum rc rc = err_coded(err, rc_of(reply->status), message ? code : E5017,
                           "%s: %.500s", r->url, message ? message : "no server of ours");
    if (!message && err)
        err_coded(
            err, rc, E5017,
            "%s answered with status %d, which is not an answer of a Trainyard server",
            r->url, reply->status);
    if (doc.src)
        doc_release(&doc);
    return rc;
}

enum rc remote_call(const struct remote *r, const struct remote_ask *q, struct doc *doc,
                    struct io_http_reply *reply, struct err *err)
{
    struct sending s = {.r = r, .q = q};
    char *url = mem_printf("%s%s", r->url, q->path);
    struct io_http_request req = {.method = q->method,
                                  .url = url,
                                  .body = q->body,
                                  .n_body = q->n,
                                  .headers = put_headers,
                                  .arg = &s,
                                  .max = q->max,
                                  .attempts = q->patient ? ATTEMPTS_PATIENT : ATTEMPTS,
                                  .ca = r->ca,
                                  .what = r->url};
    struct io_http_reply got = {0};
    enum rc rc = io_http_send(&req, &got, err);
    if (rc && err && err->code == E1610)
        rc = not_trusted(r, err);
    else if (rc && err)
        rc = not_reached(r, rc, err);
    if (!rc && got.status >= 300)
        rc = take_error(r, &got, err);
    if (!rc && doc && !job_json_open(buf_str(&got.body), doc))
        rc = err_coded(err, RC_IO, E5017, "%s: an answer that is not JSON", r->url);
    mem_free(url);
    if (!rc && reply)
        *reply = got;
    else
        io_http_reply_release(&got);
    return rc;
}

/* The answer is a part, or all of it where `at` is 0; of the version that was begun. */
static enum rc take_part(const struct io_http_reply *reply, int64_t at, char version[80],
                         struct buf *out, struct err *err)
{
    struct str tag = io_http_header(reply, "ETag");
    char now[80];
    snprintf(now, sizeof(now), "%.*s", (int)tag.n, tag.p ? tag.p : "");
    if (*version && strcmp(version, now) != 0)
        return err_coded(err, RC_CANCELED, E5503, "the file was changed meanwhile");
    memcpy(version, now, sizeof(now));
    if (reply->status != 206 && at > 0)
        return err_coded(err, RC_IO, E5017, "the server does not send parts of files");
    buf_add(out, buf_str(&reply->body), reply->body.n);
    return RC_OK;
}

enum rc remote_part(const struct remote *r, const char *path, int64_t at, size_t most,
                    char version[80], struct buf *out, struct err *err)
{
    char range[64];
    struct io_http_reply reply = {0};
    snprintf(range, sizeof(range), "bytes=%jd-%jd", (intmax_t)at,
             (intmax_t)(at + (int64_t)most - 1));
    struct remote_ask q = {
        .method = "GET", .path = path, .range = range, .patient = true};
    enum rc rc = remote_call(r, &q, NULL, &reply, err);
    if (!rc)
        rc = take_part(&reply, at, version, out, err);
    io_http_reply_release(&reply);
    return rc;
}
