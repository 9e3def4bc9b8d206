/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of one line of JSON. The line ends with '\n', which no token may hold, so that
 * scanning loops need no bound of their own. A string without escapes is handed out
 * where it lies; one with escapes is decoded into a buffer that is used again. The first
 * fault is kept with its place; everything after it returns false. Values that nobody
 * wants are skipped, but checked.
 */
#include "data/jsonl/token.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

void jsonl_token_release(struct jsonl_tokens *j)
{
    mem_free(j->room);
    *j = (struct jsonl_tokens){0};
}

bool jsonl_token_fault(struct jsonl_tokens *j, const unsigned char *at, enum code code,
                       const char *what)
{
    if (!j->fault) {
        j->fault = at;
        j->code = code;
        j->what = what;
    }
    return false;
}

bool jsonl_token_take(struct jsonl_tokens *j, char c, const char *what)
{
    if (jsonl_token_peek(j) != (unsigned char)c)
        return jsonl_token_fault(j, j->p, E1150, what);
    j->p++;
    return true;
}

static int hex_digit(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four digits at p; -1 when they are not. The '\n' behind the line ends it early. */
static int32_t hex4(const unsigned char *p)
{
    int32_t v = 0;
    for (int i = 0; i < 4; i++) {
        int d = hex_digit(p[i]);
        if (d < 0)
            return -1;
        v = v * 16 + d;
    }
    return v;
}

/* \uXXXX or a pair of them behind the backslash at p. */
static size_t unescape_u(const unsigned char *p, unsigned char *to, size_t *taken)
{
    int32_t c = hex4(p + 2);
    *taken = 6;
    if (c < 0)
        return 0;
    if (c >= 0xd800 && c < 0xdc00) {
        int32_t low = p[6] == '\\' && p[7] == 'u' ? hex4(p + 8) : -1;
        if (low < 0xdc00 || low > 0xdfff)
            return 0;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        *taken = 12;
    }
    return utf8_put((uint32_t)c, (char *)to);
}

/* The bytes of the escape at p; 0 when there is no such escape. */
static size_t unescape(const unsigned char *p, unsigned char *to, size_t *taken)
{
    static const char from[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
    if (p[1] == 'u')
        return unescape_u(p, to, taken);
    const char *at = p[1] ? strchr(from, p[1]) : NULL;
    if (!at)
        return 0;
    *to = (unsigned char)plain[at - from];
    *taken = 2;
    return 1;
}

static inline bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Behind the plain bytes, up to a quote, a backslash, or something that may not be. */
static const unsigned char *plain_end(struct jsonl_tokens *j, const unsigned char *p)
{
    for (;;) {
        while (is_plain(*p))
            p++;
        if (*p < 0x80)
            return p;
        size_t k = utf8_len((const char *)p, (size_t)(j->end - p));
        if (k == 0)
            return p;
        p += k;
    }
}

static bool string_fault(struct jsonl_tokens *j, const unsigned char *start,
                         const unsigned char *p)
{
    if (p == j->end)
        return jsonl_token_fault(j, start, E1153, "the string is not closed on its line");
    if (*p == '\\')
        return jsonl_token_fault(j, p, E1153, "no such escape");
    if (*p >= 0x80)
        return jsonl_token_fault(j, p, E1153, "not UTF-8");
    return jsonl_token_fault(j, p, E1153, "a control character must be escaped");
}

/* The rest of a string that has escapes; `p` is at the first of them. */
static bool escaped_string(struct jsonl_tokens *j, const unsigned char *start,
                           const unsigned char *p, struct str *out)
{
    size_t most = (size_t)(j->end - start);
    if (most > j->room_cap) {
        unsigned char *room = mem_try_realloc(j->room, most, 1);
        if (!room)
            return jsonl_token_fault(j, start, E0001, "no memory for the string");
        j->room = room;
        j->room_cap = most;
    }
    unsigned char *to = j->room;
    const unsigned char *from = start + 1;
    while (*p != '"') {
        size_t taken, n = (size_t)(p - from);
        memcpy(to, from, n);
        to += n;
        n = *p == '\\' ? unescape(p, to, &taken) : 0;
        if (n == 0)
            return string_fault(j, start, p);
        to += n;
        from = p + taken;
        p = plain_end(j, from);
    }
    memcpy(to, from, (size_t)(p - from));
    *out = str_of((const char *)j->room, (size_t)(to - j->room) + (size_t)(p - from));
    j->p = p + 1;
    return true;
}

bool jsonl_token_string(struct jsonl_tokens *j, struct str *out)
{
    const unsigned char *start = j->p, *p = plain_end(j, start + 1);
    if (*p == '\\')
        return escaped_string(j, start, p, out);
    if (*p != '"')
        return string_fault(j, start, p);
    *out = str_of((const char *)start + 1, (size_t)(p - start) - 1);
    j->p = p + 1;
    return true;
}

static const unsigned char *digits_end(const unsigned char *p)
{
    while (*p >= '0' && *p <= '9')
        p++;
    return p;
}

static bool word_at(const struct jsonl_tokens *j, const unsigned char *p,
                    const char *word)
{
    size_t n = strlen(word);
    return (size_t)(j->end - p) >= n && memcmp(p, word, n) == 0;
}

bool jsonl_token_number(struct jsonl_tokens *j, struct str *out)
{
    const unsigned char *start = j->p, *p = start + (*start == '-'), *q;
    if (word_at(j, start, "NaN")) {
        p = start + 3;
    } else if (word_at(j, p, "Infinity")) {
        p += 8;
    } else {
        q = digits_end(p);
        if (q == p || (*p == '0' && q > p + 1))
            return jsonl_token_fault(j, start, E1150, "not a number");
        p = q;
        if (*p == '.') {
            q = digits_end(p + 1);
            if (q == p + 1)
                return jsonl_token_fault(j, start, E1150, "not a number");
            p = q;
        }
        if (*p == 'e' || *p == 'E') {
            const unsigned char *e = p + 1 + (p[1] == '+' || p[1] == '-');
            q = digits_end(e);
            if (q == e)
                return jsonl_token_fault(j, start, E1150, "not a number");
            p = q;
        }
    }
    *out = str_of((const char *)start, (size_t)(p - start));
    j->p = p;
    return true;
}

bool jsonl_token_is_number_word(struct str s)
{
    return str_is(s, "NaN") || str_is(s, "Infinity") || str_is(s, "-Infinity");
}

bool jsonl_token_word(struct jsonl_tokens *j, const char *word)
{
    if (!word_at(j, j->p, word))
        return jsonl_token_fault(j, j->p, E1150, "expected a value");
    j->p += strlen(word);
    return true;
}

bool jsonl_token_more(struct jsonl_tokens *j, char close, bool *first)
{
    unsigned char c = jsonl_token_peek(j);
    if (c == (unsigned char)close) {
        j->p++;
        return false;
    }
    if (*first) {
        *first = false;
        return true;
    }
    if (c != ',')
        return jsonl_token_fault(
            j, j->p, E1150, close == ']' ? "expected ',' or ']'" : "expected ',' or '}'");
    j->p++;
    return true;
}

static bool skip_scalar(struct jsonl_tokens *j, unsigned char c)
{
    struct str s;
    switch (c) {
    case '"':
        return jsonl_token_string(j, &s);
    case 't':
        return jsonl_token_word(j, "true");
    case 'f':
        return jsonl_token_word(j, "false");
    case 'n':
        return jsonl_token_word(j, "null");
    default:
        if (c == '-' || c == 'N' || c == 'I' || (c >= '0' && c <= '9'))
            return jsonl_token_number(j, &s);
        return jsonl_token_fault(j, j->p, E1150, "expected a value");
    }
}

bool jsonl_token_skip(struct jsonl_tokens *j, int depth)
{
    unsigned char c = jsonl_token_peek(j);
    bool first = true;
    struct str key;
    if (c != '[' && c != '{')
        return skip_scalar(j, c);
    if (depth <= 0)
        return jsonl_token_fault(j, j->p, E1154, "nested too deeply");
    j->p++;
    while (jsonl_token_more(j, c == '[' ? ']' : '}', &first)) {
        if (c == '{') {
            if (jsonl_token_peek(j) != '"')
                return jsonl_token_fault(j, j->p, E1150, "expected a key in quotes");
            if (!jsonl_token_string(j, &key) || !jsonl_token_take(j, ':', "expected ':'"))
                return false;
        }
        if (!jsonl_token_skip(j, depth - 1))
            return false;
    }
    return !j->fault;
}
