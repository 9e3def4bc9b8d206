/* SPDX-License-Identifier: Apache-2.0 */
#include "job/quote.h"

#include <string.h>

#include "base/utf8.h"

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

void job_quote_mangle(struct str name, struct buf *out)
{
    for (size_t i = 0; i < name.n;) {
        char c = name.p[i];
        size_t n = utf8_len(name.p + i, name.n - i);
        if (is_word(c))
            buf_putc(out, c >= 'a' && c <= 'z' ? (char)(c - 32) : c);
        else
            buf_putc(out, '_');
        i += n ? n : 1;
    }
}

bool job_quote_is_plain(struct str word)
{
    for (size_t i = 0; i < word.n; i++)
        if (!is_word(word.p[i]) && (!word.p[i] || !strchr("@%+=:,./-", word.p[i])))
            return false;
    return word.n > 0;
}

void job_quote_shell(struct str word, struct buf *out)
{
    if (job_quote_is_plain(word)) {
        buf_add(out, word.p, word.n);
        return;
    }
    buf_putc(out, '\'');
    for (size_t i = 0; i < word.n; i++)
        if (word.p[i] == '\'')
            buf_puts(out, "'\"'\"'");
        else
            buf_putc(out, word.p[i]);
    buf_putc(out, '\'');
}

/* The character at `s`, whose sequence has n bytes. */
static uint32_t decode(const char *s, size_t n)
{
    static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t c = (unsigned char)s[0] & first[n];
    for (size_t i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)s[i] & 0x3f);
    return c;
}

static void put_escaped(uint32_t c, struct buf *out)
{
    if (c == '"' || c == '\\')
        buf_printf(out, "\\%c", (int)c);
    else if (c == '\n')
        buf_puts(out, "\\n");
    else if (c == '\r')
        buf_puts(out, "\\r");
    else if (c == '\t')
        buf_puts(out, "\\t");
    else if (c == '\b')
        buf_puts(out, "\\b");
    else if (c == '\f')
        buf_puts(out, "\\f");
    else if (c >= ' ' && c < 0x7f)
        buf_putc(out, (char)c);
    else if (c < 0x10000)
        buf_printf(out, "\\u%04x", c);
    else
        buf_printf(out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
                   0xdc00 + ((c - 0x10000) & 0x3ff));
}

void job_quote_json_ascii(struct str text, struct buf *out)
{
    buf_putc(out, '"');
    for (size_t i = 0; i < text.n;) {
        size_t n = utf8_len(text.p + i, text.n - i);
        put_escaped(n ? decode(text.p + i, n) : 0xfffd, out);
        i += n ? n : 1;
    }
    buf_putc(out, '"');
}

void job_quote_terminal(struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.n;) {
        size_t n = utf8_len(text.p + i, text.n - i);
        unsigned char c = (unsigned char)text.p[i];
        bool c1 = n == 2 && c == 0xc2 && (unsigned char)text.p[i + 1] < 0xa0;
        if (n == 0 || c < ' ' || c == 0x7f || c1)
            buf_putc(out, '?');
        else
            buf_add(out, text.p + i, n);
        i += n ? n : 1;
    }
}
