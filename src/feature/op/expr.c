/* SPDX-License-Identifier: Apache-2.0 */
/* expr_feature: a formula over the inputs, by their bare names. */
#include <math.h>

#include "base/mem.h"
#include "feature/feature_private.h"
#include "feature/op/formula.h"

struct formula {
    struct expr *expr;
    double filler;
};

struct formula *formula_create(struct fg *f, const char *text, double filler,
                               struct feature_plan *p, const char *field,
                               struct diags *diags)
{
    struct formula *o = mem_calloc(1, sizeof(*o));
    const char **names = mem_calloc(f->n_in + 1, sizeof(*names));
    struct err err = {0};
    for (size_t i = 0; i < f->n_in; i++) {
        struct str name = f->in[i].conf->name;
        names[i] = arena_strndup(&p->mem, name.p ? name.p : "", name.n);
        f->in[i].form = FORM_NUMBERS;
        f->in[i].wide = true;
    }
    o->filler = filler;
    if (expr_parse(str_c(text), names, f->n_in, &o->expr, &err))
        plan_report(diags, f, E1310, field, "feature '%s': %s", f->info.name, err.msg);
    mem_free(names);
    return o;
}

void formula_destroy(struct formula *o)
{
    if (o)
        expr_destroy(o->expr);
    mem_free(o);
}

enum rc formula_step(struct fg_run *x, const struct formula *o, const struct fg_range *in,
                     struct expr_value *vars)
{
    struct expr_value out;
    for (size_t i = 0; i < x->f->n_in; i++) {
        int64_t n = in[i].end - in[i].begin;
        if (n == 0)
            return RC_OK; /* the default */
        const double *p = cells_f64(&x->st->in[i]) + in[i].begin;
        vars[i] = (struct expr_value){.n = n, .one = n == 1 ? *p : 0, .p = p};
    }
    enum rc rc = expr_eval(o->expr, vars, o->filler, x->scratch->stack, &out, x->err);
    if (!rc && out.n == 1)
        return sink_number(x, out.one, false);
    for (int64_t i = 0; !rc && i < out.n; i++)
        rc = sink_number(x, out.p[i], false);
    return rc;
}

static void expr_compile(struct fg *f, struct feature_plan *p, struct diags *diags)
{
    const struct pc_ExprFeature *m = (const void *)f->conf->msg;
    f->op = formula_create(f, m->expression, m->has_fill_missing ? m->fill_missing : NAN,
                           p, "expression", diags);
    if (f->sink == SINK_IDS)
        f->want = 1;
}

static void expr_release(void *op)
{
    formula_destroy(op);
}

static enum rc expr_step(struct fg_run *x, const struct fg_range *in)
{
    return formula_step(x, x->f->op, in, x->st->vars);
}

static void json_write_expr(struct fg_json *w)
{
    const struct pc_ExprFeature *m = (const void *)w->f->msg;
    fg_json_default(w);
    fg_json_text(w, "expression", m->expression);
    fg_json_texts(w, "variables", m->variables, m->n_variables);
    fg_json_text(w, "value_type", "float");
    fg_json_separator(w);
    if (m->has_fill_missing)
        fg_json_put(w, "fill_missing", node_real(w->a, m->fill_missing, fg_json_nowhere));
    fg_json_boundaries(w);
    if (m->has_value_dim)
        fg_json_count(w, "value_dim", m->value_dim);
}

const struct fg_ops fg_expr = {.compile = expr_compile,
                               .step = expr_step,
                               .release = expr_release,
                               .json = {.write = json_write_expr}};
