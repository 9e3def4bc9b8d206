/* SPDX-License-Identifier: Apache-2.0 */
/* The ids of a batch, sorted: (1) count the occurrences of each part, (2) put them there
 * in batch order, (3) in each part find the distinct rows with a small hash table and
 * chain their occurrences.
 *
 * A part holds the rows of all tables whose (table, row) hashes into it; PARTS is fixed,
 * so which gradients meet in which order is too. Counting and dealing out are cut into
 * pieces of a slot's rows: a piece knows from the counts of those before it where its
 * occurrences go, so threads do not change the order.
 */
#include <string.h>

#include "base/mem.h"
#include "embed/embed_private.h"

#define PIECE_ROWS 2048
#define SKIPPED 255 /* the part of an id that does not count */

static uint32_t mixed(int32_t table, int64_t row)
{
    uint64_t h =
        ((uint64_t)row + (uint64_t)table * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
    return (uint32_t)(h >> 32);
}

static bool same_ids(const struct embed_slot_ids *a, const struct embed_slot_ids *b)
{
    return a->ids == b->ids && a->offsets == b->offsets && a->weights == b->weights &&
           a->rows == b->rows;
}

/* Which slots go along with an earlier one. */
static void find_twins(struct embed *e)
{
    for (size_t i = 0; i < e->slots.n; i++) {
        struct embed_slot *s = &e->slots.at[i], *first = &e->slots.at[s->first];
        s->twin = -1;
        s->follows = s != first && same_ids(&s->ids, &first->ids);
        if (!s->follows)
            continue;
        s->twin = first->twin;
        first->twin = (int32_t)i;
    }
}

static void cut_pieces(struct embed *e)
{
    int64_t at = 0;
    e->pieces.n = 0;
    for (size_t i = 0; i < e->slots.n; i++) {
        struct embed_slot *s = &e->slots.at[i];
        if (s->follows || s->plain)
            continue;
        int64_t first = s->ids.offsets ? s->ids.offsets[0] : 0;
        s->n = (s->ids.offsets ? s->ids.offsets[s->ids.rows] : s->ids.rows) - first;
        for (int64_t r = 0; r < s->ids.rows; r += PIECE_ROWS) {
            int64_t end = r + PIECE_ROWS < s->ids.rows ? r + PIECE_ROWS : s->ids.rows;
            int64_t id = s->ids.offsets ? s->ids.offsets[r] : r;
            VEC_RESERVE(&e->pieces);
            struct embed_piece *p = &e->pieces.at[e->pieces.n++];
            p->slot = (int32_t)i;
            p->begin = r;
            p->end = end;
            p->at = at + id - first;
        }
        at += s->n;
    }
    e->n = at;
}

void embed_parts_release(struct embed *e)
{
    mem_free(e->occurrences);
    mem_free(e->uniques);
    mem_free(e->heads);
    mem_free(e->part_of);
    e->occurrences = NULL;
    e->uniques = NULL;
    e->heads = NULL;
    e->part_of = NULL;
    e->capacity = 0;
}

static enum rc reserve(struct embed *e, struct err *err)
{
    int64_t n = e->n, capacity = n + n / 4;
    if (n <= e->capacity)
        return RC_OK;
    embed_parts_release(e);
    if (n <= INT32_MAX / 8) {
        e->occurrences = mem_try_large((size_t)capacity, sizeof(*e->occurrences));
        e->uniques = mem_try_large((size_t)capacity, sizeof(*e->uniques));
        /* each part takes twice its occurrences, rounded up to a power of two */
        e->heads = mem_try_large((size_t)capacity * 4 + PARTS * 4, sizeof(*e->heads));
        e->part_of = mem_try_large((size_t)capacity, 1);
    }
    if (!e->occurrences || !e->uniques || !e->heads || !e->part_of)
        return err_set(err, RC_NOMEM, "no memory for %jd lookups", (intmax_t)n);
    e->capacity = capacity;
    return RC_OK;
}

static void count_piece(struct embed *e, struct embed_piece *p)
{
    const struct embed_slot *s = &e->slots.at[p->slot];
    const struct embed_table *t = e->tables.at[s->conf.table];
    int64_t from, to, last;
    uint8_t *part_of = e->part_of + p->at;
    embed_slot_row(s, p->begin, &from, &last);
    embed_slot_row(s, p->end - 1, &last, &to);
    memset(p->counts, 0, sizeof(p->counts));
    p->bad = -1;
    for (int64_t k = from; k < to; k++) {
        int64_t id = s->ids.ids[k];
        uint8_t part = SKIPPED;
        if (id >= t->conf.rows) {
            p->bad = k - (s->ids.offsets ? s->ids.offsets[0] : 0);
            return;
        }
        if (id >= 0 && (!t->keyed || embed_keyed_trains(t->keyed, id))) {
            part = mixed(s->conf.table, id) % PARTS;
            p->counts[part]++;
        }
        *part_of++ = part;
    }
}

static void count_item(struct embed *e, int64_t item, struct embed_lane *lane)
{
    int64_t whole = (int64_t)e->n_whole, shares = (int64_t)e->shares.n;
    if (item < whole)
        embed_plain_count(e, &e->plains.at[item], lane);
    else if (item < whole + shares)
        embed_split_count(e, &e->shares.at[item - whole]);
    else
        count_piece(e, &e->pieces.at[item - whole - shares]);
}

static enum rc outside(const struct embed *e, const struct embed_slot *s, int64_t bad,
                       struct err *err)
{
    const struct embed_table *t = e->tables.at[s->conf.table];
    int64_t row = bad, first = s->ids.offsets ? s->ids.offsets[0] : 0;
    if (s->ids.offsets)
        for (row = 0; s->ids.offsets[row + 1] - first <= bad; row++)
            ;
    return err_coded(
        err, RC_INVAL, E1402,
        "feature '%s': row %jd of the batch: id %jd is outside table '%s' of %jd rows",
        s->feature, (intmax_t)row, (intmax_t)s->ids.ids[first + bad], t->name,
        (intmax_t)t->conf.rows);
}

enum rc embed_parts_inside(const struct embed *e, struct err *err)
{
    for (size_t i = 0; i < e->slots.n; i++) {
        const struct embed_slot *s = &e->slots.at[i];
        const struct embed_table *t = e->tables.at[s->conf.table];
        int64_t first = s->ids.offsets ? s->ids.offsets[0] : 0;
        int64_t end = s->ids.offsets ? s->ids.offsets[s->ids.rows] : s->ids.rows;
        int64_t bad =
            t->keyed ? -1
                     : embed_plain_outside(s->ids.ids + first, end - first, t->conf.rows);
        if (bad >= 0)
            return outside(e, s, bad, err);
    }
    return RC_OK;
}

struct bad {
    int32_t slot;
    int64_t at; /* -1: none */
};

static void note(struct bad *first, int32_t slot, int64_t at)
{
    if (at >= 0 && (first->at < 0 || slot < first->slot))
        *first = (struct bad){.slot = slot, .at = at};
}

/* Of all ids outside their tables the first in the order of slots and rows. */
static enum rc check(const struct embed *e, struct err *err)
{
    struct bad first = {.at = -1};
    for (size_t i = 0; i < e->n_whole; i++)
        note(&first, e->plains.at[i].slot, e->plains.at[i].bad);
    for (size_t i = 0; i < e->shares.n; i++)
        note(&first, e->shares.at[i].slot, e->shares.at[i].bad);
    for (size_t i = 0; i < e->pieces.n; i++)
        note(&first, e->pieces.at[i].slot, e->pieces.at[i].bad);
    return first.at < 0 ? RC_OK : outside(e, &e->slots.at[first.slot], first.at, err);
}

enum rc embed_parts_count(struct embed *e, struct err *err)
{
    find_twins(e);
    enum rc rc = embed_plain_choose(e, err);
    if (rc)
        return rc;
    cut_pieces(e);
    rc = reserve(e, err);
    if (rc)
        return rc;
    embed_lanes(e, (int64_t)(e->n_whole + e->shares.n + e->pieces.n), count_item);
    return check(e, err);
}

/* Counts become places: of the parts among all occurrences, of a piece's in the part. */
static void place(struct embed *e)
{
    int64_t at = 0;
    for (int p = 0; p < PARTS; p++) {
        int32_t n = 0;
        for (size_t i = 0; i < e->pieces.n; i++) {
            int32_t count = e->pieces.at[i].counts[p];
            e->pieces.at[i].counts[p] = n;
            n += count;
        }
        e->parts[p] = (struct embed_part){.begin = at, .end = at + n};
        at += n;
    }
}

static void deal_piece(struct embed *e, const struct embed_piece *p)
{
    const struct embed_slot *s = &e->slots.at[p->slot];
    const uint8_t *part_of = e->part_of + p->at;
    struct embed_occurrence *at[PARTS];
    for (int i = 0; i < PARTS; i++)
        at[i] = e->occurrences + e->parts[i].begin + p->counts[i];
    for (int64_t r = p->begin; r < p->end; r++) {
        int64_t from, to;
        embed_slot_row(s, r, &from, &to);
        int64_t n = embed_slot_divides(s, from, to);
        for (int64_t k = from; k < to; k++, part_of++)
            if (*part_of != SKIPPED)
                *at[*part_of]++ =
                    (struct embed_occurrence){.row = s->ids.ids[k],
                                              .slot = p->slot,
                                              .next = -1,
                                              .from = (int32_t)r,
                                              .scale = embed_slot_scale(s, k, n)};
    }
}

static void deal_item(struct embed *e, int64_t item, struct embed_lane *lane)
{
    int64_t shares = (int64_t)e->shares.n;
    if (item < shares)
        embed_split_deal(e, &e->shares.at[item]);
    else
        deal_piece(e, &e->pieces.at[item - shares]);
}

static int64_t table_size(int64_t n)
{
    int64_t size = 4;
    while (size < 2 * n)
        size *= 2;
    return size;
}

/* Where the hash table of a part starts: parts before it took at most 4 times their
 * occurrences, and 4.
 */
static int32_t *heads_of(const struct embed *e, int p)
{
    return e->heads + e->parts[p].begin * 4 + p * 4;
}

static void chain_part(struct embed *e, int p)
{
    struct embed_part *part = &e->parts[p];
    struct embed_occurrence *o = e->occurrences + part->begin;
    struct embed_unique *u = e->uniques + part->begin;
    int64_t n = part->end - part->begin, size = table_size(n);
    int32_t *heads = heads_of(e, p);
    memset(heads, 0xff, (size_t)size * sizeof(*heads));
    for (int64_t i = 0; i < n; i++) {
        int32_t table = e->slots.at[o[i].slot].conf.table;
        int64_t h = (mixed(table, o[i].row) / PARTS) & (size - 1);
        while (heads[h] >= 0 &&
               (u[heads[h]].row != o[i].row || u[heads[h]].table != table))
            h = (h + 1) & (size - 1);
        if (heads[h] < 0) {
            bool fresh = !embed_table_used(e->tables.at[table], o[i].row);
            heads[h] = (int32_t)part->n_unique;
            u[part->n_unique++] = (struct embed_unique){.row = o[i].row,
                                                        .table = table,
                                                        .first = (int32_t)i,
                                                        .last = (int32_t)i,
                                                        .fresh = fresh};
            part->n_fresh += fresh;
        } else {
            struct embed_unique *same = &u[heads[h]];
            o[same->last].next = (int32_t)i;
            same->last = (int32_t)i;
        }
    }
}

static void chain_item(struct embed *e, int64_t item, struct embed_lane *lane)
{
    int64_t split = (int64_t)(e->plains.n - e->n_whole);
    if (item < split)
        embed_plain_number(e, &e->plains.at[(int64_t)e->n_whole + item], lane);
    else
        chain_part(e, (int)(item - split));
}

/* A row belongs to one part only, but rows of two parts share words of the table's
 * bitmap, so new rows are filled by one thread.
 */
static void fill_fresh(struct embed *e)
{
    for (int p = 0; p < PARTS; p++) {
        const struct embed_unique *u = e->uniques + e->parts[p].begin;
        for (int64_t i = 0; e->parts[p].n_fresh && i < e->parts[p].n_unique; i++)
            if (u[i].fresh)
                embed_table_use(e->tables.at[u[i].table], u[i].row);
    }
}

static void touch(const struct embed *e, int table, int64_t row)
{
    struct embed_touched *noted = e->tables.at[table]->touched;
    if (noted && noted->bits)
        embed_touched_mark(noted, row);
}

/* Bits of rows that two parts have share words, too. Keyed tables note ids instead. */
static void note_touched(const struct embed *e)
{
    for (int p = 0; p < PARTS; p++) {
        const struct embed_part *part = &e->parts[p];
        for (int64_t i = 0; i < part->n_unique; i++) {
            const struct embed_unique *u = &e->uniques[part->begin + i];
            touch(e, u->table, u->row);
        }
    }
    for (size_t k = 0; k < e->plains.n; k++) {
        const struct embed_plain *p = &e->plains.at[k];
        for (int64_t i = 1; i <= p->n_distinct; i++)
            touch(e, e->slots.at[p->slot].conf.table, p->distinct[i]);
    }
}

enum rc embed_parts_sort(struct embed *e, struct err *err)
{
    enum rc rc = embed_split_place(e, err);
    if (rc)
        return rc;
    place(e);
    embed_lanes(e, (int64_t)(e->shares.n + e->pieces.n), deal_item);
    int64_t split = (int64_t)(e->plains.n - e->n_whole);
    embed_lanes(e, split + (e->n ? PARTS : 0), chain_item);
    rc = embed_plain_reserve_sums(e, err);
    if (rc)
        return rc;
    fill_fresh(e);
    embed_plain_fill(e);
    for (size_t i = 0; i < e->tables.n; i++)
        embed_table_settle(e->tables.at[i]);
    if (e->tables.n && e->tables.at[0]->touched)
        note_touched(e);
    return RC_OK;
}
