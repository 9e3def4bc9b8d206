/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "base/utf8.h"
#include "text/prototext.h"

#define ONE_LINE_MAX 88 /* a list of scalars that is longer gets one line per item */

static void indent(struct buf *out, unsigned level)
{
    for (unsigned i = 0; i < level; i++)
        buf_puts(out, "  ");
}

static void print_string(struct buf *out, struct str s)
{
    static const char names[128] = {
        ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't', ['"'] = '"', ['\\'] = '\\'};
    buf_putc(out, '"');
    for (size_t i = 0; i < s.n;) {
        unsigned char c = (unsigned char)s.p[i];
        size_t len = utf8_len(s.p + i, s.n - i);
        if (len > 1)
            buf_add(out, s.p + i, len);
        else if (c < 128 && names[c])
            buf_printf(out, "\\%c", names[c]);
        else if (c < 0x20 || c >= 0x7f)
            buf_printf(out, "\\%03o", c);
        else
            buf_putc(out, (char)c);
        i += len ? len : 1;
    }
    buf_putc(out, '"');
}

static void print_scalar(struct buf *out, const struct node *n)
{
    char text[32];
    switch (n->kind) {
    case NODE_BOOL:
        buf_puts(out, n->flag ? "true" : "false");
        break;
    case NODE_INT:
        buf_printf(out, "%s%" PRIu64, n->num.neg && n->num.mag ? "-" : "", n->num.mag);
        break;
    case NODE_REAL:
        str_from_f64(n->real, text);
        /* a bare nan reads back as a word, -nan as a number */
        buf_puts(out, isnan(n->real) ? "-nan" : text);
        /* so that it reads back as a number with a point, not as an integer */
        if (isfinite(n->real) && str_to_i64(str_c(text), &(int64_t){0}))
            buf_puts(out, ".0");
        break;
    case NODE_STR:
        print_string(out, n->text);
        break;
    case NODE_WORD:
        buf_add(out, n->text.p, n->text.n);
        break;
    case NODE_NULL:
        buf_puts(out, "null");
        break;
    case NODE_LIST:
    case NODE_MAP:
        break;
    }
}

static void print_fields(struct buf *out, const struct node *map, unsigned level);

static void print_message(struct buf *out, const struct node *map, unsigned level)
{
    buf_puts(out, map->map.n ? "{\n" : "{");
    print_fields(out, map, level + 1);
    if (map->map.n)
        indent(out, level);
    buf_putc(out, '}');
}

static bool fits_one_line(const struct node *list)
{
    size_t width = 0;
    for (size_t i = 0; i < list->list.n; i++) {
        if (!node_is_scalar(list->list.at[i]))
            return false;
        width += list->list.at[i]->text.n + 4;
    }
    return width <= ONE_LINE_MAX;
}

static void print_list(struct buf *out, const struct node *list, unsigned level)
{
    bool flat = fits_one_line(list);
    buf_putc(out, '[');
    for (size_t i = 0; i < list->list.n; i++) {
        const struct node *item = list->list.at[i];
        if (!flat) {
            buf_putc(out, '\n');
            indent(out, level + 1);
        }
        if (item->kind == NODE_MAP)
            print_message(out, item, level + 1);
        else
            print_scalar(out, item);
        if (i + 1 < list->list.n)
            buf_puts(out, flat ? ", " : ",");
    }
    if (!flat) {
        buf_putc(out, '\n');
        indent(out, level);
    }
    buf_putc(out, ']');
}

static void print_fields(struct buf *out, const struct node *map, unsigned level)
{
    for (size_t i = 0; i < map->map.n; i++) {
        const struct node_entry *e = &map->map.at[i];
        indent(out, level);
        buf_add(out, e->key.p, e->key.n);
        if (e->value->kind == NODE_MAP) {
            buf_putc(out, ' ');
            print_message(out, e->value, level);
        } else {
            buf_puts(out, ": ");
            if (e->value->kind == NODE_LIST)
                print_list(out, e->value, level);
            else
                print_scalar(out, e->value);
        }
        buf_putc(out, '\n');
    }
}

void prototext_print(const struct node *root, struct buf *out)
{
    print_fields(out, root, 0);
}
