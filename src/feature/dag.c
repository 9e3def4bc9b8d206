/* SPDX-License-Identifier: Apache-2.0 */
/* FG_DAG: a feature's result as the input of another, and the order that this needs. The
 * order is a depth-first walk that reports a circle with its members. A result is turned
 * into cells as a column would be: ids and numbers are copied, texts of a stub stay
 * texts, weights become the values of pairs.
 */
#include <string.h>

#include "base/mem.h"
#include "feature/feature_private.h"
#include "feature/number.h"

static const struct feature_out *result_of(const struct fg_run *x, const struct fg *f)
{
    return f->info.stub ? &x->scratch->at[f->index].stub : &x->batch->at[f->index];
}

/* Where value number i of step or row s begins: steps of numbers have `dim` each. */
static int64_t begin_of(const struct feature_out *o, const struct fg *f, bool steps,
                        int64_t i)
{
    if (f->sink == SINK_NUMBERS) {
        int64_t at = steps || !f->sequence ? i : o->seq_offsets[i];
        return at * (int64_t)f->dim;
    }
    return steps ? o->step_offsets[i] : o->offsets[i];
}

static enum rc shape(struct fg_run *x, const struct fg_input *in, struct fg_cells *c,
                     const struct feature_out *o)
{
    bool steps = in->seq;
    int64_t n = steps ? o->steps : o->rows;
    if (!feature_mem_room(&c->step_mem, (size_t)n + 1, sizeof(int64_t)) ||
        !feature_mem_room(&c->row_mem, (size_t)o->rows + 1, sizeof(int64_t)))
        return fg_nomem(x);
    c->step_at = c->step_mem.p;
    c->row_at = c->row_mem.p;
    for (int64_t i = 0; i <= n; i++)
        c->step_at[i] = begin_of(o, in->feature, steps, i);
    if (steps)
        memcpy(c->row_at, o->seq_offsets, ((size_t)o->rows + 1) * sizeof(int64_t));
    c->rows = o->rows;
    c->steps = n;
    c->n = c->step_at[n];
    c->seq = steps;
    c->one = false;
    return RC_OK;
}

/* The row that step `s` of a result belongs to. */
static int64_t row_of_step(const struct fg_cells *c, int64_t s)
{
    int64_t row = 0;
    if (!c->seq)
        return s;
    while (row + 1 < c->rows && c->row_at[row + 1] <= s)
        row++;
    return row;
}

/* The row that value i of a result belongs to, for a message. */
static int64_t row_of(const struct fg_cells *c, int64_t i)
{
    int64_t s = 0;
    while (s + 1 < c->steps && c->step_at[s + 1] <= i)
        s++;
    return row_of_step(c, s);
}

/* Value i of the result as a number. */
static enum rc number_of(struct fg_run *x, const struct fg_input *in,
                         const struct fg_cells *c, const struct feature_out *o, int64_t i,
                         double *v)
{
    const struct fg *f = in->feature;
    if (f->sink == SINK_NUMBERS) {
        *v = (double)o->values[i];
    } else if (f->sink == SINK_IDS) {
        *v = (double)o->ids[i];
    } else {
        struct str s = cells_text(&x->scratch->at[f->index].text)[i];
        if (!number_parse(s, v)) {
            x->row = row_of(c, i);
            return fg_fail(x, in, RC_FORMAT, E1303, "'%.*s' is not a number", SHOWN(s));
        }
    }
    return RC_OK;
}

static enum rc copy_numbers(struct fg_run *x, const struct fg_input *in,
                            struct fg_cells *c, const struct feature_out *o)
{
    enum rc rc = RC_OK;
    c->val.type = in->wide ? CELL_F64 : CELL_F32;
    if (!feature_mem_room(&c->val.mem, (size_t)c->n + 1, sizeof(double)))
        return fg_nomem(x);
    for (int64_t i = 0; !rc && i < c->n; i++) {
        double v = 0;
        rc = number_of(x, in, c, o, i, &v);
        if (in->wide)
            ((double *)c->val.mem.p)[i] = v;
        else
            ((float *)c->val.mem.p)[i] = (float)v;
    }
    return rc;
}

/* Numbers in texts of a stub, several in one: the steps get longer. */
static enum rc split_numbers(struct fg_run *x, const struct fg_input *in,
                             struct fg_cells *c)
{
    const struct str *texts = cells_text(&x->scratch->at[in->feature->index].text);
    int64_t from = 0, n = 0;
    size_t size = in->wide ? sizeof(double) : sizeof(float);
    c->val.type = in->wide ? CELL_F64 : CELL_F32;
    for (int64_t s = 0; s < c->steps; s++) {
        int64_t to = c->step_at[s + 1];
        c->step_at[s] = n;
        for (; from < to; from++) {
            struct str rest = texts[from], part;
            while (str_split(&rest, in->sep, &part)) {
                double v;
                if (!number_parse(part, &v)) {
                    x->row = row_of_step(c, s);
                    return fg_fail(x, in, RC_FORMAT, E1303, "'%.*s' is not a number",
                                   SHOWN(part));
                }
                if (!feature_mem_room(&c->val.mem, (size_t)n + 1, size))
                    return fg_nomem(x);
                if (in->wide)
                    ((double *)c->val.mem.p)[n++] = v;
                else
                    ((float *)c->val.mem.p)[n++] = (float)v;
            }
        }
    }
    c->step_at[c->steps] = c->n = n;
    return RC_OK;
}

static enum rc copy_plane(struct fg_run *x, struct fg_plane *p, enum cell_type type,
                          const void *from, size_t n, size_t size)
{
    p->type = type;
    if (!feature_mem_room(&p->mem, n + 1, size))
        return fg_nomem(x);
    if (n)
        memcpy(p->mem.p, from, n * size);
    return RC_OK;
}

static enum rc copy_result(struct fg_run *x, const struct fg *f, struct fg_plane *to,
                           const struct feature_out *o, size_t n)
{
    switch (f->sink) {
    case SINK_IDS:
        return copy_plane(x, to, CELL_I64, o->ids, n, sizeof(int64_t));
    case SINK_NUMBERS:
        return copy_plane(x, to, CELL_F32, o->values, n, sizeof(float));
    case SINK_TEXTS:
        break;
    }
    return copy_plane(x, to, CELL_TEXT, x->scratch->at[f->index].text.val.mem.p, n,
                      sizeof(struct str));
}

/* Values become keys; a value's weight is that of its id, else 1. */
static enum rc copy_pairs(struct fg_run *x, const struct fg *f, struct fg_cells *c,
                          const struct feature_out *o)
{
    enum rc rc = copy_result(x, f, &c->key, o, (size_t)c->n);
    c->val.type = CELL_F32;
    if (rc || !feature_mem_room(&c->val.mem, (size_t)c->n + 1, sizeof(float)))
        return rc ? rc : fg_nomem(x);
    for (int64_t i = 0; i < c->n; i++)
        ((float *)c->val.mem.p)[i] = o->weights ? o->weights[i] : 1.0f;
    return RC_OK;
}

enum rc cells_of_feature(struct fg_run *x, const struct fg_input *in, struct fg_cells *c)
{
    const struct feature_out *o = result_of(x, in->feature);
    enum rc rc = shape(x, in, c, o);
    if (rc)
        return rc;
    if (in->form == FORM_NUMBERS && in->feature->sink == SINK_TEXTS)
        return split_numbers(x, in, c);
    if (in->form == FORM_NUMBER || in->form == FORM_NUMBERS)
        return copy_numbers(x, in, c, o);
    if (in->form == FORM_PAIRS && in->feature->sink != SINK_NUMBERS)
        return copy_pairs(x, in->feature, c, o);
    return copy_result(x, in->feature, &c->val, o, (size_t)c->n);
}

enum { MARK_NEW, MARK_OPEN, MARK_DONE };

static void report_cycle(struct fg *f, struct diags *diags)
{
    struct buf path;
    const struct fg *at = f;
    buf_init(&path, 4096);
    do {
        const struct fg *next = f;
        buf_printf(&path, "'%s' reads ", at->info.name);
        for (size_t i = 0; i < at->n_in; i++)
            if (at->in[i].feature && at->in[i].feature->mark == MARK_OPEN)
                next = at->in[i].feature;
        at = next;
    } while (at != f && path.n < 2000);
    buf_printf(&path, "'%s'", f->info.name);
    plan_report(diags, f, E1307, NULL, "features read each other in a circle: %s",
                buf_str(&path));
    buf_release(&path);
}

static bool dag_visit(struct fg *f, struct feature_plan *p, size_t *n,
                      struct diags *diags)
{
    if (f->mark == MARK_DONE)
        return true;
    if (f->mark == MARK_OPEN) {
        report_cycle(f, diags);
        return false;
    }
    f->mark = MARK_OPEN;
    for (size_t i = 0; i < f->n_in; i++)
        if (f->in[i].feature && !dag_visit(&p->at[f->in[i].feature - p->at], p, n, diags))
            return false;
    f->mark = MARK_DONE;
    p->order[(*n)++] = f;
    return true;
}

void dag_sort(struct feature_plan *p, struct diags *diags)
{
    size_t n = 0;
    p->order = arena_alloc(&p->mem, (p->n + 1) * sizeof(*p->order));
    for (size_t i = 0; i < p->n; i++)
        if (!dag_visit(&p->at[i], p, &n, diags))
            return;
}
