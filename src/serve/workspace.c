/* SPDX-License-Identifier: Apache-2.0 */
/* One request's rows: columns borrowed from the items where they have their own, from the
 * user where they have not, and mixed row by row where only some have. Answers print null
 * for what is not finite and list those items.
 */
#include "serve/workspace.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "data/rows.h"
#include "train/blame.h"
#include "train/where.h"

enum rc serve_workspace_create(const struct train_export *x, struct serve_workspace **out,
                               struct err *err)
{
    struct serve_workspace *d = mem_calloc(1, sizeof(*d));
    d->schema = train_export_columns(x);
    if (!d->schema) {
        mem_free(d);
        return err_coded(
            err, RC_INVAL, E2102,
            "the export has no sample rows, which tell the types of columns");
    }
    enum rc rc = train_scorer_create(train_export_session(x), true, &d->scorer, err);
    batch_init(&d->user, d->schema);
    batch_init(&d->items, d->schema);
    batch_init(&d->rows, d->schema);
    jsonl_names(d->schema, &d->by_name);
    batch_init(&d->mixed, d->schema);
    d->user_given = mem_calloc(d->schema->n + 1, 1);
    d->outputs = train_scorer_outputs(train_export_session(x), &d->n_outputs);
    d->wanted = mem_calloc(d->n_outputs + 1, 1);
    if (rc)
        serve_workspace_destroy(d);
    else
        *out = d;
    return rc;
}

static void forget_rows(struct serve_workspace *d)
{
    for (size_t i = 0; i < d->rows.n_cols; i++)
        column_init(&d->rows.cols[i], &d->schema->at[i].type);
}

void serve_workspace_destroy(struct serve_workspace *d)
{
    if (!d)
        return;
    forget_rows(d);
    train_scorer_destroy(d->scorer);
    batch_release(&d->user);
    batch_release(&d->items);
    batch_release(&d->rows);
    batch_release(&d->mixed);
    map_release(&d->by_name);
    jsonl_token_release(&d->json);
    mem_free(d->user_given);
    mem_free(d->given);
    mem_free(d->wanted);
    mem_free(d->outputs);
    mem_free(d);
}

/* Some items have the column, the others take the user's. */
static enum rc mix_column(struct serve_workspace *d, size_t i, struct err *err)
{
    struct column *to = &d->mixed.cols[i];
    enum rc rc = RC_OK;
    column_clear(to);
    for (int64_t r = 0; r < d->items.n && !rc; r++)
        rc = d->given[(size_t)r * d->schema->n + i]
                 ? column_append(to, &d->items.cols[i], r, 1, err)
                 : column_append(to, &d->user.cols[i], 0, 1, err);
    d->rows.cols[i] = *to;
    return rc;
}

/* What each item has of its own comes from the items, the rest from the user. */
static enum rc join_rows(struct serve_workspace *d, struct err *err)
{
    enum rc rc = RC_OK;
    d->rows.n = d->items.n;
    for (size_t i = 0; i < d->rows.n_cols && !rc; i++) {
        bool own = d->items.cols[i].n_null < d->items.n;
        d->rows.cols[i] = own || d->user.n == 0 ? d->items.cols[i] : d->user.cols[i];
        if (own && d->user_given[i] && serve_workspace_lacks(d, i) >= 0)
            rc = mix_column(d, i, err);
    }
    return rc;
}

enum rc serve_workspace_score(struct serve_workspace *d, struct err *err)
{
    enum rc rc = join_rows(d, err);
    if (!rc && d->rows.n > 0)
        rc = train_scorer_run(d->scorer, &d->rows, err);
    forget_rows(d);
    if (rc && rc != RC_NOMEM) {
        train_where_item(err);
        rc = RC_INVAL;
        err->code = E2110;
    }
    return rc;
}

static void put_number(struct buf *b, float v)
{
    char text[32];
    if (!isfinite(v)) {
        buf_puts(b, "null");
        return;
    }
    str_from_f32(v, text);
    buf_puts(b, text);
}

/* One number, or a list. */
static void put_values(struct buf *b, const float *y, int64_t n)
{
    if (n > 1)
        buf_putc(b, '[');
    for (int64_t i = 0; i < n; i++) {
        buf_puts(b, i ? "," : "");
        put_number(b, y[i]);
    }
    if (n > 1)
        buf_putc(b, ']');
}

static void put_output(const struct serve_workspace *d,
                       const struct train_score_output *o, struct buf *b)
{
    struct view v = {0};
    if (d->rows.n > 0)
        v = train_scorer_view(d->scorer, o->name);
    buf_putc(b, '[');
    for (int64_t r = 0; r < d->rows.n; r++) {
        int64_t from, to;
        train_scorer_span(d->scorer, o, r, &from, &to);
        buf_puts(b, r ? "," : "");
        if (o->axis != AXIS_BATCH)
            buf_putc(b, '[');
        for (int64_t k = from; k < to; k++) {
            buf_puts(b, k > from ? "," : "");
            put_values(b, view_row(&v, k), o->width);
        }
        if (o->axis != AXIS_BATCH)
            buf_putc(b, ']');
    }
    buf_putc(b, ']');
}

static bool is_wanted(const struct serve_workspace *d, size_t output)
{
    return d->wanted[output] || memchr(d->wanted, 1, d->n_outputs) == NULL;
}

/* The first output of an item that is not finite, and its value; NULL: all are. */
static const char *not_finite(const struct serve_workspace *d, const struct view *views,
                              int64_t row, double *value)
{
    for (size_t i = 0; i < d->n_outputs; i++) {
        int64_t from, to, n = d->outputs[i].width;
        train_scorer_span(d->scorer, &d->outputs[i], row, &from, &to);
        for (int64_t k = 0; views[i].data && k < (to - from) * n; k++) {
            float y = view_row(&views[i], from + k / n)[k % n];
            if (!isfinite(y)) {
                *value = (double)y;
                return d->outputs[i].name;
            }
        }
    }
    return NULL;
}

static void put_error(const struct serve_workspace *d, int64_t row, const char *output,
                      double value, struct buf *out)
{
    struct buf text;
    buf_init(&text, ERR_MSG_SIZE);
    train_blame_output(d->scorer->session, d->scorer->features, row, output, value,
                       &text);
    buf_printf(out, "{\"item\": %jd, \"code\": \"E2113\", \"message\": ", (intmax_t)row);
    buf_json_str(out, buf_str(&text), text.n);
    buf_putc(out, '}');
    buf_release(&text);
}

int64_t serve_workspace_print_errors(const struct serve_workspace *d, struct buf *out)
{
    struct view *views = mem_calloc(d->n_outputs + 1, sizeof(*views));
    int64_t n = 0;
    for (size_t i = 0; i < d->n_outputs && d->rows.n > 0; i++)
        if (is_wanted(d, i))
            views[i] = train_scorer_view(d->scorer, d->outputs[i].name);
    for (int64_t r = 0; r < d->rows.n; r++) {
        double value;
        const char *output = not_finite(d, views, r, &value);
        if (!output)
            continue;
        buf_puts(out, n++ ? ", " : "[");
        put_error(d, r, output, value, out);
    }
    buf_puts(out, n ? "]" : "");
    mem_free(views);
    return n;
}

void serve_workspace_print(const struct serve_workspace *d, struct buf *out)
{
    bool first = true;
    buf_putc(out, '{');
    for (size_t i = 0; i < d->n_outputs; i++) {
        if (!is_wanted(d, i))
            continue;
        buf_puts(out, first ? "" : ", ");
        buf_json_str(out, d->outputs[i].name, strlen(d->outputs[i].name));
        buf_puts(out, ": ");
        put_output(d, &d->outputs[i], out);
        first = false;
    }
    buf_putc(out, '}');
}
