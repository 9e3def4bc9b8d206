/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/mem.h"
#include "ckpt/state_private.h"

#define TABLES_MAX ((size_t)16 << 20)

static void put_ids(struct buf *b, const struct embed_table *t)
{
    const struct embed_keyed *k = t->keyed;
    char *rule = table_rule(t);
    buf_printf(b,
               ", \"rule\": \"%s\", \"ids\": {\"now\": %jd, \"last_round\": %jd, "
               "\"room\": %jd, \"admitted\": %jd, \"evicted\": %jd}",
               rule, (intmax_t)k->now, (intmax_t)k->last_round, (intmax_t)k->history.room,
               (intmax_t)k->admitted, (intmax_t)k->evicted);
    mem_free(rule);
}

/* The blob "tables", by the names of their weights: where initial values come from, how
 * rows are updated, and how ids come and go. */
static void add_origins(struct ckpt_writer *w, const struct embed *e)
{
    struct buf b;
    buf_init(&b, TABLES_MAX);
    buf_putc(&b, '{');
    for (int i = 0; i < embed_n_tables(e); i++) {
        const struct embed_table *t = embed_table_at(e, i);
        char *origin = table_origin(t), *name = table_column_name(t, NULL);
        const char *opt =
            t->conf.trainable ? embed_row_opt_name(t->conf.opt.kind) : "none";
        buf_puts(&b, i ? ", " : "");
        buf_json_str(&b, name, strlen(name));
        double first =
            t->conf.opt.kind == ROW_ADAGRAD ? t->conf.opt.initial_accumulator : 0;
        char state[32];
        str_from_f64(first, state);
        buf_printf(&b,
                   ": {\"first\": \"%s\", \"optimizer\": \"%s\", \"rows\": %jd, "
                   "\"state_first\": %s",
                   origin, opt, (intmax_t)t->conf.rows, state);
        if (t->keyed)
            put_ids(&b, t);
        buf_putc(&b, '}');
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
        struct param *p = s->params[i];
        int64_t rows = p->n_dims ? p->dims[0] : 1;
        ckpt_add_f32(w, CKPT_MODEL, p->name, p->dims, p->n_dims, param_read(p),
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
