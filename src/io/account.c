/* SPDX-License-Identifier: Apache-2.0 */
/* The order is that of the stores' own tools: environment first, then the files of the
 * profile. Roles of machines (instance metadata) are not asked for.
 */
#include "io/account_private.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "io/http.h"
#include "io/object_store.h"

#define FILE_MAX ((size_t)1 << 20)
#define FRESH_NS (300 * CLOCK_SECOND)

void io_credentials_release(struct io_credentials *c)
{
    mem_free(c->id);
    mem_free(c->secret);
    mem_free(c->token);
    *c = (struct io_credentials){0};
}

bool io_credentials_fresh(const struct io_credentials *c)
{
    return c->expires_ns == 0 || clock_wall_ns() + FRESH_NS < c->expires_ns;
}

void io_account_release(struct io_account *a)
{
    mem_free(a->scheme);
    mem_free(a->host);
    mem_free(a->region);
    io_credentials_release(&a->who);
    *a = (struct io_account){0};
}

static bool same(struct str a, const char *b, bool fold)
{
    return fold ? a.n == strlen(b) && strncasecmp(a.p, b, a.n) == 0 : str_is(a, b);
}

char *io_ini_get(struct str text, const char *section, const char *key, bool fold)
{
    struct str line;
    bool here = section[0] == '\0';
    while (text.n && str_split(&text, '\n', &line)) {
        line = str_trim(line);
        if (!line.n || line.p[0] == '#' || line.p[0] == ';')
            continue;
        if (line.p[0] == '[') {
            const char *end = memchr(line.p, ']', line.n);
            size_t n = end ? (size_t)(end - line.p) - 1 : line.n - 1;
            here = same(str_trim(str_of(line.p + 1, n)), section, fold);
            continue;
        }
        const char *eq = memchr(line.p, '=', line.n);
        if (!here || !eq)
            continue;
        struct str k = str_trim(str_of(line.p, (size_t)(eq - line.p)));
        struct str v = str_trim(str_of(eq + 1, line.n - (size_t)(eq + 1 - line.p)));
        if (v.n && same(k, key, fold))
            return mem_strndup(v.p, v.n);
    }
    return NULL;
}

static int hex4(const char *p, size_t n)
{
    int v = 0;
    for (size_t i = 0; i < 4; i++) {
        if (i >= n || !isxdigit((unsigned char)p[i]))
            return -1;
        int c = tolower((unsigned char)p[i]);
        v = v * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return v;
}

/* A JSON string that begins behind its quote; *used counts the closing one. */
static char *json_string(struct str s, size_t *used)
{
    struct buf out;
    buf_init(&out, s.n + 4);
    size_t i = 0;
    for (; i < s.n && s.p[i] != '"'; i++) {
        if (s.p[i] != '\\' || i + 1 >= s.n) {
            buf_putc(&out, s.p[i]);
            continue;
        }
        char c = s.p[++i], bytes[4];
        int code = c == 'u' ? hex4(s.p + i + 1, s.n - i - 1) : -1;
        if (code > 0) {
            buf_add(&out, bytes, utf8_put((uint32_t)code, bytes));
            i += 4;
        } else {
            buf_putc(&out, c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c);
        }
    }
    *used = i < s.n ? i + 1 : i;
    return buf_take(&out);
}

char *io_json_get(struct str text, const char *key)
{
    size_t i = 0;
    while (i < text.n) {
        size_t used;
        if (text.p[i++] != '"')
            continue;
        char *name = json_string(str_of(text.p + i, text.n - i), &used);
        bool mine = strcmp(name, key) == 0;
        mem_free(name);
        i += used;
        while (i < text.n && isspace((unsigned char)text.p[i]))
            i++;
        if (i >= text.n || text.p[i] != ':')
            continue;
        i++;
        while (i < text.n && isspace((unsigned char)text.p[i]))
            i++;
        if (i >= text.n || text.p[i] != '"')
            continue;
        i++;
        char *value = json_string(str_of(text.p + i, text.n - i), &used);
        i += used;
        if (mine)
            return value;
        mem_free(value);
    }
    return NULL;
}

char *account_env(const char *name)
{
    const char *v = env_get(name);
    return v ? mem_strdup(v) : NULL;
}

char *account_first_env(const char *const *names)
{
    const char *v = env_first(names);
    return v ? mem_strdup(v) : NULL;
}

static enum rc ask_service(const char *url, struct io_credentials *out, struct err *err)
{
    struct io_http_request q = {.method = "GET",
                                .object = true,
                                .url = url,
                                .max = FILE_MAX,
                                .attempts = 3,
                                .timeout_s = 5,
                                .what = "ALIBABA_CLOUD_CREDENTIALS_URI"};
    struct io_http_reply r;
    enum rc rc = io_http_send(&q, &r, err);
    struct str body = str_of(buf_str(&r.body), r.body.n);
    if (!rc && r.status == 200) {
        char *until = io_json_get(body, "Expiration");
        out->id = io_json_get(body, "AccessKeyId");
        out->secret = io_json_get(body, "AccessKeySecret");
        out->token = io_json_get(body, "SecurityToken");
        if (until && !clock_from_rfc3339(str_c(until), &out->expires_ns))
            out->expires_ns = 0;
        mem_free(until);
    }
    if (!rc && (!out->id || !out->secret))
        rc = err_coded(
            err, RC_FORMAT, E1602,
            "the service of ALIBABA_CLOUD_CREDENTIALS_URI answered %d without a "
            "key",
            r.status);
    io_http_reply_release(&r);
    if (rc)
        io_credentials_release(out);
    return rc;
}

enum rc io_credentials_aliyun(struct io_credentials *out, struct err *err)
{
    const char *uri = env_get("ALIBABA_CLOUD_CREDENTIALS_URI");
    *out = (struct io_credentials){0};
    if (env_get("ALIBABA_CLOUD_ACCESS_KEY_ID") &&
        env_get("ALIBABA_CLOUD_ACCESS_KEY_SECRET")) {
        out->id = account_env("ALIBABA_CLOUD_ACCESS_KEY_ID");
        out->secret = account_env("ALIBABA_CLOUD_ACCESS_KEY_SECRET");
        out->token = account_env("ALIBABA_CLOUD_SECURITY_TOKEN");
        return RC_OK;
    }
    return uri ? ask_service(uri, out, err) : RC_OK;
}

/* The whole of a small file; an empty text when it is not there. */
char *account_file(const char *variable, const char *in_home)
{
    const char *named = variable ? env_get(variable) : NULL;
    char *path = named ? mem_strdup(named) : env_home_path(in_home), *text = NULL;
    size_t n;
    if (!path || fs_read(path, FILE_MAX, &text, &n, NULL))
        text = mem_strdup("");
    mem_free(path);
    return text;
}

/* Takes `v` when *to is still empty. */
void account_settle(char **to, char *v)
{
    if (*to)
        mem_free(v);
    else
        *to = v;
}

enum rc account_no_credentials(const char *store, const char *how, struct err *err)
{
    return err_coded(err, RC_INVAL, E1602, "no credentials for %s: set %s", store, how);
}

/* scheme://host/ -> scheme and host; a path is not part of an endpoint. */
enum rc account_endpoint(struct io_account *a, const char *text, const char *variable,
                         struct err *err)
{
    const char *sep = strstr(text, "://");
    struct str host = str_c(sep ? sep + 3 : text);
    while (host.n && host.p[host.n - 1] == '/')
        host.n--;
    if (!host.n || memchr(host.p, '/', host.n) || memchr(host.p, '@', host.n))
        return err_coded(err, RC_INVAL, E1603,
                         "%s: '%.200s' is not the address of a server, such as "
                         "https://host:port",
                         variable, text);
    a->scheme = sep ? mem_strndup(text, (size_t)(sep - text)) : mem_strdup("https");
    if (strcmp(a->scheme, "http") != 0 && strcmp(a->scheme, "https") != 0)
        return err_coded(err, RC_INVAL, E1603, "%s: '%.20s' is neither http nor https",
                         variable, a->scheme);
    a->host = mem_strndup(host.p, host.n);
    return RC_OK;
}

void account_style(struct io_account *a, const char *variable, const char *file_value,
                   bool automatic)
{
    const char *v = env_get(variable);
    v = v ? v : file_value;
    a->virtual_host = v && strcmp(v, "path") == 0      ? false
                      : v && strcmp(v, "virtual") == 0 ? true
                                                       : automatic;
}

enum rc io_account_load(const struct object_store *store, const char *host,
                        struct io_account *out, struct err *err)
{
    struct io_account a = {0};
    a.attempts = (int)env_int("AWS_MAX_ATTEMPTS", 1, 100, 5);
    a.timeout_s = (int)env_int("TRAINYARD_HTTP_TIMEOUT", 1, 86400, 30);
    enum rc rc = store->load(&a, host, err);
    if (rc) {
        io_account_release(&a);
        return rc;
    }
    *out = a;
    return RC_OK;
}
