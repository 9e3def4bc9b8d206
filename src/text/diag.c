/* SPDX-License-Identifier: Apache-2.0 */
/* The list of what is wrong with a file, and how it is shown. Past a limit the newest
 * takes the last place, so that a hopeless file costs no memory. They are sorted by
 * place before they are printed; of equals the one that was found first stays first. An
 * excerpt is one line, cut around the column when it is long, with a caret below.
 */
#include "text/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define EXCERPT_MAX 160 /* characters of a line that are shown */

void diags_release(struct diags *d)
{
    VEC_RELEASE(&d->list);
    arena_release(&d->arena);
    *d = (struct diags){0};
}

static const char *format(struct arena *a, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);

static const char *format(struct arena *a, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *text = arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
    if (n >= 0)
        vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    return text;
}

struct diag *diag_add(struct diags *d, enum severity severity, enum code code,
                      struct span at, const char *fmt, ...)
{
    d->n_errors += severity == DIAG_ERROR;
    d->n_warnings += severity == DIAG_WARNING;
    if (d->list.n >= DIAGS_MAX)
        d->list.n--; /* the newest takes the last place */
    va_list ap;
    va_start(ap, fmt);
    const char *msg = format(&d->arena, fmt, ap);
    va_end(ap);
    VEC_PUSH(&d->list,
             ((struct diag){.severity = severity, .code = code, .at = at, .msg = msg}));
    return &d->list.at[d->list.n - 1];
}

void diag_hint(struct diags *d, struct diag *g, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    g->hint = format(&d->arena, fmt, ap);
    va_end(ap);
}

void diag_where(struct diags *d, struct diag *g, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    g->where = format(&d->arena, fmt, ap);
    va_end(ap);
}

/* Insertion order breaks ties, so that the sort is stable with qsort. */
struct keyed {
    struct diag diag;
    size_t file, order;
};

static int diag_compare(const void *x, const void *y)
{
    const struct keyed *a = x, *b = y;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    if (a->diag.at.off != b->diag.at.off)
        return a->diag.at.off < b->diag.at.off ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

void diags_sort(struct diags *d)
{
    if (d->list.n < 2)
        return;
    struct keyed *rows = mem_calloc(d->list.n, sizeof(*rows));
    for (size_t i = 0; i < d->list.n; i++) {
        size_t file = 0;
        while (d->list.at[file].at.src != d->list.at[i].at.src)
            file++;
        rows[i] = (struct keyed){.diag = d->list.at[i], .file = file, .order = i};
    }
    qsort(rows, d->list.n, sizeof(*rows), diag_compare);
    for (size_t i = 0; i < d->list.n; i++)
        d->list.at[i] = rows[i].diag;
    mem_free(rows);
}

static const char *const severity_names[] = {
    [DIAG_ERROR] = "error", [DIAG_WARNING] = "warning", [DIAG_NOTE] = "note"};
static const char *const severity_colours[] = {[DIAG_ERROR] = "\033[1;31m",
                                               [DIAG_WARNING] = "\033[1;35m",
                                               [DIAG_NOTE] = "\033[1;36m"};

struct paint {
    const char *bold, *kind, *dim, *off;
};

static struct paint paint_of(enum severity s, bool colour)
{
    if (!colour)
        return (struct paint){"", "", "", ""};
    return (struct paint){"\033[1m", severity_colours[s], "\033[36m", "\033[0m"};
}

/* Tabs become one blank, so that the caret stands below its character. */
static void put_visible(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        bool c1 = (unsigned char)s.p[i] == 0xc2 && i + 1 < s.n &&
                  ((unsigned char)s.p[i + 1] & 0xe0) == 0x80;
        i += c1; /* a control character of two bytes */
        buf_putc(out,
                 c1 || (unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f ? ' ' : s.p[i]);
    }
}

/* The part of a long line that holds column `col`: *skip characters are left out before
 * it. */
static struct str window(struct str line, uint32_t col, uint32_t *skip)
{
    size_t chars = utf8_count(line.p, line.n);
    *skip = 0;
    if (chars <= EXCERPT_MAX)
        return line;
    if (col > EXCERPT_MAX / 2)
        *skip = col - EXCERPT_MAX / 2;
    size_t from = 0, to, left = *skip;
    while (left-- && from < line.n)
        from += utf8_len(line.p + from, line.n - from);
    to = from;
    for (size_t i = 0; i < EXCERPT_MAX && to < line.n; i++)
        to += utf8_len(line.p + to, line.n - to);
    return str_of(line.p + from, to - from);
}

static void put_excerpt(struct buf *out, const struct diag *g, uint32_t line,
                        uint32_t col, const struct paint *p)
{
    struct str whole = source_line(g->at.src, line);
    uint32_t skip;
    struct str part = window(whole, col, &skip);
    buf_printf(out, "%s%6u |%s ", p->dim, line, p->off);
    put_visible(out, part);
    buf_printf(out, "\n%s       |%s ", p->dim, p->off);
    size_t start = col - 1 - skip, shown = utf8_count(part.p, part.n);
    uint32_t end_line, end_col;
    source_locate(g->at.src, g->at.off + g->at.len, &end_line, &end_col);
    size_t stop = end_line == line && g->at.len ? end_col - 1 - skip : shown;
    if (g->at.len == 0)
        stop = start + 1;
    if (stop > shown && shown > start)
        stop = shown;
    for (size_t i = 0; i < start; i++)
        buf_putc(out, ' ');
    buf_printf(out, "%s^", p->kind);
    for (size_t i = start + 1; i < stop; i++)
        buf_putc(out, '~');
    buf_printf(out, "%s\n", p->off);
}

/* File names and values come from outside; what they do to a terminal must not. */
static void put_safe(struct buf *out, const char *before, const char *text)
{
    char *copy = mem_strdup(text);
    utf8_hide_controls(copy, strlen(copy), false);
    buf_puts(out, before);
    buf_puts(out, copy);
    mem_free(copy);
}

static void put_one(struct buf *out, const struct diag *g, bool colour)
{
    struct paint p = paint_of(g->severity, colour);
    const struct code_info *info = code_info(g->code);
    uint32_t line = 0, col = 0;
    buf_puts(out, p.bold);
    if (g->at.src) {
        source_locate(g->at.src, g->at.off, &line, &col);
        put_safe(out, "", g->at.src->name);
        buf_printf(out, ":%u:%u: ", line, col);
    }
    buf_printf(out, "%s%s", p.kind, severity_names[g->severity]);
    if (info)
        buf_printf(out, "[%s]", info->id);
    buf_printf(out, "%s%s", p.off, p.bold);
    put_safe(out, ": ", g->msg);
    buf_printf(out, "%s\n", p.off);
    if (g->at.src)
        put_excerpt(out, g, line, col, &p);
    if (g->where) {
        buf_printf(out, "%s       =%s", p.dim, p.off);
        put_safe(out, " in ", g->where);
        buf_putc(out, '\n');
    }
    if (g->hint) {
        buf_printf(out, "%s       =%s", p.dim, p.off);
        put_safe(out, " ", g->hint);
        buf_putc(out, '\n');
    }
}

void diags_print(const struct diags *d, struct buf *out, bool colour)
{
    for (size_t i = 0; i < d->list.n; i++)
        put_one(out, &d->list.at[i], colour);
    if (d->n_errors || d->n_warnings) {
        if (d->n_errors)
            buf_printf(out, "%zu error%s", d->n_errors, d->n_errors == 1 ? "" : "s");
        if (d->n_warnings)
            buf_printf(out, "%s%zu warning%s", d->n_errors ? ", " : "", d->n_warnings,
                       d->n_warnings == 1 ? "" : "s");
        buf_putc(out, '\n');
    }
}

static void put_member(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, ",\"%s\":", name);
    if (value)
        buf_json_str(out, value, strlen(value));
    else
        buf_puts(out, "null");
}

void diags_json(const struct diags *d, struct buf *out)
{
    for (size_t i = 0; i < d->list.n; i++) {
        const struct diag *g = &d->list.at[i];
        const struct code_info *info = code_info(g->code);
        uint32_t line = 0, col = 0, end_line = 0, end_col = 0;
        if (g->at.src) {
            source_locate(g->at.src, g->at.off, &line, &col);
            source_locate(g->at.src, g->at.off + g->at.len, &end_line, &end_col);
        }
        buf_printf(out, "{\"severity\":\"%s\"", severity_names[g->severity]);
        put_member(out, "code", info ? info->id : NULL);
        put_member(out, "title", info ? info->title : NULL);
        put_member(out, "file", g->at.src ? g->at.src->name : NULL);
        buf_printf(out, ",\"line\":%u,\"column\":%u,\"end_line\":%u,\"end_column\":%u",
                   line, col, end_line, end_col);
        put_member(out, "message", g->msg);
        put_member(out, "where", g->where);
        put_member(out, "hint", g->hint);
        buf_puts(out, "}\n");
    }
}
