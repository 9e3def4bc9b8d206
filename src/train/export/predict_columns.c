/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of a result: outputs of the model, chosen and ordered, the features as text,
 * and columns of the input, which are borrowed. An output that is not finite is an error
 * that names its row, or null.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "train/blame.h"
#include "train/export/predict_private.h"

#define FEATURES_NAME "__features__"
#define ROW_TEXT_MAX ((size_t)16 << 20)

static enum rc no_output(struct str name, const struct train_score_output *have, size_t n,
                         struct err *err)
{
    struct buf b;
    buf_init(&b, 4096);
    for (size_t i = 0; i < n; i++)
        buf_printf(&b, "%s%s", i ? ", " : "", have[i].name);
    enum rc rc =
        err_coded(err, RC_INVAL, E2012, "the model has no output '%.*s'; it has %s",
                  (int)name.n, name.p, buf_str(&b));
    buf_release(&b);
    return rc;
}

/* In the order asked for. */
static enum rc choose(struct train_predict_columns *c, const char *names, struct err *err)
{
    size_t n_all = c->n, most = 1;
    struct train_score_output *all = c->at;
    for (const char *p = names; *p; p++)
        most += *p == ',';
    c->at = mem_calloc(most, sizeof(*c->at));
    c->n = 0;
    struct str rest = str_c(names), part;
    enum rc rc = RC_OK;
    while (!rc && str_split(&rest, ',', &part)) {
        size_t i = 0;
        part = str_trim(part);
        while (i < n_all && !str_is(part, all[i].name))
            i++;
        if (part.n && i == n_all)
            rc = no_output(part, all, n_all, err);
        else if (part.n)
            c->at[c->n++] = all[i];
    }
    mem_free(all);
    return rc;
}

static enum rc add_field(struct train_predict_columns *c, const char *name,
                         const struct type *t, struct err *err)
{
    if (data_schema_find(&c->schema, str_c(name)) >= 0)
        return err_coded(err, RC_INVAL, E2016,
                         "two columns of the result would be named '%s'", name);
    data_schema_add(&c->schema, str_c(name), t);
    return RC_OK;
}

/* One number per row, not a list: that of all candidates is one. */
static bool is_single(const struct train_score_output *o)
{
    return o->width == 1 && o->axis == AXIS_BATCH;
}

enum rc train_predict_columns_init(struct train_predict_columns *c,
                                   const struct train_session *s,
                                   const struct train_predict_options *o,
                                   const struct data_schema *kept, struct err *err)
{
    enum rc rc = RC_OK;
    *c = (struct train_predict_columns){
        .features = o->features, .nulls = o->nulls, .n_reserved = kept->n};
    c->at = train_scorer_outputs(s, &c->n);
    if (o->outputs)
        rc = choose(c, o->outputs, err);
    for (size_t i = 0; i < c->n && !rc; i++) {
        bool whole = c->at[i].whole;
        struct type one = type_of(whole ? TYPE_I64 : TYPE_F32, c->nulls);
        struct type list = type_list(
            &c->schema.mem, type_of(whole ? TYPE_I64 : TYPE_F64, false), c->nulls);
        rc = add_field(c, c->at[i].name, is_single(&c->at[i]) ? &one : &list, err);
    }
    struct type text = type_of(TYPE_STR, false);
    if (!rc && c->features)
        rc = add_field(c, FEATURES_NAME, &text, err);
    for (size_t i = 0; i < kept->n && !rc; i++)
        rc = add_field(c, kept->at[i].name, &kept->at[i].type, err);
    return rc;
}

void train_predict_columns_release(struct train_predict_columns *c)
{
    mem_free(c->at);
    c->at = NULL;
    data_schema_release(&c->schema);
}

/* The first number that is not finite, or NULL. */
static const float *find_bad(const float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(y[i]))
            return y + i;
    return NULL;
}

static enum rc not_finite(const struct train_scorer *s, const char *output, int64_t row,
                          double value, struct err *err)
{
    struct buf what;
    buf_init(&what, ERR_MSG_SIZE);
    train_blame_output(s->session, s->features, row, output, value, &what);
    enum rc rc = err_coded(err, RC_INVAL, E2017, "row %jd of the batch: %s",
                           (intmax_t)row, buf_str(&what));
    buf_release(&what);
    return rc;
}

/* Rows [from, to) of an output, one number or a list of all of them. */
static enum rc put_row(const struct train_score_output *o, const struct view *v,
                       int64_t from, int64_t end, struct column *to, struct err *err)
{
    enum rc rc = RC_OK;
    const float *y = view_row(v, from);
    if (is_single(o))
        return o->whole ? column_add_i64(to, (int64_t)*y, err)
                        : column_add_f32(to, *y, err);
    for (int64_t k = from; k < end; k++) {
        y = view_row(v, k);
        for (int64_t i = 0; i < o->width && !rc; i++)
            rc = o->whole ? column_add_i64(&to->kids[0], (int64_t)y[i], err)
                          : column_add_f64(&to->kids[0], (double)y[i], err);
    }
    return rc ? rc : column_add_nested(to, err);
}

static enum rc fill_output(const struct train_predict_columns *c, size_t output,
                           const struct train_scorer *s, int64_t rows, struct column *to,
                           struct err *err)
{
    const struct train_score_output *o = &c->at[output];
    struct view v = train_scorer_view(s, o->name);
    enum rc rc = RC_OK;
    for (int64_t r = 0; r < rows && !rc; r++) {
        int64_t from, end;
        const float *bad = NULL;
        train_scorer_span(s, o, r, &from, &end);
        for (int64_t k = from; k < end && !bad; k++)
            bad = find_bad(view_row(&v, k), o->width);
        if (!bad)
            rc = put_row(o, &v, from, end, to, err);
        else if (c->nulls)
            rc = column_add_null(to, err);
        else
            rc = not_finite(s, o->name, r, (double)*bad, err);
    }
    return rc;
}

/* Rows with a null among the outputs. */
static int64_t count_nulls(const struct train_predict_columns *c, const struct batch *b)
{
    int64_t n = 0;
    bool any = false;
    for (size_t i = 0; i < c->n; i++)
        any |= b->cols[i].n_null > 0;
    for (int64_t r = 0; any && r < b->n; r++) {
        bool null = false;
        for (size_t i = 0; i < c->n; i++)
            null |= column_is_null(&b->cols[i], r);
        n += null;
    }
    return n;
}

static enum rc fill_features(const struct train_scorer *s, int64_t rows,
                             struct column *to, struct err *err)
{
    struct buf b;
    enum rc rc = RC_OK;
    buf_init(&b, ROW_TEXT_MAX);
    for (int64_t r = 0; r < rows && !rc; r++) {
        buf_clear(&b);
        feature_print_row(s->session->plan, s->features, r, &b);
        rc = column_add_str(to, str_of(buf_str(&b), b.n), err);
    }
    buf_release(&b);
    return rc;
}

static void forget_borrowed(const struct train_predict_columns *c, struct batch *out)
{
    for (size_t i = out->n_cols - c->n_reserved; i < out->n_cols; i++)
        out->cols[i] = (struct column){.type = &c->schema.at[i].type};
}

void train_predict_columns_batch(const struct train_predict_columns *c, struct batch *out)
{
    batch_init(out, &c->schema);
    for (size_t i = out->n_cols - c->n_reserved; i < out->n_cols; i++)
        column_release(&out->cols[i]);
    forget_borrowed(c, out);
}

void train_predict_columns_clear(const struct train_predict_columns *c, struct batch *out)
{
    forget_borrowed(c, out);
    batch_clear(out);
}

enum rc train_predict_columns_fill(const struct train_predict_columns *c,
                                   const struct train_scorer *s, const struct batch *rows,
                                   struct batch *out, int64_t *nulls, struct err *err)
{
    size_t at = 0;
    enum rc rc = RC_OK;
    for (; at < c->n && !rc; at++)
        rc = fill_output(c, at, s, rows->n, &out->cols[at], err);
    if (!rc && c->features)
        rc = fill_features(s, rows->n, &out->cols[at++], err);
    for (; at < c->schema.n && !rc; at++)
        out->cols[at] = *batch_find(rows, str_c(c->schema.at[at].name));
    out->n = rows->n;
    *nulls = rc ? 0 : count_nulls(c, out);
    return rc;
}
