/* SPDX-License-Identifier: Apache-2.0 */
/* Plain slots that are large against the batch, such as those of sequences, in parts: the
 * ids of a part go to one thread as those of a whole slot do (plain.c). A row belongs to
 * one part, and a part has its ids in the order of the batch, so no byte depends on how
 * many parts there are.
 *
 * Shares of a slot's rows are counted and dealt out by any thread: from the counts of
 * those before it a share knows where its ids go.
 */
#include "embed/embed_private.h"

#define SHARE_ROWS 4096

/* Not the hash of plain.c: all rows of a part would sit in one corner of its table. */
static size_t part_of(int64_t row)
{
    enum { BITS = 4 };
    _Static_assert(1 << BITS == SPLIT, "a part is so many bits of a hash");
    return (size_t)((uint64_t)row * 0xff51afd7ed558ccdu >> (64 - BITS));
}

void embed_split_cut(struct embed *e)
{
    e->shares.n = 0;
    for (size_t i = 0; i < e->slots.n; i++) {
        const struct embed_slot *s = &e->slots.at[i];
        for (int64_t r = 0; s->split && r < s->ids.rows; r += SHARE_ROWS) {
            int64_t end = r + SHARE_ROWS < s->ids.rows ? r + SHARE_ROWS : s->ids.rows;
            VEC_PUSH(&e->shares, ((struct embed_stretch){
                                     .slot = (int32_t)i, .begin = r, .end = end}));
        }
    }
}

void embed_split_count(struct embed *e, struct embed_stretch *h)
{
    const struct embed_slot *s = &e->slots.at[h->slot];
    const int64_t *ids = s->ids.ids;
    h->bad = embed_plain_outside(ids + h->begin, h->end - h->begin,
                                 e->tables.at[s->conf.table]->conf.rows);
    if (h->bad >= 0)
        h->bad += h->begin;
    for (int k = 0; k < SPLIT; k++)
        h->counts[k] = 0;
    for (int64_t r = h->begin; e->training && h->bad < 0 && r < h->end; r++)
        h->counts[part_of(ids[r])] += ids[r] >= 0;
}

/* Counts of shares [begin, end), all of one slot, become places, part by part from
 * dealt[at] on; the parts are made. Returns where the next slot begins.
 */
static int64_t place_slot(struct embed *e, size_t begin, size_t end, int64_t at)
{
    const struct embed_slot *s = &e->slots.at[e->shares.at[begin].slot];
    int64_t rows = e->tables.at[s->conf.table]->conf.rows;
    for (int k = 0; k < SPLIT; k++) {
        int64_t first = at;
        for (size_t i = begin; i < end; i++) {
            int64_t count = e->shares.at[i].counts[k];
            e->shares.at[i].counts[k] = at;
            at += count;
        }
        struct embed_plain p = {.slot = e->shares.at[begin].slot,
                                .ids = e->dealt + first,
                                .from = e->from + first,
                                .n = at - first,
                                .bad = -1};
        p.at = e->numbers + e->split_numbers;
        p.distinct = p.at + p.n;
        e->split_numbers += p.n + (p.n < rows ? p.n : rows) + 1;
        VEC_PUSH(&e->plains, p);
    }
    return at;
}

enum rc embed_split_place(struct embed *e, struct err *err)
{
    int64_t at = 0, most = 0;
    for (size_t i = 0, end; i < e->shares.n; i = end) {
        for (end = i + 1; end < e->shares.n; end++)
            if (e->shares.at[end].slot != e->shares.at[i].slot)
                break;
        at = place_slot(e, i, end, at);
    }
    for (size_t i = e->n_whole; i < e->plains.n; i++)
        most = e->plains.at[i].n > most ? e->plains.at[i].n : most;
    return embed_plain_reserve_seats(e, most, err);
}

void embed_split_deal(struct embed *e, const struct embed_stretch *h)
{
    const int64_t *ids = e->slots.at[h->slot].ids.ids;
    int64_t at[SPLIT];
    for (int k = 0; k < SPLIT; k++)
        at[k] = h->counts[k];
    for (int64_t r = h->begin; r < h->end; r++) {
        if (ids[r] < 0)
            continue;
        int64_t place = at[part_of(ids[r])]++;
        e->dealt[place] = ids[r];
        e->from[place] = (int32_t)r;
    }
}
