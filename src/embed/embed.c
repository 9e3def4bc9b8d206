/* SPDX-License-Identifier: Apache-2.0 */
/* Per batch: (1) count the occurrences of each part, (2) put them there in batch order,
 * (3) in each part find the distinct rows with a small hash table and chain their
 * occurrences, (4) gather, (5) per distinct row add up the gradients along its chain and
 * update.
 *
 * A part holds the rows of all tables whose (table, row) hashes into it; PARTS is fixed,
 * so which gradients meet in which order is too.
 */
#include "embed/embed.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "tensor/kernel.h"

#define PARTS 64
#define GATHER_ROWS 128 /* rows of the batch per task */
#define AHEAD 16        /* lookups that are prefetched ahead */
#define DIM_STACK 1024  /* the widest row: DIM_MAX of table.c */

/* One id of one slot. */
struct occurrence {
    int64_t row; /* of the table */
    int32_t slot;
    int32_t next; /* the same row again, or -1: index within the part */
    int64_t from; /* row of the batch */
    float scale;  /* weight, divided by the number of ids under mean pooling */
};

/* A distinct row of a part. */
struct unique {
    int64_t row;
    int32_t table;
    int32_t first, last; /* its chain of occurrences */
};

struct part {
    int64_t begin, end; /* of the occurrences */
    int64_t n_unique;   /* at uniques[begin] on */
};

struct slot {
    struct slot_conf conf;
    char *feature; /* owned */
    struct slot_ids ids;
    int64_t n; /* ids of this batch */
};

struct embed {
    struct pool *pool;
    VEC(struct table *) tables;
    VEC(struct slot) slots;
    struct part parts[PARTS];
    struct occurrence *occurrences;
    struct unique *uniques;
    int32_t *heads; /* hash tables of all parts, `2 * capacity` in all */
    uint8_t *part_of;
    int64_t capacity, n;
    const struct view *views; /* of the call under way */
    const struct row_step *step;
    bool training;
};

struct embed *embed_create(struct pool *pool)
{
    struct embed *e = mem_calloc(1, sizeof(*e));
    e->pool = pool;
    return e;
}

void embed_destroy(struct embed *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->tables.n; i++)
        table_destroy(e->tables.at[i]);
    for (size_t i = 0; i < e->slots.n; i++)
        mem_free(e->slots.at[i].feature);
    VEC_RELEASE(&e->tables);
    VEC_RELEASE(&e->slots);
    mem_free(e->occurrences);
    mem_free(e->uniques);
    mem_free(e->heads);
    mem_free(e->part_of);
    mem_free(e);
}

int embed_table(struct embed *e, const struct table_conf *conf, struct err *err)
{
    for (size_t i = 0; i < e->tables.n; i++) {
        const struct table_conf *have = &e->tables.at[i]->conf;
        if (strcmp(have->name, conf->name) != 0)
            continue;
        if (have->rows == conf->rows && have->dim == conf->dim)
            return (int)i;
        err_set(
            err, RC_INVAL,
            "table '%s' is shared by features that want %jd x %jd and %jd x %jd values",
            conf->name, (intmax_t)have->rows, (intmax_t)have->dim, (intmax_t)conf->rows,
            (intmax_t)conf->dim);
        return -1;
    }
    struct table *t = NULL;
    if (table_create(conf, &t, err))
        return -1;
    VEC_PUSH(&e->tables, t);
    return (int)e->tables.n - 1;
}

int embed_slot(struct embed *e, const struct slot_conf *conf)
{
    struct slot s = {.conf = *conf, .feature = mem_strdup(conf->feature)};
    VEC_PUSH(&e->slots, s);
    return (int)e->slots.n - 1;
}

int embed_n_slots(const struct embed *e)
{
    return (int)e->slots.n;
}

struct table *embed_table_at(const struct embed *e, int table)
{
    return e->tables.at[table];
}

int embed_n_tables(const struct embed *e)
{
    return (int)e->tables.n;
}

struct table *embed_slot_table(const struct embed *e, int slot)
{
    return e->tables.at[e->slots.at[slot].conf.table];
}

static uint32_t mixed(int32_t table, int64_t row)
{
    uint64_t h =
        ((uint64_t)row + (uint64_t)table * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
    return (uint32_t)(h >> 32);
}

static enum rc reserve(struct embed *e, struct err *err)
{
    int64_t n = 0;
    for (size_t i = 0; i < e->slots.n; i++) {
        struct slot *s = &e->slots.at[i];
        s->n = s->ids.offsets ? s->ids.offsets[s->ids.rows] - s->ids.offsets[0]
                              : s->ids.rows;
        n += s->n;
    }
    e->n = n;
    if (n <= e->capacity)
        return RC_OK;
    int64_t capacity = n + n / 4;
    mem_free(e->occurrences);
    mem_free(e->uniques);
    mem_free(e->heads);
    mem_free(e->part_of);
    e->capacity = 0;
    e->occurrences = mem_try_alloc((size_t)capacity, sizeof(*e->occurrences));
    e->uniques = mem_try_alloc((size_t)capacity, sizeof(*e->uniques));
    /* each part takes twice its occurrences, rounded up to a power of two */
    e->heads = mem_try_alloc((size_t)capacity * 4 + PARTS * 4, sizeof(*e->heads));
    e->part_of = mem_try_alloc((size_t)capacity, 1);
    if (!e->occurrences || !e->uniques || !e->heads || !e->part_of)
        return err_set(err, RC_NOMEM, "no memory for %jd lookups", (intmax_t)n);
    e->capacity = capacity;
    return RC_OK;
}

static enum rc outside(const struct slot *s, const struct table *t, int64_t index,
                       int64_t id, struct err *err)
{
    int64_t row = index;
    if (s->ids.offsets)
        for (row = 0; s->ids.offsets[row + 1] - s->ids.offsets[0] <= index; row++)
            ;
    return err_set(
        err, RC_INVAL,
        "feature '%s': row %jd of the batch: id %jd is outside table '%s' of %jd rows",
        s->feature, (intmax_t)row, (intmax_t)id, t->name, (intmax_t)t->conf.rows);
}

/* Counts parts and checks ids; e->part_of remembers each id's part, 255 for a skipped
 * one. */
static enum rc count_parts(struct embed *e, int64_t counts[PARTS], struct err *err)
{
    uint8_t *part_of = e->part_of;
    memset(counts, 0, PARTS * sizeof(*counts));
    for (size_t i = 0; i < e->slots.n; i++) {
        const struct slot *s = &e->slots.at[i];
        const struct table *t = e->tables.at[s->conf.table];
        const int64_t *ids = s->ids.ids + (s->ids.offsets ? s->ids.offsets[0] : 0);
        for (int64_t k = 0; k < s->n; k++) {
            if (ids[k] >= t->conf.rows)
                return outside(s, t, k, ids[k], err);
            uint8_t part = ids[k] < 0 ? 255 : mixed(s->conf.table, ids[k]) % PARTS;
            part_of[k] = part;
            if (part != 255)
                counts[part]++;
        }
        part_of += s->n;
    }
    return RC_OK;
}

static float scale_of(const struct slot *s, int64_t at, int64_t n)
{
    float w = s->ids.weights ? s->ids.weights[at] : 1.0f;
    return s->conf.pooling == POOL_MEAN && n > 1 ? w / (float)n : w;
}

/* Mean pooling divides by the ids that count. */
static int64_t counted(const struct slot *s, int64_t from, int64_t to)
{
    int64_t n = 0;
    for (int64_t k = from; k < to; k++)
        n += s->ids.ids[k] >= 0;
    return n;
}

static void distribute(struct embed *e)
{
    const uint8_t *part_of = e->part_of;
    int64_t at[PARTS];
    for (int p = 0; p < PARTS; p++)
        at[p] = e->parts[p].begin;
    for (size_t i = 0; i < e->slots.n; i++) {
        const struct slot *s = &e->slots.at[i];
        for (int64_t r = 0; r < s->ids.rows; r++) {
            int64_t from = s->ids.offsets ? s->ids.offsets[r] : r;
            int64_t to = s->ids.offsets ? s->ids.offsets[r + 1] : r + 1;
            int64_t n = s->conf.pooling == POOL_MEAN ? counted(s, from, to) : 1;
            for (int64_t k = from; k < to; k++) {
                uint8_t part = *part_of++;
                if (part == 255)
                    continue;
                e->occurrences[at[part]++] =
                    (struct occurrence){.row = s->ids.ids[k],
                                        .slot = (int32_t)i,
                                        .next = -1,
                                        .from = r,
                                        .scale = scale_of(s, k, n)};
            }
        }
    }
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
    struct part *part = &e->parts[p];
    struct occurrence *o = e->occurrences + part->begin;
    struct unique *u = e->uniques + part->begin;
    int64_t n = part->end - part->begin, size = table_size(n);
    int32_t *heads = heads_of(e, p);
    memset(heads, 0xff, (size_t)size * sizeof(*heads));
    part->n_unique = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t table = e->slots.at[o[i].slot].conf.table;
        int64_t h = (mixed(table, o[i].row) / PARTS) & (size - 1);
        while (heads[h] >= 0 &&
               (u[heads[h]].row != o[i].row || u[heads[h]].table != table))
            h = (h + 1) & (size - 1);
        if (heads[h] < 0) {
            heads[h] = (int32_t)part->n_unique;
            u[part->n_unique++] = (struct unique){
                .row = o[i].row, .table = table, .first = (int32_t)i, .last = (int32_t)i};
        } else {
            struct unique *same = &u[heads[h]];
            o[same->last].next = (int32_t)i;
            same->last = (int32_t)i;
        }
    }
}

/* New rows are filled here: a row belongs to one part only, but rows of two parts share
 * words of the table's bitmap, so the bits are set afterwards by one thread.
 */
static void chain_parts(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct embed *e = arg;
    for (int64_t p = begin; p < end; p++)
        chain_part(e, (int)p);
}

static void fill_new_rows(struct embed *e)
{
    for (int p = 0; p < PARTS; p++) {
        const struct unique *u = e->uniques + e->parts[p].begin;
        for (int64_t i = 0; i < e->parts[p].n_unique; i++) {
            struct table *t = e->tables.at[u[i].table];
            if (!table_used(t, u[i].row))
                table_use(t, u[i].row);
        }
    }
}

enum rc embed_batch(struct embed *e, const struct slot_ids *ids, bool training,
                    struct err *err)
{
    int64_t counts[PARTS], at = 0;
    for (size_t i = 0; i < e->slots.n; i++)
        e->slots.at[i].ids = ids[i];
    e->training = training;
    enum rc rc = reserve(e, err);
    if (!rc)
        rc = count_parts(e, counts, err);
    if (rc || !training)
        return rc;
    for (int p = 0; p < PARTS; p++) {
        e->parts[p] = (struct part){.begin = at, .end = at + counts[p]};
        at += counts[p];
    }
    distribute(e);
    pool_for(e->pool, PARTS, 1, chain_parts, e);
    fill_new_rows(e);
    return RC_OK;
}

/* One lookup; a row that was never trained has its first values. */
static void add_row(const struct table *t, int64_t row, float scale, float *to,
                    float *spare)
{
    const float *w = table_row(t, row);
    if (!table_used(t, row)) {
        table_first(t, row, spare);
        w = spare;
    }
    kernels()->axpy(to, scale, w, t->conf.dim);
}

static void gather_slot(const struct embed *e, const struct slot *s, int64_t begin,
                        int64_t end)
{
    const struct table *t = e->tables.at[s->conf.table];
    const struct slot_ids *in = &s->ids;
    struct view out = view_cols(&e->views[s->conf.output], s->conf.col, t->conf.dim);
    float spare[DIM_STACK];
    int64_t last = in->offsets ? in->offsets[end] : end;
    for (int64_t r = begin; r < end; r++) {
        int64_t from = in->offsets ? in->offsets[r] : r,
                to = in->offsets ? in->offsets[r + 1] : r + 1;
        int64_t n = s->conf.pooling == POOL_MEAN ? counted(s, from, to) : 1;
        float *y = view_row(&out, r);
        memset(y, 0, (size_t)t->conf.dim * sizeof(float));
        for (int64_t k = from; k < to; k++) {
            if (k + AHEAD < last && in->ids[k + AHEAD] >= 0)
                __builtin_prefetch(table_row(t, in->ids[k + AHEAD]));
            if (in->ids[k] >= 0)
                add_row(t, in->ids[k], scale_of(s, k, n), y, spare);
        }
    }
}

struct gather {
    struct embed *e;
    int64_t most; /* rows of the longest slot */
};

static void gather_rows(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct gather *g = arg;
    for (size_t i = 0; i < g->e->slots.n; i++) {
        const struct slot *s = &g->e->slots.at[i];
        int64_t to = end < s->ids.rows ? end : s->ids.rows;
        if (begin < to)
            gather_slot(g->e, s, begin, to);
    }
}

void embed_forward(struct embed *e, const struct view *outputs)
{
    struct gather g = {.e = e};
    for (size_t i = 0; i < e->slots.n; i++)
        g.most = e->slots.at[i].ids.rows > g.most ? e->slots.at[i].ids.rows : g.most;
    e->views = outputs;
    pool_for(e->pool, g.most, GATHER_ROWS, gather_rows, &g);
}

static float clamped(float v, float most)
{
    return v > most ? most : v < -most ? -most : v;
}

static void add_gradient(const struct embed *e, const struct occurrence *o, int64_t dim,
                         float *sum)
{
    const struct slot *s = &e->slots.at[o->slot];
    const float *d = view_row(&e->views[s->conf.output], o->from) + s->conf.col;
    if (s->conf.max_gradient > 0) {
        for (int64_t i = 0; i < dim; i++)
            sum[i] += o->scale * clamped(d[i], s->conf.max_gradient);
        return;
    }
    kernels()->axpy(sum, o->scale, d, dim);
}

static void update_part(struct embed *e, int p, float *sum)
{
    const struct part *part = &e->parts[p];
    const struct occurrence *o = e->occurrences + part->begin;
    const struct unique *u = e->uniques + part->begin;
    for (int64_t i = 0; i < part->n_unique; i++) {
        struct table *t = e->tables.at[u[i].table];
        if (i + AHEAD < part->n_unique)
            __builtin_prefetch(
                table_row(e->tables.at[u[i + AHEAD].table], u[i + AHEAD].row), 1);
        if (!t->conf.trainable)
            continue;
        memset(sum, 0, (size_t)t->conf.dim * sizeof(float));
        bool any = false;
        for (int32_t k = u[i].first; k >= 0; k = o[k].next)
            if (e->views[e->slots.at[o[k].slot].conf.output].data) {
                add_gradient(e, &o[k], t->conf.dim, sum);
                any = true;
            }
        float *w = table_row(t, u[i].row);
        if (any)
            row_opt_update(&t->conf.opt, e->step, w, w + t->conf.dim, sum, t->conf.dim);
    }
}

static void update_parts(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct embed *e = arg;
    float sum[DIM_STACK];
    for (int64_t p = begin; p < end; p++)
        update_part(e, (int)p, sum);
}

void embed_backward(struct embed *e, const struct view *grads,
                    const struct row_step *step)
{
    e->views = grads;
    e->step = step;
    pool_for(e->pool, PARTS, 1, update_parts, e);
}

void embed_counts(const struct embed *e, int64_t *lookups, int64_t *distinct)
{
    *lookups = *distinct = 0;
    for (int p = 0; p < PARTS; p++) {
        *lookups += e->parts[p].end - e->parts[p].begin;
        *distinct += e->parts[p].n_unique;
    }
}
