/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/workspace.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

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
    d->present = mem_calloc(d->schema->n + 1, sizeof(*d->present));
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
    map_release(&d->by_name);
    jsonl_token_release(&d->json);
    mem_free(d->present);
    mem_free(d->wanted);
    mem_free(d->outputs);
    mem_free(d);
}

/* What each item has of its own comes from the items, the rest from the user. */
static void join_rows(struct serve_workspace *d)
{
    for (size_t i = 0; i < d->rows.n_cols; i++) {
        bool own = d->items.cols[i].n_null < d->items.n;
        d->rows.cols[i] = own || d->user.n == 0 ? d->items.cols[i] : d->user.cols[i];
    }
    d->rows.n = d->items.n;
}

enum rc serve_workspace_score(struct serve_workspace *d, struct err *err)
{
    enum rc rc = RC_OK;
    join_rows(d);
    if (d->rows.n > 0)
        rc = train_scorer_run(d->scorer, &d->rows, err);
    forget_rows(d);
    if (rc && rc != RC_NOMEM) {
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

static void put_output(const struct serve_workspace *d,
                       const struct train_score_output *o, struct buf *b)
{
    struct view v = {0};
    if (d->rows.n > 0)
        v = train_scorer_view(d->scorer, o->name);
    buf_putc(b, '[');
    for (int64_t r = 0; r < d->rows.n; r++) {
        const float *y = view_row(&v, r);
        buf_puts(b, r ? "," : "");
        if (o->width > 1)
            buf_putc(b, '[');
        for (int64_t i = 0; i < o->width; i++) {
            buf_puts(b, i ? "," : "");
            put_number(b, y[i]);
        }
        if (o->width > 1)
            buf_putc(b, ']');
    }
    buf_putc(b, ']');
}

void serve_workspace_print(const struct serve_workspace *d, struct buf *out)
{
    bool all = memchr(d->wanted, 1, d->n_outputs) == NULL, first = true;
    buf_putc(out, '{');
    for (size_t i = 0; i < d->n_outputs; i++) {
        if (!all && !d->wanted[i])
            continue;
        buf_puts(out, first ? "" : ", ");
        buf_json_str(out, d->outputs[i].name, strlen(d->outputs[i].name));
        buf_puts(out, ": ");
        put_output(d, &d->outputs[i], out);
        first = false;
    }
    buf_putc(out, '}');
}
