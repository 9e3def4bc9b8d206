/* SPDX-License-Identifier: Apache-2.0 */
#include "train/blame.h"

#include <math.h>

static int64_t first_bad(const float *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(v[i]))
            return i;
    return -1;
}

/* A number of the data itself. */
static bool blame_numbers(const struct train_session *s, const struct feature_batch *b,
                          struct buf *out)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct feature_info *f = feature_plan_info(s->plan, i);
        const struct feature_out *o = &b->at[i];
        int64_t n = (f->sequence ? o->steps : o->rows) * (int64_t)f->value_dim;
        int64_t at = f->sparse || f->stub || !o->values ? -1 : first_bad(o->values, n);
        if (at < 0)
            continue;
        buf_printf(out, "feature '%s' is %g in %s %jd of the batch", f->name,
                   (double)o->values[at], f->sequence ? "step" : "row",
                   (intmax_t)(at / (int64_t)f->value_dim));
        return true;
    }
    return false;
}

/* A row of a table that the batch uses. */
static bool blame_rows(const struct train_session *s, const struct feature_batch *b,
                       struct buf *out)
{
    const struct model *m = s->model;
    float w[EMBED_DIM_MAX];
    for (size_t i = 0; i < m->inputs.n; i++) {
        const struct model_input *in = &m->inputs.at[i];
        int64_t at = feature_plan_find(s->plan, str_c(in->feature->name));
        if (in->slot < 0 || at < 0)
            continue;
        const struct feature_out *o = &b->at[at];
        int table = lookup_slot(m->lookup, in->slot)->table;
        int64_t dim = lookup_table(m->lookup, table)->dim;
        for (int64_t k = 0; k < o->n_ids; k++) {
            int64_t id = o->ids[k];
            if (id < 0 || !lookup_peek(m->lookup, table, id, w) || first_bad(w, dim) < 0)
                continue;
            buf_printf(out, "the embedding of id %jd of feature '%s' is no longer finite",
                       (intmax_t)id, in->feature->name);
            return true;
        }
    }
    return false;
}

static bool blame_params(const struct train_session *s, struct buf *out)
{
    size_t n;
    struct param *const *params = graph_params(s->model->graph, &n);
    for (size_t i = 0; i < n; i++)
        if (first_bad(param_read(params[i]), params[i]->n) >= 0) {
            buf_printf(out, "parameter '%s' is no longer finite", params[i]->name);
            return true;
        }
    return false;
}

enum rc train_blame_not_finite(const struct train_session *s,
                               const struct feature_batch *b, double loss,
                               struct err *err)
{
    struct buf why;
    buf_init(&why, ERR_MSG_SIZE);
    if (!blame_numbers(s, b, &why) && !blame_rows(s, b, &why) && !blame_params(s, &why))
        buf_puts(&why, "all inputs and parameters are finite: values inside the model "
                       "overflowed; a lower learning rate or gradient clipping helps");
    enum rc rc =
        err_coded(err, RC_INVAL, E1404, "step %ju (rows %ju to %ju): the loss is %g: %s",
                  (uintmax_t)s->step, (uintmax_t)s->rows,
                  (uintmax_t)(s->rows + (uint64_t)b->rows), loss, buf_str(&why));
    buf_release(&why);
    return rc;
}

/* The first number of the row that is not finite: its feature; NULL: none is. */
static const char *blame_row(const struct train_session *s, const struct feature_batch *b,
                             int64_t row, double *value)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct feature_info *f = feature_plan_info(s->plan, i);
        const struct feature_out *o = &b->at[i];
        if (f->sparse || f->stub || !o->values || row >= o->rows)
            continue;
        int64_t from = f->sequence ? o->seq_offsets[row] : row;
        int64_t to = f->sequence ? o->seq_offsets[row + 1] : row + 1;
        const float *v = o->values + from * (int64_t)f->value_dim;
        int64_t at = first_bad(v, (to - from) * (int64_t)f->value_dim);
        if (at < 0)
            continue;
        *value = (double)v[at];
        return f->name;
    }
    return NULL;
}

/* Without the sign of a NaN, which means nothing. */
static void put_value(struct buf *out, const char *what, const char *name, double value)
{
    buf_printf(out, "%s '%s' is %g", what, name, isnan(value) ? fabs(value) : value);
}

void train_blame_output(const struct train_session *s, const struct feature_batch *b,
                        int64_t row, const char *output, double value, struct buf *out)
{
    double number;
    const char *feature = blame_row(s, b, row, &number);
    put_value(out, "output", output, value);
    if (feature)
        put_value(out, ": feature", feature, number);
}
