/* SPDX-License-Identifier: Apache-2.0 */
/* Local tables from images: rows are read a few at a time, put where they belong and
 * marked as used; rows that the image leaves out become unused. A row without optimizer
 * state in the image starts from the initial state.
 */
#include <string.h>

#include "base/mem.h"
#include "embed/local_private.h"

#define CHUNK 256 /* rows read at a time */

struct restore {
    struct embed_table *t;
    const struct lookup_image *image;
    int n_columns;
    struct lookup_column columns[LOOKUP_COLUMNS_MAX];
    void *room; /* [CHUNK rows of the widest column] */
};

static void mark(struct embed_table *t, int64_t row)
{
    t->used[row >> 6] |= (uint64_t)1 << (row & 63);
}

static void put_weights(const struct restore *x, int64_t row, int64_t n)
{
    struct embed_table *t = x->t;
    size_t bytes = (size_t)t->conf.dim * dtype_size(x->image->types[0]);
    bool same = x->image->types[0] == t->conf.type;
    for (int64_t i = 0; i < n; i++) {
        const unsigned char *from = (const unsigned char *)x->room + (size_t)i * bytes;
        if (same)
            memcpy(embed_table_row(t, row + i), from, bytes);
        else
            embed_table_store(t, row + i, (const float *)(const void *)from);
    }
}

static void put_state(const struct restore *x, int column, int64_t at, int64_t row,
                      int64_t n)
{
    int64_t width = x->columns[column].width;
    for (int64_t i = 0; i < n; i++)
        memcpy(embed_table_row(x->t, row + i) + at, (const float *)x->room + i * width,
               (size_t)width * sizeof(float));
}

/* For rows whose state, or a part of it, is not in the image. */
static void init_state(const struct restore *x, int64_t row, int64_t n)
{
    struct embed_table *t = x->t;
    bool lacks = false;
    for (int i = 1; i < x->n_columns; i++)
        lacks |= !x->image->has[i];
    for (int64_t r = row; lacks && r < row + n; r++)
        embed_row_opt_init(&t->conf.opt, embed_table_state(t, r), t->conf.dim);
}

static enum rc read_chunk(const struct restore *x, int64_t from, int64_t row, int64_t n,
                          struct err *err)
{
    const struct lookup_image *image = x->image;
    int64_t at = x->t->state_at;
    init_state(x, row, n);
    enum rc rc = lookup_image_read(image, 0, from, n, x->room, err);
    if (!rc)
        put_weights(x, row, n);
    for (int i = 1; i < x->n_columns && !rc; i++) {
        if (image->has[i])
            rc = lookup_image_read(image, i, from, n, x->room, err);
        if (image->has[i] && !rc)
            put_state(x, i, at, row, n);
        at += x->columns[i].width;
    }
    for (int64_t r = row; r < row + n; r++)
        mark(x->t, r);
    return rc;
}

/* Rows [from, from + n) of the image to rows [row, row + n), all used from here on. */
static enum rc read_rows(const struct restore *x, int64_t from, int64_t row, int64_t n,
                         struct err *err)
{
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < n && !rc; i += CHUNK)
        rc = read_chunk(x, from + i, row + i, n - i < CHUNK ? n - i : CHUNK, err);
    return rc;
}

static void forget_row(struct embed_table *t, int64_t row)
{
    if (!embed_table_used(t, row))
        return;
    memset(embed_table_row(t, row), 0, (size_t)t->stride * sizeof(float));
    t->used[row >> 6] &= ~((uint64_t)1 << (row & 63));
}

static int64_t common_rows(const struct restore *x)
{
    return x->image->rows < x->t->conf.rows ? x->image->rows : x->t->conf.rows;
}

static bool used_bit(const struct lookup_image *image, int64_t row)
{
    return !image->used || (image->used[row >> 3] >> (row & 7) & 1);
}

static enum rc restore_all(const struct restore *x, struct err *err)
{
    int64_t rows = common_rows(x);
    enum rc rc = RC_OK;
    for (int64_t row = 0, end; row < rows && !rc; row = end) {
        bool used = used_bit(x->image, row);
        for (end = row + 1; end < rows && used_bit(x->image, end) == used; end++)
            ;
        if (used)
            rc = read_rows(x, row, row, end - row, err);
        for (int64_t r = row; !used && r < end; r++)
            forget_row(x->t, r);
    }
    return rc;
}

/* A row that the image leaves out: unused again, or with the initial values of then. */
static void rest_row(const struct restore *x, int64_t row)
{
    struct embed_table *t = x->t;
    const struct lookup_origin *origin = x->image->origin;
    float initial[EMBED_DIM_MAX];
    forget_row(t, row);
    if (!origin)
        return;
    embed_table_draw(&t->conf, &origin->values, origin->seed, origin->stream, row,
                     initial);
    embed_table_store(t, row, initial);
    if (t->conf.trainable)
        embed_row_opt_init(&t->conf.opt, embed_table_state(t, row), t->conf.dim);
    mark(t, row);
}

/* How many rows from `at` on have numbers that follow each other, below `rows`. */
static int64_t run_of(const struct lookup_list *ids, int64_t at, int64_t rows)
{
    int64_t row = lookup_list_at(ids, at), n = 1;
    while (at + n < ids->n && row + n < rows && lookup_list_at(ids, at + n) == row + n)
        n++;
    return n;
}

static enum rc restore_listed(const struct restore *x, struct err *err)
{
    const struct lookup_list *ids = &x->image->lists[LOOKUP_ROW_IDS];
    int64_t rows = common_rows(x), at = 0;
    enum rc rc = RC_OK;
    for (int64_t row = 0, n; row < rows && !rc; row += n) {
        n = 1;
        if (at < ids->n && lookup_list_at(ids, at) == row) {
            n = run_of(ids, at, rows);
            rc = read_rows(x, at, row, n, err);
            at += n;
        } else {
            rest_row(x, row);
        }
    }
    return rc;
}

static enum rc restore_key(const struct restore *x, int64_t i, struct err *err)
{
    const struct lookup_list *l = x->image->lists;
    struct embed_keyed *k = x->t->keyed;
    int64_t key = lookup_list_at(&l[LOOKUP_KEYS], i), row = k->ids.n;
    bool counted = lookup_has(&l[LOOKUP_COUNTS]) && lookup_has(&l[LOOKUP_LAST]);
    if (x->image->partial && !embed_idset_has_room(&k->ids, key))
        return RC_OK; /* fewer places than then */
    enum rc rc = embed_keyed_restore(
        &k->ids, key, counted ? lookup_list_at(&l[LOOKUP_COUNTS], i) : 0,
        counted ? lookup_list_at(&l[LOOKUP_LAST], i) : 0, err);
    return rc ? rc : read_rows(x, i, row, 1, err);
}

static enum rc restore_history(const struct restore *x, struct err *err)
{
    const struct lookup_list *ids = &x->image->lists[LOOKUP_HISTORY_IDS];
    const struct lookup_list *times = &x->image->lists[LOOKUP_HISTORY_TIMES];
    int64_t room = x->image->ids.room;
    int64_t n = lookup_has(ids) && lookup_has(times) ? ids->n : 0;
    if (n > room || n < 0 || room < 0 || (n && times->n != n))
        return err_coded(err, RC_FORMAT, E2303, "a history of %jd ids in room for %jd",
                         (intmax_t)n, (intmax_t)room);
    return embed_keyed_restore_history(x->t->keyed, n ? ids->data : NULL,
                                       n ? times->data : NULL, n, room, err);
}

static enum rc restore_decisions(const struct restore *x, struct err *err)
{
    struct embed_keyed *k = x->t->keyed;
    const struct lookup_list *l = x->image->lists;
    enum rc rc = RC_OK;
    k->now = x->image->ids.now;
    k->last_round = x->image->ids.last_round;
    k->admitted = x->image->ids.admitted;
    k->evicted = x->image->ids.evicted;
    bool some = lookup_has(&l[LOOKUP_WAITING_KEYS]) &&
                lookup_has(&l[LOOKUP_WAITING_COUNTS]) &&
                lookup_has(&l[LOOKUP_WAITING_LAST]) && k->waiting.capacity;
    for (int64_t i = 0; some && i < l[LOOKUP_WAITING_KEYS].n && !rc; i++)
        rc = embed_keyed_restore(&k->waiting, lookup_list_at(&l[LOOKUP_WAITING_KEYS], i),
                                 lookup_list_at(&l[LOOKUP_WAITING_COUNTS], i),
                                 lookup_list_at(&l[LOOKUP_WAITING_LAST], i), err);
    return rc ? rc : restore_history(x, err);
}

static enum rc restore_keyed(const struct restore *x, struct err *err)
{
    struct embed_table *t = x->t;
    enum rc rc = RC_OK;
    int64_t n = x->image->lists[LOOKUP_KEYS].n;
    embed_keyed_clear(t->keyed);
    for (int64_t i = 0; i < n && !rc; i++)
        rc = restore_key(x, i, err);
    if (!rc && t->conf.keyed.kind == KEYED_ZCH)
        rc = read_rows(x, n, embed_keyed_other(&t->conf.keyed, true), 1, err);
    if (!rc && !x->image->partial)
        rc = restore_decisions(x, err);
    return rc ? err_wrap(err, rc, "table '%s'", t->name) : RC_OK;
}

static enum rc restore_rows(const struct restore *x, struct err *err)
{
    switch (x->image->form) {
    case LOOKUP_LISTED:
        return restore_listed(x, err);
    case LOOKUP_KEYED:
        return restore_keyed(x, err);
    case LOOKUP_ALL:
        break;
    }
    return restore_all(x, err);
}

static enum rc restore_touched(const struct restore *x, struct err *err)
{
    const struct lookup_list *touched = &x->image->lists[LOOKUP_TOUCHED];
    enum rc rc = RC_OK;
    if (!x->t->touched)
        return RC_OK;
    embed_touched_clear(x->t->touched);
    for (int64_t i = 0; lookup_has(touched) && i < touched->n && !rc; i++)
        rc = embed_touched_add(x->t->touched, lookup_list_at(touched, i), err);
    return rc;
}

enum rc embed_local_restore(struct lookup *l, int table, const struct lookup_image *image,
                            struct err *err)
{
    struct restore x = {.t = embed_local_table(l, table), .image = image};
    x.n_columns = lookup_columns(&x.t->conf, x.columns);
    x.room = mem_try_alloc((size_t)(CHUNK * x.t->conf.dim), sizeof(float));
    enum rc rc = x.room ? restore_rows(&x, err)
                        : err_coded(err, RC_NOMEM, E2304,
                                    "table '%s': no memory for %d "
                                    "rows",
                                    x.t->name, CHUNK);
    if (!rc)
        rc = restore_touched(&x, err);
    mem_free(x.room);
    return rc;
}
