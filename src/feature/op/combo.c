/* SPDX-License-Identifier: Apache-2.0 */
/* combo_feature: every combination of the inputs' values, the first input outermost. */
#include "base/mem.h"
#include "feature/feature_private.h"

#define COMBO_INPUTS_MAX 64
#define COMBO_MAX (1 << 20) /* combinations of one row */

static void combo_compile(struct fg *f, struct feature_plan *p, struct diags *diags)
{
    if (f->n_in < 2 || f->n_in > COMBO_INPUTS_MAX)
        plan_report(diags, f, E1318, "expression",
                    "combo_feature '%s' has %zu inputs, not 2 to %d", f->info.name,
                    f->n_in, COMBO_INPUTS_MAX);
    for (size_t i = 0; i < f->n_in; i++)
        f->in[i].form = FORM_TEXTS;
}

static enum rc combo_give(struct fg_run *x, const int64_t *at)
{
    struct buf *text = &x->scratch->text;
    struct cell_buf buf;
    buf_clear(text);
    for (size_t i = 0; i < x->f->n_in; i++) {
        const struct fg_cells *c = &x->st->in[i];
        struct str s = cell_text(c, at[i], &buf);
        if (i)
            buf_putc(text, '_');
        buf_add(text, s.p, s.n);
    }
    if (text->failed)
        return fg_nomem(x);
    return sink_text(x, str_of(text->p, text->n), 1.0f);
}

static enum rc combo_step(struct fg_run *x, const struct fg_range *in)
{
    int64_t at[COMBO_INPUTS_MAX], total = 1;
    size_t n = x->f->n_in;
    enum rc rc = RC_OK;
    for (size_t i = 0; i < n; i++) {
        int64_t k = in[i].end - in[i].begin;
        at[i] = in[i].begin;
        if (k == 0)
            return RC_OK;
        if (k > COMBO_MAX / total)
            return fg_fail(x, &x->f->in[i], RC_INVAL, E1320,
                           "more than %d combinations in one row", COMBO_MAX);
        total *= k;
    }
    if (x->f->keep && total > x->f->keep)
        total = x->f->keep;
    for (int64_t k = 0; !rc && k < total; k++) {
        rc = combo_give(x, at);
        for (size_t i = n; i-- > 0 && ++at[i] == in[i].end;)
            at[i] = in[i].begin;
    }
    return rc;
}

static void json_write_combo(struct fg_json *w)
{
    const struct pc_ComboFeature *m = (const void *)w->f->msg;
    fg_json_default(w);
    fg_json_texts(w, "expression", m->expression, m->n_expression);
    fg_json_text(w, "value_type", "string");
    fg_json_flag(w, "need_prefix", false);
    fg_json_count(w, "value_dim", w->f->value_dim);
    fg_json_separator(w);
    fg_json_bucket(w);
}

const struct fg_ops fg_combo = {
    .compile = combo_compile, .step = combo_step, .json = {.write = json_write_combo}};
