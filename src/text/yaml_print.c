/* SPDX-License-Identifier: Apache-2.0 */
/* Block style, two blanks per level. A string is written plain only when no reader of
 * YAML 1.1 or 1.2 can take it for anything else; text of several lines as a literal where
 * that is certain to read back; everything else in double quotes with escapes.
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "text/yaml.h"
#include "text/yaml_scalar.h"

#define SIMPLE_KEY_MAX 900 /* YAML wants the ':' within 1024 characters */

static uint32_t utf8_get(const char *s, size_t len)
{
    const unsigned char *u = (const unsigned char *)s;
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t c = u[0] & masks[len];
    for (size_t i = 1; i < len; i++)
        c = c << 6 | (u[i] & 0x3f);
    return c;
}

/* May stand unescaped: no control, line separator or byte order mark. */
static bool is_printable(uint32_t c)
{
    return (c >= 0x20 && c < 0x7f) || (c >= 0xa0 && c != 0x2028 && c != 0x2029 &&
                                       c != 0xfeff && c != 0xfffe && c != 0xffff);
}

/* `also`: characters below 0x20 that are fine too. */
static bool all_printable(struct str s, const char *also)
{
    for (size_t i = 0; i < s.n;) {
        size_t len = utf8_len(s.p + i, s.n - i);
        if (len == 0)
            return false;
        uint32_t c = utf8_get(s.p + i, len);
        if (!is_printable(c) && (c == 0 || c >= 0x20 || !strchr(also, (int)c)))
            return false;
        i += len;
    }
    return true;
}

/* What YAML 1.1 takes for booleans, in any case. */
static bool is_old_word(struct str s)
{
    static const char *const words[] = {"y", "n", "yes", "no", "on", "off"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strlen(words[i]) == s.n && strncasecmp(words[i], s.p, s.n) == 0)
            return true;
    return false;
}

static bool is_plain(struct str s)
{
    if (s.n == 0 || yaml_kind(s) != NODE_STR || is_old_word(s) || !all_printable(s, ""))
        return false;
    char c = s.p[0], d = s.n > 1 ? s.p[1] : '\0';
    if (isdigit((unsigned char)c) || strchr(" -?:,[]{}#&*!|>'\"%@`=<+~", c))
        return false;
    if (c == '.' && (d == '\0' || d == '.' || isdigit((unsigned char)d)))
        return false;
    if (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == ':')
        return false;
    for (size_t i = 1; i < s.n; i++)
        if ((s.p[i] == ' ' && s.p[i - 1] == ':') || (s.p[i] == '#' && s.p[i - 1] == ' '))
            return false;
    return true;
}

static void put_escape(struct buf *out, uint32_t c)
{
    static const char letters[] = "0abtnvfre\"\\", bytes[] = "\0\a\b\t\n\v\f\r\x1b\"\\";
    const char *at = c < 0x80 ? memchr(bytes, (int)c, sizeof(bytes) - 1) : NULL;
    if (at)
        buf_printf(out, "\\%c", letters[at - bytes]);
    else if (c < 0x100)
        buf_printf(out, "\\x%02x", c);
    else
        buf_printf(out, "\\u%04x", c);
}

static void put_quoted(struct buf *out, struct str s)
{
    buf_putc(out, '"');
    for (size_t i = 0; i < s.n;) {
        size_t len = utf8_len(s.p + i, s.n - i);
        uint32_t c = len ? utf8_get(s.p + i, len) : 0xfffd;
        if (len == 0)
            buf_puts(out, "\xef\xbf\xbd"); /* bytes that are no text */
        else if (c == '"' || c == '\\' || !is_printable(c))
            put_escape(out, c);
        else
            buf_add(out, s.p + i, len);
        i += len ? len : 1;
    }
    buf_putc(out, '"');
}

/* Several lines, none beginning or ending in a way that indentation could blur. */
static bool is_literal(struct str s)
{
    if (s.n < 2 || !memchr(s.p, '\n', s.n - 1) || !all_printable(s, "\n\t"))
        return false;
    if (strchr(" \t\n", s.p[0]))
        return false;
    for (size_t i = 1; i < s.n; i++)
        if ((s.p[i] == '\n' && strchr(" \t", s.p[i - 1])) ||
            (s.p[i - 1] == '\n' && s.p[i] == '\t'))
            return false;
    return !strchr(" \t", s.p[s.n - 1]);
}

static void put_indent(struct buf *out, size_t n)
{
    while (n--)
        buf_putc(out, ' ');
}

/* Ends with its last line's end. */
static void put_literal(struct buf *out, struct str s, size_t indent)
{
    bool ends = s.p[s.n - 1] == '\n';
    bool keep = ends && s.p[s.n - 2] == '\n';
    buf_puts(out, keep ? "|+\n" : ends ? "|\n" : "|-\n");
    struct str rest = ends ? str_of(s.p, s.n - 1) : s, line;
    while (str_split(&rest, '\n', &line)) {
        if (line.n)
            put_indent(out, indent);
        buf_add(out, line.p, line.n);
        buf_putc(out, '\n');
    }
}

static void put_real(struct buf *out, double v)
{
    char text[40];
    if (isnan(v)) {
        buf_puts(out, ".nan");
    } else if (isinf(v)) {
        buf_puts(out, v < 0 ? "-.inf" : ".inf");
    } else {
        str_from_f64(v, text);
        buf_puts(out, text);
        if (!strpbrk(text, ".e"))
            buf_puts(out, ".0");
    }
}

/* A scalar or an empty collection, without a line end. */
static void put_inline(struct buf *out, const struct node *n)
{
    switch (n->kind) {
    case NODE_NULL:
        buf_puts(out, "null");
        break;
    case NODE_BOOL:
        buf_puts(out, n->flag ? "true" : "false");
        break;
    case NODE_INT:
        buf_printf(out, "%s%" PRIu64, n->num.neg ? "-" : "", n->num.mag);
        break;
    case NODE_REAL:
        put_real(out, n->real);
        break;
    case NODE_STR:
    case NODE_WORD:
        if (is_plain(n->text))
            buf_add(out, n->text.p, n->text.n);
        else
            put_quoted(out, n->text);
        break;
    case NODE_LIST:
        buf_puts(out, "[]");
        break;
    case NODE_MAP:
        buf_puts(out, "{}");
        break;
    }
}

static bool is_block(const struct node *n)
{
    return (n->kind == NODE_LIST && n->list.n) || (n->kind == NODE_MAP && n->map.n);
}

static bool is_text(const struct node *n)
{
    return n->kind == NODE_STR || n->kind == NODE_WORD;
}

static void put_block(struct buf *out, const struct node *n, size_t indent);

/* What follows "- " or "? " or ": ": the block goes on in the same line. */
static void put_beside(struct buf *out, const struct node *n, size_t indent)
{
    if (is_block(n)) {
        put_block(out, n, indent);
    } else if (is_text(n) && is_literal(n->text)) {
        put_literal(out, n->text, indent);
    } else {
        put_inline(out, n);
        buf_putc(out, '\n');
    }
}

static void put_entry(struct buf *out, const struct node_entry *e, size_t indent)
{
    struct node key = {.kind = NODE_STR, .text = e->key};
    if (e->key.n > SIMPLE_KEY_MAX / 4) { /* an escape has up to four characters a byte */
        buf_puts(out, "? ");
        put_inline(out, &key);
        buf_putc(out, '\n');
        put_indent(out, indent);
        buf_puts(out, ": ");
        put_beside(out, e->value, indent + 2);
        return;
    }
    put_inline(out, &key);
    buf_putc(out, ':');
    if (is_block(e->value)) {
        buf_putc(out, '\n');
        put_indent(out, indent + 2);
        put_block(out, e->value, indent + 2);
    } else {
        buf_putc(out, ' ');
        put_beside(out, e->value, indent + 2);
    }
}

/* The first line begins at the cursor, the others at `indent`. */
static void put_block(struct buf *out, const struct node *n, size_t indent)
{
    size_t count = n->kind == NODE_LIST ? n->list.n : n->map.n;
    for (size_t i = 0; i < count; i++) {
        if (i)
            put_indent(out, indent);
        if (n->kind == NODE_LIST) {
            buf_puts(out, "- ");
            put_beside(out, n->list.at[i], indent + 2);
        } else {
            put_entry(out, &n->map.at[i], indent);
        }
    }
}

void yaml_print(const struct node *root, struct buf *out)
{
    put_beside(out, root, is_block(root) ? 0 : 2);
}
