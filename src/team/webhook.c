/* SPDX-License-Identifier: Apache-2.0 */
/* One POST by libcurl. The address is checked when the socket is opened, after the name was
 * resolved, so a name that changes its address between check and use gains nothing. Redirects
 * are followed here, one by one, each checked as the first; of the answer the status is
 * kept, and its beginning where somebody judges it.
 */
#include "team/webhook.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "io/digest.h"

#define ANSWER_MAX (64 << 10)
#define ANSWER_KEPT 4096
#define URL_MAX 2000

struct
try {
    const struct team_net_allow *allow;
    bool refused; /* the address was not allowed */
    char address[INET6_ADDRSTRLEN];
    size_t got;
    char answer[ANSWER_KEPT];
};

/* Only the host: the rest of a webhook's URL is often a secret. */
static void shown(const char *url, char out[120])
{
    const char *host = strstr(url, "://"), *rest = host ? strpbrk(host + 3, "/?#") : NULL;
    int n = rest ? (int)(rest - url) : (int)strlen(url);
    snprintf(out, 120, "%.*s%s", n < 110 ? n : 110, url, rest && rest[1] ? "/..." : "");
}

static enum rc bad_url(const char *url, const char *what, struct err *err)
{
    char text[120];
    shown(url, text);
    return err_coded(err, RC_INVAL, E5301, "webhook '%s': %s", text, what);
}

enum rc team_webhook_check(const struct team_net_allow *allow, const char *url,
                           struct err *err)
{
    CURLU *u = curl_url();
    char *scheme = NULL, *host = NULL, *user = NULL;
    enum rc rc = RC_OK;
    if (!u)
        return err_set(err, RC_NOMEM, "out of memory");
    if (strlen(url) > URL_MAX || curl_url_set(u, CURLUPART_URL, url, 0) != CURLUE_OK ||
        curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
        curl_url_get(u, CURLUPART_HOST, &host, 0) != CURLUE_OK)
        rc = bad_url(url, "this is not a URL", err);
    else if (strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0)
        rc = bad_url(url, "only http and https are sent to", err);
    else if (curl_url_get(u, CURLUPART_USER, &user, 0) == CURLUE_OK ||
             curl_url_get(u, CURLUPART_PASSWORD, &user, 0) == CURLUE_OK)
        rc = err_coded(err, RC_INVAL, E5301, "webhook: a URL with a password is refused");
    else if (!team_net_allow_host(allow, host))
        rc = err_coded(err, RC_INVAL, E5302,
                       "webhook: host '%.200s' is not on the list of allowed hosts; "
                       "whoever runs the server can add it (TRAINYARD_NOTIFY_ALLOW)",
                       host);
    curl_free(scheme);
    curl_free(host);
    curl_free(user);
    curl_url_cleanup(u);
    return rc;
}

/* libcurl has resolved the name and wants a socket for this very address. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose,
                                 struct curl_sockaddr *addr)
{
    struct try *t = arg;
    if (purpose != CURLSOCKTYPE_IPCXN || !team_net_allow_address(t->allow, &addr->addr)) {
        const struct sockaddr *sa = &addr->addr;
        const void *at =
            sa->sa_family == AF_INET
                ? (const void *)&((const struct sockaddr_in *)(const void *)sa)->sin_addr
                : (const void *)&((const struct sockaddr_in6 *)(const void *)sa)
                      ->sin6_addr;
        t->refused = true;
        if (!inet_ntop(sa->sa_family, at, t->address, sizeof(t->address)))
            snprintf(t->address, sizeof(t->address), "?");
        return CURL_SOCKET_BAD;
    }
    return socket(addr->family, addr->socktype | SOCK_CLOEXEC, addr->protocol);
}

/* What the other side says is counted; the first of it is kept, with a NUL behind it. */
static size_t swallow(char *data, size_t size, size_t n, void *arg)
{
    struct try *t = arg;
    size_t room = t->got < ANSWER_KEPT - 1 ? ANSWER_KEPT - 1 - t->got : 0;
    memcpy(t->answer + (room ? t->got : 0), data, size * n < room ? size * n : room);
    t->got += size * n;
    return t->got > ANSWER_MAX ? 0 : size * n;
}

static struct curl_slist *headers(const struct team_webhook_message *m)
{
    struct curl_slist *l = curl_slist_append(NULL, "Content-Type: application/json");
    char *key = mem_printf("X-Trainyard-Delivery: %s", m->key);
    char *time = mem_printf("X-Trainyard-Timestamp: %jd", (intmax_t)m->time);
    l = curl_slist_append(l, key);
    l = curl_slist_append(l, time);
    if (m->secret) {
        char *text = mem_printf("%jd.%s", (intmax_t)m->time, m->body);
        unsigned char mac[DIGEST_SHA256];
        char hex[DIGEST_HEX];
        digest_hmac_sha256(m->secret, strlen(m->secret), str_c(text), mac);
        digest_hex(mac, sizeof(mac), hex);
        char *line = mem_printf("X-Trainyard-Signature: sha256=%s", hex);
        l = curl_slist_append(l, line);
        mem_free(line);
        mem_free(text);
    }
    l = curl_slist_append(l, "Expect:");
    mem_free(time);
    mem_free(key);
    return l;
}

static void set_options(CURL *h, const struct team_webhook_conf *c, const char *url,
                        const struct team_webhook_message *m, struct try *t, char *words)
{
    curl_easy_setopt(h, CURLOPT_URL, url);
    curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(h, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(h, CURLOPT_PROXY, ""); /* a proxy would hide the address */
    curl_easy_setopt(h, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(h, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(h, CURLOPT_TIMEOUT_MS,
                     (long)(c->timeout_ms > 0 ? c->timeout_ms : 10000));
    curl_easy_setopt(h, CURLOPT_USERAGENT, "trainyard");
    curl_easy_setopt(h, CURLOPT_POST, 1L);
    curl_easy_setopt(h, CURLOPT_POSTFIELDS, m->body);
    curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(m->body));
    curl_easy_setopt(h, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(h, CURLOPT_OPENSOCKETDATA, t);
    curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, swallow);
    curl_easy_setopt(h, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(h, CURLOPT_ERRORBUFFER, words);
}

/* One request. *status is the answer's; *next, the caller's, where a redirect points. */
static enum rc post(const struct team_webhook_conf *c, const char *url,
                    const struct team_webhook_message *m, long *status, char **next,
                    struct err *err)
{
    struct try t = {.allow = c->allow};
    char words[CURL_ERROR_SIZE] = "";
    CURL *h = curl_easy_init();
    if (!h)
        return err_set(err, RC_NOMEM, "out of memory");
    struct curl_slist *l = headers(m);
    set_options(h, c, url, m, &t, words);
    curl_easy_setopt(h, CURLOPT_HTTPHEADER, l);
    CURLcode code = curl_easy_perform(h);
    const char *to = NULL;
    curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, status);
    curl_easy_getinfo(h, CURLINFO_REDIRECT_URL, &to);
    *next = to ? mem_strdup(to) : NULL;
    enum rc rc = RC_OK;
    char text[120];
    shown(url, text);
    if (code == CURLE_OK && *status / 100 == 2 && m->judge)
        rc = m->judge(m->arg, t.answer, err);
    if (rc)
        err_wrap(err, rc, "webhook '%s'", text);
    else if (t.refused)
        rc = err_coded(
            err, RC_INVAL, E5302,
            "webhook '%s': address %s is not allowed; whoever runs the server can "
            "allow it (TRAINYARD_NOTIFY_ALLOW)",
            text, t.address);
    else if (code != CURLE_OK && !(code == CURLE_WRITE_ERROR && t.got > ANSWER_MAX))
        rc = err_coded(err, RC_IO, E5303, "webhook '%s': %s", text,
                       *words ? words : curl_easy_strerror(code));
    curl_slist_free_all(l);
    curl_easy_cleanup(h);
    return rc;
}

static enum rc judge(const char *url, long status, struct err *err)
{
    bool passing = status >= 500 || status == 408 || status == 425 || status == 429;
    char text[120];
    if (status >= 200 && status < 300)
        return RC_OK;
    shown(url, text);
    return err_coded(err, passing ? RC_IO : RC_INVAL, E5303,
                     "webhook '%s': answered with status %ld%s", text, status,
                     status / 100 == 3 ? "; redirects are not followed" : "");
}

enum rc team_webhook_send(const struct team_webhook_conf *c,
                          const struct team_webhook_message *m, struct err *err)
{
    char *url = mem_strdup(m->url);
    enum rc rc = RC_OK;
    for (int hop = 0;; hop++) {
        long status = 0;
        char *next = NULL;
        rc = team_webhook_check(c->allow, url, err);
        if (!rc)
            rc = post(c, url, m, &status, &next, err);
        bool on = !rc && next && hop < c->redirects && (status == 307 || status == 308);
        if (!rc && !on)
            rc = judge(url, status, err);
        if (!on) {
            mem_free(next);
            break;
        }
        mem_free(url);
        url = next;
    }
    mem_free(url);
    return rc;
}
