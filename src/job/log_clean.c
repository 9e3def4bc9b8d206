/* SPDX-License-Identifier: Apache-2.0 */
#include "job/log_clean.h"

#include <string.h>

static bool harmless(char byte)
{
    unsigned char c = (unsigned char)byte;
    return c == '\n' || c == '\t' || c == '\r' || (c >= ' ' && c != 0x7f);
}

static void show(const char *p, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        if (harmless(p[i]))
            buf_putc(out, p[i]);
        else
            buf_printf(out, "\\x%02x", (unsigned char)p[i]);
    }
}

static size_t harmless_run(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n && harmless(p[i]) && (unsigned char)p[i] != 0xc2)
        i++;
    return i;
}

/* Is what is held, with one more byte, a colour so far? */
static bool colour_goes_on(const struct job_log_clean *c, char next)
{
    if (c->held[0] != '\x1b' || c->n + 1 >= JOB_LOG_HELD)
        return false;
    return c->n == 1 ? next == '[' : next == ';' || (next >= '0' && next <= '9');
}

/* Control characters of the second half (0x80 to 0x9f) have two bytes in UTF-8. */
static bool is_c1(const struct job_log_clean *c, char next)
{
    return c->n == 1 && (unsigned char)c->held[0] == 0xc2 &&
           (unsigned char)next >= 0x80 && (unsigned char)next < 0xa0;
}

/* One byte behind what is held; false when it does not belong to it. */
static bool take(struct job_log_clean *c, char next, struct buf *out)
{
    if (colour_goes_on(c, next)) {
        c->held[c->n++] = next;
        return true;
    }
    bool colour = next == 'm' && c->n > 1 && c->held[0] == '\x1b';
    if (colour)
        buf_add(out, c->held, c->n);
    else if (is_c1(c, next))
        buf_printf(out, "\\x%02x", (unsigned char)next);
    else
        show(c->held, c->n, out);
    bool taken = colour || is_c1(c, next);
    if (colour)
        buf_putc(out, next);
    c->n = 0;
    return taken;
}

void job_log_clean(struct job_log_clean *c, const char *p, size_t n, struct buf *out)
{
    for (size_t i = 0, run; i < n; i += run) {
        run = c->n ? 0 : harmless_run(p + i, n - i);
        buf_add(out, p + i, run);
        if (run)
            continue;
        run = 1;
        if (c->n && take(c, p[i], out))
            continue;
        if (p[i] == '\x1b' || (unsigned char)p[i] == 0xc2)
            c->held[c->n++] = p[i];
        else
            show(p + i, 1, out);
    }
}
