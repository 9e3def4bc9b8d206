/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/compiler.h"
#include "base/opt.h"
#include "base/opt_private.h"

#define COLUMNS 79
#define FLAGS_MAX 34 /* a longer left side puts its help on the next line */
#define TEXT_MAX 65536

static const char *metavar(const struct opt *o)
{
    if (o->meta)
        return o->meta;
    switch (o->kind) {
    case OPT_KIND_INT:
    case OPT_KIND_NUM:
        return "N";
    case OPT_KIND_SIZE:
        return "SIZE";
    case OPT_KIND_DURATION:
        return "TIME";
    case OPT_KIND_CHOICE:
        return o->choices;
    default:
        return "TEXT";
    }
}

static bool starts_true(const struct opt *o)
{
    return o->preset && strcmp(o->preset, "true") == 0;
}

/* "  -n, --dry-run" */
static void print_flag(const struct opt *o, struct buf *out)
{
    if (o->letter)
        buf_printf(out, "  -%c, --", o->letter);
    else
        buf_puts(out, "      --");
    if (o->kind == OPT_KIND_BOOL && starts_true(o))
        buf_puts(out, "[no-]");
    for (const char *c = opt_name(o); *c; c++)
        buf_putc(out, *c == '_' ? '-' : *c);
    if (o->kind != OPT_KIND_BOOL)
        buf_printf(out, " %s", metavar(o));
}

static void add_note(struct buf *notes, const char *text)
{
    buf_printf(notes, "%s%s", notes->n ? ", " : "", text);
}

/* "embedding width (default 16, 1..4096)" */
static void print_text(const struct opt *o, struct buf *out)
{
    struct buf notes, range;
    buf_init(&notes, TEXT_MAX);
    buf_init(&range, TEXT_MAX);
    buf_puts(out, o->help);
    if (o->kind == OPT_KIND_LIST)
        add_note(&notes, "may be repeated");
    if (o->kind == OPT_KIND_BOOL ? starts_true(o) : o->preset && o->preset[0])
        buf_printf(&notes, "%sdefault %s", notes.n ? ", " : "",
                   o->kind == OPT_KIND_BOOL ? "yes" : o->preset);
    opt_print_range(o, &range);
    if (range.n)
        add_note(&notes, buf_str(&range));
    if (o->kind == OPT_KIND_CHOICE && o->meta)
        add_note(&notes, o->choices);
    if (notes.n)
        buf_printf(out, " (%s)", buf_str(&notes));
    buf_release(&notes);
    buf_release(&range);
}

static size_t left_width(const struct opt *opts)
{
    size_t width = 0;
    struct buf flag;
    buf_init(&flag, TEXT_MAX);
    for (const struct opt *o = opts; o->kind != OPT_KIND_END; o++) {
        if (o->hidden || o->kind == OPT_KIND_HEADING)
            continue;
        buf_clear(&flag);
        print_flag(o, &flag);
        if (flag.n > width && flag.n <= FLAGS_MAX)
            width = flag.n;
    }
    buf_release(&flag);
    return width;
}

void opt_help(const struct opt *opts, struct buf *out)
{
    size_t indent = left_width(opts) + 2;
    struct buf flag, text;
    buf_init(&flag, TEXT_MAX);
    buf_init(&text, TEXT_MAX);
    for (const struct opt *o = opts; o->kind != OPT_KIND_END; o++) {
        if (o->hidden)
            continue;
        if (o->kind == OPT_KIND_HEADING) {
            buf_printf(out, "%s%s:\n", o == opts ? "" : "\n", o->help);
            continue;
        }
        buf_clear(&flag);
        buf_clear(&text);
        print_flag(o, &flag);
        print_text(o, &text);
        buf_puts(out, buf_str(&flag));
        if (flag.n + 2 > indent) {
            buf_putc(out, '\n');
            buf_pad(out, indent);
        } else {
            buf_pad(out, indent - flag.n);
        }
        buf_wrap(out, str_c(buf_str(&text)), indent, COLUMNS);
    }
    buf_release(&flag);
    buf_release(&text);
}
