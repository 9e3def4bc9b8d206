/* SPDX-License-Identifier: Apache-2.0 */
/* Logging in without a token. The provider's page is opened by the person, in a browser that
 * comes back to a port of 127.0.0.1, where this process waits for it (RFC 8252); the code it
 * brings goes to the server with the verifier of PKCE (RFC 7636), and the server exchanges
 * it. `state` ties the answer to this login, `nonce` the identity token. Other requests to
 * the port are answered 404 and change nothing. A device without a browser shows a code
 * instead and asks the server until somebody has typed it (RFC 8628).
 */
#include "cmd/login_oidc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/digest.h"
#include "text/json_out.h"

#define WAIT_S 300
#define REQUEST_MAX 16384
#define CODE_MAX 4096
#define SECRET_SIZE 44 /* 32 bytes as base64url, and a NUL */

struct secrets {
    char verifier[SECRET_SIZE], challenge[SECRET_SIZE], state[SECRET_SIZE],
        nonce[SECRET_SIZE];
};

/* Base64 as in URLs, without padding, of 32 bytes. */
static void url_safe(const unsigned char bytes[32], char out[SECRET_SIZE])
{
    char text[48];
    digest_base64(bytes, 32, text);
    for (size_t i = 0; i < SECRET_SIZE - 1; i++)
        out[i] = text[i] == '+' ? '-' : text[i] == '/' ? '_' : text[i];
    out[SECRET_SIZE - 1] = '\0';
}

static enum rc draw_secret(char out[SECRET_SIZE], struct err *err)
{
    unsigned char raw[32];
    if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
        return err_sys(err, errno, "cannot get random numbers");
    url_safe(raw, out);
    return RC_OK;
}

static enum rc draw_all(struct secrets *s, struct err *err)
{
    unsigned char hash[DIGEST_SHA256];
    enum rc rc = draw_secret(s->verifier, err);
    if (!rc)
        rc = draw_secret(s->state, err);
    if (!rc)
        rc = draw_secret(s->nonce, err);
    digest_sha256(s->verifier, strlen(s->verifier), hash);
    url_safe(hash, s->challenge);
    return rc;
}

static enum rc listen_here(int64_t port, int *fd, char redirect[80], struct err *err)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0 || bind(*fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
        listen(*fd, 8) < 0 || getsockname(*fd, (struct sockaddr *)&at, &n) < 0)
        return err_sys(err, errno, "cannot listen on port %jd of 127.0.0.1",
                       (intmax_t)port);
    snprintf(redirect, 80, "http://127.0.0.1:%u/callback", ntohs(at.sin_port));
    return RC_OK;
}

static void put_query(struct buf *b, const char *name, const char *value)
{
    buf_printf(b, "&%s=", name);
    io_http_escape(b, str_c(value), false);
}

static void show_address(const struct node *ways, const struct secrets *s,
                         const char *redirect)
{
    const char *page = node_get_text(ways, "authorization_endpoint", "");
    struct buf b;
    buf_init(&b, 1 << 16);
    buf_printf(&b, "%s%cresponse_type=code", page, strchr(page, '?') ? '&' : '?');
    put_query(&b, "client_id", node_get_text(ways, "client_id", ""));
    put_query(&b, "redirect_uri", redirect);
    put_query(&b, "scope", node_get_text(ways, "scope", "openid"));
    put_query(&b, "state", s->state);
    put_query(&b, "nonce", s->nonce);
    put_query(&b, "code_challenge", s->challenge);
    put_query(&b, "code_challenge_method", "S256");
    fprintf(stderr, "open this address in a browser on this machine:\n\n  %s\n\n",
            buf_str(&b));
    buf_release(&b);
}

static int hex_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The value of `name` in a query, decoded; false: it is not there, or too long. */
static bool query_value(struct str query, const char *name, char *out, size_t size)
{
    struct str part, key;
    while (query.n && str_split(&query, '&', &part)) {
        size_t n = 0;
        if (!str_split(&part, '=', &key) || !str_is(key, name))
            continue;
        for (size_t i = 0; i < part.n && n + 1 < size; i++) {
            bool coded = part.p[i] == '%' && i + 2 < part.n &&
                         hex_of(part.p[i + 1]) >= 0 && hex_of(part.p[i + 2]) >= 0;
            int byte = coded ? hex_of(part.p[i + 1]) * 16 + hex_of(part.p[i + 2]) : 0;
            out[n++] = coded ? (char)byte : part.p[i];
            i += coded ? 2 : 0;
        }
        out[n] = '\0';
        return n > 0 && n + 1 < size;
    }
    return false;
}

static void reply(int fd, const char *status, const char *text)
{
    char *all = mem_printf("HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
                           "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
                           status, strlen(text), text);
    if (write(fd, all, strlen(all)) < 0)
        fprintf(stderr, "note: the browser does not listen any more\n");
    mem_free(all);
}

/* The first line of a request: "GET /callback?... HTTP/1.1". Its query; empty: not ours. */
static struct str query_of(const char *request)
{
    static const char start[] = "GET /callback?";
    if (!str_starts(request, start) || !strchr(request, '\n'))
        return str_c("");
    return str_of(request + strlen(start), strcspn(request + strlen(start), " \r\n"));
}

/* One visitor. *got: it was the browser, with a code or (RC_INVAL) a refusal. */
static enum rc one_visit(int fd, const struct secrets *s, char code[CODE_MAX], bool *got,
                         struct err *err)
{
    char request[REQUEST_MAX] = "", state[SECRET_SIZE + 1], why[200];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    ssize_t n = poll(&p, 1, 2000) > 0 ? read(fd, request, sizeof(request) - 1) : 0;
    request[n > 0 ? n : 0] = '\0';
    struct str query = query_of(request);
    *got = false;
    if (!query_value(query, "state", state, sizeof(state)) ||
        strcmp(state, s->state) != 0) {
        reply(fd, "404 Not Found", "nothing here\n");
        return RC_OK;
    }
    *got = true;
    if (query_value(query, "code", code, CODE_MAX)) {
        reply(fd, "200 OK", "Logged in to the provider. You can close this window.\n");
        return RC_OK;
    }
    reply(fd, "200 OK", "The login was refused. You can close this window.\n");
    if (!query_value(query, "error_description", why, sizeof(why)) &&
        !query_value(query, "error", why, sizeof(why)))
        snprintf(why, sizeof(why), "no code");
    return err_coded(err, RC_INVAL, E5034, "the OpenID provider refuses the login: %s",
                     why);
}

static enum rc wait_for_browser(int fd, const struct secrets *s, char code[CODE_MAX],
                                struct err *err)
{
    int64_t end = clock_mono_ns() + WAIT_S * CLOCK_SECOND;
    bool got = false;
    enum rc rc = RC_OK;
    while (!rc && !got && clock_mono_ns() < end) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int visitor = poll(&p, 1, 1000) > 0 ? accept4(fd, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (visitor < 0)
            continue;
        rc = one_visit(visitor, s, code, &got, err);
        close(visitor);
    }
    if (!rc && !got)
        rc = err_coded(err, RC_CANCELED, E5034, "nobody logged in within %d seconds",
                       WAIT_S);
    return rc;
}

static enum rc login_call(const struct remote *r, const char *method, const char *path,
                          const struct buf *body, struct doc *doc, int *status,
                          struct err *err)
{
    struct io_http_reply got = {0};
    struct remote_ask q = {.method = method,
                           .path = path,
                           .type = body ? "application/json" : NULL,
                           .body = body ? body->p : NULL,
                           .n = body ? body->n : 0};
    enum rc rc = remote_call(r, &q, doc, &got, err);
    if (status)
        *status = got.status;
    io_http_reply_release(&got);
    return rc;
}

static enum rc take_ways(const struct remote *r, struct doc *ways, struct err *err)
{
    enum rc rc = login_call(r, "GET", "/api/v1/login", NULL, ways, NULL, err);
    const struct node *oidc = rc ? NULL : node_find(ways->root, "oidc");
    if (!rc && !(oidc && oidc->kind == NODE_BOOL && oidc->flag))
        rc = err_coded(err, RC_INVAL, E5034,
                       "%s has no OpenID provider; log in with a token", r->url);
    return rc;
}

/* What the login left, for a token. */
static enum rc trade(struct remote *r, const struct buf *body, bool *pending,
                     struct err *err)
{
    struct doc doc = {0};
    int status = 0;
    enum rc rc = login_call(r, "POST", "/api/v1/login", body, &doc, &status, err);
    *pending = !rc && status == 202;
    if (!rc && !*pending)
        r->token = mem_strdup(node_get_text(doc.root, "token", ""));
    if (doc.src)
        doc_release(&doc);
    return rc;
}

/* The body of the request that trades a browser's code. */
static void put_code(const struct secrets *s, const char *code, const char *redirect,
                     struct buf *body)
{
    struct json_out j = {.out = body};
    json_open(&j, NULL, '{');
    json_put_str(&j, "code", code);
    json_put_str(&j, "code_verifier", s->verifier);
    json_put_str(&j, "redirect_uri", redirect);
    json_put_str(&j, "nonce", s->nonce);
    json_close(&j, '}');
}

enum rc login_browser(struct remote *r, int64_t port, struct err *err)
{
    struct secrets s;
    struct doc ways = {0};
    struct buf body;
    char redirect[80] = "", code[CODE_MAX] = "";
    int fd = -1;
    bool pending;
    buf_init(&body, 1 << 16);
    enum rc rc = take_ways(r, &ways, err);
    if (!rc)
        rc = draw_all(&s, err);
    if (!rc)
        rc = listen_here(port, &fd, redirect, err);
    if (!rc) {
        show_address(ways.root, &s, redirect);
        rc = wait_for_browser(fd, &s, code, err);
    }
    if (!rc) {
        put_code(&s, code, redirect, &body);
        rc = trade(r, &body, &pending, err);
    }
    if (fd >= 0)
        close(fd);
    if (ways.src)
        doc_release(&ways);
    explicit_bzero(&s, sizeof(s));
    buf_release(&body);
    return rc;
}

static void show_code(const struct node *d)
{
    const char *whole = node_get_text(d, "verification_uri_complete", NULL);
    fprintf(stderr, "open %s on any device and enter the code %s\n",
            node_get_text(d, "verification_uri", ""), node_get_text(d, "user_code", ""));
    if (whole)
        fprintf(stderr, "(or open %s)\n", whole);
}

/* Asks until somebody has confirmed the device, or it is too late. */
static enum rc wait_for_device(struct remote *r, const struct node *d, struct err *err)
{
    int64_t pause = node_get_int(d, "interval", 5);
    int64_t end = clock_mono_ns() + node_get_int(d, "expires_in", WAIT_S) * CLOCK_SECOND;
    bool pending = true;
    enum rc rc = RC_OK;
    struct buf body;
    struct json_out j = {.out = &body};
    buf_init(&body, 1 << 16);
    json_open(&j, NULL, '{');
    json_put_str(&j, "device_code", node_get_text(d, "device_code", ""));
    json_close(&j, '}');
    while (!rc && pending && clock_mono_ns() < end) {
        struct timespec t = {.tv_sec = pause > 0 && pause < 60 ? pause : 5};
        nanosleep(&t, NULL);
        rc = trade(r, &body, &pending, err);
    }
    if (!rc && pending)
        rc = err_coded(err, RC_CANCELED, E5034, "nobody entered the code in time");
    buf_release(&body);
    return rc;
}

enum rc login_device(struct remote *r, struct err *err)
{
    struct doc ways = {0}, d = {0};
    enum rc rc = take_ways(r, &ways, err);
    if (!rc)
        rc = login_call(r, "POST", "/api/v1/login/device", NULL, &d, NULL, err);
    if (!rc) {
        show_code(d.root);
        rc = wait_for_device(r, d.root, err);
    }
    if (ways.src)
        doc_release(&ways);
    if (d.src)
        doc_release(&d);
    return rc;
}
