/* SPDX-License-Identifier: Apache-2.0 */
/* raw_feature: the numbers of one input. Also the last stage of FG_BUCKETIZE for numbers.
 */
#include <string.h>

#include "feature/feature_private.h"
#include "feature/leaf.h"

static void raw_compile(struct fg *f, struct feature_plan *p, struct diags *diags)
{
    f->in[0].form = f->want == 1 ? FORM_NUMBER : FORM_NUMBERS;
}

static enum rc raw_step(struct fg_run *x, const struct fg_range *in)
{
    const struct fg_cells *c = &x->st->in[0];
    int64_t n = in->end - in->begin, want = x->f->want;
    enum rc rc = RC_OK;
    if (n && want && n != want)
        return fg_fail(x, NULL, RC_FORMAT, E1305, "%jd values, and value_dim is %jd",
                       (intmax_t)n, (intmax_t)want);
    for (int64_t i = in->begin; !rc && i < in->end; i++)
        rc = c->val.type == CELL_F32 ? sink_number(x, (double)cells_f32(c)[i], true)
                                     : sink_number(x, cells_f64(c)[i], false);
    return rc;
}

/* Only rows that are null cost anything. */
static void put_defaults(struct fg_run *x, const struct column *col)
{
    float *to = x->out->own_values.p, def = x->f->def_values[0];
    for (int64_t r = 0; r < x->rows; r += 8) {
        unsigned null = col->valid[r / 8] ^ 0xffu;
        for (; null; null &= null - 1) {
            int64_t i = r + __builtin_ctz(null);
            if (i < x->rows)
                to[i] = def;
        }
    }
}

/* Numbers straight from the column. */
static void fast_plain(struct fg_run *x, const struct column *col)
{
    const struct normal *normal = &x->f->normal;
    float *to = x->out->own_values.p;
    bool whole = col->type->id == TYPE_I64;
    if (col->type->id == TYPE_F32)
        memcpy(to, col->values, (size_t)x->rows * sizeof(*to));
    else if (whole && normal->kind != NORMAL_NONE)
        normal_whole(normal, col->values, to, x->rows);
    else if (whole)
        for (int64_t r = 0; r < x->rows; r++)
            to[r] = (float)((const int64_t *)col->values)[r];
    else
        for (int64_t r = 0; r < x->rows; r++)
            to[r] = leaf_f32(col, r);
    if (normal->kind != NORMAL_NONE && !whole)
        normal_floats(normal, to, x->rows);
    if (col->n_null) /* a default is not normalised */
        put_defaults(x, col);
    x->n = x->rows;
}

/* A null without a default falls into the bucket of 0, not normalised. */
static enum rc null_id(struct fg_run *x)
{
    if (x->f->n_def || x->f->sink != SINK_IDS)
        return RC_OK;
    enum rc rc = sink_room(x, 1);
    if (!rc)
        ((int64_t *)x->out->own_ids.p)[x->n++] = bucket_f64(&x->f->bucket, 0.0);
    return rc;
}

static enum rc raw_fast(struct fg_run *x, bool *done)
{
    const struct fg_input *in = &x->f->in[0];
    enum rc rc = RC_OK;
    if (in->slot < 0 || x->f->sequence || x->f->want != 1 || x->f->sink == SINK_TEXTS)
        return RC_OK;
    const struct column *col = fg_column(x, in);
    const struct type *t = col->type;
    if (col->n != x->rows || col->dict || t->id < TYPE_I32 || t->id > TYPE_F64 ||
        t->id == TYPE_U64 || leaf_is_time(t) || !cells_accept(in, t))
        return RC_OK;
    *done = true;
    bool masks = x->mask && x->f->use_mask;
    if (x->f->sink == SINK_NUMBERS && x->f->normal.kind != NORMAL_EXPR && !masks) {
        fast_plain(x, col);
        return RC_OK;
    }
    for (int64_t r = 0; !rc && r < x->rows; r++) {
        x->row = r;
        rc = column_is_null(col, r) || fg_masked(x, in, r)
                 ? null_id(x)
                 : sink_number(x, (double)leaf_f32(col, r), true);
        if (!rc)
            rc = sink_end_step(x);
        sink_end_row(x);
    }
    return rc;
}

static void json_write_raw(struct fg_json *w)
{
    const struct pc_RawFeature *m = (const void *)w->f->msg;
    fg_json_default(w);
    fg_json_text(w, "expression", m->expression);
    fg_json_text(w, "value_type", "float");
    if (w->f->value_dim > 1) {
        fg_json_count(w, "value_dim", w->f->value_dim);
        fg_json_separator(w);
    }
    fg_json_normalizer(w);
    fg_json_boundaries(w);
}

const struct fg_ops fg_raw = {.compile = raw_compile,
                              .step = raw_step,
                              .fast = raw_fast,
                              .json = {.write = json_write_raw}};
