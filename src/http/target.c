/* SPDX-License-Identifier: Apache-2.0 */
#include "http/target.h"

#include <string.h>

#include "base/utf8.h"

static int target_hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static enum rc target_refuse(struct err *err, const char *what)
{
    return err_coded(err, RC_INVAL, E5003, "the address holds %s", what);
}

/* One part, decoded; `plus` stands for a blank in queries. */
static enum rc target_decode(struct str s, bool plus, struct arena *a, const char **out,
                             struct err *err)
{
    char *to = arena_alloc(a, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '%') {
            bool room = s.n - i > 2;
            int hi = room ? target_hex(s.p[i + 1]) : -1,
                lo = room ? target_hex(s.p[i + 2]) : -1;
            if (hi < 0 || lo < 0)
                return target_refuse(err, "a '%' without two hexadecimal digits");
            c = (char)(hi << 4 | lo);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        if ((unsigned char)c < ' ' || c == 0x7f)
            return target_refuse(err, "a control character");
        to[n++] = c;
    }
    to[n] = '\0';
    for (size_t i = 0, k; i < n; i += k) {
        k = utf8_len(to + i, n - i);
        if (!k)
            return target_refuse(err, "bytes that are not UTF-8");
    }
    *out = to;
    return RC_OK;
}

static enum rc read_path(struct str path, struct arena *a, struct http_target *t,
                         struct err *err)
{
    struct str part;
    if (!path.n || path.p[0] != '/')
        return target_refuse(err, "no path");
    path = str_of(path.p + 1, path.n - 1);
    if (!path.n)
        return RC_OK; /* "/" */
    while (str_split(&path, '/', &part)) {
        const char *text = NULL;
        enum rc rc = target_decode(part, false, a, &text, err);
        if (rc)
            return rc;
        if (!*text || strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
            return target_refuse(err, "an empty part, '.' or '..'");
        if (t->n_parts == TARGET_PARTS_MAX)
            return target_refuse(err, "too many parts");
        t->parts[t->n_parts++] = text;
    }
    return RC_OK;
}

static enum rc read_query(struct str query, struct arena *a, struct http_target *t,
                          struct err *err)
{
    struct str pair, name;
    while (query.n && str_split(&query, '&', &pair)) {
        if (!pair.n)
            continue;
        if (t->n_query == TARGET_QUERY_MAX)
            return target_refuse(err, "too many parameters");
        struct http_target_pair *q = &t->query[t->n_query];
        struct str value = pair;
        if (!str_split(&value, '=', &name))
            name = pair;
        enum rc rc = target_decode(name, true, a, &q->name, err);
        if (!rc)
            rc = target_decode(value.p ? value : str_c(""), true, a, &q->value, err);
        if (rc)
            return rc;
        t->n_query++;
    }
    return RC_OK;
}

enum rc http_target_parse(const char *uri, struct arena *a, struct http_target *out,
                          struct err *err)
{
    struct http_target t = {.n_parts = 0};
    size_t n = strnlen(uri, TARGET_BYTES_MAX + 1);
    if (n > TARGET_BYTES_MAX)
        return err_coded(err, RC_INVAL, E5003, "the address has more than %d bytes",
                         TARGET_BYTES_MAX);
    const char *mark = memchr(uri, '?', n);
    size_t path = mark ? (size_t)(mark - uri) : n;
    enum rc rc = read_path(str_of(uri, path), a, &t, err);
    if (!rc && mark)
        rc = read_query(str_of(mark + 1, n - path - 1), a, &t, err);
    if (!rc)
        *out = t;
    return rc;
}
