/* SPDX-License-Identifier: Apache-2.0 */
/* One batch: features in dependency order. For each, its columns are read into cells,
 * and its operator is called for every step of every row; an operator that can work on
 * the whole column (fast) is asked first. Where a column was in the last batch is
 * remembered, so that names are looked up once. All memory belongs to the scratch or the
 * output and is kept from batch to batch.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "feature/feature_private.h"
#include "feature/tidy.h"

struct feature_batch *feature_batch_create(const struct feature_plan *p)
{
    struct feature_batch *b = mem_calloc(1, sizeof(*b));
    b->n = p->n;
    b->at = mem_calloc(p->n + 1, sizeof(*b->at));
    b->n_labels = p->n_labels;
    b->n_weights = p->n_weights;
    b->targets = mem_calloc(p->targets.n + 1, sizeof(*b->targets));
    for (size_t i = 0; i < p->targets.n; i++) {
        const struct feature_column *c = &p->columns.at[p->targets.at[i]];
        b->targets[i].name = c->name;
        b->targets[i].use = i < p->n_labels ? FEATURE_LABEL : FEATURE_WEIGHT;
    }
    return b;
}

static void out_release(struct feature_out *o)
{
    feature_mem_release(&o->own_ids);
    feature_mem_release(&o->own_offsets);
    feature_mem_release(&o->own_weights);
    feature_mem_release(&o->own_seq);
    feature_mem_release(&o->own_step);
    feature_mem_release(&o->own_values);
}

void feature_batch_destroy(struct feature_batch *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->n; i++)
        out_release(&b->at[i]);
    for (size_t i = 0; i < b->n_labels + b->n_weights; i++) {
        feature_mem_release(&b->targets[i].own_values);
        feature_mem_release(&b->targets[i].own_offsets);
    }
    feature_mem_release(&b->own_hard);
    feature_mem_release(&b->own_items);
    mem_free(b->at);
    mem_free(b->targets);
    mem_free(b);
}

struct feature_scratch *feature_scratch_create(const struct feature_plan *p)
{
    struct feature_scratch *s = mem_calloc(1, sizeof(*s));
    s->plan = p;
    s->at = mem_calloc(p->n + 1, sizeof(*s->at));
    s->column = mem_calloc(p->columns.n + 1, sizeof(*s->column));
    s->index = mem_calloc(p->columns.n + 1, sizeof(*s->index));
    s->tidy = mem_calloc(p->columns.n + 1, sizeof(*s->tidy));
    s->first = mem_calloc(p->columns.n + 1, sizeof(*s->first));
    s->stack = expr_stack_create();
    buf_init(&s->text, (size_t)1 << 30);
    for (size_t i = 0; i < p->n; i++) {
        const struct fg *f = &p->at[i];
        s->at[i].in = mem_calloc(f->n_in + 1, sizeof(*s->at[i].in));
        s->at[i].range = mem_calloc(f->n_in + 1, sizeof(*s->at[i].range));
        s->at[i].vars = mem_calloc(f->n_in + 1, sizeof(*s->at[i].vars));
        if (f->ops && f->ops->scratch)
            s->at[i].op = f->ops->scratch(f->op);
    }
    return s;
}

void feature_scratch_destroy(struct feature_scratch *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->plan->n; i++) {
        const struct fg *f = &s->plan->at[i];
        struct fg_state *st = &s->at[i];
        for (size_t k = 0; k < f->n_in; k++)
            cells_release(&st->in[k]);
        mem_free(st->in);
        mem_free(st->range);
        mem_free(st->vars);
        memo_release(&st->memo);
        cells_release(&st->text);
        feature_mem_release(&st->text_mem);
        out_release(&st->stub);
        if (st->op)
            f->ops->scratch_destroy(st->op);
    }
    expr_stack_destroy(s->stack);
    buf_release(&s->text);
    mem_free(s->at);
    mem_free(s->column);
    mem_free(s->index);
    for (size_t i = 0; i < s->plan->columns.n; i++) {
        if (s->tidy[i].type)
            column_release(&s->tidy[i]);
        if (s->first[i].type)
            column_release(&s->first[i]);
    }
    mem_free(s->tidy);
    mem_free(s->first);
    mem_free(s);
}

enum rc fg_nomem(struct fg_run *x)
{
    return err_set(x->err, RC_NOMEM, "feature '%s': no memory for %jd rows",
                   x->f->info.name, (intmax_t)x->rows);
}

enum rc fg_fail(struct fg_run *x, const struct fg_input *in, enum rc rc, enum code code,
                const char *fmt, ...)
{
    const struct fg *f = x->f;
    char what[400], row[40] = "", place[400] = "";
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    if (!in && f->n_in == 1)
        in = &f->in[0];
    if (x->row >= 0)
        snprintf(row, sizeof(row), ", row %jd", (intmax_t)x->row);
    if (f->file)
        snprintf(place, sizeof(place), " (%s:%u)", f->file, f->line);
    return err_coded(x->err, rc, code, "feature '%s'%s%s%s%s%s: %s", f->info.name, place,
                     in ? ": column '" : "", in ? in->column : "", in ? "'" : "", row,
                     what);
}

const struct column *fg_column(const struct fg_run *x, const struct fg_input *in)
{
    return x->scratch->column[in->slot];
}

/* Where each column is in this batch; usually where it was in the last one. */
static enum rc find_columns(struct feature_scratch *s, const struct sampled *in,
                            struct err *err)
{
    const struct feature_plan *p = s->plan;
    for (size_t i = 0; i < p->columns.n; i++) {
        const char *name = p->columns.at[i].name;
        const struct batch *b =
            in->items && p->columns.at[i].sampled ? in->items : in->rows;
        int64_t at = s->index[i];
        if (at < 0 || (size_t)at >= b->schema->n ||
            strcmp(b->schema->at[at].name, name) != 0)
            at = data_schema_find(b->schema, str_c(name));
        s->index[i] = at;
        if (at < 0)
            return err_coded(err, RC_NOTFOUND, E1301,
                             "there is no column '%s'%s%s%s in the data", name,
                             p->columns.at[i].by ? ", which feature '" : "",
                             p->columns.at[i].by ? p->columns.at[i].by : "",
                             p->columns.at[i].by ? "' reads," : "");
        s->column[i] = &b->cols[at];
        if (s->column[i]->n != b->n && s->column[i]->n != 1)
            return err_coded(err, RC_INVAL, E1301, "column '%s' has %jd rows, not %jd",
                             name, (intmax_t)s->column[i]->n, (intmax_t)b->n);
    }
    return RC_OK;
}

/* Texts as data_config.tidy_text wants them; those that are so already stay where they are. */
static enum rc tidy_columns(struct feature_scratch *s, struct err *err)
{
    enum rc rc = RC_OK;
    if (!s->plan->data || !s->plan->data->tidy_text)
        return RC_OK;
    for (size_t i = 0; !rc && i < s->plan->columns.n; i++) {
        const struct column *c = s->column[i];
        if (c->type->id != TYPE_STR || !tidy_is_needed(c))
            continue;
        rc = tidy_column(c, &s->tidy[i], err);
        s->column[i] = &s->tidy[i];
    }
    return rc;
}

static enum rc read_inputs(struct fg_run *x)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; !rc && i < x->f->n_in; i++) {
        const struct fg_input *in = &x->f->in[i];
        struct fg_cells *c = &x->st->in[i];
        rc = in->feature    ? cells_of_feature(x, in, c)
             : in->is_const ? cells_of_const(x, in, c)
                            : cells_read(x, in, c);
    }
    return rc;
}

/* Steps of the row at hand: those of the longest input. */
static int64_t count_steps(const struct fg_run *x)
{
    int64_t most = 1;
    for (size_t i = 0; i < x->f->n_in; i++) {
        const struct fg_cells *c = &x->st->in[i];
        int64_t r = c->one ? 0 : x->row;
        if (c->seq && c->row_at[r + 1] - c->row_at[r] > most)
            most = c->row_at[r + 1] - c->row_at[r];
    }
    return x->f->max_steps && most > x->f->max_steps ? x->f->max_steps : most;
}

static struct fg_range range_of(const struct fg_cells *c, bool spread, int64_t row,
                                int64_t step)
{
    int64_t r = c->one ? 0 : row, s = r;
    if (c->seq) {
        bool single = c->row_at[r + 1] - c->row_at[r] == 1;
        s = c->row_at[r] + (spread && single ? 0 : step);
        if (s >= c->row_at[r + 1])
            return (struct fg_range){0, 0};
    }
    return (struct fg_range){c->step_at[s], c->step_at[s + 1]};
}

static enum rc run_rows(struct fg_run *x)
{
    enum rc rc = RC_OK;
    for (int64_t r = 0; !rc && r < x->rows; r++) {
        x->row = r;
        int64_t steps = x->f->sequence ? count_steps(x) : 1;
        for (int64_t s = 0; !rc && s < steps; s++) {
            x->step = s;
            for (size_t i = 0; i < x->f->n_in; i++)
                x->st->range[i] = range_of(&x->st->in[i], x->f->in[i].spread, r, s);
            rc = x->f->ops->step(x, x->st->range);
            if (!rc)
                rc = sink_end_step(x);
        }
        sink_end_row(x);
    }
    return rc;
}

/* The value that a message names, as JSON shows it. */
static void show_outside(struct fg_run *x)
{
    const struct fg_input *in = &x->f->in[0];
    struct feature_out *o = x->out;
    const struct column *c = x->f->n_in && in->slot >= 0 ? fg_column(x, in) : NULL;
    struct buf b;
    o->outside.value[0] = '\0';
    if (!c || c->n == 0)
        return;
    buf_init(&b, 1 << 20);
    column_print_json(c, c->n == 1 ? 0 : o->outside.row, &b);
    snprintf(o->outside.value, sizeof(o->outside.value), "%.40s%s", buf_str(&b),
             b.n > 40 ? "..." : "");
    buf_release(&b);
}

/* Ids outside their table become 0, and are counted. */
static void replace_outside(struct fg_run *x)
{
    struct feature_out *o = x->out;
    int64_t *ids = o->own_ids.p, n = 0, first = 0, row = 0;
    for (int64_t i = 0; i < o->n_ids; i++)
        n += ids[i] < 0;
    o->outside.n = n;
    if (LIKELY(n == 0))
        return;
    while (ids[first] >= 0)
        first++;
    while (o->offsets[row + 1] <= first)
        row++;
    o->outside.row = row;
    show_outside(x);
    for (int64_t i = first; i < o->n_ids; i++)
        ids[i] = ids[i] < 0 ? 0 : ids[i];
}

/* Operators fail by fg_fail(), with words; what comes without gets some. */
static enum rc op_failed(struct fg_run *x, const char *function, enum rc rc)
{
    bool known = rc < RC_OK && rc >= RC_CANCELED;
    if (known && x->err && x->err->msg[0])
        return rc;
    return err_from(x->err, rc, "feature", x->f->info.name, function);
}

/* Whether all rows are equal because every column that is read has one row for all. */
static bool reads_one_row(const struct fg_run *x)
{
    bool one = x->rows > 1 && !x->mask && x->f->n_in && x->f->sink != SINK_TEXTS;
    for (size_t i = 0; one && i < x->f->n_in; i++) {
        const struct fg_input *in = &x->f->in[i];
        one = !in->feature && (in->is_const || fg_column(x, in)->n == 1);
    }
    return one;
}

/* All rows of the feature, or the one that stands for all. */
static enum rc run_feature(struct fg_run *x)
{
    int64_t rows = x->rows;
    bool done = false, alike = reads_one_row(x);
    x->rows = alike ? 1 : rows;
    enum rc rc = sink_begin(x, x->rows);
    if (!rc && x->plan->mode == pc_FgMode_FG_NONE) {
        rc = none_run(x);
        done = true;
    }
    if (!rc && !done && x->f->ops->fast) {
        rc = x->f->ops->fast(x, &done);
        if (rc)
            rc = op_failed(x, "fast", rc);
    }
    if (!rc && !done)
        rc = read_inputs(x);
    if (!rc && !done) {
        rc = run_rows(x);
        if (rc)
            rc = op_failed(x, "step", rc);
    }
    x->rows = rows;
    x->out->alike = alike;
    if (!rc && alike)
        rc = sink_repeat(x, rows);
    if (!rc)
        sink_finish(x);
    if (!rc && x->f->bucket.kind == BUCKET_NUM && x->f->sink == SINK_IDS)
        replace_outside(x);
    return rc;
}

enum rc feature_run_sampled(const struct feature_plan *p, struct feature_scratch *s,
                            const struct sampled *in, const uint8_t *mask,
                            struct feature_batch *out, struct err *err)
{
    const struct batch *batch = in->rows;
    struct fg_run x = {.plan = p,
                       .scratch = s,
                       .mask = mask,
                       .batch = out,
                       .err = err,
                       .rows = batch->n};
    enum rc rc = find_columns(s, in, err);
    if (!rc)
        rc = in->items ? RC_OK : feature_first_items(s, err);
    if (!rc)
        rc = tidy_columns(s, err);
    out->rows = batch->n;
    if (!rc)
        rc = feature_sampled_keep(out, in, err);
    for (size_t i = 0; !rc && i < p->n; i++) {
        x.f = p->order[i];
        if (p->mode == pc_FgMode_FG_BUCKETIZE && x.f->info.stub)
            continue;
        if (p->mode == pc_FgMode_FG_NONE && x.f->info.stub)
            continue;
        x.st = &s->at[x.f->index];
        x.out = x.f->info.stub ? &x.st->stub : &out->at[x.f->index];
        x.row = -1;
        x.rows = in->items && x.f->sampled ? in->items->n : batch->n;
        rc = run_feature(&x);
    }
    x.rows = batch->n;
    return rc ? rc : target_run(&x, batch, out);
}

enum rc feature_run(const struct feature_plan *p, struct feature_scratch *s,
                    const struct batch *batch, const uint8_t *mask,
                    struct feature_batch *out, struct err *err)
{
    struct sampled alone = {.rows = batch};
    return feature_run_sampled(p, s, &alone, mask, out, err);
}
