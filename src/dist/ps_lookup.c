/* SPDX-License-Identifier: Apache-2.0 */
/* A table is one unit of uses.h: distinct ids of the batch go to the servers, their vectors come
 * back into a room of this lookup, from which slots are pooled; gradients are summed into a
 * second room, which the client sends. The lookup inside keeps shapes, and rows to be saved.
 */
#include "dist/ps_lookup.h"

#include "base/mem.h"
#include "dist/uses.h"
#include "embed/lookup_wrap.h"

/* Vectors and sums of a table's rows in the batch at hand. */
struct room {
    float *vectors, *sums;
    int64_t n; /* floats of each */
};

struct ps_lookup {
    struct lookup_wrap wrap;
    struct pool *pool;             /* borrowed */
    struct dist_ps_client *client; /* borrowed; NULL: none */
    struct dist_layout layout;
    struct dist_units units;
    struct dist_uses uses;
    struct room *rooms;           /* [units.n] */
    struct dist_ps_table *tables; /* [n_tables] */
    bool ready;
};

static struct ps_lookup *ps_of(struct lookup *l)
{
    return (struct ps_lookup *)l;
}

void dist_ps_lookup_attach(struct lookup *l, struct dist_ps_client *c)
{
    ps_of(l)->client = c;
}

struct lookup *dist_ps_lookup_tables(struct lookup *l)
{
    return ps_of(l)->wrap.inner;
}

/* On the first batch, when all slots are known. */
static void set_up(struct ps_lookup *x)
{
    if (x->ready)
        return;
    int n = lookup_n_tables(x->wrap.inner);
    for (int t = 0; t < n; t++)
        dist_layout_add(&x->layout, NULL);
    dist_units_init(&x->units, &x->wrap.lookup, &x->layout, x->pool);
    dist_uses_init(&x->uses, &x->units);
    x->rooms = mem_calloc((size_t)x->units.n + 1, sizeof(*x->rooms));
    x->tables = mem_calloc((size_t)n + 1, sizeof(*x->tables));
    x->ready = true;
}

static enum rc reserve(struct room *r, struct dist_use *use, int64_t dim, struct err *err)
{
    int64_t n = use->n * dim;
    if (n > r->n) {
        mem_free(r->vectors);
        mem_free(r->sums);
        r->vectors = mem_try_alloc((size_t)n, sizeof(float));
        r->sums = mem_try_alloc((size_t)n, sizeof(float));
        r->n = r->vectors && r->sums ? n : 0;
        if (!r->n)
            return err_set(err, RC_NOMEM, "no memory for %jd rows of a batch",
                           (intmax_t)use->n);
    }
    use->vectors = r->vectors;
    use->sums = r->sums;
    return RC_OK;
}

static enum rc ps_prepare(struct lookup *l, const struct embed_slot_ids *ids,
                          bool training, struct err *err)
{
    struct ps_lookup *x = ps_of(l);
    if (!x->client)
        return lookup_prepare(x->wrap.inner, ids, training, err);
    set_up(x);
    enum rc rc = dist_uses_take(&x->uses, ids, err);
    for (int u = 0; u < x->units.n && !rc; u++) {
        struct dist_use *use = &x->uses.at[u];
        rc = reserve(&x->rooms[u], use, x->units.at[u].dim, err);
        x->tables[x->units.at[u].table] =
            (struct dist_ps_table){.n = use->n, .ids = use->ids, .vectors = use->vectors};
    }
    return rc ? rc : dist_ps_client_pull(x->client, x->tables, training, err);
}

static enum rc ps_forward(struct lookup *l, const struct view *outputs, struct err *err)
{
    struct ps_lookup *x = ps_of(l);
    if (!x->client)
        return lookup_forward(x->wrap.inner, outputs, err);
    dist_uses_pool(&x->uses, outputs);
    return RC_OK;
}

static enum rc ps_update(struct lookup *l, const struct view *grads,
                         const struct embed_row_step *step, struct err *err)
{
    struct ps_lookup *x = ps_of(l);
    if (!x->client)
        return lookup_update(x->wrap.inner, grads, step, err);
    dist_uses_sum(&x->uses, grads);
    for (int u = 0; u < x->units.n; u++)
        x->tables[x->units.at[u].table].sums =
            x->uses.at[u].moved ? x->uses.at[u].sums : NULL;
    return RC_OK;
}

enum rc dist_ps_lookup_push(struct lookup *l, struct err *err)
{
    struct ps_lookup *x = ps_of(l);
    set_up(x);
    return dist_ps_client_step(x->client, x->tables, err);
}

static void ps_destroy(struct lookup *l)
{
    struct ps_lookup *x = ps_of(l);
    for (int u = 0; u < x->units.n; u++) {
        mem_free(x->rooms[u].vectors);
        mem_free(x->rooms[u].sums);
    }
    if (x->ready)
        dist_uses_release(&x->uses);
    dist_units_release(&x->units);
    dist_layout_release(&x->layout);
    mem_free(x->rooms);
    mem_free(x->tables);
    lookup_wrap_release(&x->wrap);
    mem_free(x);
}

static enum rc ps_create(const struct lookup_conf *conf, struct lookup **out,
                         struct err *err)
{
    struct lookup *inner = NULL;
    enum rc rc = lookup_create(NULL, conf, &inner, err);
    if (rc)
        return rc;
    struct ps_lookup *x = mem_calloc(1, sizeof(*x));
    lookup_wrap_init(&x->wrap, &dist_ps_lookup_ops, inner);
    x->pool = conf->pool;
    x->wrap.ops.destroy = ps_destroy;
    x->wrap.ops.prepare = ps_prepare;
    x->wrap.ops.forward = ps_forward;
    x->wrap.ops.update = ps_update;
    *out = &x->wrap.lookup;
    return RC_OK;
}

const struct lookup_ops dist_ps_lookup_ops = {
    .name = "ps",
    .summary = "tables whose rows parameter servers keep",
    .create = ps_create,
};
