/* SPDX-License-Identifier: Apache-2.0 */
/* combine_feature: the numbers of one input, or what its texts stand for, become one. */
#include "base/mem.h"
#include "feature/combiner.h"
#include "feature/feature_private.h"

struct combine {
    enum combiner how;
    bool mapped;
    struct vocab words; /* to an index of values */
    double *values;
};

static void combine_release(void *op)
{
    struct combine *c = op;
    vocab_release(&c->words);
    mem_free(c->values);
    mem_free(c);
}

static void combine_compile(struct fg *f, struct feature_plan *p, struct diags *diags)
{
    const struct pc_CombineFeature *m = (const void *)f->conf->msg;
    struct combine *c = f->op = mem_calloc(1, sizeof(*c));
    struct err err = {0};
    if (!combiner_find(m->combiner, &c->how) || c->how == COMBINE_NONE)
        plan_report(diags, f, E1318, "combiner",
                    "feature '%s': there is no combiner '%s'", f->info.name, m->combiner);
    c->mapped = m->n_value_map > 0;
    c->values = mem_calloc((size_t)m->n_value_map + 1, sizeof(*c->values));
    for (int64_t i = 0; i < m->n_value_map; i++) {
        c->values[i] = m->value_map[i].value;
        if (vocab_put(&c->words, str_c(m->value_map[i].key), i, NULL, &err))
            plan_report(diags, f, E1318, "value_map", "%s", err.msg);
    }
    f->want = 1;
    f->in[0].form = c->mapped ? FORM_TEXTS : FORM_NUMBERS;
    f->in[0].wide = true;
}

static enum rc combine_step(struct fg_run *x, const struct fg_range *in)
{
    const struct combine *c = x->f->op;
    const struct fg_cells *cells = &x->st->in[0];
    struct combined sum = {0};
    struct cell_buf buf;
    for (int64_t i = in->begin; i < in->end; i++) {
        int64_t at = c->mapped ? vocab_find(&c->words, cell_text(cells, i, &buf)) : 0;
        if (at >= 0)
            combined_add(&sum, c->mapped ? c->values[at] : cells_f64(cells)[i]);
    }
    return sum.n ? sink_number(x, combined_value(&sum, c->how), false) : RC_OK;
}

static void json_write_combine(struct fg_json *w)
{
    const struct pc_CombineFeature *m = (const void *)w->f->msg;
    struct node *map = node_create(w->a, NODE_MAP, fg_json_nowhere);
    fg_json_default(w);
    fg_json_text(w, "expression", m->expression);
    fg_json_text(w, "value_type", w->f->has_num_buckets ? "int64" : "float");
    fg_json_flag(w, "need_prefix", false);
    fg_json_text(w, "combiner", m->combiner);
    fg_json_separator(w);
    fg_json_normalizer(w);
    for (int64_t i = 0; i < m->n_value_map; i++)
        node_add(w->a, map, str_c(m->value_map[i].key), fg_json_nowhere,
                 node_real(w->a, m->value_map[i].value, fg_json_nowhere));
    if (m->n_value_map)
        fg_json_put(w, "value_map", map);
    fg_json_bucket(w);
    if (pc_feature_is_sparse(w->f))
        fg_json_count(w, "value_dim", 1);
}

static const struct fg_json_key json_keys[] = {
    {"value_dim", NULL},
    {0},
};

const struct fg_ops fg_combine = {
    .compile = combine_compile,
    .step = combine_step,
    .release = combine_release,
    .json = {.write = json_write_combine, .keys = json_keys}};
