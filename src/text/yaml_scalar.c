/* SPDX-License-Identifier: Apache-2.0 */
#include "text/yaml_scalar.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* One of three spellings: all lower, capitalised, all upper. */
static bool is_cased(struct str s, const char *lower, const char *first,
                     const char *upper)
{
    return str_is(s, lower) || str_is(s, first) || str_is(s, upper);
}

static bool is_null(struct str s)
{
    return s.n == 0 || str_is(s, "~") || is_cased(s, "null", "Null", "NULL");
}

static size_t digits(struct str s, size_t at)
{
    while (at < s.n && isdigit((unsigned char)s.p[at]))
        at++;
    return at;
}

static bool prefixed_int(struct str s, uint64_t *out)
{
    unsigned shift = s.p[1] == 'o' ? 3 : 4;
    uint64_t v = 0;
    for (size_t i = 2; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (!isxdigit(c) || v >> (64 - shift))
            return false;
        unsigned d = (unsigned)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
        if (d >> shift)
            return false;
        v = v << shift | d;
    }
    *out = v;
    return true;
}

static bool as_int(struct str s, struct node *out)
{
    if (s.n > 2 && s.p[0] == '0' && (s.p[1] == 'o' || s.p[1] == 'x')) {
        out->num.neg = false;
        return prefixed_int(s, &out->num.mag);
    }
    bool sign = s.p[0] == '-' || s.p[0] == '+', neg = s.p[0] == '-';
    s = str_of(s.p + sign, s.n - sign);
    uint64_t mag;
    if (s.n == 0 || digits(s, 0) != s.n || !str_to_u64(s, &mag))
        return false;
    out->num.mag = mag;
    out->num.neg = neg;
    return true;
}

static bool as_special(struct str s, double *out)
{
    if (is_cased(s, ".nan", ".NaN", ".NAN")) {
        *out = (double)NAN;
        return true;
    }
    bool sign = s.p[0] == '-' || s.p[0] == '+', neg = s.p[0] == '-';
    if (!is_cased(str_of(s.p + sign, s.n - sign), ".inf", ".Inf", ".INF"))
        return false;
    *out = neg ? -(double)INFINITY : (double)INFINITY;
    return true;
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool as_real(struct str s, double *out)
{
    size_t at = s.p[0] == '-' || s.p[0] == '+';
    size_t whole = digits(s, at), end = whole;
    if (end < s.n && s.p[end] == '.') {
        end = digits(s, end + 1);
        if (whole == at && end == whole + 1)
            return false;
    } else if (whole == at) {
        return false;
    }
    if (end < s.n && (s.p[end] | 32) == 'e') {
        size_t from = end + 1;
        from += from < s.n && (s.p[from] == '-' || s.p[from] == '+');
        end = digits(s, from);
        if (end == from)
            return false;
    }
    return end == s.n && str_to_f64(s, out);
}

static void resolve(struct str s, struct node *out)
{
    out->kind = NODE_STR;
    if (s.n && !strchr("~nNtTfF+-.0123456789", s.p[0]))
        return; /* most strings, and cheaply */
    if (is_null(s)) {
        out->kind = NODE_NULL;
    } else if (is_cased(s, "true", "True", "TRUE") ||
               is_cased(s, "false", "False", "FALSE")) {
        out->kind = NODE_BOOL;
        out->flag = (s.p[0] | 32) == 't';
    } else if (as_int(s, out)) {
        out->kind = NODE_INT;
    } else if (as_special(s, &out->real) || as_real(s, &out->real)) {
        out->kind = NODE_REAL;
    }
}

enum node_kind yaml_kind(struct str text)
{
    struct node n = {0};
    resolve(text, &n);
    return n.kind;
}

struct node *yaml_scalar(struct arena *a, struct str text, struct span at)
{
    struct node *n = node_str(a, text.p, text.n, at);
    resolve(text, n);
    return n;
}
