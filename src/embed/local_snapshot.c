/* SPDX-License-Identifier: Apache-2.0 */
/* Images of local tables. Rows are handed out straight from the table's memory. Three
 * forms: all rows, with the initial values of those that were never used worked out on
 * the way; where that saves much, used rows alone with their numbers; of a keyed table,
 * the rows of its ids.
 *
 * A detached image holds the rows that it will hand out, packed; of the form with all
 * rows the used ones, which are found by counting the used ones before: `rank` counts up
 * to each word of the bitmap.
 */
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "embed/local_private.h"

#define SAVES_ENOUGH ((int64_t)1 << 20) /* bytes, to leave out unused rows */

struct snapshot {
    struct lookup_snapshot base;
    const struct embed_table *t;
    int n_columns;
    struct lookup_column columns[LOOKUP_COLUMNS_MAX];
    int64_t at[LOOKUP_COLUMNS_MAX]; /* floats from the start of a row */
    int64_t *places;                /* LOOKUP_LISTED: numbers of rows */
    int64_t *touched;               /* what t->touched holds; NULL: nobody asks */
    const uint64_t *used;           /* live, or `used_copy` */
    float *initial_state;           /* [stride - state_at]: of a row never used */
    /* Of a detached one: */
    uint64_t *used_copy;
    int64_t *rank; /* LOOKUP_ALL, [words]: used rows before each word */
    float *rows;   /* [packed rows][stride] */
};

static size_t words_of(const struct embed_table *t)
{
    return (size_t)(t->conf.rows + 63) / 64;
}

static int64_t count_used(const struct snapshot *s)
{
    int64_t n = 0;
    for (size_t i = 0; i < words_of(s->t); i++)
        n += POPCOUNT64(s->used[i]);
    return n;
}

/* The table's row that is the i-th of the image. */
static int64_t place_of(const struct snapshot *s, int64_t i)
{
    if (s->base.image.form == LOOKUP_ALL)
        return i;
    if (s->base.image.form == LOOKUP_LISTED)
        return s->places[i];
    return i < s->t->keyed->ids.n ? i : embed_keyed_other(&s->t->conf.keyed, true);
}

static int64_t packed_rows(const struct snapshot *s)
{
    return s->base.image.form == LOOKUP_ALL ? count_used(s) : s->base.image.n;
}

static int64_t copy_bytes(const struct lookup_snapshot *base)
{
    const struct snapshot *s = (const struct snapshot *)base;
    int64_t maps = s->base.image.form == LOOKUP_ALL
                       ? (int64_t)(words_of(s->t) * 2 * sizeof(uint64_t))
                       : 0;
    return packed_rows(s) * s->t->stride * (int64_t)sizeof(float) + maps;
}

/* Copies runs of used rows; what is left out of a word of 64 rows is rarely large. */
static void pack_used(struct snapshot *s)
{
    int64_t at = 0;
    size_t row_bytes = (size_t)s->t->stride * sizeof(float);
    for (size_t i = 0; i < words_of(s->t); i++) {
        s->rank[i] = at;
        for (uint64_t bits = s->used[i]; bits;) {
            int from = CTZ64(bits);
            uint64_t above = bits >> from;
            int run = ~above ? CTZ64(~above) : 64;
            memcpy(s->rows + at * s->t->stride,
                   embed_table_row(s->t, (int64_t)i * 64 + from),
                   (size_t)run * row_bytes);
            at += run;
            bits = from + run == 64 ? 0 : bits >> (from + run) << (from + run);
        }
    }
}

static void pack_places(struct snapshot *s)
{
    size_t row_bytes = (size_t)s->t->stride * sizeof(float);
    for (int64_t i = 0; i < s->base.image.n; i++) {
        float *to = s->rows + i * s->t->stride;
        int64_t row = place_of(s, i);
        if (embed_table_used(s->t, row))
            memcpy(to, embed_table_row(s->t, row), row_bytes);
        else
            embed_table_fill(s->t, row, to);
    }
}

static void drop_copies(struct snapshot *s)
{
    mem_free(s->used_copy);
    mem_free(s->rank);
    mem_free(s->rows);
    s->used_copy = NULL;
    s->rank = NULL;
    s->rows = NULL;
}

static enum rc detach(struct lookup_snapshot *base, struct err *err)
{
    struct snapshot *s = (struct snapshot *)base;
    bool all = s->base.image.form == LOOKUP_ALL;
    size_t words = all ? words_of(s->t) : 0, rows = (size_t)packed_rows(s);
    if (s->rows)
        return RC_OK;
    s->used_copy = mem_try_alloc(words + 1, sizeof(*s->used_copy));
    s->rank = mem_try_alloc(words + 1, sizeof(*s->rank));
    s->rows = mem_try_alloc(rows + 1, (size_t)s->t->stride * sizeof(float));
    if (!s->used_copy || !s->rank || !s->rows) {
        drop_copies(s);
        return err_set(err, RC_NOMEM, "no memory for a copy of %zu rows of table '%s'",
                       rows, s->t->name);
    }
    if (!all) {
        pack_places(s);
        return RC_OK;
    }
    pack_used(s);
    memcpy(s->used_copy, s->used, words * sizeof(*s->used));
    s->used = s->used_copy;
    s->base.image.used = (const unsigned char *)s->used;
    return RC_OK;
}

static void release(struct lookup_snapshot *base)
{
    struct snapshot *s = (struct snapshot *)base;
    drop_copies(s);
    mem_free(s->places);
    mem_free(s->touched);
    mem_free(s->initial_state);
    mem_free(s);
}

static const struct lookup_snapshot_ops snapshot_ops = {
    .bytes = copy_bytes, .detach = detach, .release = release};

/* The i-th row as it is stored, or NULL when it was never used. */
static const float *row_of(const struct snapshot *s, int64_t i)
{
    if (s->base.image.form != LOOKUP_ALL) {
        if (s->rows)
            return s->rows + i * s->t->stride;
        int64_t row = place_of(s, i);
        return embed_table_used(s->t, row) ? embed_table_row(s->t, row) : NULL;
    }
    uint64_t word = s->used[i >> 6], bit = (uint64_t)1 << (i & 63);
    if (!(word & bit))
        return NULL;
    if (!s->rows)
        return embed_table_row(s->t, i);
    int64_t at = s->rank[i >> 6] + POPCOUNT64(word & (bit - 1));
    return s->rows + at * s->t->stride;
}

static void initial_of(const struct snapshot *s, int column, int64_t i,
                       unsigned char *out, size_t bytes)
{
    if (column > 0) {
        memcpy(out, s->initial_state + (s->at[column] - s->t->state_at), bytes);
        return;
    }
    float row[EMBED_STRIDE_MAX];
    embed_table_fill(s->t, place_of(s, i), row);
    memcpy(out, row, bytes);
}

static enum rc read_column(const void *arg, int column, int64_t from, int64_t n,
                           void *out, struct err *err)
{
    const struct snapshot *s = arg;
    const struct lookup_column *c = &s->columns[column];
    unsigned char *to = out;
    size_t bytes = (size_t)c->width * dtype_size(c->type);
    for (int64_t i = from; i < from + n; i++, to += bytes) {
        const float *row = row_of(s, i);
        if (row)
            memcpy(to, row + s->at[column], bytes);
        else
            initial_of(s, column, i, to, bytes);
    }
    return RC_OK;
}

bool lookup_lists_rows(const struct embed_table_conf *conf, int64_t used)
{
    int64_t row_bytes = embed_table_stride(conf) * (int64_t)sizeof(float);
    return (conf->rows - used) * row_bytes - used * (int64_t)sizeof(int64_t) >=
           SAVES_ENOUGH;
}

/* Numbers of the used rows, when leaving out the others is worth it. */
static int64_t *used_places(const struct snapshot *s, int64_t n)
{
    const struct embed_table *t = s->t;
    int64_t at = 0;
    if (!lookup_lists_rows(&t->conf, n))
        return NULL;
    int64_t *places = mem_try_alloc((size_t)n + 1, sizeof(*places));
    for (size_t i = 0; places && i < words_of(t); i++)
        for (uint64_t bits = t->used[i]; bits; bits &= bits - 1)
            places[at++] = (int64_t)i * 64 + CTZ64(bits);
    return places;
}

static void choose_form(struct snapshot *s, bool whole)
{
    const struct embed_table *t = s->t;
    struct lookup_image *image = &s->base.image;
    image->form = LOOKUP_ALL;
    image->n = t->conf.rows;
    if (t->keyed) {
        image->form = LOOKUP_KEYED;
        image->n = t->keyed->ids.n + (t->conf.keyed.kind == KEYED_ZCH ? 1 : 0);
        return;
    }
    int64_t used = count_used(s);
    s->places = whole ? NULL : used_places(s, used);
    if (s->places) {
        image->form = LOOKUP_LISTED;
        image->n = used;
        image->lists[LOOKUP_ROW_IDS] = (struct lookup_list){.data = s->places, .n = used};
    } else {
        image->used = (const unsigned char *)s->used;
    }
}

static void list_columns(struct snapshot *s)
{
    int64_t at = s->t->state_at;
    s->n_columns = lookup_columns(&s->t->conf, s->columns);
    for (int i = 0; i < s->n_columns; i++) {
        s->at[i] = i ? at : 0;
        at += i ? s->columns[i].width : 0;
        s->base.image.has[i] = true;
        s->base.image.types[i] = s->columns[i].type;
    }
}

static void set_list(struct snapshot *s, enum lookup_list_kind kind, const int64_t *data,
                     int64_t n)
{
    s->base.image.lists[kind] = (struct lookup_list){.data = data, .n = n, .live = true};
}

/* Ids with rows belong to the model, what decides about them to the state. */
static void list_keys(struct snapshot *s)
{
    const struct embed_keyed *k = s->t->keyed;
    set_list(s, LOOKUP_KEYS, k->ids.keys, k->ids.n);
    set_list(s, LOOKUP_COUNTS, k->ids.counts, k->ids.n);
    set_list(s, LOOKUP_LAST, k->ids.last, k->ids.n);
    if (k->waiting.n) {
        set_list(s, LOOKUP_WAITING_KEYS, k->waiting.keys, k->waiting.n);
        set_list(s, LOOKUP_WAITING_COUNTS, k->waiting.counts, k->waiting.n);
        set_list(s, LOOKUP_WAITING_LAST, k->waiting.last, k->waiting.n);
    }
    if (k->history.n) {
        set_list(s, LOOKUP_HISTORY_IDS, k->history.ids, k->history.n);
        set_list(s, LOOKUP_HISTORY_TIMES, k->history.times, k->history.n);
    }
    s->base.image.ids = (struct lookup_ids){.now = k->now,
                                            .last_round = k->last_round,
                                            .room = k->history.room,
                                            .admitted = k->admitted,
                                            .evicted = k->evicted};
}

static enum rc list_touched(struct snapshot *s, struct err *err)
{
    int64_t n = 0;
    if (!s->t->touched)
        return RC_OK;
    enum rc rc = embed_touched_list(s->t->touched, &s->touched, &n, err);
    if (!rc && n)
        s->base.image.lists[LOOKUP_TOUCHED] =
            (struct lookup_list){.data = s->touched, .n = n};
    return rc;
}

enum rc embed_local_snapshot(struct lookup *l, int table, bool whole,
                             struct lookup_snapshot **out, struct err *err)
{
    const struct embed_table *t = embed_local_table(l, table);
    struct snapshot *s = mem_calloc(1, sizeof(*s));
    s->t = t;
    s->used = t->used;
    s->base = (struct lookup_snapshot){
        .ops = &snapshot_ops,
        .image = {.rows = t->conf.rows, .read = read_column, .arg = s}};
    choose_form(s, whole);
    list_columns(s);
    s->initial_state = mem_calloc((size_t)(t->stride - t->state_at) + 1, sizeof(float));
    if (t->conf.trainable)
        embed_row_opt_init(&t->conf.opt, s->initial_state, t->conf.dim);
    if (t->keyed)
        list_keys(s);
    enum rc rc = list_touched(s, err);
    if (rc)
        release(&s->base);
    else
        *out = &s->base;
    return rc;
}
