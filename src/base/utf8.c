/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

static size_t announced_len(unsigned c)
{
    if (c < 0x80)
        return 1;
    if (c >= 0xc2 && c < 0xe0)
        return 2;
    if (c >= 0xe0 && c < 0xf0)
        return 3;
    return c >= 0xf0 && c < 0xf5 ? 4 : 0;
}

size_t utf8_len(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned c = s[0];
    size_t len = announced_len(c);
    if (len > n)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((c == 0xe0 && s[1] < 0xa0) || (c == 0xed && s[1] > 0x9f) ||
        (c == 0xf0 && s[1] < 0x90) || (c == 0xf4 && s[1] > 0x8f))
        return 0;
    return len;
}

size_t utf8_put(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return 0;
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

size_t utf8_count(const char *s, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)s[i] & 0xc0) != 0x80;
    return count;
}

/* Bytes of "ESC [ digits and ; m" at `s`; 0: it is something else. */
static size_t colour_len(const char *s, size_t n)
{
    size_t i = 2;
    if (n < 3 || s[0] != '\033' || s[1] != '[')
        return 0;
    while (i < n && ((s[i] >= '0' && s[i] <= '9') || s[i] == ';'))
        i++;
    return i < n && s[i] == 'm' ? i + 1 : 0;
}

static bool is_control(const char *s, size_t len)
{
    unsigned char c = (unsigned char)s[0];
    if (len == 0) /* no text at all: terminals of eight bits obey 0x80 to 0x9f */
        return c >= 0x80 && c < 0xa0;
    if (len == 1)
        return (c < ' ' && c != '\n' && c != '\t') || c == 0x7f;
    return len == 2 && c == 0xc2 && (unsigned char)s[1] < 0xa0;
}

void utf8_hide_controls(char *s, size_t n, bool colours)
{
    for (size_t i = 0; i < n;) {
        size_t colour = colours ? colour_len(s + i, n - i) : 0;
        size_t len = utf8_len(s + i, n - i);
        if (!colour && is_control(s + i, len))
            memset(s + i, '?', len ? len : 1);
        i += colour ? colour : len ? len : 1;
    }
}
