/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "text/json.h"

struct printer {
    struct buf *out;
    unsigned indent;
};

static void new_line(const struct printer *p, unsigned level)
{
    if (!p->indent)
        return;
    buf_putc(p->out, '\n');
    for (size_t i = 0; i < (size_t)p->indent * level; i++)
        buf_putc(p->out, ' ');
}

/* A point or exponent marks it as a number that is not whole: 90 is written 90.0. */
static void put_real(struct buf *out, double v)
{
    char text[40];
    if (isnan(v)) {
        buf_puts(out, "\"NaN\"");
    } else if (isinf(v)) {
        buf_puts(out, v < 0 ? "\"-Infinity\"" : "\"Infinity\"");
    } else {
        str_from_f64(v, text);
        buf_puts(out, text);
        if (!strpbrk(text, ".e"))
            buf_puts(out, ".0");
    }
}

static void put_node(const struct printer *p, const struct node *n, unsigned level);

static void put_list(const struct printer *p, const struct node *n, unsigned level)
{
    buf_putc(p->out, '[');
    for (size_t i = 0; i < n->list.n; i++) {
        if (i)
            buf_puts(p->out, p->indent ? "," : ", ");
        new_line(p, level + 1);
        put_node(p, n->list.at[i], level + 1);
    }
    if (n->list.n)
        new_line(p, level);
    buf_putc(p->out, ']');
}

static void put_map(const struct printer *p, const struct node *n, unsigned level)
{
    buf_putc(p->out, '{');
    for (size_t i = 0; i < n->map.n; i++) {
        const struct node_entry *e = &n->map.at[i];
        if (i)
            buf_puts(p->out, p->indent ? "," : ", ");
        new_line(p, level + 1);
        buf_json_str(p->out, e->key.p, e->key.n);
        buf_puts(p->out, ": ");
        put_node(p, e->value, level + 1);
    }
    if (n->map.n)
        new_line(p, level);
    buf_putc(p->out, '}');
}

static void put_node(const struct printer *p, const struct node *n, unsigned level)
{
    switch (n->kind) {
    case NODE_NULL:
        buf_puts(p->out, "null");
        break;
    case NODE_BOOL:
        buf_puts(p->out, n->flag ? "true" : "false");
        break;
    case NODE_INT:
        buf_printf(p->out, "%s%" PRIu64, n->num.neg ? "-" : "", n->num.mag);
        break;
    case NODE_REAL:
        put_real(p->out, n->real);
        break;
    case NODE_STR:
    case NODE_WORD:
        buf_json_str(p->out, n->text.p, n->text.n);
        break;
    case NODE_LIST:
        put_list(p, n, level);
        break;
    case NODE_MAP:
        put_map(p, n, level);
        break;
    }
}

void json_print(const struct node *root, unsigned indent, struct buf *out)
{
    struct printer p = {.out = out, .indent = indent};
    put_node(&p, root, 0);
    if (indent)
        buf_putc(out, '\n');
}
