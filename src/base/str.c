/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of text that somebody else owns (struct str) and text that grows (struct buf).
 * Numbers are parsed strictly: the whole text or nothing. They are printed with the
 * fewest digits that read back as the same number, found by trying. A buffer has a
 * ceiling; once it would pass it, or memory runs out, it is marked as failed and further
 * additions do nothing, so that callers check once at the end. "Did you mean" is the
 * edit distance with swaps, where case, '_' and '-' do not count.
 */
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/utf8.h"

#define NUMBER_MAX 400 /* longest text that is tried as a number */
#define NAME_MAX_DISTANCE 64

struct str str_c(const char *s)
{
    return str_of(s, strlen(s));
}

bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool str_is(struct str a, const char *b)
{
    return str_eq(a, str_c(b));
}

bool str_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct str str_trim(struct str s)
{
    while (s.n && is_blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

bool str_split(struct str *rest, char sep, struct str *part)
{
    if (!rest->p)
        return false;
    const char *at = rest->n ? memchr(rest->p, sep, rest->n) : NULL;
    if (!at) {
        *part = *rest;
        *rest = (struct str){0};
        return true;
    }
    size_t n = (size_t)(at - rest->p);
    *part = str_of(rest->p, n);
    *rest = str_of(at + 1, rest->n - n - 1);
    return true;
}

bool str_lists(struct str list, char sep, struct str word)
{
    struct str part;
    bool any = list.n > 0;
    while (any && str_split(&list, sep, &part))
        if (str_eq(part, word))
            return true;
    return false;
}

bool str_to_u64(struct str s, uint64_t *out)
{
    if (s.n && s.p[0] == '+') {
        s.p++;
        s.n--;
    }
    if (s.n == 0)
        return false;
    uint64_t v = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned d = (unsigned)s.p[i] - '0';
        if (d > 9 || v > (UINT64_MAX - d) / 10)
            return false;
        v = v * 10 + d;
    }
    *out = v;
    return true;
}

bool str_to_i64(struct str s, int64_t *out)
{
    bool neg = s.n && s.p[0] == '-';
    uint64_t mag;
    if (neg && (s.n < 2 || s.p[1] == '+'))
        return false;
    if (!str_to_u64(neg ? str_of(s.p + 1, s.n - 1) : s, &mag))
        return false;
    if (mag > (uint64_t)INT64_MAX + neg)
        return false;
    *out = neg ? (int64_t)(0 - mag) : (int64_t)mag;
    return true;
}

/* strtod reads blanks, hexadecimal floats and the locale's point; we accept none of
 * these. */
bool str_to_f64(struct str s, double *out)
{
    char text[NUMBER_MAX + 1];
    if (s.n == 0 || s.n > NUMBER_MAX || is_blank(s.p[0]) || memchr(s.p, 'x', s.n) ||
        memchr(s.p, 'X', s.n) || memchr(s.p, '(', s.n) || memchr(s.p, '\0', s.n))
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    char *end;
    errno = 0;
    double v = strtod(text, &end);
    if (*end != '\0' || end == text)
        return false;
    if (errno == ERANGE && isinf(v))
        return false;
    *out = v;
    return true;
}

static bool special_number(double v, char *out)
{
    if (isnan(v)) {
        memcpy(out, "nan", 4);
        return true;
    }
    if (isinf(v)) {
        memcpy(out, v < 0 ? "-inf" : "inf", v < 0 ? 5 : 4);
        return true;
    }
    return false;
}

/* Whole numbers of up to 15 digits are written out: 90, not 9e+01. */
static bool whole_number(double v, char *out)
{
    if (fabs(v) >= 1e15 || v != rint(v))
        return false;
    snprintf(out, 32, "%.0f", v);
    return true;
}

/* A decimal of DBL_DIG digits survives the way through a double, so that a shorter one
 * that reads back would show as trailing zeros, which %g leaves out. Subnormal numbers
 * have fewer digits.
 */
void str_from_f64(double v, char *out)
{
    if (special_number(v, out) || whole_number(v, out))
        return;
    for (int digits = fabs(v) < DBL_MIN ? 1 : DBL_DIG; digits <= 17; digits++) {
        snprintf(out, 32, "%.*g", digits, v);
        double back = strtod(out, NULL);
        if (back == v)
            return;
    }
}

static const double tens[] = {1e0, 1e1, 1e2, 1e3,  1e4,  1e5, 1e6,
                              1e7, 1e8, 1e9, 1e10, 1e11, 1e12};
#define FAST_LEAST 1e-4f /* %g writes smaller numbers with an exponent */
#define FAST_MOST 1e5f

/* The fraction that `scaled` / 10^places is, as %g writes it: no zeros behind. */
static void put_decimal(bool negative, int64_t scaled, int places, char *out)
{
    char digits[24];
    int n = 0, end = 0;
    for (; places > 0 && scaled % 10 == 0; places--)
        scaled /= 10;
    for (; scaled > 0 || n <= places; scaled /= 10)
        digits[n++] = (char)('0' + scaled % 10);
    if (negative)
        out[end++] = '-';
    while (n > 0) {
        if (n == places)
            out[end++] = '.';
        out[end++] = digits[--n];
    }
    out[end] = '\0';
}

/* Whether the value lies so near the middle of two floats that this arithmetic, in doubles,
 * may round it to the other one.
 */
static bool is_middle(double v)
{
    uint64_t bits, half = (uint64_t)1 << 28, low = ((uint64_t)1 << 29) - 1;
    memcpy(&bits, &v, sizeof(bits));
    return (bits & low) + 1 >= half && (bits & low) <= half + 1;
}

/* The same text as the loop in str_from_f32() finds, for numbers of common size; false: a
 * rounding is too near to tell, or no text of so few digits reads back.
 */
static bool fast_f32(float v, char *out)
{
    double x = fabs((double)v);
    int exponent = -4;
    if (!(x >= (double)FAST_LEAST && x < (double)FAST_MOST))
        return false;
    while (x >= (exponent < -1 ? 1 / tens[-exponent - 1] : tens[exponent + 1]))
        exponent++;
    for (int digits = FLT_DIG; digits <= 9; digits++) {
        int places = digits - 1 - exponent;
        double m = x * tens[places], whole = rint(m);
        double back = whole / tens[places];
        if (fabs(fabs(m - whole) - 0.5) < 1e-6 || is_middle(back) ||
            whole >= tens[digits])
            return false;
        if ((float)back == fabsf(v)) {
            put_decimal(v < 0, (int64_t)whole, places, out);
            return true;
        }
    }
    return false;
}

void str_from_f32(float v, char *out)
{
    if (special_number((double)v, out) ||
        (fabsf(v) < 1e7f && whole_number((double)v, out)) || fast_f32(v, out))
        return;
    for (int digits = fabsf(v) < FLT_MIN ? 1 : FLT_DIG; digits <= 9; digits++) {
        snprintf(out, 32, "%.*g", digits, (double)v);
        float back = strtof(out, NULL);
        if (back == v)
            return;
    }
}

/* Optimal string alignment over three rolling rows; long names are not compared. */
size_t str_distance(struct str a, struct str b)
{
    size_t rows[3][NAME_MAX_DISTANCE + 1];
    if (a.n > NAME_MAX_DISTANCE || b.n > NAME_MAX_DISTANCE)
        return a.n > b.n ? a.n : b.n;
    size_t *before = rows[0], *prev = rows[1], *cur = rows[2];
    for (size_t j = 0; j <= b.n; j++)
        prev[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        cur[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t cost = a.p[i - 1] != b.p[j - 1];
            size_t best = prev[j - 1] + cost;
            if (prev[j] + 1 < best)
                best = prev[j] + 1;
            if (cur[j - 1] + 1 < best)
                best = cur[j - 1] + 1;
            if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            cur[j] = best;
        }
        size_t *spare = before;
        before = prev;
        prev = cur;
        cur = spare;
    }
    return prev[b.n];
}

static struct str folded(struct str s, char *room)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n && i < NAME_MAX_DISTANCE; i++)
        if (s.p[i] != '_' && s.p[i] != '-')
            room[n++] = (char)tolower((unsigned char)s.p[i]);
    return str_of(room, n);
}

/* Names that differ only in case, '_' or '-' count as distance zero. */
const char *str_nearest(struct str s, const char *const *names, size_t n)
{
    char room_a[NAME_MAX_DISTANCE], room_b[NAME_MAX_DISTANCE];
    struct str want = folded(s, room_a);
    const char *best = NULL;
    size_t best_distance = (s.n + 2) / 3; /* the most that still looks like a slip */
    for (size_t i = 0; i < n; i++) {
        if (!names[i])
            continue;
        size_t d = str_distance(want, folded(str_c(names[i]), room_b));
        if (d < best_distance || (d == best_distance && !best)) {
            best = names[i];
            best_distance = d;
        }
    }
    return best;
}

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

void buf_release(struct buf *b)
{
    mem_free(b->p);
    *b = (struct buf){.max = b->max};
}

void buf_clear(struct buf *b)
{
    b->n = 0;
    b->failed = false;
    if (b->p)
        b->p[0] = '\0';
}

static bool str_grow(struct buf *b, size_t more)
{
    if (b->failed)
        return false;
    if (more > b->max - b->n) {
        b->failed = true;
        return false;
    }
    if (b->n + more < b->cap)
        return true;
    size_t cap = b->cap ? b->cap * 2 : 64;
    while (cap <= b->n + more)
        cap *= 2;
    char *p = mem_try_realloc(b->p, cap, 1);
    if (!p) {
        b->failed = true;
        return false;
    }
    b->p = p;
    b->cap = cap;
    return true;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    if (!str_grow(b, n))
        return;
    if (n)
        memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = '\0';
}

void buf_puts(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_putc(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n >= 0 && str_grow(b, (size_t)n)) {
        vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

static void json_char(struct buf *b, unsigned char c)
{
    switch (c) {
    case '"':
        buf_puts(b, "\\\"");
        break;
    case '\\':
        buf_puts(b, "\\\\");
        break;
    case '\n':
        buf_puts(b, "\\n");
        break;
    case '\r':
        buf_puts(b, "\\r");
        break;
    case '\t':
        buf_puts(b, "\\t");
        break;
    default:
        if (c < 0x20 || c == 0x7f)
            buf_printf(b, "\\u%04x", c);
        else
            buf_putc(b, (char)c);
    }
}

void buf_pad(struct buf *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_putc(b, ' ');
}

void buf_wrap(struct buf *b, struct str text, size_t indent, size_t width)
{
    struct str word;
    size_t column = indent;
    while (str_split(&text, ' ', &word)) {
        if (word.n == 0)
            continue;
        if (column > indent && column + 1 + word.n > width) {
            buf_putc(b, '\n');
            buf_pad(b, indent);
            column = indent;
        }
        if (column > indent) {
            buf_putc(b, ' ');
            column++;
        }
        buf_add(b, word.p, word.n);
        column += word.n;
    }
    buf_putc(b, '\n');
}

void buf_json_str(struct buf *b, const char *s, size_t n)
{
    buf_putc(b, '"');
    for (size_t i = 0; i < n;) {
        size_t len = utf8_len(s + i, n - i);
        if (len == 1)
            json_char(b, (unsigned char)s[i]);
        else if (len == 0)
            buf_puts(b, "\xef\xbf\xbd");
        else
            buf_add(b, s + i, len);
        i += len ? len : 1;
    }
    buf_putc(b, '"');
}

enum rc buf_check(const struct buf *b, struct err *err)
{
    if (!b->failed)
        return RC_OK;
    return err_set(err, RC_NOMEM, "text of more than %zu bytes", b->n);
}

const char *buf_str(const struct buf *b)
{
    return b->p ? b->p : "";
}

char *buf_take(struct buf *b)
{
    char *p = b->p ? b->p : mem_strdup("");
    *b = (struct buf){.max = b->max};
    return p;
}
