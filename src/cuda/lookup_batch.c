/* SPDX-License-Identifier: Apache-2.0 */
/* The ids of a batch on their way to the card. Threads check them, narrow them to keys of 32
 * bits (the number of the row among all rows of its group) and put them into pinned memory; one
 * copy per group takes them over, on a stream of its own. In training they are sorted there
 * while the forward pass runs.
 */
#include <cuda_runtime_api.h>
#include <string.h>

#include "base/mem.h"
#include "cuda/lookup_private.h"

#define PIECE_IDS 16384

static bool same_ids(const struct embed_slot_ids *a, const struct embed_slot_ids *b)
{
    return a->ids == b->ids && a->offsets == b->offsets && a->weights == b->weights &&
           a->rows == b->rows;
}

static int64_t first_id(const struct cuda_use *u)
{
    return u->ids.offsets ? u->ids.offsets[0] : 0;
}

static int64_t count_ids(const struct cuda_use *u)
{
    return (u->ids.offsets ? u->ids.offsets[u->ids.rows] : u->ids.rows) - first_id(u);
}

static size_t rounded(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static char *carve(char **at, size_t bytes)
{
    char *here = *at;
    *at += rounded(bytes);
    return here;
}

/* What the slots of a group bring. */
struct totals {
    size_t keys, offsets, weights;
    int64_t most_rows, most_keys;
};

static struct totals total_of(const struct cuda_lookup *l, const struct cuda_work *w)
{
    struct totals t = {0};
    for (size_t i = 0; i < w->uses.n; i++) {
        const struct cuda_use *u = l->uses.at[w->uses.at[i]];
        int64_t n = count_ids(u);
        t.most_rows = u->ids.rows > t.most_rows ? u->ids.rows : t.most_rows;
        t.most_keys = n > t.most_keys ? n : t.most_keys;
        if (u->follows)
            continue;
        t.keys += (size_t)n;
        t.offsets += u->ids.offsets ? (size_t)u->ids.rows + 1 : 0;
        t.weights += u->ids.weights ? (size_t)n : 0;
    }
    return t;
}

static enum rc no_memory(const struct cuda_lookup *l, size_t n, struct err *err)
{
    return err_set(err, RC_NOMEM, "%s has no memory for %zu lookups", l->cuda->name, n);
}

/* The card's side of what has been laid out in `staged`. */
static void bind_given(struct cuda_work *w)
{
    const char *host = w->now->staged.at;
    char *card = w->now->given.at;
    w->now->batch.slots = (const void *)(card + ((const char *)w->now->slots - host));
    w->now->batch.keys = (void *)(card + ((const char *)w->now->keys - host));
    w->now->batch.offsets = (const void *)(card + ((const char *)w->now->offsets - host));
    w->now->batch.weights = (const void *)(card + ((const char *)w->now->weights - host));
}

static bool reserve_given(struct cuda_work *w, const struct totals *t)
{
    size_t slots = w->uses.n * sizeof(struct cuda_slot);
    size_t bytes = rounded(slots) + rounded(t->keys * 4) + rounded(t->offsets * 4) +
                   rounded(t->weights * 4);
    if (!cuda_room_host(&w->now->staged, bytes) || !cuda_room_card(&w->now->given, bytes))
        return false;
    char *at = w->now->staged.at;
    w->now->slots = (void *)carve(&at, slots);
    w->now->keys = (void *)carve(&at, t->keys * 4);
    w->now->offsets = (void *)carve(&at, t->offsets * 4);
    w->now->weights = (void *)carve(&at, t->weights * 4);
    w->now->bytes = bytes;
    bind_given(w);
    return true;
}

static bool reserve_made(struct cuda_work *w, size_t n, int64_t dim)
{
    size_t words = rounded(n * 4), runs = n / CUDA_RUN_MAX + 1;
    size_t temp = cuda_sort_temp((uint32_t)n);
    struct cuda_sorted *o = &w->now->sorted;
    size_t bytes = words * 6 + rounded(n) + rounded(3 * 4) + rounded(runs * 2 * 4) +
                   rounded(runs * 2 * 4) + rounded(runs * 2 * (size_t)dim * 4) +
                   rounded(temp);
    if (!cuda_room_card(&w->now->made, bytes))
        return false;
    char *at = w->now->made.at;
    o->occurrences = (void *)carve(&at, n * 4);
    o->sorted = (void *)carve(&at, n * 4);
    o->sorted_keys = (void *)carve(&at, n * 4);
    o->starts = (void *)carve(&at, n * 4);
    w->now->batch.from = (void *)carve(&at, n * 4);
    w->now->batch.scales = (void *)carve(&at, n * 4);
    o->firsts = (void *)carve(&at, n);
    o->counts = (void *)carve(&at, 3 * 4);
    o->longs = (void *)carve(&at, runs * 2 * 4);
    o->stretches = (void *)carve(&at, runs * 2 * 4);
    o->partials = (void *)carve(&at, runs * 2 * (size_t)dim * 4);
    o->temp = carve(&at, temp);
    o->temp_bytes = temp;
    return true;
}

static int bits_for(int64_t n)
{
    int bits = 1;
    while (n >> bits)
        bits++;
    return bits;
}

/* An occurrence is named by 32 bits. */
static enum rc choose_shift(struct cuda_work *w, const struct totals *t, struct err *err)
{
    w->now->sorted.shift = bits_for(t->most_keys);
    if (t->keys < (size_t)1 << 31 && w->now->sorted.shift < 32 &&
        w->uses.n <= (size_t)1 << (32 - w->now->sorted.shift))
        return RC_OK;
    return err_set(
        err, RC_INVAL,
        "%zu lookups of a batch by %zu features are more than the card takes at "
        "once: use a smaller batch_size",
        t->keys, w->uses.n);
}

/* Where the keys of each slot go. */
static void place_slots(struct cuda_lookup *l, struct cuda_work *w)
{
    uint32_t keys = 0;
    int64_t offsets = 0, weights = 0;
    for (size_t i = 0; i < w->uses.n; i++) {
        const struct cuda_use *u = l->uses.at[w->uses.at[i]];
        const struct cuda_use *first = l->uses.at[u->first];
        int64_t n = count_ids(u);
        struct cuda_slot s = {.begin = keys,
                              .rows = (uint32_t)u->ids.rows,
                              .n = (uint32_t)n,
                              .twin = -1,
                              .offsets = u->ids.offsets ? offsets : -1,
                              .weights = u->ids.weights ? weights : -1,
                              .mean = u->conf.pooling == EMBED_MEAN && u->ids.offsets};
        if (u->follows) {
            struct cuda_slot *f = &w->now->slots[first->at];
            s = *f;
            s.follows = 1;
            f->twin = (int32_t)i;
        } else {
            keys += (uint32_t)n;
            offsets += u->ids.offsets ? u->ids.rows + 1 : 0;
            weights += u->ids.weights ? n : 0;
        }
        w->now->slots[i] = s;
    }
}

static enum rc lay_out(struct cuda_lookup *l, struct cuda_work *w, int group,
                       bool training, struct err *err)
{
    struct totals t = total_of(l, w);
    enum rc rc = choose_shift(w, &t, err);
    if (rc)
        return rc;
    int64_t dim = l->tables->groups.at[group].rows.dim;
    if (!reserve_given(w, &t) || (training && !reserve_made(w, t.keys, dim)))
        return no_memory(l, t.keys, err);
    w->now->batch.n = (uint32_t)t.keys;
    w->now->batch.n_slots = (int32_t)w->uses.n;
    w->now->batch.most_rows = (uint32_t)t.most_rows;
    place_slots(l, w);
    return RC_OK;
}

static void cut_pieces(struct cuda_lookup *l)
{
    l->pieces.n = 0;
    for (size_t i = 0; i < l->uses.n; i++) {
        const struct cuda_use *u = l->uses.at[i];
        if (u->follows || u->group < 0)
            continue;
        int64_t n = count_ids(u);
        for (int64_t at = 0; at < n; at += PIECE_IDS)
            VEC_PUSH(&l->pieces,
                     ((struct cuda_piece){.use = (int)i,
                                          .begin = at,
                                          .end = at + PIECE_IDS < n ? at + PIECE_IDS : n,
                                          .bad = -1}));
    }
}

static void narrow_piece(const struct cuda_lookup *l, struct cuda_piece *p)
{
    const struct cuda_use *u = l->uses.at[p->use];
    const struct cuda_work *w = &l->works.at[u->group];
    const int64_t *ids = u->ids.ids + first_id(u);
    uint32_t *keys = w->now->keys + w->now->slots[u->at].begin,
             none = l->tables->groups.at[u->group].rows.rows;
    int64_t valid = 0, most = -1;
    for (int64_t k = p->begin; k < p->end; k++) {
        int64_t id = ids[k];
        most = id > most ? id : most;
        valid += id >= 0;
        keys[k] = id >= 0 ? u->base + (uint32_t)id : none;
    }
    p->valid = valid;
    for (int64_t k = p->begin; most >= u->rows && p->bad < 0; k++)
        if (ids[k] >= u->rows)
            p->bad = k;
}

static void narrow_pieces(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct cuda_lookup *l = arg;
    for (int64_t i = begin; i < end; i++)
        narrow_piece(l, &l->pieces.at[i]);
}

/* Offsets from 0 on, and weights. */
static void narrow_rest(const struct cuda_lookup *l, const struct cuda_use *u)
{
    const struct cuda_work *w = &l->works.at[u->group];
    const struct cuda_slot *s = &w->now->slots[u->at];
    for (int64_t r = 0; s->offsets >= 0 && r <= u->ids.rows; r++)
        w->now->offsets[s->offsets + r] = (uint32_t)(u->ids.offsets[r] - first_id(u));
    if (s->weights >= 0)
        memcpy(w->now->weights + s->weights, u->ids.weights + first_id(u),
               (size_t)s->n * sizeof(float));
}

static void narrow_uses(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct cuda_lookup *l = arg;
    for (int64_t i = begin; i < end; i++)
        if (!l->uses.at[i]->follows && l->uses.at[i]->group >= 0)
            narrow_rest(l, l->uses.at[i]);
}

static enum rc outside(const struct cuda_lookup *l, const struct cuda_piece *p,
                       struct err *err)
{
    const struct cuda_use *u = l->uses.at[p->use];
    int64_t row = p->bad, first = first_id(u);
    if (u->ids.offsets)
        for (row = 0; u->ids.offsets[row + 1] - first <= p->bad; row++)
            ;
    return err_coded(
        err, RC_INVAL, E1402,
        "feature '%s': row %jd of the batch: id %jd is outside table '%s' of %jd rows",
        u->feature, (intmax_t)row, (intmax_t)u->ids.ids[first + p->bad],
        lookup_table(l->tables->host, u->conf.table)->name, (intmax_t)u->rows);
}

static enum rc check_pieces(struct cuda_lookup *l, struct err *err)
{
    for (size_t i = 0; i < l->works.n; i++)
        l->works.at[i].now->batch.n_valid = 0;
    for (size_t i = 0; i < l->pieces.n; i++) {
        const struct cuda_piece *p = &l->pieces.at[i];
        if (p->bad >= 0)
            return outside(l, p, err);
        l->works.at[l->uses.at[p->use]->group].now->batch.n_valid += (uint32_t)p->valid;
    }
    return RC_OK;
}

static void send(struct cuda_lookup *l, int group, bool training)
{
    struct cuda_work *w = &l->works.at[group];
    const struct cuda_table *t = &l->tables->groups.at[group].rows;
    if (w->now->bytes)
        cuda_note(l->cuda,
                  (int)cudaMemcpyAsync(w->now->given.at, w->now->staged.at, w->now->bytes,
                                       cudaMemcpyHostToDevice, l->ids));
    if (training)
        cuda_mark(l->ids, *t, w->now->batch);
}

/* The stream of ids waits for whoever reads those of the batch that had this side before. */
static void send_all(struct cuda_lookup *l, bool training)
{
    cuda_note(l->cuda, (int)cudaStreamWaitEvent(l->ids, l->done[l->side], 0));
    for (size_t i = 0; i < l->works.n; i++)
        send(l, (int)i, training);
    cuda_note(l->cuda, (int)cudaEventRecord(l->copied[l->side], l->ids));
    for (size_t i = 0; training && i < l->works.n; i++)
        if (l->tables->groups.at[i].trainable)
            cuda_sort(l->ids, l->tables->groups.at[i].rows, l->works.at[i].now->batch,
                      l->works.at[i].now->sorted);
    if (training)
        cuda_note(l->cuda, (int)cudaEventRecord(l->sorted[l->side], l->ids));
}

static void take_ids(struct cuda_lookup *l, const struct embed_slot_ids *ids)
{
    for (size_t i = 0; i < l->uses.n; i++) {
        struct cuda_use *u = l->uses.at[i], *first = l->uses.at[u->first];
        u->ids = ids[i];
        u->follows = u != first && same_ids(&u->ids, &first->ids);
        if (u->host_slot >= 0)
            l->host_ids.at[u->host_slot] = ids[i];
    }
}

static void take_side(struct cuda_lookup *l)
{
    l->side = (l->side + 1) % CUDA_SIDES;
    for (size_t i = 0; i < l->works.n; i++)
        l->works.at[i].now = &l->works.at[i].sides[l->side];
}

enum rc cuda_lookup_batch(struct cuda_lookup *l, const struct embed_slot_ids *ids,
                          bool training, struct err *err)
{
    enum rc rc = RC_OK;
    take_ids(l, ids);
    take_side(l);
    cuda_note(l->cuda,
              (int)cudaEventSynchronize(l->copied[l->side])); /* two batches before */
    for (size_t i = 0; i < l->works.n && !rc; i++)
        rc = lay_out(l, &l->works.at[i], (int)i, training, err);
    if (rc)
        return rc;
    cut_pieces(l);
    pool_for(l->pool, (int64_t)l->pieces.n, 1, narrow_pieces, l);
    pool_for(l->pool, (int64_t)l->uses.n, 1, narrow_uses, l);
    rc = check_pieces(l, err);
    if (!rc && l->host_uses.n)
        rc = lookup_prepare(l->host, l->host_ids.at, training, err);
    if (!rc)
        send_all(l, training);
    return rc;
}

void cuda_work_release(struct cuda_work *w)
{
    VEC_RELEASE(&w->uses);
    for (int i = 0; i < CUDA_SIDES; i++) {
        cuda_room_release(&w->sides[i].staged, true);
        cuda_room_release(&w->sides[i].given, false);
        cuda_room_release(&w->sides[i].made, false);
    }
    for (int i = 0; i < 2; i++) {
        cuda_room_release(&w->staged_views[i], true);
        cuda_room_release(&w->views[i], false);
    }
}
