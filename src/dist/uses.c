/* SPDX-License-Identifier: Apache-2.0 */
/* The ids of a unit are numbered with a hash table as they come up; `at` keeps the number
 * of every occurrence, so that pooling and summing are plain passes over it. Slots that
 * were given the very same ids (a feature of several groups) share these numbers.
 *
 * Threads take whole units to number and to sum, and stretches of rows to pool: who takes
 * what changes no byte.
 */
#include "dist/uses.h"

#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "tensor/kernel.h"

#define POOL_ROWS 256 /* rows of the shard per task */

struct seat {
    int64_t id;
    uint32_t number; /* 0: nobody sits here */
};

/* --- units --- */

static bool is_keyed(const struct lookup *l, int table)
{
    return lookup_table(l, table)->keyed.kind != KEYED_NONE;
}

static void add_unit(struct dist_units *u, int table, int part, const struct dist_part *p,
                     bool distinct)
{
    u->at[u->n++] = (struct dist_unit){.table = table,
                                       .part = part,
                                       .first = u->n_slots,
                                       .distinct = distinct,
                                       .col = p->col,
                                       .dim = p->dim};
}

static void add_slot(struct dist_units *u, int slot)
{
    u->at[u->n - 1].n++;
    u->slots[u->n_slots++] = slot;
}

/* The units of one part of a table. */
static void add_units(struct dist_units *u, int table, int part,
                      const struct dist_part *p)
{
    bool keyed = is_keyed(u->lookup, table);
    if (!keyed)
        add_unit(u, table, part, p, true);
    for (int s = 0; s < lookup_n_slots(u->lookup); s++) {
        if (lookup_slot(u->lookup, s)->table != table)
            continue;
        if (keyed)
            add_unit(u, table, part, p, false);
        add_slot(u, s);
    }
}

void dist_units_init(struct dist_units *u, const struct lookup *l,
                     const struct dist_layout *layout, struct pool *pool)
{
    int tables = lookup_n_tables(l), slots = lookup_n_slots(l), most = 1;
    *u = (struct dist_units){.lookup = l, .pool = pool};
    for (int t = 0; t < tables; t++)
        most = dist_layout_count(layout, t) > most ? dist_layout_count(layout, t) : most;
    u->at = mem_calloc((size_t)((tables + slots) * most) + 1, sizeof(*u->at));
    u->slots = mem_calloc((size_t)(slots * most) + 1, sizeof(*u->slots));
    for (int t = 0; t < tables; t++)
        for (int i = 0; i < dist_layout_count(layout, t); i++) {
            struct dist_part p = dist_layout_part(layout, l, t, i);
            add_units(u, t, i, &p);
        }
}

void dist_units_release(struct dist_units *u)
{
    mem_free(u->at);
    mem_free(u->slots);
    *u = (struct dist_units){0};
}

void dist_uses_init(struct dist_uses *u, const struct dist_units *units)
{
    *u = (struct dist_uses){.units = units};
    u->at = mem_calloc((size_t)units->n + 1, sizeof(*u->at));
    u->errs = mem_calloc((size_t)units->n + 1, sizeof(*u->errs));
    u->at_of = mem_calloc((size_t)units->n_slots + 1, sizeof(*u->at_of));
}

void dist_uses_release(struct dist_uses *u)
{
    for (int i = 0; u->at && i < u->units->n; i++) {
        mem_free(u->at[i].ids);
        mem_free(u->at[i].at);
        mem_free(u->at[i].seats);
    }
    mem_free(u->at);
    mem_free(u->errs);
    mem_free(u->at_of);
    *u = (struct dist_uses){0};
}

/* --- numbering --- */

static int64_t first_id(const struct embed_slot_ids *s)
{
    return s->offsets ? s->offsets[0] : 0;
}

static int64_t count_ids(const struct embed_slot_ids *s)
{
    return s->offsets ? s->offsets[s->rows] - s->offsets[0] : s->rows;
}

/* An earlier slot of the unit with the very same ids, or -1. */
static int twin_of(const struct dist_uses *u, const struct dist_unit *unit, int i)
{
    const struct embed_slot_ids *ids = &u->ids[u->units->slots[unit->first + i]];
    for (int k = 0; k < i; k++) {
        const struct embed_slot_ids *o = &u->ids[u->units->slots[unit->first + k]];
        if (o->ids == ids->ids && o->offsets == ids->offsets && o->rows == ids->rows)
            return k;
    }
    return -1;
}

/* Where each slot's numbers begin; how many there are. */
static int64_t place_slots(struct dist_uses *u, const struct dist_unit *unit)
{
    int64_t n = 0;
    for (int i = 0; i < unit->n; i++) {
        int twin = twin_of(u, unit, i);
        u->at_of[unit->first + i] = twin < 0 ? n : u->at_of[unit->first + twin];
        if (twin < 0)
            n += count_ids(&u->ids[u->units->slots[unit->first + i]]);
    }
    return n;
}

static bool grow(void **at, int64_t *room, int64_t n, size_t size)
{
    if (n <= *room)
        return true;
    mem_free(*at);
    *at = mem_try_alloc((size_t)(n + n / 4), size);
    *room = *at ? n + n / 4 : 0;
    return *at != NULL;
}

static int64_t seats_for(int64_t n)
{
    int64_t size = 16;
    while (size < 2 * n)
        size *= 2;
    return size;
}

static bool reserve(struct dist_use *use, int64_t n, bool distinct)
{
    void *ids = use->ids, *at = use->at;
    bool ok = n < UINT32_MAX && grow(&ids, &use->ids_room, n, sizeof(*use->ids));
    use->ids = ids;
    ok = ok && grow(&at, &use->at_room, n, sizeof(*use->at));
    use->at = at;
    return ok && (!distinct ||
                  grow(&use->seats, &use->seats_room, seats_for(n), sizeof(struct seat)));
}

static uint32_t number_id(struct dist_use *use, int64_t id, uint64_t mask)
{
    struct seat *seats = use->seats;
    uint64_t h = (uint64_t)id * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 32) & mask;
    while (seats[h].number && seats[h].id != id)
        h = (h + 1) & mask;
    if (!seats[h].number) {
        use->ids[use->n++] = id;
        seats[h] = (struct seat){.id = id, .number = (uint32_t)use->n};
    }
    return seats[h].number;
}

/* Numbers of a slot's ids at `to`; the place of an id outside the table, or -1. */
static int64_t number_slot(struct dist_use *use, const struct embed_slot_ids *s,
                           int64_t rows, bool distinct, uint64_t mask, uint32_t *to)
{
    const int64_t *ids = s->ids + first_id(s);
    for (int64_t i = 0, n = count_ids(s); i < n; i++) {
        to[i] = 0;
        if (ids[i] < 0)
            continue;
        if (distinct && ids[i] >= rows)
            return i;
        if (distinct) {
            to[i] = number_id(use, ids[i], mask);
        } else {
            use->ids[use->n++] = ids[i];
            to[i] = (uint32_t)use->n;
        }
    }
    return -1;
}

static enum rc outside(const struct dist_uses *u, int slot, int64_t at, struct err *err)
{
    const struct lookup *l = u->units->lookup;
    const struct embed_slot_ids *s = &u->ids[slot];
    const struct embed_table_conf *t = lookup_slot_table(l, slot);
    int64_t row = at, first = first_id(s);
    for (row = s->offsets ? 0 : at; s->offsets && s->offsets[row + 1] - first <= at;
         row++)
        ;
    return err_coded(
        err, RC_INVAL, E1402,
        "feature '%s': row %jd of the batch: id %jd is outside table '%s' of %jd rows",
        lookup_slot(l, slot)->feature, (intmax_t)row, (intmax_t)s->ids[first + at],
        t->name, (intmax_t)t->rows);
}

static enum rc take_unit(struct dist_uses *u, int i, struct err *err)
{
    const struct dist_unit *unit = &u->units->at[i];
    struct dist_use *use = &u->at[i];
    int64_t n = place_slots(u, unit), next = 0, rows = 0, bad;
    use->n = 0;
    use->moved = false;
    if (!reserve(use, n, unit->distinct))
        return err_set(err, RC_NOMEM, "no memory for %jd ids", (intmax_t)n);
    if (unit->distinct)
        memset(use->seats, 0, (size_t)seats_for(n) * sizeof(struct seat));
    rows = lookup_table(u->units->lookup, unit->table)->rows;
    for (int k = 0; k < unit->n; k++) {
        int slot = u->units->slots[unit->first + k];
        if (u->at_of[unit->first + k] != next)
            continue; /* a twin */
        bad = number_slot(use, &u->ids[slot], rows, unit->distinct,
                          (uint64_t)seats_for(n) - 1, use->at + next);
        if (bad >= 0)
            return outside(u, slot, bad, err);
        next += count_ids(&u->ids[slot]);
    }
    return RC_OK;
}

static void take_units(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct dist_uses *u = arg;
    for (int64_t i = begin; i < end; i++)
        if (take_unit(u, (int)i, &u->errs[i]) == RC_NOMEM)
            u->errs[i].code = E_NONE;
}

enum rc dist_uses_take(struct dist_uses *u, const struct embed_slot_ids *ids,
                       struct err *err)
{
    u->ids = ids;
    for (int i = 0; i < u->units->n; i++)
        u->errs[i] = (struct err){0};
    pool_for(u->units->pool, u->units->n, 1, take_units, u);
    for (int i = 0; i < u->units->n; i++)
        if (u->errs[i].msg[0]) {
            if (err)
                *err = u->errs[i];
            return u->errs[i].code == E1402 ? RC_INVAL : RC_NOMEM;
        }
    return RC_OK;
}

void dist_uses_drop(struct dist_uses *u)
{
    for (int i = 0; i < u->units->n; i++)
        u->at[i].n = 0;
}

/* --- vectors --- */

/* Ids [*from, *to) of row r, from the slot's first one on. */
static void row_ids(const struct embed_slot_ids *s, int64_t r, int64_t *from, int64_t *to)
{
    *from = s->offsets ? s->offsets[r] - s->offsets[0] : r;
    *to = s->offsets ? s->offsets[r + 1] - s->offsets[0] : r + 1;
}

/* Mean pooling divides by the ids that count; 1 under sum pooling. */
static int64_t counted(enum embed_pooling pooling, const uint32_t *at, int64_t from,
                       int64_t to)
{
    int64_t n = 0;
    for (int64_t k = from; pooling == EMBED_MEAN && k < to; k++)
        n += at[k] > 0;
    return n > 1 ? n : 1;
}

static float scale_of(const struct embed_slot_ids *s, int64_t k, int64_t n)
{
    float w = s->weights ? s->weights[first_id(s) + k] : 1.0f;
    return n > 1 ? w / (float)n : w;
}

static void pool_row(const struct embed_slot_ids *s, enum embed_pooling pooling,
                     const uint32_t *at, const float *vectors, int64_t r, int64_t dim,
                     float *y)
{
    int64_t from, to;
    row_ids(s, r, &from, &to);
    int64_t n = counted(pooling, at, from, to);
    memset(y, 0, (size_t)dim * sizeof(float));
    for (int64_t k = from; k < to; k++)
        if (at[k])
            kernels()->axpy(y, scale_of(s, k, n), vectors + (at[k] - 1) * dim, dim);
}

static void pool_slot(const struct dist_uses *u, int unit, int k, const struct view *out,
                      int64_t begin, int64_t end)
{
    const struct dist_unit *x = &u->units->at[unit];
    int slot = u->units->slots[x->first + k];
    const struct embed_slot_conf *c = lookup_slot(u->units->lookup, slot);
    const struct embed_slot_ids *s = &u->ids[slot];
    const struct dist_use *use = &u->at[unit];
    const uint32_t *at = use->at + u->at_of[x->first + k];
    bool plain = !s->offsets && !s->weights;
    size_t bytes = (size_t)x->dim * sizeof(float);
    for (int64_t r = begin; r < end; r++) {
        float *y = view_row(out, r) + c->col + x->col;
        if (!plain)
            pool_row(s, c->pooling, at, use->vectors, r, x->dim, y);
        else if (at[r])
            memcpy(y, use->vectors + (at[r] - 1) * x->dim, bytes);
        else
            memset(y, 0, bytes);
    }
}

struct pooling {
    const struct dist_uses *u;
    const struct view *outputs;
};

static void pool_rows(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct pooling *p = arg;
    const struct dist_units *units = p->u->units;
    for (int i = 0; i < units->n; i++)
        for (int k = 0; k < units->at[i].n; k++) {
            int slot = units->slots[units->at[i].first + k];
            int64_t rows = p->u->ids[slot].rows, to = end < rows ? end : rows;
            if (begin < to)
                pool_slot(p->u, i, k,
                          &p->outputs[lookup_slot(units->lookup, slot)->output], begin,
                          to);
        }
}

void dist_uses_pool(struct dist_uses *u, const struct view *outputs)
{
    struct pooling p = {.u = u, .outputs = outputs};
    int64_t most = 0;
    for (int i = 0; i < u->units->n_slots; i++) {
        int64_t rows = u->ids[u->units->slots[i]].rows;
        most = rows > most ? rows : most;
    }
    pool_for(u->units->pool, most, POOL_ROWS, pool_rows, &p);
}

/* --- gradients --- */

static ALWAYS_INLINE void add_one(const float *restrict d, float scale, float most,
                                  int64_t dim, float *restrict sum)
{
    for (int64_t i = 0; i < dim; i++) {
        float v = d[i];
        if (most > 0)
            v = v > most ? most : v < -most ? -most : v;
        sum[i] += scale * v;
    }
}

CLONED static void add_plain(const struct view *d, const uint32_t *at, int64_t rows,
                             float most, int64_t dim, float *sums)
{
    for (int64_t r = 0; r < rows; r++)
        if (at[r])
            add_one(view_row(d, r), 1.0f, most, dim, sums + (at[r] - 1) * dim);
}

CLONED static void add_pooled(const struct view *d, const struct embed_slot_ids *s,
                              const struct embed_slot_conf *c, const uint32_t *at,
                              int64_t dim, float *sums)
{
    for (int64_t r = 0; r < s->rows; r++) {
        int64_t from, to;
        row_ids(s, r, &from, &to);
        int64_t n = c->sum_gradient ? 1 : counted(c->pooling, at, from, to);
        for (int64_t k = from; k < to; k++)
            if (at[k])
                add_one(view_row(d, r), scale_of(s, k, n), c->max_gradient, dim,
                        sums + (at[k] - 1) * dim);
    }
}

static void sum_unit(struct dist_uses *u, int unit, const struct view *grads)
{
    const struct dist_unit *x = &u->units->at[unit];
    struct dist_use *use = &u->at[unit];
    memset(use->sums, 0, (size_t)(use->n * x->dim) * sizeof(float));
    for (int k = 0; k < x->n; k++) {
        int slot = u->units->slots[x->first + k];
        const struct embed_slot_conf *c = lookup_slot(u->units->lookup, slot);
        const struct embed_slot_ids *s = &u->ids[slot];
        const uint32_t *at = use->at + u->at_of[x->first + k];
        if (!grads[c->output].data)
            continue;
        struct view d = view_cols(&grads[c->output], c->col + x->col, x->dim);
        use->moved = true;
        if (!s->offsets && !s->weights)
            add_plain(&d, at, s->rows, c->max_gradient, x->dim, use->sums);
        else
            add_pooled(&d, s, c, at, x->dim, use->sums);
    }
}

static void sum_units(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct pooling *p = arg;
    for (int64_t i = begin; i < end; i++)
        if (p->u->at[i].n)
            sum_unit((struct dist_uses *)(uintptr_t)p->u, (int)i, p->outputs);
}

void dist_uses_sum(struct dist_uses *u, const struct view *grads)
{
    struct pooling p = {.u = u, .outputs = grads};
    pool_for(u->units->pool, u->units->n, 1, sum_units, &p);
}
