/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of tables: gathered into the columns of slots, and updated once per distinct row
 * with the sum of its gradients. Both wait for memory more than for anything else, so
 * rows are asked for AHEAD of their turn.
 */
#include <string.h>

#include "embed/rows_private.h"
#include "tensor/kernel.h"

#define GATHER_ROWS 256 /* rows of the batch per task */

/* One lookup; a row that was never trained has its initial values. */
static void add_row(const struct embed *e, const struct embed_table *t, int64_t row,
                    float scale, float *to, float *spare)
{
    const float *w = embed_table_row(t, row);
    if (!e->training && !embed_table_used(t, row)) {
        embed_table_initial(t, row, spare);
        w = spare;
    } else if (t->conf.type != DT_F32) {
        embed_table_load(t, row, spare);
        w = spare;
    }
    kernels()->axpy(to, scale, w, t->conf.dim);
}

static void gather_any(const struct embed *e, const struct embed_slot *s, struct view out,
                       int64_t begin, int64_t end)
{
    const struct embed_table *t = e->tables.at[s->conf.table];
    const struct embed_slot_ids *in = &s->ids;
    float spare[EMBED_DIM_MAX];
    int64_t last = in->offsets ? in->offsets[end] : end;
    for (int64_t r = begin; r < end; r++) {
        int64_t from, to;
        embed_slot_row(s, r, &from, &to);
        int64_t n = embed_slot_counted(s, from, to);
        float *y = view_row(&out, r);
        memset(y, 0, (size_t)t->conf.dim * sizeof(float));
        for (int64_t k = from; k < to; k++) {
            if (k + AHEAD < last && in->ids[k + AHEAD] >= 0)
                __builtin_prefetch(embed_table_row(t, in->ids[k + AHEAD]));
            if (in->ids[k] >= 0)
                add_row(e, t, in->ids[k], embed_slot_scale(s, k, n), y, spare);
        }
    }
}

static bool any_negative(const int64_t *ids, int64_t n)
{
    int64_t bits = 0;
    for (int64_t i = 0; i < n; i++)
        bits |= ids[i];
    return bits < 0;
}

/* One id per row and all rows filled: a copy. */
static bool is_copy(const struct embed *e, const struct embed_slot *s, int64_t begin,
                    int64_t end)
{
    return e->training && e->tables.at[s->conf.table]->conf.type == DT_F32 &&
           !s->ids.offsets && !s->ids.weights &&
           !any_negative(s->ids.ids + begin, end - begin);
}

static void copy_floats(const struct embed_table *t, const int64_t *ids, int64_t n,
                        float *y, int64_t ld)
{
    for (int64_t r = 0; r < n; r++) {
        if (r + AHEAD < n)
            __builtin_prefetch(embed_table_row(t, ids[r + AHEAD]));
        y[r * ld] = *embed_table_row(t, ids[r]);
    }
}

static void gather_slot(const struct embed *e, const struct embed_slot *s, int64_t begin,
                        int64_t end)
{
    const struct embed_table *t = e->tables.at[s->conf.table];
    struct view out = view_cols(&e->views[s->conf.output], s->conf.col, t->conf.dim);
    const int64_t *ids = s->ids.ids + begin;
    if (!is_copy(e, s, begin, end))
        gather_any(e, s, out, begin, end);
    else if (t->conf.dim == 1)
        copy_floats(t, ids, end - begin, view_row(&out, begin), out.ld);
    else
        kernels()->gather(view_row(&out, begin), out.ld, t->data, t->stride, ids,
                          end - begin, t->conf.dim);
}

/* The first rows of a slot, while the one before it is being read. */
static void ask_first(const struct embed *e, size_t slot, int64_t begin)
{
    if (slot >= e->slots.n)
        return;
    const struct embed_slot *s = &e->slots.at[slot];
    const struct embed_table *t = e->tables.at[s->conf.table];
    for (int64_t r = begin; r < begin + AHEAD && r < s->ids.rows && !s->ids.offsets; r++)
        if (s->ids.ids[r] >= 0)
            __builtin_prefetch(embed_table_row(t, s->ids.ids[r]));
}

static void gather_rows(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct embed *e = arg;
    for (size_t i = 0; i < e->slots.n; i++) {
        const struct embed_slot *s = &e->slots.at[i];
        int64_t to = end < s->ids.rows ? end : s->ids.rows;
        ask_first(e, i + 1, begin);
        if (begin < to)
            gather_slot(e, s, begin, to);
    }
}

void embed_forward(struct embed *e, const struct view *outputs)
{
    int64_t most = 0;
    for (size_t i = 0; i < e->slots.n; i++)
        most = e->slots.at[i].ids.rows > most ? e->slots.at[i].ids.rows : most;
    e->views = outputs;
    pool_for(e->pool, most, GATHER_ROWS, gather_rows, e);
}

/* Adds up the gradients along a chain; false when nobody wants the row to change. */
static ALWAYS_INLINE bool sum_chain(const struct embed_slot *slots,
                                    const struct embed_occurrence *o, int32_t first,
                                    int64_t dim, float *restrict sum)
{
    bool any = false;
    for (int64_t i = 0; i < dim; i++)
        sum[i] = 0.0f;
    for (int32_t k = first; k >= 0; k = o[k].next)
        for (int32_t at = o[k].slot; at >= 0; at = slots[at].twin) {
            if (!slots[at].grads.data)
                continue;
            add_gradient(&slots[at], o[k].from, o[k].scale, dim, sum);
            any = true;
        }
    return any;
}

/* Widths that are common get loops of their own. */
static ALWAYS_INLINE void update_row(const struct embed *e, struct embed_table *t,
                                     const struct embed_occurrence *o,
                                     const struct embed_unique *u, int64_t dim,
                                     float *sum)
{
    if (sum_chain(e->slots.at, o, u->first, dim, sum))
        apply(t, &e->rules.at[u->table], u->row, sum, dim);
}

/* What unique row u will need: all of the row, and the first of its gradients. */
static ALWAYS_INLINE void ask_for(const struct embed *e, const struct embed_occurrence *o,
                                  const struct embed_unique *u)
{
    const struct embed_table *t = e->tables.at[u->table];
    const struct embed_slot *s = &e->slots.at[o[u->first].slot];
    ask_for_row(t, u->row);
    if (s->grads.data)
        __builtin_prefetch(view_row(&s->grads, o[u->first].from));
}

CLONED static void update_part(const struct embed *e, const struct embed_part *part)
{
    const struct embed_occurrence *o = e->occurrences + part->begin;
    const struct embed_unique *u = e->uniques + part->begin;
    float sum[EMBED_DIM_MAX];
    for (int64_t i = 0; i < part->n_unique; i++) {
        struct embed_table *t = e->tables.at[u[i].table];
        if (i + AHEAD < part->n_unique)
            ask_for(e, o, &u[i + AHEAD]);
        if (!t->conf.trainable)
            continue;
        switch (t->conf.dim) {
        case 1:
            update_row(e, t, o, &u[i], 1, sum);
            break;
        case 8:
            update_row(e, t, o, &u[i], 8, sum);
            break;
        case 16:
            update_row(e, t, o, &u[i], 16, sum);
            break;
        case 32:
            update_row(e, t, o, &u[i], 32, sum);
            break;
        default:
            update_row(e, t, o, &u[i], t->conf.dim, sum);
        }
    }
}

/* Plain slots first: they take longest. */
static void update_item(struct embed *e, int64_t item, struct embed_lane *lane)
{
    int64_t plain = (int64_t)e->plains.n;
    if (item < plain)
        embed_plain_update(e, &e->plains.at[item], lane);
    else
        update_part(e, &e->parts[item - plain]);
}

void embed_backward(struct embed *e, const struct view *grads,
                    const struct embed_row_step *step)
{
    for (size_t i = 0; i < e->tables.n; i++)
        e->rules.at[i] = embed_row_rule_at(&e->tables.at[i]->conf.opt, step);
    for (size_t i = 0; i < e->slots.n; i++) {
        struct embed_slot *s = &e->slots.at[i];
        const struct view *v = &grads[s->conf.output];
        s->grads = (struct view){0};
        if (v->data)
            s->grads = view_cols(v, s->conf.col, e->tables.at[s->conf.table]->conf.dim);
    }
    embed_lanes(e, (int64_t)e->plains.n + (e->n ? PARTS : 0), update_item);
}
