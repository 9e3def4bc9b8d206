/* SPDX-License-Identifier: Apache-2.0 */
/* Images of tables whose rows are spread over ranks. An image is what one rank alone would
 * make of the same rows: all ranks learn which rows are used, and agree on its form. Its rows
 * are read by rank 0, or written by all ranks (spread.h).
 *
 * Of a table with keys that are spread over ranks, rows stand in the order of key_order.h, with
 * one rank, too. Its lists are on rank 0 alone; the images of the others show what they keep.
 *
 * To restore, every rank reads the image for itself and takes the rows and columns that are
 * its own.
 */
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "dist/sharded.h"
#include "dist/spread.h"

#define LIST_MAX ((int64_t)1 << 48) /* numbers; sums of all lists stay numbers */

/* --- making one --- */

static int64_t spread_bytes(const struct lookup_snapshot *base)
{
    const struct dist_spread *s = (const struct dist_spread *)base;
    const struct lookup_snapshot *own = s->parts[0].own;
    return comm_world(s->x->comm) == 1 ? own->ops->bytes(own) : 0;
}

/* With several ranks the rows stay where they are: the save is made on the spot. */
static enum rc spread_detach(struct lookup_snapshot *base, struct err *err)
{
    const struct dist_spread *s = (const struct dist_spread *)base;
    if (comm_world(s->x->comm) == 1)
        return lookup_snapshot_detach(s->parts[0].own, err);
    return err_set(err, RC_NOMEM, "rows of other ranks are not copied");
}

static void spread_release(struct lookup_snapshot *base)
{
    struct dist_spread *s = (struct dist_spread *)base;
    if (comm_world(s->x->comm) > 1 && s->x->images && s->x->images[s->table] == s)
        s->x->images[s->table] = NULL;
    for (int i = 0; s->parts && i < s->n_parts; i++)
        lookup_snapshot_release(s->parts[i].own);
    mem_free(s->parts);
    mem_free(s->used);
    mem_free(s->places);
    mem_free(s->lists);
    dist_key_order_release(&s->order);
    dist_key_order_release(&s->waiting);
    mem_free(s->touched);
    mem_free(s->piece);
    mem_free(s->counts);
    mem_free(s);
}

static const struct lookup_snapshot_ops spread_ops = {
    .bytes = spread_bytes, .detach = spread_detach, .release = spread_release};

/* Of this rank's bits those of rows that it keeps; then those of all. */
static enum rc gather_used(struct dist_spread *s, struct err *err)
{
    const struct lookup_image *own = &s->parts[0].own->image;
    int64_t bytes = (own->rows + 7) / 8, rows = own->rows;
    int rank = comm_rank(s->x->comm);
    s->used = mem_try_calloc((size_t)bytes + 1, 1);
    if (!s->used)
        return err_set(err, RC_NOMEM, "no memory for the bits of %jd rows",
                       (intmax_t)rows);
    for (int64_t r = 0; r < rows; r++)
        if (own->used && own->used[r >> 3] == 0)
            r |= 7;
        else if ((!own->used || dist_has_bit(own->used, r)) &&
                 dist_owner_at(&s->parts[0].owner, r) == rank)
            s->used[r >> 3] |= (unsigned char)(1 << (r & 7));
    enum rc rc = comm_all_reduce(s->x->comm, comm_bytes(s->used), bytes, COMM_SUM, err);
    if (!rc && rows % 8 && s->used[rows >> 3] >> (rows & 7))
        rc = comm_broken(s->x->comm, "all_reduce", err, "bits of more than %jd rows",
                         (intmax_t)rows);
    return rc;
}

static int64_t count_used(const struct dist_spread *s)
{
    int64_t n = 0;
    for (int64_t i = 0; i < (s->base.image.rows + 7) / 8; i++)
        n += POPCOUNT64(s->used[i]);
    return n;
}

static enum rc list_rows(struct dist_spread *s, int64_t n, struct err *err)
{
    int64_t at = 0;
    s->places = mem_try_alloc((size_t)n + 1, sizeof(*s->places));
    if (!s->places)
        return err_set(err, RC_NOMEM, "no memory for the numbers of %jd rows",
                       (intmax_t)n);
    for (int64_t r = 0; r < s->base.image.rows; r++)
        if (dist_has_bit(s->used, r))
            s->places[at++] = r;
    s->base.image.form = LOOKUP_LISTED;
    s->base.image.n = n;
    s->base.image.lists[LOOKUP_ROW_IDS] = (struct lookup_list){.data = s->places, .n = n};
    return RC_OK;
}

static int compare_ids(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Ids for the next dump, which each rank notes of the rows that it keeps. */
static enum rc gather_touched(struct dist_spread *s, struct err *err)
{
    const struct lookup_list *own = &s->parts[0].own->image.lists[LOOKUP_TOUCHED];
    int64_t n = 0, bytes = 0;
    void *all = NULL;
    if (!lookup_has(own))
        return RC_OK;
    int64_t *kept = mem_try_alloc((size_t)own->n + 1, sizeof(*kept));
    if (!kept)
        return err_set(err, RC_NOMEM, "no memory for %jd ids", (intmax_t)own->n);
    for (int64_t i = 0; i < own->n; i++)
        if (dist_owner_at(&s->parts[0].owner, lookup_list_at(own, i)) ==
            comm_rank(s->x->comm))
            kept[n++] = lookup_list_at(own, i);
    enum rc rc = comm_gather_bytes(s->x->comm, kept, n * (int64_t)sizeof(*kept), &all,
                                   &bytes, err);
    mem_free(kept);
    if (rc)
        return rc;
    s->touched = all;
    n = bytes / (int64_t)sizeof(*kept);
    if (n)
        qsort(all, (size_t)n, sizeof(*kept), compare_ids);
    s->base.image.lists[LOOKUP_TOUCHED] = (struct lookup_list){.data = all, .n = n};
    return RC_OK;
}

/* Numbered rows: which are used, and whether the others are left out. */
static enum rc fill_numbered(struct dist_spread *s, bool whole, struct err *err)
{
    const struct embed_table_conf *conf = lookup_table(s->x->wrap.inner, s->table);
    enum rc rc = gather_used(s, err);
    if (!rc)
        rc = gather_touched(s, err);
    if (rc)
        return rc;
    int64_t n = count_used(s);
    s->base.image.used = s->used;
    if (whole || !lookup_lists_rows(conf, n))
        return RC_OK;
    s->base.image.used = NULL;
    return list_rows(s, n, err);
}

/* What the keeper of a keyed table says of it in numbers. */
struct keyed_head {
    int64_t n;
    struct lookup_ids ids;
    int64_t has[LOOKUP_LISTS], lists[LOOKUP_LISTS];
};
#define HEAD_WORDS ((int64_t)(sizeof(struct keyed_head) / sizeof(int64_t)))

static struct keyed_head head_of(const struct lookup_image *image)
{
    struct keyed_head h = {.n = image->n, .ids = image->ids};
    for (int i = 0; i < LOOKUP_LISTS; i++) {
        h.has[i] = lookup_has(&image->lists[i]);
        h.lists[i] = h.has[i] ? image->lists[i].n : 0;
    }
    return h;
}

/* The lists of the keeper become those of all. */
static enum rc share_lists(struct dist_spread *s, const struct keyed_head *h,
                           struct err *err)
{
    struct lookup_image *image = &s->base.image;
    int64_t total = 0;
    bool keeps = comm_rank(s->x->comm) == s->parts[0].owner.start;
    enum rc rc = RC_OK;
    for (int i = 0; i < LOOKUP_LISTS; i++) {
        if (h->lists[i] < 0 || h->lists[i] > LIST_MAX)
            return comm_broken(s->x->comm, "broadcast", err, "a list of %jd numbers",
                               (intmax_t)h->lists[i]);
        total += h->lists[i];
    }
    s->lists = mem_try_alloc((size_t)total + 1, sizeof(int64_t));
    if (!s->lists)
        return err_set(err, RC_NOMEM, "no memory for %jd keys", (intmax_t)total);
    int64_t *at = s->lists;
    for (int i = 0; i < LOOKUP_LISTS && !rc; i++) {
        for (int64_t k = 0; keeps && k < h->lists[i]; k++)
            at[k] = lookup_list_at(&s->parts[0].own->image.lists[i], k);
        if (h->has[i]) {
            rc = comm_broadcast(s->x->comm, comm_i64(at), h->lists[i],
                                s->parts[0].owner.start, err);
            image->lists[i] = (struct lookup_list){.data = at, .n = h->lists[i]};
        }
        at += h->lists[i];
    }
    return rc;
}

static enum rc fill_keyed(struct dist_spread *s, struct err *err)
{
    struct keyed_head h = head_of(&s->parts[0].own->image);
    enum rc rc = comm_broadcast(s->x->comm, comm_i64(&h.n), HEAD_WORDS,
                                s->parts[0].owner.start, err);
    if (rc)
        return rc;
    s->base.image.form = LOOKUP_KEYED;
    s->base.image.n = h.n;
    s->base.image.ids = h.ids;
    return share_lists(s, &h, err);
}

/* Lists [first, last] of the keys in `o` become those of all ranks, on rank 0 at `to`. */
static enum rc gather_lists(struct dist_spread *s, const struct dist_key_order *o,
                            int first, int last, int64_t *to, struct err *err)
{
    bool here = comm_rank(s->x->comm) == 0;
    enum rc rc = RC_OK;
    for (int i = first; i <= last && !rc; i++) {
        const struct lookup_list *own = &s->parts[0].own->image.lists[i];
        rc = dist_key_order_gather(o, own, here ? to : NULL, err);
        if (here && (o->n || first == LOOKUP_KEYS))
            s->base.image.lists[i] = (struct lookup_list){.data = to, .n = o->n};
        else if (!here)
            s->base.image.lists[i] = *own;
        to += here ? o->n : 0;
    }
    return rc;
}

/* Counters of all ranks. */
static enum rc add_counters(struct dist_spread *s, struct err *err)
{
    struct lookup_ids *ids = &s->base.image.ids;
    *ids = s->parts[0].own->image.ids;
    int64_t sums[] = {ids->admitted, ids->evicted};
    enum rc rc = comm_all_reduce(s->x->comm, comm_i64(sums), 2, COMM_SUM, err);
    ids->admitted = sums[0];
    ids->evicted = sums[1];
    return rc;
}

/* A table whose keys are spread over ranks. */
static enum rc fill_ordered(struct dist_spread *s, struct err *err)
{
    const struct embed_keyed_conf *conf =
        &lookup_table(s->x->wrap.inner, s->table)->keyed;
    const struct lookup_image *own = &s->parts[0].own->image;
    const struct dist_owner *owner = &s->parts[0].owner;
    enum rc rc = dist_key_order_init(&s->order, s->x->comm, owner,
                                     &own->lists[LOOKUP_KEYS], conf->capacity, err);
    if (!rc && conf->admit > 1)
        rc = dist_key_order_init(&s->waiting, s->x->comm, owner,
                                 &own->lists[LOOKUP_WAITING_KEYS], conf->counters, err);
    int64_t total = 3 * (s->order.n + s->waiting.n);
    bool here = comm_rank(s->x->comm) == 0;
    s->lists = !rc && here ? mem_try_alloc((size_t)total + 1, sizeof(int64_t)) : NULL;
    if (!rc && here && !s->lists)
        rc = err_set(err, RC_NOMEM, "no memory for %jd ids", (intmax_t)total);
    if (!rc)
        rc = gather_lists(s, &s->order, LOOKUP_KEYS, LOOKUP_LAST, s->lists, err);
    if (!rc && conf->admit > 1)
        rc = gather_lists(s, &s->waiting, LOOKUP_WAITING_KEYS, LOOKUP_WAITING_LAST,
                          here ? s->lists + 3 * s->order.n : NULL, err);
    if (!rc)
        rc = add_counters(s, err);
    if (!rc)
        rc = gather_touched(s, err);
    s->base.image.form = LOOKUP_KEYED;
    s->base.image.n = here ? s->order.n : own->n;
    return rc;
}

static enum rc take_parts(struct dist_spread *s, struct err *err)
{
    struct dist_sharded *x = s->x;
    enum rc rc = RC_OK;
    s->n_parts = dist_layout_count(&x->layout, s->table);
    s->parts = mem_calloc((size_t)s->n_parts, sizeof(*s->parts));
    for (int i = 0; i < s->n_parts && !rc; i++) {
        struct dist_part p = dist_layout_part(&x->layout, x->wrap.inner, s->table, i);
        s->parts[i].owner = dist_sharded_owner(x, s->table, i);
        s->parts[i].col = p.col;
        lookup_columns(lookup_table(x->wrap.inner, p.inner), s->parts[i].columns);
        rc = lookup_snapshot(x->wrap.inner, p.inner, true, &s->parts[i].own, err);
    }
    return rc;
}

static enum rc fill_image(struct dist_spread *s, bool whole, struct err *err)
{
    const struct embed_table_conf *conf = lookup_table(s->x->wrap.inner, s->table);
    struct lookup_image *image = &s->base.image;
    const struct lookup_image *own = &s->parts[0].own->image;
    *image = (struct lookup_image){.form = LOOKUP_ALL,
                                   .rows = conf->rows,
                                   .n = conf->rows,
                                   .read = dist_spread_read,
                                   .write = comm_world(s->x->comm) > 1 ? dist_spread_write
                                                                       : NULL,
                                   .arg = s};
    memcpy(image->has, own->has, sizeof(image->has));
    memcpy(image->types, own->types, sizeof(image->types));
    if (dist_spread_is_ordered(s))
        return fill_ordered(s, err);
    return conf->keyed.kind ? fill_keyed(s, err) : fill_numbered(s, whole, err);
}

/* What failed on this rank alone: the others would wait for it in the next collective call. */
static enum rc give_up(struct dist_spread *s, enum rc rc, const struct err *why,
                       struct err *err)
{
    comm_abort(s->x->comm, why);
    spread_release(&s->base);
    if (err)
        *err = *why;
    return rc;
}

enum rc dist_image_make(struct dist_sharded *x, int table, bool whole,
                        struct lookup_snapshot **out, struct err *err)
{
    struct err why = {0};
    struct dist_spread *s = mem_calloc(1, sizeof(*s));
    if (!x->images && comm_world(x->comm) > 1)
        x->images =
            mem_calloc((size_t)x->layout.n_tables + 1, sizeof(struct dist_spread *));
    *s = (struct dist_spread){.x = x, .table = table};
    lookup_columns(lookup_table(x->wrap.inner, table), s->columns);
    s->counts = mem_calloc(2 * (size_t)comm_world(x->comm), sizeof(*s->counts));
    s->base.ops = &spread_ops;
    enum rc rc = take_parts(s, &why);
    if (!rc)
        rc = fill_image(s, whole, &why);
    if (rc)
        return give_up(s, rc, &why, err);
    if (x->images)
        x->images[table] = s;
    *out = &s->base;
    return RC_OK;
}

/* --- restoring --- */

/* Rows of an image that are this rank's. */
struct own_rows {
    const struct lookup_image *image;
    int64_t *at, *ids;   /* LOOKUP_LISTED: which of the image's; their rows */
    unsigned char *used; /* LOOKUP_ALL */
    int64_t *touched;    /* ids for the next dump */
    int64_t *lists;      /* LOOKUP_KEYED: of ids that are kept here */
    size_t bytes[LOOKUP_COLUMNS_MAX]; /* of a row of each column */
};

static enum rc read_listed(const void *arg, int column, int64_t from, int64_t n,
                           void *out, struct err *err)
{
    const struct own_rows *o = arg;
    enum rc rc = RC_OK;
    unsigned char *to = out;
    for (int64_t i = from, run; i < from + n && !rc; i += run) {
        for (run = 1; i + run < from + n && o->at[i + run] == o->at[i] + run; run++)
            ;
        rc = lookup_image_read(o->image, column, o->at[i], run, to, err);
        to += (size_t)run * o->bytes[column];
    }
    return rc;
}

static enum rc no_memory(int64_t rows, struct err *err)
{
    return err_set(err, RC_NOMEM, "no memory for the numbers of %jd rows",
                   (intmax_t)rows);
}

static enum rc keep_listed(struct own_rows *o, const struct dist_owner *owner, int rank,
                           struct lookup_image *mine, struct err *err)
{
    const struct lookup_list *ids = &o->image->lists[LOOKUP_ROW_IDS];
    int64_t n = 0;
    o->at = mem_try_alloc((size_t)ids->n + 1, sizeof(*o->at));
    o->ids = mem_try_alloc((size_t)ids->n + 1, sizeof(*o->ids));
    if (!o->at || !o->ids)
        return no_memory(ids->n, err);
    for (int64_t i = 0; i < ids->n; i++) {
        int64_t row = lookup_list_at(ids, i);
        if (row < 0 || dist_owner_at(owner, row) != rank)
            continue;
        o->at[n] = i;
        o->ids[n++] = row;
    }
    mine->n = n;
    mine->lists[LOOKUP_ROW_IDS] = (struct lookup_list){.data = o->ids, .n = n};
    mine->read = read_listed;
    mine->arg = o;
    return RC_OK;
}

static enum rc keep_used(struct own_rows *o, const struct dist_owner *owner, int rank,
                         struct lookup_image *mine, struct err *err)
{
    int64_t rows = o->image->rows;
    o->used = mem_try_calloc((size_t)rows / 8 + 1, 1);
    if (!o->used)
        return no_memory(rows, err);
    for (int64_t r = 0; r < rows; r++)
        if ((!o->image->used || dist_has_bit(o->image->used, r)) &&
            dist_owner_at(owner, r) == rank)
            o->used[r >> 3] |= (unsigned char)(1 << (r & 7));
    mine->used = o->used;
    return RC_OK;
}

static enum rc keep_touched(struct own_rows *o, const struct dist_owner *owner, int rank,
                            struct lookup_image *mine, struct err *err)
{
    const struct lookup_list *all = &o->image->lists[LOOKUP_TOUCHED];
    int64_t n = 0;
    if (!lookup_has(all))
        return RC_OK;
    o->touched = mem_try_alloc((size_t)all->n + 1, sizeof(*o->touched));
    if (!o->touched)
        return no_memory(all->n, err);
    for (int64_t i = 0; i < all->n; i++) {
        int64_t row = lookup_list_at(all, i);
        if (row >= 0 && dist_owner_at(owner, row) == rank)
            o->touched[n++] = row;
    }
    mine->lists[LOOKUP_TOUCHED] = (struct lookup_list){.data = o->touched, .n = n};
    return RC_OK;
}

/* Of lists [first, last] what belongs to the ids that this rank keeps, of which the first is
 * a list; *to moves behind it. o->at, when the rows of these ids follow.
 */
static void keep_lists(struct own_rows *o, const struct dist_owner *owner, int rank,
                       int first, int last, struct lookup_image *mine, int64_t **to)
{
    const struct lookup_list *from = o->image->lists;
    int64_t n = 0;
    for (int i = first; i <= last; i++, *to += n) {
        if (!lookup_has(&from[i]) || from[i].n != from[first].n)
            continue;
        n = 0;
        for (int64_t k = 0; k < from[i].n; k++) {
            if (dist_owner_at(owner, lookup_list_at(&from[first], k)) != rank)
                continue;
            if (i == LOOKUP_KEYS)
                o->at[n] = k;
            (*to)[n++] = lookup_list_at(&from[i], k);
        }
        mine->lists[i] = (struct lookup_list){.data = *to, .n = n};
    }
}

static enum rc keep_keys(struct own_rows *o, const struct dist_owner *owner, int rank,
                         struct lookup_image *mine, struct err *err)
{
    const struct lookup_list *from = o->image->lists;
    int64_t n = from[LOOKUP_KEYS].n, waiting = from[LOOKUP_WAITING_KEYS].n;
    o->at = mem_try_alloc((size_t)n + 1, sizeof(*o->at));
    o->lists = mem_try_alloc((size_t)(3 * (n + waiting)) + 1, sizeof(*o->lists));
    if (!o->at || !o->lists)
        return no_memory(n, err);
    int64_t *to = o->lists;
    keep_lists(o, owner, rank, LOOKUP_KEYS, LOOKUP_LAST, mine, &to);
    keep_lists(o, owner, rank, LOOKUP_WAITING_KEYS, LOOKUP_WAITING_LAST, mine, &to);
    mine->n = mine->lists[LOOKUP_KEYS].n;
    mine->read = read_listed;
    mine->arg = o;
    if (rank != owner->first) /* who has them all */
        mine->ids.admitted = mine->ids.evicted = 0;
    return RC_OK;
}

/* Some columns of an image. */
struct own_columns {
    const struct lookup_image *image;
    const struct embed_table_conf *whole;
    int64_t col, dim;
};

static enum rc read_columns(const void *arg, int column, int64_t from, int64_t n,
                            void *out, struct err *err)
{
    const struct own_columns *o = arg;
    size_t size = dtype_size(o->image->types[column]);
    size_t row = (size_t)o->whole->dim * size, part = (size_t)o->dim * size;
    unsigned char *room = mem_try_alloc((size_t)n + 1, row), *to = out;
    if (!room)
        return err_set(err, RC_NOMEM, "no memory for %jd rows", (intmax_t)n);
    enum rc rc = lookup_image_read(o->image, column, from, n, room, err);
    for (int64_t i = 0; i < n && !rc; i++)
        memcpy(to + (size_t)i * part, room + (size_t)i * row + (size_t)o->col * size,
               part);
    mem_free(room);
    return rc;
}

/* All rows of an image that this rank keeps. */
static enum rc restore_part(struct dist_sharded *x, int table, int part,
                            const struct lookup_image *image, struct err *err)
{
    struct dist_part p = dist_layout_part(&x->layout, x->wrap.inner, table, part);
    struct dist_owner owner = dist_sharded_owner(x, table, part);
    struct lookup_image mine = *image;
    struct lookup_column columns[LOOKUP_COLUMNS_MAX];
    struct own_rows o = {.image = image};
    int rank = comm_rank(x->comm);
    enum rc rc = RC_OK;
    for (int i = 0; i < lookup_columns(lookup_table(x->wrap.inner, p.inner), columns);
         i++)
        o.bytes[i] = (size_t)columns[i].width * dtype_size(image->types[i]);
    if (image->form == LOOKUP_KEYED && !owner.classes && rank != owner.start)
        return RC_OK;
    if (owner.classes)
        rc = keep_keys(&o, &owner, rank, &mine, err);
    if (image->form == LOOKUP_LISTED && !owner.copies)
        rc = keep_listed(&o, &owner, rank, &mine, err);
    else if (image->form == LOOKUP_ALL && !owner.copies)
        rc = keep_used(&o, &owner, rank, &mine, err);
    if (!rc && (image->form != LOOKUP_KEYED || owner.classes) && !owner.copies)
        rc = keep_touched(&o, &owner, rank, &mine, err);
    if (!rc)
        rc = lookup_restore(x->wrap.inner, p.inner, &mine, err);
    mem_free(o.at);
    mem_free(o.ids);
    mem_free(o.used);
    mem_free(o.touched);
    mem_free(o.lists);
    return rc;
}

enum rc dist_image_restore(struct dist_sharded *x, int table,
                           const struct lookup_image *image, struct err *err)
{
    const struct embed_table_conf *whole = lookup_table(x->wrap.inner, table);
    enum rc rc = RC_OK;
    for (int i = 0; i < dist_layout_count(&x->layout, table) && !rc; i++) {
        struct dist_part p = dist_layout_part(&x->layout, x->wrap.inner, table, i);
        struct own_columns o = {
            .image = image, .whole = whole, .col = p.col, .dim = p.dim};
        struct lookup_image part = *image;
        if (p.dim < whole->dim) {
            part.read = read_columns;
            part.arg = &o;
        }
        rc = restore_part(x, table, i, &part, err);
    }
    return rc;
}
