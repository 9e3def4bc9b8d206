/* SPDX-License-Identifier: Apache-2.0 */
/* Idle handles lie on a stack: the one used last, whose connection is most likely still
 * open, is taken first. The stack is the only state of the process here; libcurl's own
 * connection cache cannot be shared by threads, so each handle keeps its own.
 */
#include "io/http.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/rng.h"
#include "io/http_private.h"

#define IDLE_MAX 64
#define BODY_MAX ((size_t)64 << 20)
#define HEAD_MAX ((size_t)64 << 10)
#define ATTEMPTS 5
#define TIMEOUT_S 30
#define PAUSE_FIRST_MS 100
#define PAUSE_MAX_MS 10000

static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    /* guarded by lock: */
    CURL *idle[IDLE_MAX];
    int n;
} handles = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static void start_curl(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

void io_http_start(void)
{
    pthread_once(&handles.once, start_curl);
}

static CURL *take_handle(void)
{
    CURL *c = NULL;
    io_http_start();
    pthread_mutex_lock(&handles.lock);
    if (handles.n)
        c = handles.idle[--handles.n];
    pthread_mutex_unlock(&handles.lock);
    return c ? c : curl_easy_init();
}

static void give_handle(CURL *c)
{
    curl_easy_reset(c);
    pthread_mutex_lock(&handles.lock);
    if (handles.n < IDLE_MAX) {
        handles.idle[handles.n++] = c;
        c = NULL;
    }
    pthread_mutex_unlock(&handles.lock);
    curl_easy_cleanup(c);
}

void io_http_close_idle(void)
{
    pthread_mutex_lock(&handles.lock);
    while (handles.n)
        curl_easy_cleanup(handles.idle[--handles.n]);
    pthread_mutex_unlock(&handles.lock);
}

void io_http_line(struct io_http_lines *l, const char *fmt, ...)
{
    va_list ap;
    char *text = NULL;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    text = mem_alloc((size_t)n + 1);
    va_start(ap, fmt);
    (void)vsnprintf(text, (size_t)n + 1, fmt, ap);
    va_end(ap);
    VEC_PUSH(&l->at, text);
}

static void lines_release(struct io_http_lines *l)
{
    for (size_t i = 0; i < l->at.n; i++)
        mem_free(l->at.at[i]);
    VEC_RELEASE(&l->at);
}

void io_http_reply_release(struct io_http_reply *r)
{
    buf_release(&r->body);
    buf_release(&r->head);
    *r = (struct io_http_reply){0};
}

struct str io_http_header(const struct io_http_reply *r, const char *name)
{
    struct str rest = str_of(buf_str(&r->head), r->head.n), line;
    size_t n = strlen(name);
    while (rest.n && str_split(&rest, '\n', &line))
        if (line.n > n && line.p[n] == ':' && strncasecmp(line.p, name, n) == 0)
            return str_trim(str_of(line.p + n + 1, line.n - n - 1));
    return str_of("", 0);
}

void io_http_escape(struct buf *out, struct str s, bool keep_slash)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
                     c == '~' || (c == '/' && keep_slash);
        if (plain)
            buf_putc(out, (char)c);
        else
            buf_printf(out, "%%%02X", c);
    }
}

/* One attempt. */
struct attempt {
    const struct io_http_request *q;
    struct io_http_reply *r;
    CURL *curl;
    char error[CURL_ERROR_SIZE];
};

static size_t on_header(char *p, size_t size, size_t n, void *arg)
{
    struct attempt *a = arg;
    if (n >= 5 && memcmp(p, "HTTP/", 5) == 0)
        buf_clear(&a->r->head); /* of the last reply only */
    buf_add(&a->r->head, p, n);
    return n;
}

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
    struct attempt *a = arg;
    long status = 0;
    (void)curl_easy_getinfo(a->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status / 100 != 2 || !a->q->to) {
        a->r->overflowed = n > a->r->body.max - a->r->body.n;
        buf_add(&a->r->body, p, n);
        a->r->got += n;
        return a->r->body.failed ? 0 : n;
    }
    size_t room = a->q->to_size - a->r->got, k = n < room ? n : room;
    memcpy((char *)a->q->to + a->r->got, p, k);
    a->r->got += k;
    a->r->overflowed = k < n;
    return k;
}

static struct curl_blob blob_of(const char *pem)
{
    return (struct curl_blob){
        .data = (void *)(uintptr_t)pem, .len = strlen(pem), .flags = CURL_BLOB_COPY};
}

/* The variable that names the file of authorities; NULL: none is set. */
static const char *bundle_of(const struct io_http_request *q)
{
    static const char *const names[] = {"AWS_CA_BUNDLE", "SSL_CERT_FILE",
                                        "CURL_CA_BUNDLE"};
    for (size_t i = q->object ? 0 : 1; i < ARRAY_LEN(names) && !q->ca; i++)
        if (env_get(names[i]))
            return names[i];
    return NULL;
}

static void set_certificates(CURL *c, const struct io_http_request *q)
{
    const char *bundle = bundle_of(q), *dir = env_get("SSL_CERT_DIR");
    if (q->ca) {
        struct curl_blob own = blob_of(q->ca);
        curl_easy_setopt(c, CURLOPT_CAINFO_BLOB, &own);
        curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
    } else if (bundle) {
        curl_easy_setopt(c, CURLOPT_CAINFO, env_get(bundle));
    }
    if (!q->ca && dir)
        curl_easy_setopt(c, CURLOPT_CAPATH, dir);
    if (q->cert && q->key) {
        struct curl_blob cert = blob_of(q->cert), key = blob_of(q->key);
        curl_easy_setopt(c, CURLOPT_SSLCERT_BLOB, &cert);
        curl_easy_setopt(c, CURLOPT_SSLKEY_BLOB, &key);
    }
}

/* Options are taken by a function of variable arguments; none of these can fail but for
 * memory, which the transfer itself would run into.
 */
void io_http_set_options(CURL *c, const struct io_http_request *q, char *error,
                         struct curl_slist *headers)
{
    long idle = q->timeout_s ? q->timeout_s : TIMEOUT_S;
    curl_easy_setopt(c, CURLOPT_URL, q->url);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, idle < 0 || idle > 10 ? 10L : idle);
    if (idle > 0) {
        curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, idle);
    }
    curl_easy_setopt(c, CURLOPT_BUFFERSIZE, 256L << 10);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "trainyard/" TY_VERSION);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, error);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    set_certificates(c, q);
    if (q->body) {
        curl_easy_setopt(c, CURLOPT_POSTFIELDS, q->body);
        curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->n_body);
    }
    if (strcmp(q->method, "HEAD") == 0)
        curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, q->method);
}

enum rc io_http_make_headers(const struct io_http_request *q, struct curl_slist **out,
                             struct err *err)
{
    struct io_http_lines lines = {0};
    struct curl_slist *headers = NULL;
    io_http_line(&lines, "Expect:");
    if (q->body && !q->headers)
        io_http_line(&lines, "Content-Type:");
    enum rc rc = q->headers ? q->headers(q->arg, &lines, err) : RC_OK;
    for (size_t i = 0; !rc && i < lines.at.n; i++) {
        struct curl_slist *more = curl_slist_append(headers, lines.at.at[i]);
        if (!more)
            rc = err_set(err, RC_NOMEM, "no memory for a request");
        else
            headers = more;
    }
    lines_release(&lines);
    if (rc)
        curl_slist_free_all(headers);
    else
        *out = headers;
    return rc;
}

static void take_body(struct attempt *a)
{
    curl_easy_setopt(a->curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(a->curl, CURLOPT_HEADERDATA, a);
    curl_easy_setopt(a->curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(a->curl, CURLOPT_WRITEDATA, a);
}

static enum rc perform(struct attempt *a, CURLcode *out, struct err *err)
{
    struct curl_slist *headers = NULL;
    enum rc rc = io_http_make_headers(a->q, &headers, err);
    a->curl = rc ? NULL : take_handle();
    if (!rc && !a->curl)
        rc = err_set(err, RC_NOMEM, "no memory for a connection");
    if (!rc) {
        long status = 0;
        io_http_set_options(a->curl, a->q, a->error, headers);
        take_body(a);
        *out = curl_easy_perform(a->curl);
        (void)curl_easy_getinfo(a->curl, CURLINFO_RESPONSE_CODE, &status);
        a->r->status = (int)status;
    }
    if (a->curl)
        give_handle(a->curl);
    curl_slist_free_all(headers);
    return rc;
}

static bool is_about_trust(CURLcode c)
{
    return c == CURLE_PEER_FAILED_VERIFICATION || c == CURLE_SSL_CACERT_BADFILE ||
           c == CURLE_SSL_ISSUER_ERROR || c == CURLE_SSL_PINNEDPUBKEYNOTMATCH;
}

static bool is_hopeless(CURLcode c)
{
    return is_about_trust(c) || c == CURLE_URL_MALFORMAT ||
           c == CURLE_UNSUPPORTED_PROTOCOL || c == CURLE_OUT_OF_MEMORY;
}

static bool worth_again(CURLcode c, int status)
{
    if (c != CURLE_OK)
        return !is_hopeless(c);
    return status == 408 || status == 429 || status >= 500;
}

static void pause_before(int try)
{
    struct rng rng;
    int64_t most = PAUSE_FIRST_MS;
    for (int i = 1; i < try && most < PAUSE_MAX_MS; i++)
        most *= 2;
    rng_init(&rng, (uint64_t)clock_wall_ns(), 0, (uint64_t)try, 0);
    most = most < PAUSE_MAX_MS ? most : PAUSE_MAX_MS;
    int64_t ms = most / 2 + (int64_t)rng_below(&rng, (uint64_t)(most / 2 + 1));
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&t, NULL);
}

static enum rc no_answer(const struct io_http_request *q, const struct attempt *a,
                         CURLcode c, struct err *err)
{
    const char *why = a->error[0] ? a->error : curl_easy_strerror(c);
    const char *what = q->what ? q->what : "request";
    if (c == CURLE_OUT_OF_MEMORY)
        return err_set(err, RC_NOMEM, "%s: no memory for the transfer", what);
    const char *bundle = bundle_of(q);
    if (is_about_trust(c))
        return err_coded(err, RC_IO, E1610,
                         "%s: the server's certificate is refused: %s%s%s%s%.200s%s",
                         what, why, bundle ? " (trusted is the file of " : "",
                         bundle ? bundle : "", bundle ? ", " : "",
                         bundle ? env_get(bundle) : "", bundle ? ")" : "");
    return err_coded(err, RC_IO, E1607, "%s: no answer after %d attempt%s: %s", what,
                     a->r->tries, a->r->tries == 1 ? "" : "s", why);
}

enum rc io_http_send(const struct io_http_request *q, struct io_http_reply *r,
                     struct err *err)
{
    int most = q->attempts ? q->attempts : ATTEMPTS;
    CURLcode c = CURLE_OK;
    *r = (struct io_http_reply){0};
    buf_init(&r->body, q->max ? q->max : BODY_MAX);
    buf_init(&r->head, HEAD_MAX);
    for (;;) {
        struct attempt a = {.q = q, .r = r};
        buf_clear(&r->body);
        buf_clear(&r->head);
        r->got = 0;
        r->overflowed = false;
        r->status = 0;
        r->tries++;
        enum rc rc = perform(&a, &c, err);
        if (rc)
            return q->what ? err_wrap(err, rc, "%s", q->what) : rc;
        if (r->head.failed || (r->body.failed && !r->overflowed))
            return err_set(err, RC_NOMEM, "%s: no memory for the answer",
                           q->what ? q->what : "request");
        if (c == CURLE_WRITE_ERROR && r->overflowed)
            c = CURLE_OK;
        if (r->tries >= most || !worth_again(c, r->status))
            return c == CURLE_OK ? RC_OK : no_answer(q, &a, c, err);
        pause_before(r->tries);
    }
}
