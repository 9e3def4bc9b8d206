/* SPDX-License-Identifier: Apache-2.0 */
#include "io/sign.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "io/digest.h"

#define TEXT_MAX ((size_t)1 << 20)

static const struct {
    const char *algorithm, *prefix, *end;
} kinds[] = {
    [SIGN_AWS4] = {"AWS4-HMAC-SHA256", "AWS4", "aws4_request"},
    [SIGN_OSS4] = {"OSS4-HMAC-SHA256", "aliyun_v4", "aliyun_v4_request"},
};

void sign_date(int64_t wall_ns, char out[SIGN_DATE_SIZE])
{
    time_t t = (time_t)(wall_ns / CLOCK_SECOND);
    struct tm tm = {0};
    (void)gmtime_r(&t, &tm);
    (void)strftime(out, SIGN_DATE_SIZE, "%Y%m%dT%H%M%SZ", &tm);
}

/* OSS signs these by itself; what else is signed has to be listed. */
static bool is_listed(const struct sign_key *key, const char *name)
{
    if (key->kind == SIGN_AWS4)
        return true;
    return strcmp(name, "content-type") != 0 && strcmp(name, "content-md5") != 0 &&
           !str_starts(name, "x-oss-");
}

static void put_names(const struct sign_key *key, const struct sign_request *q,
                      struct buf *out)
{
    bool first = true;
    for (size_t i = 0; i < q->n_headers; i++) {
        if (!is_listed(key, q->headers[i].name))
            continue;
        buf_printf(out, "%s%s", first ? "" : ";", q->headers[i].name);
        first = false;
    }
}

/* Blanks at both ends go, several in a row become one. */
static void put_value(struct buf *out, const char *value)
{
    struct str s = str_trim(str_c(value));
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != ' ' || s.p[i - 1] != ' ')
            buf_putc(out, s.p[i]);
}

void sign_canonical(const struct sign_key *key, const struct sign_request *q,
                    struct buf *out)
{
    buf_printf(out, "%s\n%s\n%s\n", q->method, q->path, q->query);
    for (size_t i = 0; i < q->n_headers; i++) {
        buf_printf(out, "%s:", q->headers[i].name);
        put_value(out, q->headers[i].value);
        buf_putc(out, '\n');
    }
    buf_putc(out, '\n');
    put_names(key, q, out);
    buf_printf(out, "\n%s", q->payload);
}

static void derive(const struct sign_key *key, const char *day,
                   unsigned char out[DIGEST_SHA256])
{
    struct buf first;
    buf_init(&first, TEXT_MAX);
    buf_printf(&first, "%s%s", kinds[key->kind].prefix, key->secret);
    unsigned char a[DIGEST_SHA256], b[DIGEST_SHA256];
    digest_hmac_sha256(buf_str(&first), first.n, str_c(day), a);
    digest_hmac_sha256(a, sizeof(a), str_c(key->region), b);
    digest_hmac_sha256(b, sizeof(b), str_c(key->service), a);
    digest_hmac_sha256(a, sizeof(a), str_c(kinds[key->kind].end), out);
    buf_release(&first);
}

void sign_authorize(const struct sign_key *key, const struct sign_request *q,
                    struct buf *out)
{
    char date[SIGN_DATE_SIZE], day[9], hex[DIGEST_HEX];
    unsigned char hash[DIGEST_SHA256], secret[DIGEST_SHA256];
    struct buf text, scope, names;
    buf_init(&text, TEXT_MAX);
    buf_init(&scope, TEXT_MAX);
    buf_init(&names, TEXT_MAX);
    sign_date(q->wall_ns, date);
    (void)snprintf(day, sizeof(day), "%.8s", date);
    buf_printf(&scope, "%s/%s/%s/%s", day, key->region, key->service,
               kinds[key->kind].end);
    put_names(key, q, &names);
    sign_canonical(key, q, &text);
    digest_sha256(buf_str(&text), text.n, hash);
    digest_hex(hash, sizeof(hash), hex);
    buf_clear(&text);
    buf_printf(&text, "%s\n%s\n%s\n%s", kinds[key->kind].algorithm, date, buf_str(&scope),
               hex);
    derive(key, day, secret);
    digest_hmac_sha256(secret, sizeof(secret), str_of(buf_str(&text), text.n), hash);
    digest_hex(hash, sizeof(hash), hex);
    buf_printf(out, "%s Credential=%s/%s", kinds[key->kind].algorithm, key->id,
               buf_str(&scope));
    if (names.n)
        buf_printf(out, "%s%s",
                   key->kind == SIGN_AWS4 ? ", SignedHeaders=" : ", AdditionalHeaders=",
                   buf_str(&names));
    buf_printf(out, ", Signature=%s", hex);
    out->failed |= text.failed || scope.failed || names.failed;
    buf_release(&text);
    buf_release(&scope);
    buf_release(&names);
}
