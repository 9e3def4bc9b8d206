/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/mem.h"
#include "ckpt/state_private.h"

#define TABLES_MAX ((size_t)16 << 20)

static void put_ids(struct buf *b, const struct embed_table_conf *t,
                    const struct lookup_ids *ids)
{
    char *rule = ckpt_rule_text(t);
    buf_printf(b,
               ", \"rule\": \"%s\", \"ids\": {\"now\": %jd, \"last_round\": %jd, "
               "\"room\": %jd, \"admitted\": %jd, \"evicted\": %jd}",
               rule, (intmax_t)ids->now, (intmax_t)ids->last_round, (intmax_t)ids->room,
               (intmax_t)ids->admitted, (intmax_t)ids->evicted);
    mem_free(rule);
}

/* Of one table in the blob "tables", by the name of its weights: where initial values
 * come from, how rows are updated, and how ids come and go.
 */
static void put_facts(struct buf *b, const struct embed_table_conf *t,
                      const struct lookup_ids *ids)
{
    char *origin = ckpt_origin_text(t), *name = ckpt_table_name(t), state[32];
    buf_json_str(b, name, strlen(name));
    str_from_f64(embed_row_opt_initial(&t->opt), state);
    buf_printf(b,
               ": {\"first\": \"%s\", \"optimizer\": \"%s\", \"rows\": %jd, "
               "\"state_first\": %s",
               origin, t->trainable ? embed_row_opt_name(t->opt.kind) : "none",
               (intmax_t)t->rows, state);
    if (t->keyed.kind)
        put_ids(b, t, ids);
    buf_putc(b, '}');
    mem_free(origin);
    mem_free(name);
}

/* All tables; *facts is to become the blob. */
static void add_tables(struct ckpt_writer *w, struct lookup *l, struct buf *facts)
{
    buf_putc(facts, '{');
    for (int i = 0; i < lookup_n_tables(l); i++) {
        const struct embed_table_conf *t = lookup_table(l, i);
        struct lookup_snapshot *s = NULL;
        struct err err = {0};
        enum rc rc = lookup_snapshot(l, i, false, &s, &err);
        if (rc) {
            ckpt_fail(w, rc, &err);
            return;
        }
        buf_puts(facts, i ? ", " : "");
        put_facts(facts, t, &s->image.ids);
        ckpt_add_table(w, t, s);
    }
    buf_putc(facts, '}');
}

void ckpt_add_state(struct ckpt_writer *w, const struct ckpt_state *s)
{
    struct buf facts;
    for (size_t i = 0; i < s->n_params; i++) {
        struct param *p = s->params[i];
        int64_t rows = p->n_dims ? p->dims[0] : 1;
        ckpt_add_f32(w, CKPT_MODEL, p->name, p->dims, p->n_dims, param_read(p),
                     rows ? p->n / rows : 0);
    }
    buf_init(&facts, TABLES_MAX);
    if (s->lookup)
        add_tables(w, s->lookup, &facts);
    for (size_t i = 0; i < s->n_arrays; i++) {
        const struct ckpt_array *a = &s->arrays[i];
        int64_t width = 1;
        for (int k = 1; k < a->n_dims; k++)
            width *= a->dims[k];
        ckpt_add_f32(w, a->part, a->name, a->dims, a->n_dims, a->data, width);
    }
    if (s->lookup)
        ckpt_add_json(w, "tables", buf_str(&facts));
    buf_release(&facts);
}
