/* SPDX-License-Identifier: Apache-2.0 */
/* A local lookup inside keeps the rows that are this rank's. Behind the slots of the model
 * it has one more per unit (uses.h): the ids that the shards of all ranks ask for. In
 * training only these are used; the model's own slots are empty. With one rank an
 * evaluation goes straight to the model's slots.
 */
#include "dist/sharded.h"

#include "base/mem.h"
#include "comm/comm.h"
#include "dist/exchange.h"
#include "dist/sharded_private.h"

static struct dist_sharded *sharded_of(struct lookup *l)
{
    return (struct dist_sharded *)l;
}

static int sharded_add_slot(struct lookup *l, const struct embed_slot_conf *conf)
{
    struct dist_sharded *x = sharded_of(l);
    x->n_slots++;
    x->n_outputs = conf->output >= x->n_outputs ? conf->output + 1 : x->n_outputs;
    return lookup_add_slot(x->wrap.inner, conf);
}

static int sharded_n_slots(const struct lookup *l)
{
    return ((const struct dist_sharded *)l)->n_slots;
}

/* On the first batch, when all slots of the model are known. */
static void set_up(struct dist_sharded *x)
{
    if (x->ids)
        return;
    dist_units_init(&x->units, &x->wrap.lookup, x->pool);
    dist_exchange_init(&x->exchange, &x->units, x->comm, x->places);
    for (int u = 0; u < x->units.n; u++) {
        const struct dist_unit *unit = &x->units.at[u];
        int slot = unit->n ? x->units.slots[unit->first] : -1;
        /* a name of its own: ids of a feature that a slot had before do not count again */
        char *name = mem_printf(
            "shards of '%s'", slot < 0 ? "" : lookup_slot(x->wrap.inner, slot)->feature);
        lookup_add_slot(x->wrap.inner,
                        &(struct embed_slot_conf){.feature = name,
                                                  .table = unit->table,
                                                  .output = x->n_outputs + u});
        mem_free(name);
    }
    x->ids = mem_calloc((size_t)(x->n_slots + x->units.n) + 1, sizeof(*x->ids));
    x->views = mem_calloc((size_t)(x->n_outputs + x->units.n) + 1, sizeof(*x->views));
}

static void make_shards(struct dist_sharded *x, int n)
{
    if (n <= x->n_shards)
        return;
    x->shards = mem_realloc(x->shards, (size_t)n, sizeof(*x->shards));
    while (x->n_shards < n)
        dist_uses_init(&x->shards[x->n_shards++], &x->units);
}

static void clear_views(struct dist_sharded *x)
{
    for (int i = 0; i < x->n_outputs + x->units.n; i++)
        x->views[i] = (struct view){0};
}

/* Vectors of all that this rank is asked for. */
static enum rc look_up_asked(struct dist_sharded *x, bool training, struct err *err)
{
    for (int i = 0; i < x->n_slots; i++)
        x->ids[i] = (struct embed_slot_ids){0};
    clear_views(x);
    for (int u = 0; u < x->units.n; u++) {
        const struct dist_asked *a = &x->exchange.asked[u];
        x->ids[x->n_slots + u] = (struct embed_slot_ids){.ids = a->ids, .rows = a->n};
        x->views[x->n_outputs + u] = view_of(a->vectors, a->n, x->units.at[u].dim);
    }
    enum rc rc = lookup_prepare(x->wrap.inner, x->ids, training, err);
    return rc ? rc : lookup_forward(x->wrap.inner, x->views, err);
}

enum rc dist_sharded_prepare(struct lookup *l, const struct embed_slot_ids *const *ids,
                             struct dist_shards shards, bool training, struct err *err)
{
    struct dist_sharded *x = sharded_of(l);
    enum rc rc = RC_OK;
    set_up(x);
    make_shards(x, shards.n);
    for (int s = 0; s < shards.n && !rc; s++)
        rc = dist_uses_take(&x->shards[s], ids[s], err);
    if (!rc)
        rc = dist_exchange_ids(&x->exchange, x->shards, shards.n, shards.total, err);
    if (!rc)
        rc = look_up_asked(x, training, err);
    return rc ? rc : dist_exchange_vectors(&x->exchange, err);
}

void dist_sharded_forward(struct lookup *l, int shard, const struct view *outputs)
{
    dist_uses_pool(&sharded_of(l)->shards[shard], outputs);
}

void dist_sharded_backward(struct lookup *l, int shard, const struct view *grads)
{
    dist_uses_sum(&sharded_of(l)->shards[shard], grads);
}

enum rc dist_sharded_update(struct lookup *l, const struct embed_row_step *step,
                            struct err *err)
{
    struct dist_sharded *x = sharded_of(l);
    enum rc rc = dist_exchange_sums(&x->exchange, err);
    clear_views(x);
    for (int u = 0; u < x->units.n && !rc; u++) {
        const struct dist_asked *a = &x->exchange.asked[u];
        if (a->moved)
            x->views[x->n_outputs + u] = view_of(a->sums, a->n, x->units.at[u].dim);
    }
    return rc ? rc : lookup_update(x->wrap.inner, x->views, step, err);
}

/* --- as any lookup: one shard per rank --- */

static bool is_direct(const struct dist_sharded *x, bool training)
{
    return !training && comm_world(x->comm) == 1;
}

static enum rc sharded_prepare(struct lookup *l, const struct embed_slot_ids *ids,
                               bool training, struct err *err)
{
    struct dist_sharded *x = sharded_of(l);
    set_up(x);
    x->direct = is_direct(x, training);
    if (!x->direct)
        return dist_sharded_prepare(l, &ids, (struct dist_shards){.n = 1}, training, err);
    for (int i = 0; i < x->n_slots + x->units.n; i++)
        x->ids[i] = i < x->n_slots ? ids[i] : (struct embed_slot_ids){0};
    return lookup_prepare(x->wrap.inner, x->ids, false, err);
}

static enum rc sharded_forward(struct lookup *l, const struct view *outputs,
                               struct err *err)
{
    struct dist_sharded *x = sharded_of(l);
    if (!x->direct) {
        dist_sharded_forward(l, 0, outputs);
        return RC_OK;
    }
    clear_views(x);
    for (int i = 0; i < x->n_outputs; i++)
        x->views[i] = outputs[i];
    return lookup_forward(x->wrap.inner, x->views, err);
}

static enum rc sharded_update(struct lookup *l, const struct view *grads,
                              const struct embed_row_step *step, struct err *err)
{
    dist_sharded_backward(l, 0, grads);
    return dist_sharded_update(l, step, err);
}

static enum rc sharded_snapshot(struct lookup *l, int table, bool whole,
                                struct lookup_snapshot **out, struct err *err)
{
    struct dist_sharded *x = sharded_of(l);
    if (comm_world(x->comm) == 1)
        return lookup_snapshot(x->wrap.inner, table, whole, out, err);
    return dist_image_make(x, table, whole, out, err);
}

static enum rc sharded_restore(struct lookup *l, int table,
                               const struct lookup_image *image, struct err *err)
{
    struct dist_sharded *x = sharded_of(l);
    if (comm_world(x->comm) == 1)
        return lookup_restore(x->wrap.inner, table, image, err);
    return dist_image_restore(x, table, image, err);
}

struct dist_owner dist_sharded_owner(const struct dist_sharded *x, int table)
{
    return dist_owner_of(lookup_table(x->wrap.inner, table), table, comm_world(x->comm),
                         x->places ? &x->places[table] : NULL);
}

void dist_sharded_place(struct lookup *l, int table, struct dist_place place)
{
    struct dist_sharded *x = sharded_of(l);
    size_t tables = (size_t)lookup_n_tables(l);
    if (!x->places)
        x->places = mem_calloc(tables + 1, sizeof(*x->places));
    x->places[table] = place;
}

/* Of the rows that are this rank's, on average. */
static void sharded_memory(const struct lookup *l, int table, struct lookup_memory *out)
{
    const struct dist_sharded *x = (const struct dist_sharded *)l;
    struct dist_owner o = dist_sharded_owner(x, table);
    size_t share = (size_t)dist_owner_share(&o, comm_rank(x->comm));
    lookup_memory(x->wrap.inner, table, out);
    if (!share) {
        *out = (struct lookup_memory){0};
        return;
    }
    out->weights /= share;
    out->state /= share;
}

static size_t sharded_reach(const struct lookup *l, int table, int64_t rows)
{
    const struct dist_sharded *x = (const struct dist_sharded *)l;
    struct dist_owner o = dist_sharded_owner(x, table);
    size_t share = (size_t)dist_owner_share(&o, comm_rank(x->comm));
    return share ? lookup_reach(x->wrap.inner, table, rows) / share : 0;
}

static void sharded_destroy(struct lookup *l)
{
    struct dist_sharded *x = sharded_of(l);
    for (int s = 0; s < x->n_shards; s++)
        dist_uses_release(&x->shards[s]);
    mem_free(x->shards);
    if (x->ids)
        dist_exchange_release(&x->exchange);
    dist_units_release(&x->units);
    mem_free(x->ids);
    mem_free(x->views);
    mem_free(x->images);
    mem_free(x->places);
    lookup_wrap_release(&x->wrap);
    mem_free(x);
}

static enum rc sharded_create(const struct lookup_conf *conf, struct lookup **out,
                              struct err *err)
{
    struct lookup *inner = NULL;
    enum rc rc = lookup_create(&lookup_local_ops, conf, &inner, err);
    if (rc)
        return rc;
    struct dist_sharded *x = mem_calloc(1, sizeof(*x));
    lookup_wrap_init(&x->wrap, &dist_sharded_ops, inner);
    x->comm = conf->comm;
    x->pool = conf->pool;
    x->wrap.ops.destroy = sharded_destroy;
    x->wrap.ops.add_slot = sharded_add_slot;
    x->wrap.ops.n_slots = sharded_n_slots;
    x->wrap.ops.prepare = sharded_prepare;
    x->wrap.ops.forward = sharded_forward;
    x->wrap.ops.update = sharded_update;
    x->wrap.ops.snapshot = sharded_snapshot;
    x->wrap.ops.restore = sharded_restore;
    x->wrap.ops.memory = sharded_memory;
    x->wrap.ops.reach = sharded_reach;
    *out = &x->wrap.lookup;
    return RC_OK;
}

const struct lookup_ops dist_sharded_ops = {
    .name = "sharded",
    .summary = "tables of a run over shards, each row on one of the ranks",
    .create = sharded_create,
};
