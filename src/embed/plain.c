/* SPDX-License-Identifier: Apache-2.0 */
/* Slots that need no sorting: one unweighted id per row, in a table of numbered rows that
 * no other slot reads (twins go along). One thread takes such a slot at a time: it
 * numbers the distinct rows with a hash table, and later adds up their gradients in the
 * order of the batch, both in memory that stays in the core's cache (struct embed_lane). What
 * is left is the traffic of rows, gradients and outputs. Sorting into parts (parts.c)
 * touches every occurrence three times more; it took twice as long.
 *
 * The sums are those of parts.c in the same order, so which way a slot goes changes no
 * byte. It depends on the batch alone. A slot that is large against the batch, so that
 * threads would wait for the one that has it, or whose sums would not fit the cache, is
 * split first (split.c).
 */
#include <string.h>

#include "base/mem.h"
#include "embed/rows_private.h"

#define SUMS_MAX ((int64_t)1 << 18) /* floats of a slot's sums: 1 MiB */
#define SHARE 8    /* a whole slot has at most one of so many lookups of the batch, */
#define SMALL 1024 /* or this many */

static int64_t most_distinct(const struct embed *e, int32_t slot, int64_t ids)
{
    int64_t rows = e->tables.at[e->slots.at[slot].conf.table]->conf.rows;
    return ids < rows ? ids : rows;
}

/* Sets `plain` and `split` of a slot. */
static void choose(const struct embed *e, int32_t slot)
{
    struct embed_slot *s = &e->slots.at[slot];
    const struct embed_table *t = e->tables.at[s->conf.table];
    int64_t n = s->ids.rows, sums = most_distinct(e, slot, n) * t->conf.dim;
    bool whole = n <= SMALL || (n <= e->lookups / SHARE && sums <= SUMS_MAX);
    s->plain = !s->follows && !s->ids.offsets && !s->ids.weights && n > 0 &&
               n <= INT32_MAX && !t->keyed && t->conf.rows <= INT32_MAX &&
               e->readers.at[s->conf.table] == 1 && (whole || sums / SPLIT <= SUMS_MAX);
    s->split = s->plain && !whole;
}

/* Lookups of the batch; counts who reads which table. */
static int64_t count_readers(struct embed *e)
{
    int64_t n = 0;
    for (size_t i = 0; i < e->readers.n; i++)
        e->readers.at[i] = 0;
    for (size_t i = 0; i < e->slots.n; i++) {
        const struct embed_slot *s = &e->slots.at[i];
        if (s->follows || s->ids.rows == 0)
            continue;
        e->readers.at[s->conf.table]++;
        n += s->ids.offsets ? s->ids.offsets[s->ids.rows] - s->ids.offsets[0]
                            : s->ids.rows;
    }
    return n;
}

static int64_t seats_for(int64_t distinct)
{
    int64_t size = 4;
    while (size < 2 * distinct)
        size *= 2;
    return size;
}

static void release_lanes(struct embed *e)
{
    for (size_t i = 0; i < e->lanes.n; i++) {
        mem_free(e->lanes.at[i].seats);
        mem_free(e->lanes.at[i].sums);
        e->lanes.at[i] = (struct embed_lane){0};
    }
    e->seats_room = e->sums_room = 0;
}

static void release_numbers(struct embed *e)
{
    mem_free(e->numbers);
    mem_free(e->dealt);
    mem_free(e->from);
    e->numbers = NULL;
    e->dealt = NULL;
    e->from = NULL;
    e->numbers_room = e->dealt_room = 0;
}

void embed_plain_release(struct embed *e)
{
    release_lanes(e);
    release_numbers(e);
}

/* Room for `seats` and `sums` in every lane. */
static bool widen(struct embed *e, int64_t seats, int64_t sums)
{
    if (seats <= e->seats_room && sums <= e->sums_room)
        return true;
    seats = seats > e->seats_room ? seats : e->seats_room;
    sums = sums > e->sums_room ? sums + sums / 4 : e->sums_room;
    release_lanes(e);
    for (size_t i = 0; i < e->lanes.n; i++) {
        struct embed_lane *l = &e->lanes.at[i];
        l->seats = mem_try_large((size_t)seats, sizeof(*l->seats));
        l->sums = sums ? mem_try_large((size_t)sums, sizeof(*l->sums)) : NULL;
        if (!l->seats || (sums && !l->sums)) {
            release_lanes(e);
            return false;
        }
    }
    e->seats_room = seats;
    e->sums_room = sums;
    return true;
}

static enum rc no_memory(const struct embed *e, struct err *err)
{
    return err_set(err, RC_NOMEM, "no memory for %jd lookups", (intmax_t)e->lookups);
}

enum rc embed_plain_reserve_seats(struct embed *e, int64_t distinct, struct err *err)
{
    return distinct == 0 || widen(e, seats_for(distinct), 0) ? RC_OK : no_memory(e, err);
}

enum rc embed_plain_reserve_sums(struct embed *e, struct err *err)
{
    int64_t sums = 0;
    for (size_t i = 0; i < e->plains.n; i++) {
        const struct embed_plain *p = &e->plains.at[i];
        int64_t dim = e->tables.at[e->slots.at[p->slot].conf.table]->conf.dim;
        int64_t n = (p->n_distinct + 1) * dim;
        sums = n > sums ? n : sums;
    }
    return widen(e, 0, sums) ? RC_OK : no_memory(e, err);
}

/* Numbers for all ids, and a place for `split` of them. */
static bool reserve(struct embed *e, int64_t numbers, int64_t split)
{
    if (numbers <= e->numbers_room && split <= e->dealt_room)
        return true;
    numbers += numbers / 4;
    split += split / 4;
    release_numbers(e);
    e->numbers = mem_try_large((size_t)numbers, sizeof(*e->numbers));
    e->dealt = split ? mem_try_large((size_t)split, sizeof(*e->dealt)) : NULL;
    e->from = split ? mem_try_large((size_t)split, sizeof(*e->from)) : NULL;
    if (!e->numbers || (split && (!e->dealt || !e->from))) {
        release_numbers(e);
        return false;
    }
    e->numbers_room = numbers;
    e->dealt_room = split;
    return true;
}

/* Whole slots are numbered as they are. */
static int64_t place_whole(struct embed *e)
{
    int64_t at = 0;
    for (size_t i = 0; i < e->plains.n; i++) {
        struct embed_plain *p = &e->plains.at[i];
        p->at = e->numbers + at;
        p->distinct = p->at + p->n;
        at += p->n + most_distinct(e, p->slot, p->n) + 1;
    }
    return at;
}

enum rc embed_plain_choose(struct embed *e, struct err *err)
{
    int64_t numbers = 0, split = 0, most = 0;
    e->lookups = count_readers(e);
    e->plains.n = 0;
    for (size_t i = 0; i < e->slots.n; i++) {
        const struct embed_slot *s = &e->slots.at[i];
        int64_t n = s->ids.rows;
        choose(e, (int32_t)i);
        if (!s->plain)
            continue;
        /* the parts of a split slot may have as many distinct rows as ids, each */
        numbers += n + (s->split ? n : most_distinct(e, (int32_t)i, n)) + SPLIT;
        split += s->split ? n : 0;
        if (s->split)
            continue;
        VEC_PUSH(&e->plains,
                 ((struct embed_plain){.slot = (int32_t)i, .ids = s->ids.ids, .n = n}));
        int64_t distinct = most_distinct(e, (int32_t)i, n);
        most = distinct > most ? distinct : most;
    }
    e->n_whole = e->plains.n;
    embed_split_cut(e);
    if (!e->training)
        return RC_OK;
    if (!reserve(e, numbers, split))
        return no_memory(e, err);
    e->split_numbers = place_whole(e);
    return embed_plain_reserve_seats(e, most, err);
}

/* The greatest id is looked for first, which takes several at a time. */
CLONED static int64_t outside(const int64_t *ids, int64_t n, int64_t rows)
{
    int64_t most = -1;
    for (int64_t i = 0; i < n; i++)
        most = ids[i] > most ? ids[i] : most;
    for (int64_t i = 0; most >= rows && i < n; i++)
        if (ids[i] >= rows)
            return i;
    return -1;
}

int64_t embed_plain_outside(const int64_t *ids, int64_t n, int64_t rows)
{
    return outside(ids, n, rows);
}

/* Every id gets the number of its row; numbers are given out as rows come up. A seat is a
 * row and, in its lower half, the number; 0: nobody sits there. No branch depends on
 * whether a row is new, which nobody could foresee.
 */
static int64_t number_rows(const int64_t *restrict ids, int64_t n,
                           uint64_t *restrict seats, uint64_t mask, bool direct,
                           uint32_t *restrict at, uint32_t *restrict distinct)
{
    uint64_t factor = direct ? 1 : 0x9e3779b97f4a7c15u;
    int shift = direct ? 0 : CLZ64(mask);
    uint64_t last = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t row = (uint64_t)ids[i];
        if (UNLIKELY(ids[i] < 0)) {
            at[i] = 0;
            continue;
        }
        uint64_t h = row * factor >> shift, seat = seats[h], empty = (seat - 1) >> 63;
        while (UNLIKELY((seat >> 32 ^ row) & (empty - 1))) {
            h = (h + 1) & mask;
            seat = seats[h];
            empty = (seat - 1) >> 63;
        }
        last += empty;
        uint64_t number = (uint32_t)seat + (last & -empty);
        seats[h] = row << 32 | number;
        distinct[number] = (uint32_t)row;
        at[i] = (uint32_t)number;
    }
    return (int64_t)last;
}

CLONED static int64_t count_fresh(const uint64_t *used, const uint32_t *rows, int64_t n)
{
    uint64_t old = 0;
    for (int64_t i = 0; i < n; i++)
        old += used[rows[i] / 64] >> rows[i] % 64 & 1;
    return n - (int64_t)old;
}

void embed_plain_number(struct embed *e, struct embed_plain *p, struct embed_lane *lane)
{
    const struct embed_table *t = e->tables.at[e->slots.at[p->slot].conf.table];
    int64_t size = seats_for(most_distinct(e, p->slot, p->n));
    if (p->n == 0)
        return;
    memset(lane->seats, 0, (size_t)size * sizeof(*lane->seats));
    p->n_distinct = number_rows(p->ids, p->n, lane->seats, (uint64_t)size - 1,
                                t->conf.rows <= size, p->at, p->distinct);
    p->n_fresh = count_fresh(t->used, p->distinct + 1, p->n_distinct);
}

void embed_plain_count(struct embed *e, struct embed_plain *p, struct embed_lane *lane)
{
    const struct embed_table *t = e->tables.at[e->slots.at[p->slot].conf.table];
    p->bad = embed_plain_outside(p->ids, p->n, t->conf.rows);
    if (p->bad < 0 && e->training)
        embed_plain_number(e, p, lane);
}

static void fill_rows(struct embed *e, const struct embed_plain *p)
{
    struct embed_table *t = e->tables.at[e->slots.at[p->slot].conf.table];
    for (int64_t i = 1; p->n_fresh && i <= p->n_distinct; i++)
        if (!embed_table_used(t, p->distinct[i]))
            embed_table_use(t, p->distinct[i]);
}

/* The table is this slot's alone, and with it the bitmap of its rows; parts of a slot
 * share its words, so one thread fills all of them.
 */
static void fill_new_rows(struct embed *e, int64_t item, struct embed_lane *lane)
{
    size_t whole = e->n_whole, i = (size_t)item;
    if (i < whole) {
        fill_rows(e, &e->plains.at[i]);
        return;
    }
    for (size_t k = 0; k < SPLIT; k++)
        fill_rows(e, &e->plains.at[whole + (i - whole) * SPLIT + k]);
}

void embed_plain_fill(struct embed *e)
{
    int64_t n = 0;
    for (size_t i = 0; i < e->plains.n; i++)
        n += e->plains.at[i].n_fresh;
    if (n)
        embed_lanes(e, (int64_t)(e->n_whole + (e->plains.n - e->n_whole) / SPLIT),
                    fill_new_rows);
}

/* What row r of the slot will need: its gradients. */
static ALWAYS_INLINE void ask_for_gradient(const struct embed_slot *s, int64_t r,
                                           int64_t dim)
{
    const float *d = view_row(&s->grads, r);
    for (int64_t i = 0; i < dim; i += LINE)
        __builtin_prefetch(d + i);
}

/* sums[number] of all gradients; ids that do not count end up in sums[0]. */
static ALWAYS_INLINE void add_up(const struct embed *e, const struct embed_plain *p,
                                 const int32_t *from, int64_t dim, float *restrict sums)
{
    const struct embed_slot *slots = e->slots.at;
    memset(sums, 0, (size_t)((p->n_distinct + 1) * dim) * sizeof(float));
    for (int64_t i = 0; i < p->n; i++) {
        float *sum = sums + p->at[i] * dim;
        int64_t next = i + AHEAD < p->n ? i + AHEAD : i;
        for (int32_t k = p->slot; k >= 0; k = slots[k].twin) {
            if (!slots[k].grads.data)
                continue;
            ask_for_gradient(&slots[k], from ? from[next] : next, dim);
            add_gradient(&slots[k], from ? from[i] : i, 1.0f, dim, sum);
        }
    }
}

static ALWAYS_INLINE void update(const struct embed *e, const struct embed_plain *p,
                                 int64_t dim, float *restrict sums)
{
    int table = e->slots.at[p->slot].conf.table;
    struct embed_table *t = e->tables.at[table];
    const struct embed_row_rule *rule = &e->rules.at[table];
    if (p->from)
        add_up(e, p, p->from, dim, sums);
    else
        add_up(e, p, NULL, dim, sums);
    for (int64_t i = 1; i <= p->n_distinct; i++) {
        if (i + AHEAD <= p->n_distinct)
            ask_for_row(t, p->distinct[i + AHEAD]);
        apply(t, rule, p->distinct[i], sums + i * dim, dim);
    }
}

/* Widths that are common get loops of their own. */
CLONED static void update_width(const struct embed *e, const struct embed_plain *p,
                                int64_t dim, float *sums)
{
    switch (dim) {
    case 1:
        update(e, p, 1, sums);
        break;
    case 8:
        update(e, p, 8, sums);
        break;
    case 16:
        update(e, p, 16, sums);
        break;
    case 32:
        update(e, p, 32, sums);
        break;
    default:
        update(e, p, dim, sums);
    }
}

void embed_plain_update(const struct embed *e, const struct embed_plain *p,
                        struct embed_lane *lane)
{
    const struct embed_table *t = e->tables.at[e->slots.at[p->slot].conf.table];
    bool any = false;
    for (int32_t k = p->slot; k >= 0; k = e->slots.at[k].twin)
        any |= e->slots.at[k].grads.data != NULL;
    if (any && t->conf.trainable)
        update_width(e, p, t->conf.dim, lane->sums);
}
