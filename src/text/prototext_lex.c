/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of the protobuf text format. Strings are only found here, and unescaped when
 * somebody wants them, so that spans point into the file. What is no token is one of its
 * own: the parser reports it in its place. Numbers follow protobuf's rules: hexadecimal and
 * octal integers, decimals with an optional suffix f.
 */
#include "text/prototext_lex.h"

#include <ctype.h>
#include <string.h>

#include "base/utf8.h"

static bool word_start(unsigned char c)
{
    return isalpha(c) || c == '_';
}

static bool word_part(unsigned char c)
{
    return isalnum(c) || c == '_';
}

static unsigned char at(const struct prototext_lexer *x, uint32_t i)
{
    return i < x->src->n ? (unsigned char)x->src->text[i] : '\0';
}

static struct span span_of(const struct prototext_lexer *x, uint32_t from, uint32_t to)
{
    return (struct span){.src = x->src, .off = from, .len = to - from};
}

void lexer_init(struct prototext_lexer *x, const struct source *src, struct diags *diags)
{
    *x = (struct prototext_lexer){.src = src, .diags = diags};
    if (src->n >= 3 && memcmp(src->text, "\xef\xbb\xbf", 3) == 0)
        x->pos = 3; /* byte order mark */
    lexer_next(x);
}

static void skip_blank(struct prototext_lexer *x)
{
    for (;;) {
        unsigned char c = at(x, x->pos);
        if (c == '#') {
            while (x->pos < x->src->n && at(x, x->pos) != '\n')
                x->pos++;
        } else if (c == ' ' || (c >= '\t' && c <= '\r')) {
            x->pos++;
        } else {
            return;
        }
    }
}

static void scan_string(struct prototext_lexer *x)
{
    unsigned char quote = at(x, x->pos++);
    for (;;) {
        unsigned char c = at(x, x->pos);
        if (x->pos >= x->src->n || c == '\n') {
            struct diag *g =
                diag_add(x->diags, DIAG_ERROR, E0105, span_of(x, x->start, x->pos),
                         "string is not closed");
            diag_hint(x->diags, g,
                      "a string ends on its line with %c; \\n stands for a line end",
                      quote);
            x->token = TOKEN_BAD;
            return;
        }
        x->pos++;
        if (c == '\\' && x->pos < x->src->n && at(x, x->pos) != '\n')
            x->pos++;
        else if (c == quote)
            return;
    }
}

/* Digits, letters and points; a sign only directly behind an exponent. */
static void scan_number(struct prototext_lexer *x)
{
    bool hex = at(x, x->pos) == '0' && (at(x, x->pos + 1) | 32) == 'x';
    for (;;) {
        unsigned char c = at(x, x->pos);
        if (!word_part(c) && c != '.')
            return;
        x->pos++;
        unsigned char sign = at(x, x->pos);
        if (!hex && (c | 32) == 'e' && (sign == '+' || sign == '-'))
            x->pos++;
    }
}

static void scan_other(struct prototext_lexer *x)
{
    size_t len = utf8_len(x->src->text + x->pos, x->src->n - x->pos);
    x->pos += (uint32_t)(len ? len : 1);
    x->token = TOKEN_BAD;
    struct span s = lexer_span(x);
    struct diag *g =
        diag_add(x->diags, DIAG_ERROR, E0103, s, "unexpected character '%.*s'",
                 (int)s.len, x->src->text + s.off);
    if (at(x, s.off) == '/' && (at(x, x->pos) == '/' || at(x, x->pos) == '*'))
        diag_hint(x->diags, g, "comments start with '#'");
    else if (at(x, s.off) == '=')
        diag_hint(x->diags, g, "a field is written 'name: value'");
}

void lexer_next(struct prototext_lexer *x)
{
    x->before = x->pos;
    skip_blank(x);
    x->start = x->pos;
    unsigned char c = at(x, x->pos);
    if (x->pos >= x->src->n) {
        x->token = TOKEN_END;
    } else if (word_start(c)) {
        x->token = TOKEN_WORD;
        while (word_part(at(x, x->pos)))
            x->pos++;
    } else if (isdigit(c) || (c == '.' && isdigit(at(x, x->pos + 1)))) {
        x->token = TOKEN_NUMBER;
        scan_number(x);
    } else if (c == '"' || c == '\'') {
        x->token = TOKEN_STRING;
        scan_string(x);
    } else if (strchr("{}<>[]:,;-", c)) {
        x->token = TOKEN_PUNCT;
        x->pos++;
    } else {
        scan_other(x);
    }
}

bool lexer_is(const struct prototext_lexer *x, char punct)
{
    return x->token == TOKEN_PUNCT && x->src->text[x->start] == punct;
}

struct str lexer_text(const struct prototext_lexer *x)
{
    return str_of(x->src->text + x->start, x->pos - x->start);
}

struct span lexer_span(const struct prototext_lexer *x)
{
    return span_of(x, x->start, x->pos);
}

void lexer_skip_line(struct prototext_lexer *x)
{
    while (x->pos < x->src->n && at(x, x->pos) != '\n')
        x->pos++;
    lexer_next(x);
}

static int hex_digit(unsigned char c)
{
    if (isdigit(c))
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads up to `max` digits of `base` at *i; returns how many. */
static unsigned read_digits(const struct prototext_lexer *x, uint32_t *i, unsigned max,
                            int base, uint32_t *value)
{
    unsigned n = 0;
    *value = 0;
    while (n < max) {
        int d = hex_digit(at(x, *i));
        if (d < 0 || d >= base)
            break;
        *value = *value * (uint32_t)base + (uint32_t)d;
        ++*i;
        n++;
    }
    return n;
}

/* One escape; *i stands behind the backslash. */
static bool unescape_one(const struct prototext_lexer *x, uint32_t *i, struct buf *out)
{
    static const char names[] = "nrtabfv\\'\"?", bytes[] = "\n\r\t\a\b\f\v\\'\"?";
    unsigned char c = at(x, *i);
    const char *plain = c ? strchr(names, c) : NULL;
    uint32_t v;
    if (plain) {
        ++*i;
        buf_putc(out, bytes[plain - names]);
        return true;
    }
    if (c >= '0' && c <= '7') {
        read_digits(x, i, 3, 8, &v);
        buf_putc(out, (char)v);
        return v < 256;
    }
    ++*i;
    if (c == 'x' || c == 'X') {
        unsigned n = read_digits(x, i, 2, 16, &v);
        buf_putc(out, (char)v);
        return n > 0;
    }
    unsigned want = c == 'u' ? 4 : c == 'U' ? 8 : 0;
    char bytes4[4];
    if (want == 0 || read_digits(x, i, want, 16, &v) != want)
        return false;
    size_t len = utf8_put(v, bytes4);
    buf_add(out, bytes4, len);
    return len > 0;
}

bool lexer_unescape(const struct prototext_lexer *x, struct buf *out)
{
    uint32_t end = x->pos - 1, i = x->start + 1;
    bool good = true;
    while (i < end) {
        uint32_t from = i;
        if (at(x, i) != '\\') {
            while (i < end && at(x, i) != '\\')
                i++;
            buf_add(out, x->src->text + from, i - from);
            continue;
        }
        i++;
        if (!unescape_one(x, &i, out)) {
            struct str bad = str_of(x->src->text + from, i - from);
            struct diag *g =
                diag_add(x->diags, DIAG_ERROR, E0105, span_of(x, from, i),
                         "'%.*s' is not an escape sequence", (int)bad.n, bad.p);
            diag_hint(x->diags, g, "write \\\\ for a backslash");
            good = false;
        }
    }
    return good;
}

/* Integers of any base into *mag; false when the text is none or does not fit. */
static bool read_int(struct str s, uint64_t *mag)
{
    unsigned base = 10;
    if (s.n > 2 && s.p[0] == '0' && (s.p[1] | 32) == 'x') {
        base = 16;
        s = str_of(s.p + 2, s.n - 2);
    } else if (s.n > 1 && s.p[0] == '0') {
        base = 8;
        s = str_of(s.p + 1, s.n - 1);
    }
    uint64_t v = 0;
    for (size_t i = 0; i < s.n; i++) {
        int d = hex_digit((unsigned char)s.p[i]);
        if (d < 0 || (unsigned)d >= base || v > (UINT64_MAX - (unsigned)d) / base)
            return false;
        v = v * base + (unsigned)d;
    }
    *mag = v;
    return true;
}

bool lexer_number(const struct prototext_lexer *x, bool neg, struct node *n)
{
    struct str s = lexer_text(x);
    if (read_int(s, &n->num.mag)) {
        n->kind = NODE_INT;
        n->num.neg = neg;
        return true;
    }
    /* what starts like a hexadecimal or octal number is no decimal one */
    bool based = s.n > 1 && s.p[0] == '0' &&
                 (isdigit((unsigned char)s.p[1]) || (s.p[1] | 32) == 'x');
    bool real = memchr(s.p, '.', s.n) || memchr(s.p, 'e', s.n) || memchr(s.p, 'E', s.n);
    struct str digits = s;
    if (s.n > 1 && (s.p[s.n - 1] | 32) == 'f')
        digits.n--;
    double v;
    if ((based && !real) || !str_to_f64(digits, &v)) {
        diag_add(x->diags, DIAG_ERROR, E0106, lexer_span(x), "'%.*s' is not a number",
                 (int)s.n, s.p);
        return false;
    }
    n->kind = NODE_REAL;
    n->real = neg ? -v : v;
    return true;
}
