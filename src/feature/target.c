/* SPDX-License-Identifier: Apache-2.0 */
/* Labels and sample weights: numbers, or lists of numbers, none of them missing. A label that
 * data_config.label_texts knows may be one of two texts as well.
 */
#include "feature/feature_private.h"
#include "feature/leaf.h"
#include "feature/tidy.h"

static bool is_number(const struct type *t)
{
    return t->id >= TYPE_BOOL && t->id <= TYPE_F64 &&
           (t->logical == LOGICAL_NONE || t->logical == LOGICAL_DECIMAL ||
            t->logical == LOGICAL_FLOAT16);
}

const struct pc_LabelText *target_texts(const struct feature_plan *p, size_t i)
{
    const char *name = p->columns.at[p->targets.at[i]].name;
    for (int64_t k = 0; i < p->n_labels && k < p->data->n_label_texts; k++)
        if (strcmp(p->data->label_texts[k]->label_name, name) == 0)
            return p->data->label_texts[k];
    return NULL;
}

bool target_accept(enum feature_use use, const struct pc_LabelText *texts,
                   const struct type *t)
{
    if (texts && t->id == TYPE_STR)
        return true;
    bool real = t->id == TYPE_F32 || t->id == TYPE_F64;
    if (use == FEATURE_WEIGHT)
        return real && is_number(t);
    return t->id == TYPE_LIST ? is_number(&t->kids[0].type) : is_number(t);
}

static enum rc missing(const struct feature_target *t, int64_t row, struct err *err)
{
    return err_coded(err, RC_FORMAT, E1314, "%s '%s', row %jd: the value is missing",
                     t->use == FEATURE_LABEL ? "label" : "sample weight", t->name,
                     (intmax_t)row);
}

static enum rc target_copy(struct feature_target *t, const struct column *c, int64_t n,
                           struct err *err)
{
    if (!feature_mem_room(&t->own_values, (size_t)n + 1, sizeof(float)))
        return err_set(err, RC_NOMEM, "no memory for %jd labels", (intmax_t)n);
    float *to = t->own_values.p;
    t->values = to;
    for (int64_t i = 0; i < n; i++)
        to[i] = leaf_f32(c, i);
    return RC_OK;
}

static enum rc take_list(struct feature_target *t, const struct column *c, int64_t rows,
                         struct err *err)
{
    if (!feature_mem_room(&t->own_offsets, (size_t)rows + 1, sizeof(int64_t)))
        return err_set(err, RC_NOMEM, "no memory for %jd labels", (intmax_t)rows);
    int64_t *to = t->own_offsets.p;
    t->offsets = to;
    for (int64_t i = 0; i <= rows; i++)
        to[i] = c->offsets[i];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = to[i]; k < to[i + 1]; k++)
            if (column_is_null(&c->kids[0], k))
                return missing(t, i, err);
    return target_copy(t, &c->kids[0], c->offsets[rows], err);
}

static enum rc take_texts(struct feature_target *t, const struct pc_LabelText *texts,
                          const struct column *c, int64_t rows, struct err *err)
{
    if (!feature_mem_room(&t->own_values, (size_t)rows + 1, sizeof(float)))
        return err_set(err, RC_NOMEM, "no memory for %jd labels", (intmax_t)rows);
    float *to = t->own_values.p;
    t->values = to;
    t->offsets = NULL;
    for (int64_t i = 0; i < rows; i++) {
        struct str s = tidy_text(column_str(c, i));
        bool one = str_is(s, texts->one);
        if (!one && !str_is(s, texts->zero))
            return err_coded(
                err, RC_FORMAT, E1314,
                "label '%s', row %jd: '%.*s' is neither '%.60s' nor '%.60s' of "
                "data_config.label_texts",
                t->name, (intmax_t)i, SHOWN(s), texts->one, texts->zero);
        to[i] = one;
    }
    return RC_OK;
}

static enum rc target_take(struct feature_target *t, const struct pc_LabelText *texts,
                           const struct column *c, int64_t rows, struct err *err)
{
    bool list = c->type->id == TYPE_LIST;
    if (!target_accept(t->use, texts, c->type) || c->n != rows)
        return err_coded(err, RC_INVAL, E1314, "%s '%s' is of a type that cannot be used",
                         t->use == FEATURE_LABEL ? "label" : "sample weight", t->name);
    for (int64_t i = 0; c->valid && i < rows; i++)
        if (column_is_null(c, i))
            return missing(t, i, err);
    if (c->type->id == TYPE_STR)
        return take_texts(t, texts, c, rows, err);
    if (list)
        return take_list(t, c, rows, err);
    t->offsets = NULL;
    return target_copy(t, c, rows, err);
}

enum rc target_run(struct fg_run *x, const struct batch *batch, struct feature_batch *out)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; !rc && i < x->plan->targets.n; i++)
        rc = target_take(&out->targets[i], target_texts(x->plan, i),
                         x->scratch->column[x->plan->targets.at[i]], batch->n, x->err);
    return rc;
}
