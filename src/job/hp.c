/* SPDX-License-Identifier: Apache-2.0 */
#include "job/hp.h"

#include <string.h>

#include "job/quote.h"
#include "text/json.h"

static void put_value(const struct node *n, struct buf *out);

/* [64, 32] as Python prints it. */
static void put_list(const struct node *n, struct buf *out)
{
    buf_putc(out, '[');
    for (size_t i = 0; i < n->list.n; i++) {
        const struct node *item = n->list.at[i];
        if (i)
            buf_puts(out, ", ");
        if (item->kind == NODE_STR) {
            buf_putc(out, '\'');
            put_value(item, out);
            buf_putc(out, '\'');
        } else {
            put_value(item, out);
        }
    }
    buf_putc(out, ']');
}

static void put_value(const struct node *n, struct buf *out)
{
    switch (n->kind) {
    case NODE_NULL:
        buf_puts(out, "None");
        break;
    case NODE_BOOL:
        buf_puts(out, n->flag ? "True" : "False");
        break;
    case NODE_LIST:
        put_list(n, out);
        break;
    case NODE_MAP:
        json_print(n, 0, out);
        break;
    default: /* numbers keep the digits that were written */
        buf_add(out, n->text.p, n->text.n);
        break;
    }
}

void job_hp_read(const struct node *map, struct arena *a, struct job_spec_hp **out,
                 size_t *n)
{
    *n = 0;
    *out = NULL;
    if (!map || map->kind != NODE_MAP)
        return;
    *out = arena_alloc(a, (map->map.n + 1) * sizeof(**out));
    for (size_t i = 0; i < map->map.n; i++) {
        const struct node_entry *e = &map->map.at[i];
        struct buf text;
        buf_init(&text, 16 << 20);
        put_value(e->value, &text);
        (*out)[(*n)++] =
            (struct job_spec_hp){.name = arena_strndup(a, e->key.p, e->key.n),
                                 .value = arena_strndup(a, buf_str(&text), text.n)};
        buf_release(&text);
    }
}

void job_hp_json(const struct job_spec_hp *hp, size_t n, struct buf *out)
{
    buf_putc(out, '{');
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_puts(out, ", ");
        job_quote_json_ascii(str_c(hp[i].name), out);
        buf_puts(out, ": ");
        job_quote_json_ascii(str_c(hp[i].value), out);
    }
    buf_putc(out, '}');
}

void job_hp_args(const struct job_spec_hp *hp, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s--", i ? " " : "");
        if (job_quote_is_plain(str_c(hp[i].name)))
            buf_puts(out, hp[i].name);
        else
            job_quote_shell(str_c(hp[i].name), out);
        buf_putc(out, ' ');
        job_quote_shell(str_c(hp[i].value), out);
    }
}

void job_hp_args_json(const struct job_spec_hp *hp, size_t n, struct buf *out)
{
    buf_putc(out, '[');
    for (size_t i = 0; i < n; i++) {
        struct buf name;
        buf_init(&name, 1 << 20);
        buf_printf(&name, "--%s", hp[i].name);
        if (i)
            buf_puts(out, ", ");
        job_quote_json_ascii(str_of(buf_str(&name), name.n), out);
        buf_puts(out, ", ");
        job_quote_json_ascii(str_c(hp[i].value), out);
        buf_release(&name);
    }
    buf_putc(out, ']');
}
