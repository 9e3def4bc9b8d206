/* SPDX-License-Identifier: Apache-2.0 */
/* Where values end up. Ids and numbers are written straight into the caller's output,
 * with room made as they come; texts of stubs are copied into one block. The end of a
 * step cuts what is too long, fills in the default where nothing came, and notes the
 * offsets, so that no operator does any of this itself.
 */
#include <string.h>

#include "feature/feature_private.h"
#include "feature/number.h"

static bool room_ids(struct fg_run *x, size_t n)
{
    struct feature_out *o = x->out;
    if (!feature_mem_room(&o->own_ids, n, sizeof(int64_t)) ||
        (x->f->weighted && !feature_mem_room(&o->own_weights, n, sizeof(float))))
        return false;
    x->cap = (int64_t)(o->own_ids.cap / sizeof(int64_t));
    if (x->f->weighted && o->own_weights.cap / sizeof(float) < (size_t)x->cap)
        x->cap = (int64_t)(o->own_weights.cap / sizeof(float));
    return true;
}

enum rc sink_room(struct fg_run *x, int64_t more)
{
    if (LIKELY(more <= x->cap - x->n))
        return RC_OK;
    size_t want = (size_t)(x->n + more);
    bool ok = false;
    switch (x->f->sink) {
    case SINK_IDS:
        ok = room_ids(x, want);
        break;
    case SINK_NUMBERS:
        ok = feature_mem_room(&x->out->own_values, want, sizeof(float));
        x->cap = (int64_t)(x->out->own_values.cap / sizeof(float));
        break;
    case SINK_TEXTS:
        ok = feature_mem_room(&x->st->text.val.mem, want, sizeof(struct str));
        x->cap = (int64_t)(x->st->text.val.mem.cap / sizeof(struct str));
        break;
    }
    return ok ? RC_OK : fg_nomem(x);
}

enum rc sink_begin(struct fg_run *x, int64_t rows)
{
    struct feature_out *o = x->out;
    size_t n = (size_t)rows + 1;
    bool ok = feature_mem_room(&o->own_offsets, n, sizeof(int64_t));
    if (x->f->sequence)
        ok = ok && feature_mem_room(&o->own_seq, n, sizeof(int64_t)) &&
             feature_mem_room(&o->own_step, n, sizeof(int64_t));
    if (!ok)
        return fg_nomem(x);
    o->rows = rows;
    o->steps = 0;
    x->n = x->cap = x->step_base = 0;
    x->st->text_n = 0;
    ((int64_t *)o->own_offsets.p)[0] = 0;
    if (x->f->sequence)
        ((int64_t *)o->own_seq.p)[0] = ((int64_t *)o->own_step.p)[0] = 0;
    return sink_room(x, x->f->sink == SINK_NUMBERS ? rows * (int64_t)x->f->dim : rows);
}

static enum rc push_id(struct fg_run *x, int64_t id, float weight)
{
    if (UNLIKELY(x->n == x->cap)) {
        enum rc rc = sink_room(x, 1);
        if (rc)
            return rc;
    }
    ((int64_t *)x->out->own_ids.p)[x->n] = id;
    if (x->f->weighted)
        ((float *)x->out->own_weights.p)[x->n] = weight;
    x->n++;
    return RC_OK;
}

static enum rc push_number(struct fg_run *x, float v)
{
    if (UNLIKELY(x->n == x->cap)) {
        enum rc rc = sink_room(x, 1);
        if (rc)
            return rc;
    }
    ((float *)x->out->own_values.p)[x->n++] = v;
    return RC_OK;
}

/* A copy; until sink_finish() its place instead of its address is noted. */
static enum rc push_text(struct fg_run *x, struct str s)
{
    enum rc rc = sink_room(x, 1);
    if (rc)
        return rc;
    if (!feature_mem_room(&x->st->text_mem, x->st->text_n + s.n + 1, 1))
        return fg_nomem(x);
    if (s.n)
        memcpy((char *)x->st->text_mem.p + x->st->text_n, s.p, s.n);
    ((struct str *)x->st->text.val.mem.p)[x->n++] =
        str_of((const char *)(uintptr_t)x->st->text_n, s.n);
    x->st->text_n += s.n;
    return RC_OK;
}

enum rc sink_text(struct fg_run *x, struct str s, float weight)
{
    const struct fg *f = x->f;
    int64_t id;
    double v;
    if (f->sink == SINK_IDS && f->bucket.kind != BUCKET_BOUNDS) {
        if (LIKELY(bucket_text(&f->bucket, s, &id)))
            return push_id(x, id, weight);
        return fg_fail(x, NULL, RC_FORMAT, E1304, "'%.*s' is not an integer", SHOWN(s));
    }
    if (f->sink == SINK_TEXTS)
        return push_text(x, s);
    if (!number_parse(s, &v))
        return fg_fail(x, NULL, RC_FORMAT, E1303, "'%.*s' is not a number", SHOWN(s));
    return sink_number(x, v, false);
}

enum rc sink_i64(struct fg_run *x, int64_t v, float weight)
{
    char text[24];
    switch (x->f->sink) {
    case SINK_IDS:
        if (x->f->bucket.kind == BUCKET_BOUNDS)
            return sink_number(x, (double)v, false);
        return push_id(x, bucket_i64(&x->f->bucket, v), weight);
    case SINK_NUMBERS:
        return sink_number(x, (double)v, false);
    case SINK_TEXTS:
        return push_text(x, str_of(text, bucket_digits(v, text)));
    }
    return RC_OK;
}

enum rc sink_number(struct fg_run *x, double v, bool narrow)
{
    const struct fg *f = x->f;
    char text[32];
    if (f->normal.kind != NORMAL_NONE)
        v = (double)normal_apply(&f->normal, v, narrow, x->scratch->stack);
    switch (f->sink) {
    case SINK_IDS:
        return push_id(x, bucket_f64(&f->bucket, v), 1.0f);
    case SINK_NUMBERS:
        return push_number(x, (float)v);
    case SINK_TEXTS:
        if (narrow)
            str_from_f32((float)v, text);
        else
            str_from_f64(v, text);
        return push_text(x, str_c(text));
    }
    return RC_OK;
}

enum rc sink_cell(struct fg_run *x, const struct fg_cells *c, int64_t i, float weight)
{
    switch (c->val.type) {
    case CELL_TEXT:
        return sink_text(x, cells_text(c)[i], weight);
    case CELL_I64:
        return sink_i64(x, cells_i64(c)[i], weight);
    case CELL_F32:
        if (x->f->sink == SINK_IDS && x->f->bucket.kind != BUCKET_BOUNDS &&
            x->f->bucket.kind != BUCKET_NUM) {
            struct cell_buf buf;
            return sink_text(x, cell_text(c, i, &buf), weight);
        }
        return sink_number(x, (double)cells_f32(c)[i], true);
    case CELL_F64:
        return sink_number(x, cells_f64(c)[i], false);
    case CELL_CODE:
        return sink_text(x, column_str(&c->dict->values, cells_code(c)[i]), weight);
    }
    return RC_OK;
}

enum rc sink_default(struct fg_run *x)
{
    const struct fg *f = x->f;
    enum rc rc = RC_OK;
    switch (f->sink) {
    case SINK_IDS:
        for (int64_t i = 0; !rc && i < f->n_def; i++)
            rc = push_id(x, f->def_ids[i], 1.0f);
        break;
    case SINK_NUMBERS:
        for (uint32_t i = 0; !rc && i < f->dim && f->has_def; i++)
            rc = push_number(x, f->def_values[i]);
        break;
    case SINK_TEXTS:
        if (f->def_text.n)
            rc = push_text(x, f->def_text);
        break;
    }
    return rc;
}

static enum rc wrong_count(struct fg_run *x, int64_t given)
{
    return fg_fail(x, NULL, RC_FORMAT, E1305, "%jd values, and value_dim is %u",
                   (intmax_t)given, x->f->dim);
}

/* Of a sequence: notes where the step ends. */
static enum rc note_step(struct fg_run *x)
{
    struct feature_out *o = x->out;
    x->step_base = x->n;
    if (!x->f->sequence)
        return RC_OK;
    if (!feature_mem_room(&o->own_step, (size_t)o->steps + 2, sizeof(int64_t)))
        return fg_nomem(x);
    ((int64_t *)o->own_step.p)[++o->steps] = x->n;
    return RC_OK;
}

/* Numbers that boundaries turn into ids; in FG_NONE they are ids already. */
static bool becomes_bounds(const struct fg_run *x)
{
    return x->f->sink == SINK_IDS && !x->f->several &&
           x->f->bucket.kind == BUCKET_BOUNDS && x->plan->mode != pc_FgMode_FG_NONE;
}

enum rc sink_end_bare_step(struct fg_run *x)
{
    const struct fg *f = x->f;
    int64_t given = sink_given(x);
    if (given && f->sink == SINK_NUMBERS && given != (int64_t)f->dim)
        return wrong_count(x, given);
    if (UNLIKELY(given != (int64_t)f->want) && given && f->want && becomes_bounds(x))
        return fg_fail(x, NULL, RC_FORMAT, E1305, "%jd numbers, and it has %u",
                       (intmax_t)given, f->want);
    if (f->keep && given > f->keep)
        x->n = x->step_base + f->keep;
    return note_step(x);
}

enum rc sink_end_step(struct fg_run *x)
{
    if (sink_given(x))
        return sink_end_bare_step(x);
    enum rc rc = sink_default(x);
    return rc ? rc : note_step(x);
}

void sink_end_row(struct fg_run *x)
{
    ((int64_t *)x->out->own_offsets.p)[x->row + 1] = x->n;
    if (x->f->sequence)
        ((int64_t *)x->out->own_seq.p)[x->row + 1] = x->out->steps;
}

static void finish_texts(struct fg_run *x)
{
    struct str *at = x->st->text.val.mem.p;
    for (int64_t i = 0; i < x->n; i++)
        at[i].p = (const char *)x->st->text_mem.p + (uintptr_t)at[i].p;
}

/* Behind the first `n` of `size` bytes at m, so many that there are rows * n. */
static bool repeat(struct feature_mem *m, int64_t n, int64_t rows, size_t size)
{
    size_t have = (size_t)n * size, all = have * (size_t)rows;
    if (!feature_mem_room(m, (size_t)(n * rows), size))
        return false;
    for (size_t more; have && have < all; have += more) {
        more = have < all - have ? have : all - have;
        memcpy((char *)m->p + have, m->p, more);
    }
    return true;
}

/* Offsets behind the first `n`, which start at 0; `of` is how far those of a row go. */
static bool repeat_offsets(struct feature_mem *m, int64_t n, int64_t rows, int64_t of)
{
    if (!feature_mem_room(m, (size_t)(n * rows) + 1, sizeof(int64_t)))
        return false;
    int64_t *at = m->p;
    for (int64_t i = n; i < n * rows; i++)
        at[i + 1] = at[i + 1 - n] + of;
    return true;
}

enum rc sink_repeat(struct fg_run *x, int64_t rows)
{
    struct feature_out *o = x->out;
    bool ids = x->f->sink == SINK_IDS;
    bool ok = ids ? repeat(&o->own_ids, x->n, rows, sizeof(int64_t))
                  : repeat(&o->own_values, x->n, rows, sizeof(float));
    if (ok && ids && x->f->weighted)
        ok = repeat(&o->own_weights, x->n, rows, sizeof(float));
    ok = ok && repeat_offsets(&o->own_offsets, 1, rows, x->n);
    if (ok && x->f->sequence)
        ok = repeat_offsets(&o->own_step, o->steps, rows, x->n) &&
             repeat_offsets(&o->own_seq, 1, rows, o->steps);
    if (!ok)
        return fg_nomem(x);
    x->n *= rows;
    o->steps *= rows;
    o->rows = rows;
    return RC_OK;
}

void sink_finish(struct fg_run *x)
{
    struct feature_out *o = x->out;
    bool sparse = x->f->sink != SINK_NUMBERS, seq = x->f->sequence;
    if (x->f->sink == SINK_TEXTS)
        finish_texts(x);
    o->n_ids = sparse ? x->n : 0;
    o->ids = x->f->sink == SINK_IDS ? o->own_ids.p : NULL;
    o->weights = x->f->sink == SINK_IDS && x->f->weighted ? o->own_weights.p : NULL;
    o->offsets = sparse ? o->own_offsets.p : NULL;
    o->seq_offsets = seq ? o->own_seq.p : NULL;
    o->step_offsets = seq && sparse ? o->own_step.p : NULL;
    o->values = sparse ? NULL : o->own_values.p;
    o->single = sparse && !seq && x->n == o->rows;
    for (int64_t r = 0; o->single && r < o->rows; r++)
        o->single = o->offsets[r + 1] == r + 1;
}
