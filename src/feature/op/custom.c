/* SPDX-License-Identifier: Apache-2.0 */
/* custom_feature: an operator by name, built in or from a library. Which one is decided
 * when the plan is made; custom_ops is its table of functions. EditDistance and SeqExpr
 * are in this file, RegexReplace in custom_regex.c, libraries in custom_plugin.c. A row
 * in which an input has no value gets the default without a call.
 */
#include <stdio.h>

#include "feature/op/custom.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define EDIT_MAX 4096 /* characters of one text */

static const struct custom_ops *const built_in[] = {
    &custom_edit_distance, &custom_regex_replace, &custom_seq_expr};

static void custom_release(void *op)
{
    struct custom *c = op;
    if (c->ops && c->ops->release)
        c->ops->release(c);
    mem_free(c);
}

static void custom_compile(struct fg *f, struct feature_plan *p, struct diags *diags)
{
    const struct pc_CustomFeature *m = (const void *)f->conf->msg;
    struct custom *c = f->op = mem_calloc(1, sizeof(*c));
    c->ops = &custom_plugin;
    c->n_in = f->n_in;
    for (size_t i = 0; i < ARRAY_LEN(built_in); i++)
        if (strcmp(m->operator_name, built_in[i]->name) == 0)
            c->ops = built_in[i];
    f->want = f->sink == SINK_NUMBERS ? f->dim : 1;
    f->several = true; /* as the operator says */
    for (size_t i = 0; i < f->n_in; i++)
        f->in[i].form = FORM_TEXTS;
    if (c->ops->max_in && (f->n_in < c->ops->min_in || f->n_in > c->ops->max_in))
        plan_report(diags, f, E1318, "expression",
                    "feature '%s': %s takes %zu inputs, not %zu", f->info.name,
                    c->ops->name, c->ops->min_in, f->n_in);
    else
        c->ops->compile(c, f, p, diags);
}

static enum rc custom_step(struct fg_run *x, const struct fg_range *in)
{
    struct custom *c = x->f->op;
    for (size_t i = 0; i < x->f->n_in; i++)
        if (in[i].begin == in[i].end)
            return RC_OK;
    return c->ops->step(x, c, in);
}

struct custom_scratch {
    const struct custom *c;
    void *inner;
};

static void *custom_scratch(const void *op)
{
    const struct custom *c = op;
    if (!c || !c->ops->scratch)
        return NULL;
    struct custom_scratch *s = mem_calloc(1, sizeof(*s));
    s->c = c;
    s->inner = c->ops->scratch(c);
    return s;
}

static void custom_scratch_destroy(void *scratch)
{
    struct custom_scratch *s = scratch;
    s->c->ops->scratch_destroy(s->c, s->inner);
    mem_free(s);
}

void *custom_inner(const struct fg_run *x)
{
    return ((struct custom_scratch *)x->st->op)->inner;
}

static void json_write_custom(struct fg_json *w)
{
    const struct pc_CustomFeature *m = (const void *)w->f->msg;
    const struct node *params = m->operator_params;
    fg_json_default(w);
    fg_json_text(w, "operator_name", m->operator_name);
    fg_json_text(w, "operator_lib_file", m->operator_lib_file);
    fg_json_flag(w, "is_op_thread_safe", m->is_op_thread_safe);
    fg_json_texts(w, "expression", m->expression, m->n_expression);
    fg_json_text(w, "value_type",
                 w->f->has_num_buckets ? "int64" : fg_json_value_type(w->f, false, NULL));
    fg_json_count(w, "value_dim", w->f->value_dim);
    for (size_t i = 0; params && params->kind == NODE_MAP && i < params->map.n; i++) {
        char key[200];
        snprintf(key, sizeof(key), "%.*s", (int)params->map.at[i].key.n,
                 params->map.at[i].key.p);
        fg_json_put(w, key, node_clone(w->a, params->map.at[i].value));
    }
    fg_json_separator(w);
    fg_json_normalizer(w);
    fg_json_bucket(w);
    if (w->f->sequence)
        fg_json_flag(w, "is_sequence", true);
}

static const struct fg_json_key json_keys[] = {
    {"is_sequence", NULL},
    {0},
};

const struct fg_ops fg_custom = {.compile = custom_compile,
                                 .step = custom_step,
                                 .release = custom_release,
                                 .scratch = custom_scratch,
                                 .scratch_destroy = custom_scratch_destroy,
                                 .json = {.write = json_write_custom,
                                          .keys = json_keys,
                                          .bare = true,
                                          .others = "operator_params"}};

/* ---- EditDistance ---- */

static void edit_compile(struct custom *c, struct fg *f, struct feature_plan *p,
                         struct diags *diags)
{
    const struct pc_CustomFeature *m = (const void *)f->conf->msg;
    const struct node *encoding = pc_operator_param(m->operator_params, "encoding");
    c->latin = encoding && str_is(encoding->text, "latin");
    f->in[0].form = f->in[1].form = FORM_WHOLE;
}

/* Characters of a text; bytes that are no UTF-8 count one each. */
static int64_t characters(struct str s, bool latin, uint32_t *out)
{
    int64_t n = 0;
    for (size_t i = 0; i < s.n && n < EDIT_MAX; n++) {
        size_t len = latin ? 1 : utf8_len(s.p + i, s.n - i);
        uint32_t c = 0;
        len = len ? len : 1;
        for (size_t k = 0; k < len; k++)
            c = c << 8 | (unsigned char)s.p[i + k];
        out[n] = c;
        i += len;
    }
    return n;
}

static enum rc edit_step(struct fg_run *x, struct custom *c, const struct fg_range *in)
{
    uint32_t a[EDIT_MAX], b[EDIT_MAX];
    int32_t row[EDIT_MAX + 1];
    struct cell_buf one, two;
    struct str s = cell_text(&x->st->in[0], in[0].begin, &one);
    struct str t = cell_text(&x->st->in[1], in[1].begin, &two);
    int64_t n = characters(s, c->latin, a), m = characters(t, c->latin, b);
    if (n == EDIT_MAX || m == EDIT_MAX)
        return fg_fail(x, NULL, RC_INVAL, E1320, "a text has %d characters or more",
                       EDIT_MAX);
    for (int64_t k = 0; k <= m; k++)
        row[k] = (int32_t)k;
    for (int64_t i = 1; i <= n; i++) {
        int32_t diagonal = row[0];
        row[0] = (int32_t)i;
        for (int64_t k = 1; k <= m; k++) {
            int32_t best = diagonal + (a[i - 1] != b[k - 1]);
            diagonal = row[k];
            best = best < row[k] + 1 ? best : row[k] + 1;
            row[k] = best < row[k - 1] + 1 ? best : row[k - 1] + 1;
        }
    }
    return sink_i64(x, row[m], 1.0f);
}

const struct custom_ops custom_edit_distance = {.name = "EditDistance",
                                                .min_in = 2,
                                                .max_in = 2,
                                                .compile = edit_compile,
                                                .step = edit_step};

/* ---- SeqExpr ---- */

/* The operator cuts up whatever holds the delimiter: when no input is known to be a
 * sequence (all are of the side user), any may be one.
 */
static void take_user_sequences(struct fg *f)
{
    bool any = !f->sequence;
    for (size_t i = 0; i < f->n_in; i++)
        any = any || f->in[i].seq || f->in[i].feature || f->in[i].is_const;
    for (size_t i = 0; i < f->n_in && !any; i++)
        f->in[i].seq = f->in[i].spread = true;
}

static void seq_expr_compile(struct custom *c, struct fg *f, struct feature_plan *p,
                             struct diags *diags)
{
    const struct pc_CustomFeature *m = (const void *)f->conf->msg;
    const struct node *formula = pc_operator_param(m->operator_params, "formula");
    const char *text = formula ? formula->text.p : "";
    take_user_sequences(f);
    if (strcmp(text, "spherical_distance") == 0 && f->n_in != 4) {
        plan_report(diags, f, E1318, "expression",
                    "feature '%s': spherical_distance takes lng1, lat1, lng2 and lat2",
                    f->info.name);
        return;
    }
    if (strcmp(text, "spherical_distance") == 0) {
        const char *n[4];
        for (int i = 0; i < 4; i++)
            n[i] = arena_strndup(&p->mem, f->in[i].conf->name.p, f->in[i].conf->name.n);
        text = arena_printf(&p->mem, "haversine(%s, %s, %s, %s)", n[0], n[1], n[2], n[3]);
    }
    c->formula = formula_create(f, text, NAN, p, "operator_params", diags);
}

static enum rc seq_expr_step(struct fg_run *x, struct custom *c,
                             const struct fg_range *in)
{
    return formula_step(x, c->formula, in, x->st->vars);
}

static void seq_expr_release(struct custom *c)
{
    formula_destroy(c->formula);
}

const struct custom_ops custom_seq_expr = {.name = "SeqExpr",
                                           .min_in = 1,
                                           .max_in = 64,
                                           .compile = seq_expr_compile,
                                           .step = seq_expr_step,
                                           .release = seq_expr_release};
