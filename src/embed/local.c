/* SPDX-License-Identifier: Apache-2.0 */
/* The local lookup: tables in the memory of this process (struct embed). How a batch is
 * looked up and updated is chosen slot by slot, batch by batch, in embed_plain_choose():
 *
 *   plain   one id per row, unweighted, in a table of numbered rows that no other slot
 *           reads: one thread numbers the distinct rows and adds up gradients, in memory
 *           that stays in its cache (plain.c)
 *   split   such a slot that is large against the batch (a sequence), or whose sums would
 *           not fit the cache: the same in 16 parts by row, each a task (split.c)
 *   sorted  all others (several slots of one table, several ids per row, weights, keyed
 *           tables): sorted together into 64 parts by row (parts.c, rows.c)
 *
 * A slot with the ids of an earlier one of the same feature and table follows it and is
 * looked up along with it. Ids of keyed tables become rows first (find.c). On every path
 * a row's gradients are added in the order of the batch: the choice changes no byte.
 */
#include "base/mem.h"
#include "embed/embed_private.h"
#include "embed/local_private.h"

static struct embed *local(struct lookup *l)
{
    return (struct embed *)l;
}

static const struct embed *local_of(const struct lookup *l)
{
    return (const struct embed *)l;
}

struct embed_table *embed_local_table(const struct lookup *l, int table)
{
    return local_of(l)->tables.at[table];
}

struct lookup *embed_lookup(struct embed *e)
{
    return &e->lookup;
}

struct embed *embed_of(struct lookup *l)
{
    return l->ops == &lookup_local_ops ? local(l) : NULL;
}

static enum rc local_create(const struct lookup_conf *conf, struct lookup **out,
                            struct err *err)
{
    *out = &embed_create(conf->pool)->lookup;
    return RC_OK;
}

static void local_destroy(struct lookup *l)
{
    embed_destroy(local(l));
}

static int local_add_table(struct lookup *l, const struct embed_table_conf *conf,
                           struct err *err)
{
    return embed_add_table(local(l), conf, err);
}

static int local_add_slot(struct lookup *l, const struct embed_slot_conf *conf,
                          struct err *err)
{
    return embed_add_slot(local(l), conf);
}

static int local_n_tables(const struct lookup *l)
{
    return embed_n_tables(local_of(l));
}

static int local_n_slots(const struct lookup *l)
{
    return embed_n_slots(local_of(l));
}

static const struct embed_table_conf *local_table_conf(const struct lookup *l, int table)
{
    return &embed_local_table(l, table)->conf;
}

static const struct embed_slot_conf *local_slot(const struct lookup *l, int slot)
{
    return embed_slot_at(local_of(l), slot);
}

static enum rc local_share(struct lookup *l, const struct lookup *with, struct err *err)
{
    embed_share(local(l), local_of(with));
    return RC_OK;
}

static enum rc local_prepare(struct lookup *l, const struct embed_slot_ids *ids,
                             bool training, struct err *err)
{
    return embed_batch(local(l), ids, training, err);
}

static enum rc local_forward(struct lookup *l, const struct view *outputs,
                             struct err *err)
{
    embed_forward(local(l), outputs);
    return RC_OK;
}

static enum rc local_update(struct lookup *l, const struct view *grads,
                            const struct embed_row_step *step, struct err *err)
{
    embed_backward(local(l), grads, step);
    return RC_OK;
}

/* Of KEYED_ZCH, ids without a row read the one that they share. */
static bool local_peek(const struct lookup *l, int table, int64_t id, float *out)
{
    const struct embed_table *t = embed_local_table(l, table);
    int64_t row = embed_table_find(t, id);
    if (row < 0 && t->conf.keyed.kind == KEYED_ZCH)
        row = embed_keyed_other(&t->conf.keyed, true);
    if (row >= 0)
        embed_table_get(t, row, out);
    return row >= 0;
}

static enum rc local_track(struct lookup *l, struct err *err)
{
    return embed_track(local(l), err);
}

static bool local_tracks(const struct lookup *l, int table)
{
    return embed_local_table(l, table)->touched != NULL;
}

static enum rc local_touched(const struct lookup *l, int table, int64_t **ids, int64_t *n,
                             struct err *err)
{
    return embed_touched_list(embed_local_table(l, table)->touched, ids, n, err);
}

static void local_forget_touched(struct lookup *l)
{
    for (int i = 0; i < local_n_tables(l); i++)
        if (embed_local_table(l, i)->touched)
            embed_touched_clear(embed_local_table(l, i)->touched);
}

static void local_memory(const struct lookup *l, int table, struct lookup_memory *out)
{
    const struct embed_table *t = embed_local_table(l, table);
    size_t weights = (size_t)(t->conf.rows * t->state_at) * sizeof(float);
    *out = (struct lookup_memory){.weights = weights,
                                  .state = embed_table_bytes(t) - weights,
                                  .ids = t->keyed ? embed_keyed_bytes(t->keyed) : 0};
}

static size_t local_reach(const struct lookup *l, int table, int64_t rows)
{
    return embed_table_reach_bytes(embed_local_table(l, table), rows);
}

const struct lookup_ops lookup_local_ops = {
    .name = "local",
    .summary = "tables in the memory of this process",
    .create = local_create,
    .destroy = local_destroy,
    .add_table = local_add_table,
    .add_slot = local_add_slot,
    .n_tables = local_n_tables,
    .n_slots = local_n_slots,
    .table = local_table_conf,
    .slot = local_slot,
    .share = local_share,
    .prepare = local_prepare,
    .forward = local_forward,
    .update = local_update,
    .snapshot = embed_local_snapshot,
    .restore = embed_local_restore,
    .peek = local_peek,
    .track = local_track,
    .tracks = local_tracks,
    .touched = local_touched,
    .forget_touched = local_forget_touched,
    .memory = local_memory,
    .reach = local_reach,
};
