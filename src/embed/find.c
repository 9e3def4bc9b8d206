/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of keyed tables for the ids of a batch. */
#include <string.h>

#include "base/mem.h"
#include "embed/embed_private.h"

static bool same_ids(const struct embed_slot_ids *a, const struct embed_slot_ids *b)
{
    return a->ids == b->ids && a->offsets == b->offsets && a->rows == b->rows;
}

/* Whether an earlier slot has the same feature in the same table. */
static bool seen_before(const struct embed *e, size_t slot)
{
    const struct embed_slot *s = &e->slots.at[slot];
    for (size_t i = 0; i < slot; i++)
        if (e->slots.at[i].conf.table == s->conf.table &&
            strcmp(e->slots.at[i].feature, s->feature) == 0)
            return true;
    return false;
}

/* Room for the rows of a slot's ids; they take the place of the ids. */
static enum rc add_use(struct embed *e, size_t slot, struct err *err)
{
    struct embed_slot *s = &e->slots.at[slot];
    int64_t first = s->ids.offsets ? s->ids.offsets[0] : 0;
    int64_t end = s->ids.offsets ? s->ids.offsets[s->ids.rows] : s->ids.rows;
    if (end > s->room) {
        mem_free(s->rows);
        s->room = end + end / 4;
        s->rows = mem_try_alloc((size_t)s->room, sizeof(*s->rows));
        if (!s->rows) {
            s->room = 0;
            return err_set(err, RC_NOMEM, "feature '%s': no memory for %jd ids",
                           s->feature, (intmax_t)end);
        }
    }
    struct embed_keyed_use use = {.ids = s->ids.ids + first,
                                  .n = end - first,
                                  .rows = s->rows + first,
                                  .again = seen_before(e, slot)};
    VEC_PUSH(&e->uses, use);
    s->ids.ids = s->rows;
    return RC_OK;
}

/* A slot with the ids of an earlier one reads its rows, too. */
static enum rc add_slot(struct embed *e, size_t slot, const struct embed_slot_ids *given,
                        struct err *err)
{
    struct embed_slot *s = &e->slots.at[slot];
    size_t first = (size_t)s->first;
    if (first == slot || !same_ids(&given[first], &given[slot]))
        return add_use(e, slot, err);
    s->ids.ids = e->slots.at[first].ids.ids;
    return RC_OK;
}

enum rc embed_find_rows(struct embed *e, const struct embed_slot_ids *given,
                        bool training, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t t = 0; t < e->tables.n && !rc; t++) {
        struct embed_keyed *k = e->tables.at[t]->keyed;
        e->uses.n = 0;
        for (size_t i = 0; k && i < e->slots.n && !rc; i++)
            if (e->slots.at[i].conf.table == (int)t)
                rc = add_slot(e, i, given, err);
        if (k && !rc && training)
            rc = embed_keyed_train(k, e->pool, e->uses.at, e->uses.n, err);
        else if (k && !rc)
            embed_keyed_look_up(k, e->pool, e->uses.at, e->uses.n);
    }
    return rc;
}
