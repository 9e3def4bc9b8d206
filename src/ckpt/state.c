/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/mem.h"
#include "ckpt/state_private.h"

#define TABLES_MAX ((size_t)16 << 20)

/* The blob "tables", by the names of their weights: where first values come from, and how
 * rows are updated. */
static void add_origins(struct ckpt_writer *w, const struct embed *e)
{
    struct buf b;
    buf_init(&b, TABLES_MAX);
    buf_putc(&b, '{');
    for (int i = 0; i < embed_n_tables(e); i++) {
        const struct table *t = embed_table_at(e, i);
        char *origin = table_origin(t), *name = table_column_name(t, NULL);
        const char *opt = t->conf.trainable ? row_opt_name(t->conf.opt.kind) : "none";
        buf_puts(&b, i ? ", " : "");
        buf_json_str(&b, name, strlen(name));
        buf_printf(&b, ": {\"first\": \"%s\", \"optimizer\": \"%s\"}", origin, opt);
        mem_free(origin);
        mem_free(name);
    }
    buf_putc(&b, '}');
    ckpt_add_json(w, "tables", buf_str(&b));
    buf_release(&b);
}

void ckpt_add_state(struct ckpt_writer *w, const struct ckpt_state *s)
{
    for (size_t i = 0; i < s->n_params; i++) {
        const struct param *p = s->params[i];
        int64_t rows = p->n_dims ? p->dims[0] : 1;
        ckpt_add_f32(w, CKPT_MODEL, p->name, p->dims, p->n_dims, p->value,
                     rows ? p->n / rows : 0);
    }
    for (int i = 0; s->embed && i < embed_n_tables(s->embed); i++)
        table_add(w, embed_table_at(s->embed, i));
    for (size_t i = 0; i < s->n_arrays; i++) {
        const struct ckpt_array *a = &s->arrays[i];
        int64_t width = 1;
        for (int k = 1; k < a->n_dims; k++)
            width *= a->dims[k];
        ckpt_add_f32(w, a->part, a->name, a->dims, a->n_dims, a->data, width);
    }
    if (s->embed)
        add_origins(w, s->embed);
}
