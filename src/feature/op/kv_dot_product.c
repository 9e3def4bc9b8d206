/* SPDX-License-Identifier: Apache-2.0 */
/* kv_dot_product: the sum over common keys of the product of their weights. */
#include "base/mem.h"
#include "feature/kv_index.h"

enum { QUERY, DOCUMENT };

static void kv_compile(struct fg *f, struct feature_plan *p, struct diags *diags)
{
    f->want = 1;
    for (size_t i = 0; i < f->n_in; i++) {
        f->in[i].form = FORM_PAIRS;
        f->in[i].last_colon = true;
    }
}

static void *kv_scratch(const void *op)
{
    return mem_calloc(1, sizeof(struct kv_index));
}

static void kv_scratch_destroy(void *scratch)
{
    kv_index_release(scratch);
    mem_free(scratch);
}

static enum rc weight_of(struct fg_run *x, int which, int64_t i, double *v)
{
    const struct fg_cells *c = &x->st->in[which];
    struct cell_buf buf;
    *v = 1.0;
    if (c->val.type == CELL_TEXT && !cells_text(c)[i].p)
        return RC_OK;
    if (plane_number(&c->val, i, v))
        return RC_OK;
    struct str s = cell_text(c, i, &buf);
    return fg_fail(x, &x->f->in[which], RC_FORMAT, E1303, "weight '%.*s' is not a number",
                   SHOWN(s));
}

static enum rc kv_step(struct fg_run *x, const struct fg_range *in)
{
    const struct fg_cells *query = &x->st->in[QUERY], *doc = &x->st->in[DOCUMENT];
    double sum = 0, a, b;
    struct cell_buf buf;
    enum rc rc = RC_OK;
    if (x->row == 0 && x->step == 0)
        kv_index_forget(x->st->op);
    if (in[QUERY].begin == in[QUERY].end || in[DOCUMENT].begin == in[DOCUMENT].end)
        return RC_OK;
    for (int64_t i = in[QUERY].begin; !rc && i < in[QUERY].end; i++) {
        struct str key = plane_text(&query->key, NULL, i, &buf);
        int64_t k;
        rc = kv_index_find(x, x->st->op, doc, in[DOCUMENT], key, &k);
        if (rc || k < 0)
            continue;
        rc = weight_of(x, QUERY, i, &a);
        if (!rc)
            rc = weight_of(x, DOCUMENT, k, &b);
        if (!rc)
            sum += a * b;
    }
    return rc ? rc : sink_number(x, sum, false);
}

static void json_write_kv(struct fg_json *w)
{
    const struct pc_KvDotProduct *m = (const void *)w->f->msg;
    fg_json_default(w);
    fg_json_text(w, "query", m->query);
    fg_json_text(w, "document", m->document);
    fg_json_separator(w);
    fg_json_boundaries(w);
}

static const struct fg_json_key json_keys[] = {
    {"kv_delimiter", NULL},
    {0},
};

const struct fg_ops fg_kv_dot_product = {
    .compile = kv_compile,
    .step = kv_step,
    .scratch = kv_scratch,
    .scratch_destroy = kv_scratch_destroy,
    .json = {.write = json_write_kv, .keys = json_keys}};
