/* SPDX-License-Identifier: Apache-2.0 */
/* Images of tables whose rows are spread over ranks. An image is what one rank alone would
 * make of the same rows: all ranks learn which rows are used, and agree on its form. Rank
 * 0 hands out its rows: it asks all ranks for each piece that is read, and those that keep
 * the rows answer (struct request). So no rank ever holds more than its own rows and one
 * piece. Meanwhile the other ranks are in dist_sharded_serve().
 *
 * To restore, every rank reads the image for itself and takes the rows that are its own.
 */
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "dist/sharded.h"
#include "dist/sharded_private.h"

/* An image of a table of all ranks. */
struct dist_spread {
    struct lookup_snapshot base;
    struct dist_sharded *x;
    int table;
    struct dist_owner owner;
    struct lookup_snapshot *own; /* of the rows kept here; by number, or of keys */
    int n_columns;
    struct lookup_column columns[LOOKUP_COLUMNS_MAX];
    unsigned char *used;  /* of all ranks; a bit per row */
    int64_t *places;      /* LOOKUP_LISTED: numbers of rows */
    int64_t *lists;       /* of a keyed table that another rank keeps */
    unsigned char *piece; /* what other ranks sent, or is sent */
    size_t piece_room;
    int64_t *counts; /* [2 * world] */
};

/* A piece of a table that rank 0 wants; table -1: it has all. */
struct request {
    int64_t table, column, from, n;
};
#define REQUEST_WORDS ((int64_t)(sizeof(struct request) / sizeof(int64_t)))

static bool has_bit(const unsigned char *bits, int64_t row)
{
    return bits[row >> 3] >> (row & 7) & 1;
}

/* The table's row that is the i-th of the image, or -1: it was never used. */
static int64_t place_of(const struct dist_spread *s, int64_t i)
{
    int64_t row = s->places ? s->places[i] : i;
    return s->base.image.form == LOOKUP_KEYED || has_bit(s->used, row) ? row : -1;
}

/* Who keeps it; -1 when nobody does, so that whoever asks works it out. */
static int keeper_of(const struct dist_spread *s, int64_t i)
{
    int64_t row = place_of(s, i);
    return row < 0 ? -1 : dist_owner_at(&s->owner, row);
}

static enum rc answer_room(struct dist_spread *s, size_t bytes, struct err *err)
{
    if (bytes <= s->piece_room)
        return RC_OK;
    mem_free(s->piece);
    s->piece = mem_try_alloc(bytes, 1);
    s->piece_room = s->piece ? bytes : 0;
    return s->piece ? RC_OK
                    : err_set(err, RC_NOMEM, "no memory for %zu bytes of rows", bytes);
}

/* Row i of the image, as this rank has it. */
static enum rc read_own(const struct dist_spread *s, int column, int64_t i, void *out,
                        struct err *err)
{
    const struct lookup_image *own = &s->own->image;
    int64_t at = s->places ? s->places[i] : i;
    return own->read(own->arg, column, at, 1, out, err);
}

/* counts[r]: bytes that rank r sends to rank 0. */
static void count_answer(const struct dist_spread *s, const struct request *q,
                         size_t bytes)
{
    memset(s->counts, 0, 2 * (size_t)s->owner.world * sizeof(*s->counts));
    for (int64_t i = q->from; i < q->from + q->n; i++) {
        int keeper = keeper_of(s, i);
        if (keeper > 0)
            s->counts[keeper] += (int64_t)bytes;
    }
}

/* On a rank that was asked. */
static enum rc answer(struct dist_spread *s, const struct request *q, struct err *err)
{
    const struct lookup_column *c = &s->columns[q->column];
    size_t bytes = (size_t)c->width * dtype_size(c->type);
    int rank = comm_rank(s->x->comm);
    count_answer(s, q, bytes);
    int64_t *send = s->counts + s->owner.world, *receive = s->counts;
    send[0] = receive[rank];
    memset(receive, 0, (size_t)s->owner.world * sizeof(*receive));
    enum rc rc = answer_room(s, (size_t)send[0] + 1, err);
    unsigned char *to = s->piece;
    for (int64_t i = q->from; i < q->from + q->n && !rc; i++) {
        if (keeper_of(s, i) != rank)
            continue;
        rc = read_own(s, (int)q->column, i, to, err);
        to += bytes;
    }
    return rc ? rc
              : comm_all_to_all(s->x->comm, comm_bytes(s->piece), send, comm_bytes(NULL),
                                receive, err);
}

static enum rc ask(const struct dist_spread *s, const struct request *q, struct err *err)
{
    struct request copy = *q;
    return comm_broadcast(s->x->comm, comm_i64(&copy.table), REQUEST_WORDS, 0, err);
}

/* What the others answered, and this rank's own, in the order of the image. */
static enum rc place_rows(const struct dist_spread *s, const struct request *q,
                          size_t bytes, unsigned char *out, struct err *err)
{
    int64_t *at = s->counts + s->owner.world; /* where each rank's next row lies */
    enum rc rc = RC_OK;
    for (int r = 1; r < s->owner.world; r++)
        at[r] = at[r - 1] + s->counts[r - 1];
    for (int64_t i = q->from; i < q->from + q->n && !rc; i++, out += bytes) {
        int keeper = keeper_of(s, i);
        if (keeper <= 0) {
            rc = read_own(s, (int)q->column, i, out, err);
            continue;
        }
        memcpy(out, s->piece + at[keeper], bytes);
        at[keeper] += (int64_t)bytes;
    }
    return rc;
}

/* Rank 0 reads; the others are in dist_sharded_serve(). */
static enum rc read_spread(const void *arg, int column, int64_t from, int64_t n,
                           void *out, struct err *err)
{
    struct dist_spread *s = (struct dist_spread *)(uintptr_t)arg;
    const struct lookup_column *c = &s->columns[column];
    size_t bytes = (size_t)c->width * dtype_size(c->type);
    struct request q = {.table = s->table, .column = column, .from = from, .n = n};
    int64_t *none = s->counts + s->owner.world, total = 0;
    enum rc rc = ask(s, &q, err);
    count_answer(s, &q, bytes);
    for (int r = 0; r < s->owner.world; r++)
        total += s->counts[r];
    if (!rc)
        rc = answer_room(s, (size_t)total + 1, err);
    if (!rc)
        rc = comm_all_to_all(s->x->comm, comm_bytes(NULL), none, comm_bytes(s->piece),
                             s->counts, err);
    return rc ? rc : place_rows(s, &q, bytes, out, err);
}

enum rc dist_sharded_serve(struct lookup *l, struct err *err)
{
    struct dist_sharded *x = (struct dist_sharded *)l;
    if (comm_world(x->comm) == 1)
        return RC_OK;
    if (comm_rank(x->comm) == 0) {
        struct request end = {.table = -1};
        return comm_broadcast(x->comm, comm_i64(&end.table), REQUEST_WORDS, 0, err);
    }
    for (;;) {
        struct request q;
        enum rc rc = comm_broadcast(x->comm, comm_i64(&q.table), REQUEST_WORDS, 0, err);
        if (rc || q.table < 0)
            return rc;
        rc = answer(x->images[q.table], &q, err);
        if (rc)
            return rc;
    }
}

/* --- making one --- */

static int64_t spread_bytes(const struct lookup_snapshot *base)
{
    return 0;
}

/* The rows stay where they are: the save is made on the spot. */
static enum rc spread_detach(struct lookup_snapshot *base, struct err *err)
{
    return err_set(err, RC_NOMEM, "rows of other ranks are not copied");
}

static void spread_release(struct lookup_snapshot *base)
{
    struct dist_spread *s = (struct dist_spread *)base;
    if (s->x->images && s->x->images[s->table] == s)
        s->x->images[s->table] = NULL;
    lookup_snapshot_release(s->own);
    mem_free(s->used);
    mem_free(s->places);
    mem_free(s->lists);
    mem_free(s->piece);
    mem_free(s->counts);
    mem_free(s);
}

static const struct lookup_snapshot_ops spread_ops = {
    .bytes = spread_bytes, .detach = spread_detach, .release = spread_release};

/* Of this rank's bits those of rows that it keeps; then those of all. */
static enum rc gather_used(struct dist_spread *s, struct err *err)
{
    const struct lookup_image *own = &s->own->image;
    int64_t bytes = (own->rows + 7) / 8, rows = own->rows;
    int rank = comm_rank(s->x->comm);
    s->used = mem_try_calloc((size_t)bytes + 1, 1);
    if (!s->used)
        return err_set(err, RC_NOMEM, "no memory for the bits of %jd rows",
                       (intmax_t)rows);
    for (int64_t r = 0; r < rows; r++)
        if (own->used && own->used[r >> 3] == 0)
            r |= 7;
        else if ((!own->used || has_bit(own->used, r)) &&
                 dist_owner_at(&s->owner, r) == rank)
            s->used[r >> 3] |= (unsigned char)(1 << (r & 7));
    struct comm_mem bits = comm_bytes(s->used);
    return comm_all_reduce(s->x->comm, bits, bytes, COMM_SUM, err);
}

static int64_t count_used(const struct dist_spread *s)
{
    int64_t n = 0;
    for (int64_t i = 0; i < (s->own->image.rows + 7) / 8; i++)
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
    for (int64_t r = 0; r < s->own->image.rows; r++)
        if (has_bit(s->used, r))
            s->places[at++] = r;
    s->base.image.form = LOOKUP_LISTED;
    s->base.image.n = n;
    s->base.image.lists[LOOKUP_ROW_IDS] = (struct lookup_list){.data = s->places, .n = n};
    return RC_OK;
}

/* Numbered rows: which are used, and whether the others are left out. */
static enum rc fill_numbered(struct dist_spread *s, bool whole, struct err *err)
{
    const struct embed_table_conf *conf = lookup_table(s->x->wrap.inner, s->table);
    enum rc rc = gather_used(s, err);
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
    bool keeps = comm_rank(s->x->comm) == s->owner.start;
    enum rc rc = RC_OK;
    for (int i = 0; i < LOOKUP_LISTS; i++)
        total += h->lists[i];
    s->lists = mem_try_alloc((size_t)total + 1, sizeof(int64_t));
    if (!s->lists)
        return err_set(err, RC_NOMEM, "no memory for %jd keys", (intmax_t)total);
    int64_t *at = s->lists;
    for (int i = 0; i < LOOKUP_LISTS && !rc; i++) {
        for (int64_t k = 0; keeps && k < h->lists[i]; k++)
            at[k] = lookup_list_at(&s->own->image.lists[i], k);
        if (h->has[i]) {
            rc = comm_broadcast(s->x->comm, comm_i64(at), h->lists[i], s->owner.start,
                                err);
            image->lists[i] = (struct lookup_list){.data = at, .n = h->lists[i]};
        }
        at += h->lists[i];
    }
    return rc;
}

static enum rc fill_keyed(struct dist_spread *s, struct err *err)
{
    struct keyed_head h = head_of(&s->own->image);
    enum rc rc =
        comm_broadcast(s->x->comm, comm_i64(&h.n), HEAD_WORDS, s->owner.start, err);
    if (rc)
        return rc;
    s->base.image.form = LOOKUP_KEYED;
    s->base.image.n = h.n;
    s->base.image.ids = h.ids;
    return share_lists(s, &h, err);
}

enum rc dist_image_make(struct dist_sharded *x, int table, bool whole,
                        struct lookup_snapshot **out, struct err *err)
{
    const struct embed_table_conf *conf = lookup_table(x->wrap.inner, table);
    struct dist_spread *s = mem_calloc(1, sizeof(*s));
    int world = comm_world(x->comm);
    size_t tables = (size_t)lookup_n_tables(x->wrap.inner);
    if (!x->images)
        x->images = mem_calloc(tables + 1, sizeof(struct dist_spread *));
    *s = (struct dist_spread){
        .x = x, .table = table, .owner = dist_sharded_owner(x, table)};
    s->n_columns = lookup_columns(conf, s->columns);
    s->counts = mem_calloc(2 * (size_t)world, sizeof(*s->counts));
    s->base.ops = &spread_ops;
    enum rc rc = lookup_snapshot(x->wrap.inner, table, true, &s->own, err);
    if (!rc) {
        s->base.image = (struct lookup_image){.form = LOOKUP_ALL,
                                              .rows = conf->rows,
                                              .n = conf->rows,
                                              .read = read_spread,
                                              .arg = s};
        memcpy(s->base.image.has, s->own->image.has, sizeof(s->base.image.has));
        memcpy(s->base.image.types, s->own->image.types, sizeof(s->base.image.types));
        rc = conf->keyed.kind ? fill_keyed(s, err) : fill_numbered(s, whole, err);
    }
    if (rc) {
        spread_release(&s->base);
        return rc;
    }
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
        rc = o->image->read(o->image->arg, column, o->at[i], run, to, err);
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
        if ((!o->image->used || has_bit(o->image->used, r)) &&
            dist_owner_at(owner, r) == rank)
            o->used[r >> 3] |= (unsigned char)(1 << (r & 7));
    mine->used = o->used;
    return RC_OK;
}

enum rc dist_image_restore(struct dist_sharded *x, int table,
                           const struct lookup_image *image, struct err *err)
{
    const struct embed_table_conf *conf = lookup_table(x->wrap.inner, table);
    struct dist_owner owner = dist_sharded_owner(x, table);
    struct lookup_image mine = *image;
    struct lookup_column columns[LOOKUP_COLUMNS_MAX];
    struct own_rows o = {.image = image};
    int rank = comm_rank(x->comm);
    enum rc rc = RC_OK;
    for (int i = 0; i < lookup_columns(conf, columns); i++)
        o.bytes[i] = (size_t)columns[i].width * dtype_size(image->types[i]);
    if (image->form == LOOKUP_KEYED && rank != owner.start)
        return RC_OK;
    if (image->form == LOOKUP_LISTED)
        rc = keep_listed(&o, &owner, rank, &mine, err);
    else if (image->form == LOOKUP_ALL)
        rc = keep_used(&o, &owner, rank, &mine, err);
    if (!rc)
        rc = lookup_restore(x->wrap.inner, table, &mine, err);
    mem_free(o.at);
    mem_free(o.ids);
    mem_free(o.used);
    return rc;
}
