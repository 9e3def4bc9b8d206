/* SPDX-License-Identifier: Apache-2.0 */
#include "job/name.h"

#include <string.h>

#include "base/utf8.h"

/* Bytes of the character at `s` if it may be shown, else 0. */
static size_t plain_len(const char *s, size_t n)
{
    size_t len = utf8_len(s, n);
    unsigned char c = (unsigned char)s[0];
    bool c1 = len == 2 && c == 0xc2 && (unsigned char)s[1] < 0xa0;
    return c < ' ' || c == 0x7f || c1 ? 0 : len;
}

bool job_name_is_plain(const char *path)
{
    size_t n = strlen(path), len = 1;
    for (size_t i = 0; i < n && len; i += len)
        len = plain_len(path + i, n - i);
    return len > 0;
}

void job_name_hex(const char *path, struct buf *out)
{
    for (; *path; path++)
        buf_printf(out, "%02x", (unsigned)(unsigned char)*path);
}

void job_name_json(const char *path, struct buf *out)
{
    buf_puts(out, "\"path\": ");
    buf_json_str(out, path, strlen(path));
    if (job_name_is_plain(path))
        return;
    buf_puts(out, ", \"path_hex\": \"");
    job_name_hex(path, out);
    buf_putc(out, '"');
}

static int digit_of(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

const char *job_name_of_hex(const char *hex, struct arena *a)
{
    size_t n = strlen(hex);
    char *out = arena_alloc(a, n / 2 + 1);
    for (size_t i = 0; i + 1 < n; i += 2) {
        int high = digit_of(hex[i]), low = digit_of(hex[i + 1]);
        if (high < 0 || low < 0 || !(high | low))
            return NULL;
        out[i / 2] = (char)(high << 4 | low);
    }
    out[n / 2] = '\0';
    return n % 2 ? NULL : out;
}

const char *job_name_read(const struct node *n, struct arena *a)
{
    const char *hex = node_get_text(n, "path_hex", NULL);
    const char *bytes = hex ? job_name_of_hex(hex, a) : NULL;
    if (hex)
        return bytes ? bytes : "";
    return arena_strdup(a, node_get_text(n, "path", ""));
}

void job_name_show(const char *path, struct buf *out)
{
    size_t n = strlen(path);
    for (size_t i = 0; i < n;) {
        size_t len = plain_len(path + i, n - i);
        if (path[i] == '\\')
            buf_puts(out, "\\\\");
        else if (path[i] == '\n')
            buf_puts(out, "\\n");
        else if (path[i] == '\t')
            buf_puts(out, "\\t");
        else if (!len)
            buf_printf(out, "\\x%02x", (unsigned)(unsigned char)path[i]);
        else
            buf_add(out, path + i, len);
        i += len ? len : 1;
    }
}
