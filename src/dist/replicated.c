/* SPDX-License-Identifier: Apache-2.0 */
/* A batch of training, on every rank alike. First a head of five numbers per slot goes
 * round (rows, ids, whether there are offsets and weights, and which earlier slot has the
 * same ids), so that all know what follows; then, slot by slot, ids, lengths of rows and
 * weights. The local lookup inside is given the ids of all ranks; of the vectors that it
 * makes, this rank's rows are copied out. Gradients are gathered in the same way.
 *
 * A slot that has the ids of an earlier one on all ranks shares its memory here, so that
 * the lookup inside sees that they are the same, as it would in one process.
 */
#include "dist/replicated.h"

#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "embed/lookup_wrap.h"

enum { ROWS, IDS, LISTED, WEIGHTED, SAME, HEAD };

/* An array that grows. */
struct room {
    void *at;
    size_t bytes;
};

struct gathered {
    struct room ids, offsets, weights;
    struct room own_lengths, own_weights; /* what this rank sends */
    int64_t before, rows;                 /* rows of ranks before this one; of all */
    int64_t own;                          /* of this one */
};

struct replicated {
    struct lookup_wrap wrap;
    struct comm *comm; /* borrowed */
    bool spread;       /* the batch at hand is that of all ranks */
    int n_slots, n_outputs;
    struct gathered *slots;     /* [n_slots] */
    struct embed_slot_ids *ids; /* [n_slots]: of all ranks */
    struct room head, heads;    /* [n_slots][HEAD]; the same of each rank */
    struct room counts;         /* [world] */
    struct room packed;         /* gradients of this rank, without gaps */
    struct room *vectors;       /* [n_outputs]: rows of all ranks */
    struct view *views;         /* [n_outputs] */
};

static enum rc reserve(struct room *r, int64_t n, size_t size, struct err *err)
{
    size_t bytes = (size_t)(n > 0 ? n : 1) * size;
    if (bytes <= r->bytes)
        return RC_OK;
    mem_free(r->at);
    r->at = mem_try_alloc(bytes, 1);
    r->bytes = r->at ? bytes : 0;
    return r->at ? RC_OK
                 : err_set(err, RC_NOMEM, "no memory for %zu bytes of all ranks", bytes);
}

static int64_t head_at(const struct replicated *x, int rank, int slot, int what)
{
    return ((const int64_t *)x->heads.at)[(rank * x->n_slots + slot) * HEAD + what];
}

/* counts[r]: what rank r says of a slot; the sum. */
static int64_t count_all(const struct replicated *x, int slot, int what)
{
    int64_t *counts = x->counts.at, n = 0;
    for (int r = 0; r < comm_world(x->comm); r++)
        n += counts[r] = head_at(x, r, slot, what);
    return n;
}

/* An earlier slot of the same feature and table with the very same ids, or -1. */
static int64_t same_as(const struct replicated *x, const struct embed_slot_ids *ids,
                       int slot)
{
    const struct embed_slot_conf *c = lookup_slot(x->wrap.inner, slot);
    for (int i = 0; i < slot; i++) {
        const struct embed_slot_conf *o = lookup_slot(x->wrap.inner, i);
        if (o->table == c->table && strcmp(o->feature, c->feature) == 0 &&
            ids[i].ids == ids[slot].ids && ids[i].offsets == ids[slot].offsets &&
            ids[i].weights == ids[slot].weights && ids[i].rows == ids[slot].rows)
            return i;
    }
    return -1;
}

static int64_t first_id(const struct embed_slot_ids *s)
{
    return s->offsets ? s->offsets[0] : 0;
}

static int64_t count_ids(const struct embed_slot_ids *s)
{
    return s->offsets ? s->offsets[s->rows] - s->offsets[0] : s->rows;
}

static enum rc exchange_heads(struct replicated *x, const struct embed_slot_ids *ids,
                              struct err *err)
{
    int64_t world = comm_world(x->comm), n = (int64_t)x->n_slots * HEAD;
    enum rc rc = reserve(&x->head, n, sizeof(int64_t), err);
    if (!rc)
        rc = reserve(&x->heads, n * world, sizeof(int64_t), err);
    if (!rc)
        rc = reserve(&x->counts, world, sizeof(int64_t), err);
    if (rc)
        return rc;
    int64_t *head = x->head.at, *counts = x->counts.at;
    for (int s = 0; s < x->n_slots; s++) {
        head[s * HEAD + ROWS] = ids[s].rows;
        head[s * HEAD + IDS] = count_ids(&ids[s]);
        head[s * HEAD + LISTED] = ids[s].offsets != NULL;
        head[s * HEAD + WEIGHTED] = ids[s].weights != NULL;
        head[s * HEAD + SAME] = same_as(x, ids, s);
    }
    for (int64_t r = 0; r < world; r++)
        counts[r] = n;
    return comm_all_gather(x->comm, comm_i64(head), comm_i64(x->heads.at), counts, err);
}

/* The earlier slot that all ranks name, or -1. */
static int agreed_same(const struct replicated *x, int slot)
{
    for (int r = 1; r < comm_world(x->comm); r++)
        if (head_at(x, r, slot, SAME) != head_at(x, 0, slot, SAME))
            return -1;
    return (int)head_at(x, 0, slot, SAME);
}

/* Lengths of all rows, made into offsets from 0 on. */
static enum rc gather_offsets(struct replicated *x, int slot,
                              const struct embed_slot_ids *from, struct err *err)
{
    struct gathered *g = &x->slots[slot];
    enum rc rc = reserve(&g->own_lengths, from->rows, sizeof(int64_t), err);
    if (!rc)
        rc = reserve(&g->offsets, g->rows + 1, sizeof(int64_t), err);
    if (rc)
        return rc;
    int64_t *own = g->own_lengths.at, *at = g->offsets.at;
    for (int64_t r = 0; r < from->rows; r++)
        own[r] = from->offsets ? from->offsets[r + 1] - from->offsets[r] : 1;
    count_all(x, slot, ROWS);
    rc = comm_all_gather(x->comm, comm_i64(own), comm_i64(at + 1), x->counts.at, err);
    at[0] = 0;
    for (int64_t r = 0; r < g->rows && !rc; r++)
        at[r + 1] += at[r];
    return rc;
}

/* Ids without a weight have 1. */
static enum rc gather_weights(struct replicated *x, int slot, int64_t n,
                              const struct embed_slot_ids *from, struct err *err)
{
    struct gathered *g = &x->slots[slot];
    int64_t own_n = count_ids(from);
    enum rc rc = reserve(&g->own_weights, own_n, sizeof(float), err);
    if (!rc)
        rc = reserve(&g->weights, n, sizeof(float), err);
    if (rc)
        return rc;
    float *own = g->own_weights.at;
    for (int64_t i = 0; i < own_n; i++)
        own[i] = from->weights ? from->weights[first_id(from) + i] : 1.0f;
    count_all(x, slot, IDS);
    return comm_all_gather(x->comm, comm_f32(own), comm_f32(g->weights.at), x->counts.at,
                           err);
}

static void place_rows(struct replicated *x, int slot)
{
    struct gathered *g = &x->slots[slot];
    g->rows = count_all(x, slot, ROWS);
    g->before = 0;
    for (int r = 0; r < comm_rank(x->comm); r++)
        g->before += head_at(x, r, slot, ROWS);
    g->own = head_at(x, comm_rank(x->comm), slot, ROWS);
}

/* Ids, offsets and weights of all ranks; x->ids[slot] points at them. */
static enum rc gather_slot(struct replicated *x, int slot,
                           const struct embed_slot_ids *from, struct err *err)
{
    struct gathered *g = &x->slots[slot];
    bool listed = count_all(x, slot, LISTED) > 0;
    bool weighted = count_all(x, slot, WEIGHTED) > 0;
    int same = agreed_same(x, slot);
    place_rows(x, slot);
    if (same >= 0) {
        x->ids[slot] = x->ids[same];
        return RC_OK;
    }
    int64_t n = count_all(x, slot, IDS);
    enum rc rc = reserve(&g->ids, n, sizeof(int64_t), err);
    /* what is sent is only read */
    int64_t *own = from->ids ? (int64_t *)(uintptr_t)from->ids + first_id(from) : NULL;
    if (!rc)
        rc = comm_all_gather(x->comm, comm_i64(own), comm_i64(g->ids.at), x->counts.at,
                             err);
    if (!rc && listed)
        rc = gather_offsets(x, slot, from, err);
    if (!rc && weighted)
        rc = gather_weights(x, slot, n, from, err);
    x->ids[slot] = (struct embed_slot_ids){.ids = g->ids.at,
                                           .offsets = listed ? g->offsets.at : NULL,
                                           .weights = weighted ? g->weights.at : NULL,
                                           .rows = g->rows};
    return rc;
}

/* On the first batch: how many slots and outputs there are. */
static void set_up(struct replicated *x)
{
    if (x->slots)
        return;
    x->n_slots = lookup_n_slots(x->wrap.inner);
    for (int i = 0; i < x->n_slots; i++) {
        int output = lookup_slot(x->wrap.inner, i)->output;
        x->n_outputs = output >= x->n_outputs ? output + 1 : x->n_outputs;
    }
    x->slots = mem_calloc((size_t)x->n_slots + 1, sizeof(*x->slots));
    x->ids = mem_calloc((size_t)x->n_slots + 1, sizeof(*x->ids));
    x->vectors = mem_calloc((size_t)x->n_outputs + 1, sizeof(*x->vectors));
    x->views = mem_calloc((size_t)x->n_outputs + 1, sizeof(*x->views));
}

static enum rc replicated_prepare(struct lookup *l, const struct embed_slot_ids *ids,
                                  bool training, struct err *err)
{
    struct replicated *x = (struct replicated *)l;
    x->spread = training && comm_world(x->comm) > 1;
    if (!x->spread)
        return lookup_prepare(x->wrap.inner, ids, training, err);
    set_up(x);
    enum rc rc = exchange_heads(x, ids, err);
    for (int s = 0; s < x->n_slots && !rc; s++)
        rc = gather_slot(x, s, &ids[s], err);
    return rc ? rc : lookup_prepare(x->wrap.inner, x->ids, true, err);
}

/* Rows of all ranks in an output, and before this one: those of any of its slots. */
static const struct gathered *slot_of_output(const struct replicated *x, int output)
{
    for (int s = 0; s < x->n_slots; s++)
        if (lookup_slot(x->wrap.inner, s)->output == output)
            return &x->slots[s];
    return NULL;
}

/* Memory for the rows of all ranks; the same widths as `like`. Of gradients, those that
 * nobody has are left out.
 */
static enum rc make_views(struct replicated *x, const struct view *like, bool grads,
                          struct err *err)
{
    enum rc rc = RC_OK;
    for (int o = 0; o < x->n_outputs && !rc; o++) {
        const struct gathered *g = slot_of_output(x, o);
        x->views[o] = (struct view){0};
        if (!g || (grads && !like[o].data))
            continue;
        rc = reserve(&x->vectors[o], g->rows * like[o].width, sizeof(float), err);
        x->views[o] = view_of(x->vectors[o].at, g->rows, like[o].width);
    }
    return rc;
}

static enum rc replicated_forward(struct lookup *l, const struct view *outputs,
                                  struct err *err)
{
    struct replicated *x = (struct replicated *)l;
    if (!x->spread)
        return lookup_forward(x->wrap.inner, outputs, err);
    enum rc rc = make_views(x, outputs, false, err);
    if (!rc)
        rc = lookup_forward(x->wrap.inner, x->views, err);
    for (int s = 0; s < x->n_slots && !rc; s++) {
        const struct embed_slot_conf *c = lookup_slot(x->wrap.inner, s);
        const struct gathered *g = &x->slots[s];
        size_t bytes = (size_t)lookup_slot_table(x->wrap.inner, s)->dim * sizeof(float);
        for (int64_t r = 0; r < g->own; r++)
            memcpy(view_row(&outputs[c->output], r) + c->col,
                   view_row(&x->views[c->output], g->before + r) + c->col, bytes);
    }
    return rc;
}

/* Gradients of an output, of all ranks. */
static enum rc gather_grads(struct replicated *x, int output, const struct view *own,
                            struct err *err)
{
    const struct gathered *g = slot_of_output(x, output);
    int64_t *counts = x->counts.at, width = own->width;
    enum rc rc = reserve(&x->packed, g->own * width, sizeof(float), err);
    if (rc)
        return rc;
    float *packed = x->packed.at;
    for (int64_t r = 0; r < g->own; r++)
        memcpy(packed + r * width, view_row(own, r), (size_t)width * sizeof(float));
    count_all(x, (int)(g - x->slots), ROWS);
    for (int r = 0; r < comm_world(x->comm); r++)
        counts[r] *= width;
    return comm_all_gather(x->comm, comm_f32(packed), comm_f32(x->vectors[output].at),
                           counts, err);
}

static enum rc replicated_update(struct lookup *l, const struct view *grads,
                                 const struct embed_row_step *step, struct err *err)
{
    struct replicated *x = (struct replicated *)l;
    if (!x->spread)
        return lookup_update(x->wrap.inner, grads, step, err);
    enum rc rc = make_views(x, grads, true, err);
    for (int o = 0; o < x->n_outputs && !rc; o++)
        if (x->views[o].data)
            rc = gather_grads(x, o, &grads[o], err);
    return rc ? rc : lookup_update(x->wrap.inner, x->views, step, err);
}

static void replicated_destroy(struct lookup *l)
{
    struct replicated *x = (struct replicated *)l;
    for (int s = 0; x->slots && s < x->n_slots; s++) {
        struct gathered *g = &x->slots[s];
        mem_free(g->ids.at);
        mem_free(g->offsets.at);
        mem_free(g->weights.at);
        mem_free(g->own_lengths.at);
        mem_free(g->own_weights.at);
    }
    for (int o = 0; x->vectors && o < x->n_outputs; o++)
        mem_free(x->vectors[o].at);
    mem_free(x->slots);
    mem_free(x->ids);
    mem_free(x->vectors);
    mem_free(x->views);
    mem_free(x->head.at);
    mem_free(x->heads.at);
    mem_free(x->counts.at);
    mem_free(x->packed.at);
    lookup_wrap_release(&x->wrap);
    mem_free(x);
}

static enum rc replicated_create(const struct lookup_conf *conf, struct lookup **out,
                                 struct err *err)
{
    struct lookup *inner = NULL;
    enum rc rc = lookup_create(&lookup_local_ops, conf, &inner, err);
    if (rc)
        return rc;
    struct replicated *x = mem_calloc(1, sizeof(*x));
    lookup_wrap_init(&x->wrap, &lookup_replicated_ops, inner);
    x->comm = conf->comm;
    x->wrap.ops.destroy = replicated_destroy;
    x->wrap.ops.prepare = replicated_prepare;
    x->wrap.ops.forward = replicated_forward;
    x->wrap.ops.update = replicated_update;
    *out = &x->wrap.lookup;
    return RC_OK;
}

const struct lookup_ops lookup_replicated_ops = {
    .name = "replicated",
    .summary = "tables that every rank holds whole",
    .create = replicated_create,
};
