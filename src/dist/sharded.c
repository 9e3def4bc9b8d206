/* SPDX-License-Identifier: Apache-2.0 */
/* A lookup inside (lookup_conf.inner) keeps the rows that are this rank's. Behind the slots of the model
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

static int sharded_add_table(struct lookup *l, const struct embed_table_conf *conf,
                             struct err *err)
{
    struct dist_sharded *x = sharded_of(l);
    int table = lookup_add_table(x->wrap.inner, conf, err);
    if (table >= x->layout.n_tables)
        dist_layout_add(&x->layout, conf->dir);
    return table;
}

static int sharded_n_tables(const struct lookup *l)
{
    return ((const struct dist_sharded *)l)->layout.n_tables;
}

static int sharded_add_slot(struct lookup *l, const struct embed_slot_conf *conf,
                            struct err *err)
{
    struct dist_sharded *x = sharded_of(l);
    x->n_slots++;
    x->n_outputs = conf->output >= x->n_outputs ? conf->output + 1 : x->n_outputs;
    return lookup_add_slot(x->wrap.inner, conf, err);
}

static int sharded_n_slots(const struct lookup *l)
{
    return ((const struct dist_sharded *)l)->n_slots;
}

static int inner_of(const struct dist_sharded *x, int table, int part)
{
    return dist_layout_part(&x->layout, x->wrap.inner, table, part).inner;
}

static struct dist_owner *owners_of_units(const struct dist_sharded *x)
{
    struct dist_owner *o = mem_calloc((size_t)x->units.n + 1, sizeof(*o));
    for (int u = 0; u < x->units.n; u++)
        o[u] = dist_sharded_owner(x, x->units.at[u].table, x->units.at[u].part);
    return o;
}

static bool add_unit_slot(const struct dist_sharded *x, int u, struct err *err)
{
    const struct dist_unit *unit = &x->units.at[u];
    int slot = unit->n ? x->units.slots[unit->first] : -1;
    /* a name of its own: ids of a feature that a slot had before do not count again */
    char *name = mem_printf("shards of '%s'",
                            slot < 0 ? "" : lookup_slot(x->wrap.inner, slot)->feature);
    struct embed_slot_conf conf = {.feature = name,
                                   .table = inner_of(x, unit->table, unit->part),
                                   .output = x->n_outputs + u};
    int added = lookup_add_slot(x->wrap.inner, &conf, err);
    mem_free(name);
    return added >= 0;
}

/* On the first batch, when all slots of the model are known. */
static enum rc set_up(struct dist_sharded *x, struct err *err)
{
    if (x->ids)
        return RC_OK;
    dist_units_init(&x->units, &x->wrap.lookup, &x->layout, x->pool);
    for (int i = 0; i < 2; i++) {
        dist_exchange_init(&x->sides[i].exchange, &x->units, x->comm, owners_of_units(x));
        x->sides[i].exchange.half = x->half;
    }
    for (int u = 0; u < x->units.n; u++)
        if (!add_unit_slot(x, u, err))
            return RC_INVAL;
    x->ids = mem_calloc((size_t)(x->n_slots + x->units.n) + 1, sizeof(*x->ids));
    x->views = mem_calloc((size_t)(x->n_outputs + x->units.n) + 1, sizeof(*x->views));
    return lookup_finish(x->wrap.inner, err);
}

/* Tables may still be cut, and slots of units are added with the first batch. */
static enum rc sharded_finish(struct lookup *l, struct err *err)
{
    return RC_OK;
}

static struct dist_side *side_of(struct dist_sharded *x)
{
    return &x->sides[x->at];
}

static void make_shards(struct dist_sharded *x, struct dist_side *side, int n)
{
    if (n <= side->n_shards)
        return;
    side->shards = mem_realloc(side->shards, (size_t)n, sizeof(*side->shards));
    while (side->n_shards < n)
        dist_uses_init(&side->shards[side->n_shards++], &x->units);
}

static void clear_views(struct dist_sharded *x)
{
    for (int i = 0; i < x->n_outputs + x->units.n; i++)
        x->views[i] = (struct view){0};
}

/* Vectors of all that this rank is asked for. */
static enum rc look_up_asked(struct dist_sharded *x, bool training, struct err *err)
{
    const struct dist_exchange *e = &side_of(x)->exchange;
    for (int i = 0; i < x->n_slots; i++)
        x->ids[i] = (struct embed_slot_ids){0};
    clear_views(x);
    for (int u = 0; u < x->units.n; u++) {
        const struct dist_asked *a = &e->asked[u];
        x->ids[x->n_slots + u] = (struct embed_slot_ids){.ids = a->ids, .rows = a->n};
        x->views[x->n_outputs + u] = view_of(a->vectors, a->n, x->units.at[u].dim);
    }
    enum rc rc = lookup_prepare(x->wrap.inner, x->ids, training, err);
    return rc ? rc : lookup_forward(x->wrap.inner, x->views, err);
}

static enum rc take_uses(struct dist_sharded *x, struct dist_side *side,
                         const struct embed_slot_ids *const *ids, int n, struct err *err)
{
    enum rc rc = RC_OK;
    make_shards(x, side, n);
    for (int s = 0; s < n && !rc; s++)
        rc = dist_uses_take(&side->shards[s], ids[s], err);
    return rc;
}

static enum rc send_ahead(void *arg, struct err *err)
{
    struct dist_sharded *x = arg;
    struct dist_side *side = &x->sides[1 - x->at];
    struct dist_shards s = x->ahead.shards;
    return dist_exchange_ids(&side->exchange, side->shards, s.n, s.total, true, err);
}

/* Other ranks expect ids, whatever is wrong with those of this one. */
void dist_sharded_ahead(struct lookup *l, struct comm_courier *courier,
                        const struct embed_slot_ids *const *ids,
                        struct dist_shards shards)
{
    struct dist_sharded *x = sharded_of(l);
    struct dist_side *side = &x->sides[1 - x->at];
    x->ahead = (struct dist_ahead){.there = true,
                                   .shards = shards,
                                   .courier = courier,
                                   .errand = {.run = send_ahead, .arg = x}};
    x->ahead.rc = take_uses(x, side, ids, shards.n, &x->ahead.err);
    for (int s = 0; s < shards.n && x->ahead.rc; s++)
        dist_uses_drop(&side->shards[s]);
    comm_courier_post(courier, &x->ahead.errand);
}

enum rc dist_sharded_forget(struct lookup *l, struct err *err)
{
    struct dist_ahead *a = &sharded_of(l)->ahead;
    a->there = false;
    return comm_courier_wait(a->courier, &a->errand, err);
}

/* The batch whose ids went ahead is now at hand. */
static enum rc take_ahead(struct dist_sharded *x, struct err *err)
{
    enum rc rc = comm_courier_wait(x->ahead.courier, &x->ahead.errand, err);
    x->ahead.there = false;
    x->at = 1 - x->at;
    dist_exchange_swap(&x->sides[0].exchange, &x->sides[1].exchange);
    if (!rc && x->ahead.rc && err)
        *err = x->ahead.err;
    return rc ? rc : x->ahead.rc;
}

static enum rc exchange_ids(struct dist_sharded *x,
                            const struct embed_slot_ids *const *ids,
                            struct dist_shards shards, bool training, struct err *err)
{
    struct dist_side *side = side_of(x);
    enum rc rc = take_uses(x, side, ids, shards.n, err);
    return rc ? rc
              : dist_exchange_ids(&side->exchange, side->shards, shards.n, shards.total,
                                  training, err);
}

enum rc dist_sharded_prepare(struct lookup *l, const struct embed_slot_ids *const *ids,
                             struct dist_shards shards, bool training, struct err *err)
{
    struct dist_sharded *x = sharded_of(l);
    enum rc rc = set_up(x, err);
    if (rc)
        return rc;
    rc = training && x->ahead.there ? take_ahead(x, err)
                                    : exchange_ids(x, ids, shards, training, err);
    if (!rc)
        rc = dist_exchange_reserve(&side_of(x)->exchange, err);
    if (!rc)
        rc = look_up_asked(x, training, err);
    return rc ? rc : dist_exchange_vectors(&side_of(x)->exchange, err);
}

void dist_sharded_forward(struct lookup *l, int shard, const struct view *outputs)
{
    dist_uses_pool(&side_of(sharded_of(l))->shards[shard], outputs);
}

void dist_sharded_backward(struct lookup *l, int shard, const struct view *grads)
{
    dist_uses_sum(&side_of(sharded_of(l))->shards[shard], grads);
}

enum rc dist_sharded_tell(struct lookup *l, const struct dist_notes *notes,
                          struct err *err)
{
    return dist_exchange_sums(&side_of(sharded_of(l))->exchange, notes, err);
}

enum rc dist_sharded_update(struct lookup *l, const struct embed_row_step *step,
                            struct err *err)
{
    struct dist_sharded *x = sharded_of(l);
    clear_views(x);
    for (int u = 0; u < x->units.n; u++) {
        const struct dist_asked *a = &side_of(x)->exchange.asked[u];
        if (a->moved)
            x->views[x->n_outputs + u] = view_of(a->sums, a->n, x->units.at[u].dim);
    }
    return lookup_update(x->wrap.inner, x->views, step, err);
}

void dist_sharded_half(struct lookup *l)
{
    sharded_of(l)->half = true;
}

struct dist_traffic dist_sharded_traffic(const struct lookup *l)
{
    const struct dist_sharded *x = (const struct dist_sharded *)l;
    const struct dist_side *sides = x->sides;
    struct dist_traffic a = sides[0].exchange.traffic, b = sides[1].exchange.traffic;
    return (struct dist_traffic){.sent = a.sent + b.sent,
                                 .least = a.least + b.least,
                                 .ids = a.ids + b.ids,
                                 .floats = a.floats + b.floats,
                                 .written = x->written};
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
    enum rc rc = set_up(x, err);
    if (rc)
        return rc;
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
    enum rc rc = dist_sharded_tell(l, &(struct dist_notes){0}, err);
    return rc ? rc : dist_sharded_update(l, step, err);
}

static enum rc sharded_snapshot(struct lookup *l, int table, bool whole,
                                struct lookup_snapshot **out, struct err *err)
{
    struct dist_sharded *x = sharded_of(l);
    if (comm_world(x->comm) == 1 && !dist_sharded_owner(x, table, 0).classes)
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

/* --- rows that changed --- */

static bool sharded_peek(const struct lookup *l, int table, int64_t id, float *out)
{
    const struct dist_sharded *x = (const struct dist_sharded *)l;
    return lookup_peek(x->wrap.inner, inner_of(x, table, 0), id, out);
}

/* A row must be whole on the rank that keeps it. */
static enum rc sharded_track(struct lookup *l, struct err *err)
{
    struct dist_sharded *x = sharded_of(l);
    for (int t = 0; t < x->layout.n_tables; t++)
        if (dist_layout_count(&x->layout, t) > 1)
            return err_set(
                err, RC_UNSUPPORTED,
                "delta_embedding_dump_config: rows of table '%s' are cut by "
                "columns; sharding_types row_wise, table_wise or data_parallel "
                "in its embedding_constraints keep them whole",
                lookup_table(x->wrap.inner, t)->name);
    return lookup_track(x->wrap.inner, err);
}

static bool sharded_tracks(const struct lookup *l, int table)
{
    const struct dist_sharded *x = (const struct dist_sharded *)l;
    return lookup_tracks(x->wrap.inner, inner_of(x, table, 0));
}

/* Of rows that this rank keeps; where all have copies, one rank speaks for them. */
static enum rc sharded_touched(const struct lookup *l, int table, int64_t **ids,
                               int64_t *n, struct err *err)
{
    const struct dist_sharded *x = (const struct dist_sharded *)l;
    struct dist_owner owner = dist_sharded_owner(x, table, 0);
    int64_t kept = 0;
    enum rc rc = lookup_touched(x->wrap.inner, inner_of(x, table, 0), ids, n, err);
    for (int64_t i = 0; !rc && i < *n; i++)
        if (dist_owner_at(&owner, (*ids)[i]) == comm_rank(x->comm))
            (*ids)[kept++] = (*ids)[i];
    if (!rc)
        *n = kept;
    return rc;
}

struct dist_owner dist_sharded_owner(const struct dist_sharded *x, int table, int part)
{
    struct dist_part p = dist_layout_part(&x->layout, x->wrap.inner, table, part);
    return dist_owner_of(lookup_table(x->wrap.inner, p.inner), table, comm_world(x->comm),
                         &p.place);
}

enum rc dist_sharded_place(struct lookup *l, int table, const struct dist_part *parts,
                           int n, struct err *err)
{
    struct dist_sharded *x = sharded_of(l);
    return dist_layout_cut(&x->layout, x->wrap.inner, table, parts, n, err);
}

/* The share of a part that this rank keeps, one in so many, on average; 0: none. */
static size_t share_of(const struct dist_sharded *x, int table, int part)
{
    struct dist_owner o = dist_sharded_owner(x, table, part);
    return (size_t)dist_owner_share(&o, comm_rank(x->comm));
}

/* Of the rows that are this rank's. */
static void sharded_memory(const struct lookup *l, int table, struct lookup_memory *out)
{
    const struct dist_sharded *x = (const struct dist_sharded *)l;
    *out = (struct lookup_memory){0};
    for (int i = 0; i < dist_layout_count(&x->layout, table); i++) {
        struct lookup_memory part;
        size_t share = share_of(x, table, i);
        if (!share)
            continue;
        lookup_memory(x->wrap.inner, inner_of(x, table, i), &part);
        out->weights += part.weights / share;
        out->state += part.state / share;
        out->ids += part.ids;
    }
}

static size_t sharded_reach(const struct lookup *l, int table, int64_t rows)
{
    const struct dist_sharded *x = (const struct dist_sharded *)l;
    size_t bytes = 0;
    for (int i = 0; i < dist_layout_count(&x->layout, table); i++) {
        size_t share = share_of(x, table, i);
        if (share)
            bytes += lookup_reach(x->wrap.inner, inner_of(x, table, i), rows) / share;
    }
    return bytes;
}

static void release_side(struct dist_side *side)
{
    for (int s = 0; s < side->n_shards; s++)
        dist_uses_release(&side->shards[s]);
    mem_free(side->shards);
    if (side->exchange.units)
        dist_exchange_release(&side->exchange);
}

static void sharded_destroy(struct lookup *l)
{
    struct dist_sharded *x = sharded_of(l);
    for (int i = 0; i < 2; i++)
        release_side(&x->sides[i]);
    dist_units_release(&x->units);
    mem_free(x->ids);
    mem_free(x->views);
    mem_free(x->images);
    dist_layout_release(&x->layout);
    lookup_wrap_release(&x->wrap);
    mem_free(x);
}

static enum rc sharded_create(const struct lookup_conf *conf, struct lookup **out,
                              struct err *err)
{
    struct lookup *inner = NULL;
    struct lookup_conf of = *conf;
    of.inner = NULL;
    enum rc rc = lookup_create(conf->inner, &of, &inner, err);
    if (rc)
        return rc;
    if (inner->ops->on_device) {
        rc = err_set(err, RC_UNSUPPORTED,
                     "lookup '%s' gives vectors in the memory of a device; those of "
                     "several shards are put together by the host",
                     inner->ops->name);
        lookup_destroy(inner);
        return rc;
    }
    struct dist_sharded *x = mem_calloc(1, sizeof(*x));
    lookup_wrap_init(&x->wrap, &dist_sharded_ops, inner);
    x->comm = conf->comm;
    x->pool = conf->pool;
    x->wrap.ops.destroy = sharded_destroy;
    x->wrap.ops.add_table = sharded_add_table;
    x->wrap.ops.n_tables = sharded_n_tables;
    x->wrap.ops.add_slot = sharded_add_slot;
    x->wrap.ops.n_slots = sharded_n_slots;
    x->wrap.ops.finish = sharded_finish;
    x->wrap.ops.prepare = sharded_prepare;
    x->wrap.ops.forward = sharded_forward;
    x->wrap.ops.update = sharded_update;
    x->wrap.ops.snapshot = sharded_snapshot;
    x->wrap.ops.restore = sharded_restore;
    x->wrap.ops.peek = sharded_peek;
    x->wrap.ops.track = sharded_track;
    x->wrap.ops.tracks = sharded_tracks;
    x->wrap.ops.touched = sharded_touched;
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
