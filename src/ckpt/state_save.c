/* SPDX-License-Identifier: Apache-2.0 */
/* A table is handed out row by row, straight from its memory. Three forms: all rows, with
 * those that were never used worked out on the way; where that saves much, used rows
 * alone with their numbers; of a keyed table, the rows of its ids.
 *
 * A detached one holds the rows that it will write, packed; of the form with all rows the
 * used ones, which are found by counting the used ones before: `rank` counts up to each
 * word of the bitmap.
 */
#include <string.h>

#include "base/mem.h"
#include "ckpt/state_private.h"

#define SAVES_ENOUGH ((int64_t)1 << 20) /* bytes, to leave out unused rows */

struct snapshot {
    const struct embed_table *t;
    enum table_form form;
    int64_t n;            /* rows to write */
    int64_t *places;      /* FORM_SOME: their numbers */
    int64_t *touched;     /* what t->touched holds; NULL: nobody asks */
    const uint64_t *used; /* live, or `used_copy` */
    float *first_state;   /* [stride - state_at]: of a row that was never used */
    /* Of a detached one: */
    uint64_t *used_copy;
    int64_t *rank; /* FORM_ALL, [words]: used rows before each word */
    float *rows;   /* [packed rows][stride] */
};

struct column_arg {
    const struct snapshot *s;
    struct table_column col;
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

/* The table's row that is written as the i-th; not for FORM_ALL, where it is row i. */
static int64_t place_of(const struct snapshot *s, int64_t i)
{
    if (s->form == FORM_SOME)
        return s->places[i];
    return i < s->t->keyed->ids.n ? i : embed_keyed_other(&s->t->conf.keyed, true);
}

static int64_t packed_rows(const struct snapshot *s)
{
    return s->form == FORM_ALL ? count_used(s) : s->n;
}

static int64_t snapshot_bytes(const void *owner)
{
    const struct snapshot *s = owner;
    int64_t maps =
        s->form == FORM_ALL ? (int64_t)(words_of(s->t) * 2 * sizeof(uint64_t)) : 0;
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
    for (int64_t i = 0; i < s->n; i++) {
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

static enum rc snapshot_detach(void *owner, struct err *err)
{
    struct snapshot *s = owner;
    bool all = s->form == FORM_ALL;
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
    return RC_OK;
}

static void snapshot_release(void *owner)
{
    struct snapshot *s = owner;
    drop_copies(s);
    mem_free(s->places);
    mem_free(s->touched);
    mem_free(s->first_state);
    mem_free(s);
}

static const struct ckpt_owner_ops snapshot_ops = {
    .bytes = snapshot_bytes, .detach = snapshot_detach, .release = snapshot_release};

/* The i-th row to write as it is stored, or NULL when it was never used. */
static const float *row_of(const struct snapshot *s, int64_t i)
{
    if (s->form != FORM_ALL) {
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

/* Initial values of row i, in the column's type. */
static void first_of(const struct column_arg *a, int64_t i, unsigned char *out,
                     size_t bytes)
{
    const struct snapshot *s = a->s;
    if (a->col.suffix) {
        memcpy(out, s->first_state + (a->col.at - s->t->state_at), bytes);
        return;
    }
    float row[EMBED_STRIDE_MAX];
    embed_table_fill(s->t, s->form == FORM_ALL ? i : place_of(s, i), row);
    memcpy(out, row, bytes);
}

static const void *column_rows(const void *arg, int64_t row, int64_t n, void *scratch)
{
    const struct column_arg *a = arg;
    unsigned char *out = scratch;
    size_t bytes = (size_t)a->col.width * st_type_size(a->col.type);
    for (int64_t i = row; i < row + n; i++, out += bytes) {
        const float *from = row_of(a->s, i);
        if (from)
            memcpy(out, from + a->col.at, bytes);
        else
            first_of(a, i, out, bytes);
    }
    return scratch;
}

static const void *used_rows(const void *arg, int64_t row, int64_t n, void *scratch)
{
    const struct snapshot *s = arg;
    return (const unsigned char *)s->used + row;
}

static const void *place_rows(const void *arg, int64_t row, int64_t n, void *scratch)
{
    const struct snapshot *s = arg;
    return s->places + row;
}

static void no_detach_release(void *owner)
{
    mem_free(owner);
}

static int64_t no_bytes(const void *owner)
{
    return 0;
}

static enum rc no_detach(void *owner, struct err *err)
{
    return RC_OK;
}

static const struct ckpt_owner_ops arg_ops = {
    .bytes = no_bytes, .detach = no_detach, .release = no_detach_release};

static void add_column(struct ckpt_writer *w, const struct snapshot *s,
                       const struct table_column *col)
{
    struct column_arg *arg = mem_calloc(1, sizeof(*arg));
    *arg = (struct column_arg){.s = s, .col = *col};
    char *name = table_column_name(s->t, col);
    char *full = s->form == FORM_ALL ? mem_strdup(name) : mem_printf("%s.rows", name);
    struct st_source source = {.name = full,
                               .type = col->type,
                               .n_dims = col->flat ? 1 : 2,
                               .dims = {s->n, col->flat ? 0 : col->width},
                               .rows = s->n,
                               .row_bytes = (size_t)col->width * st_type_size(col->type),
                               .fn = column_rows,
                               .arg = arg};
    ckpt_add_owner(w, &arg_ops, arg);
    ckpt_add_source(w, col->part, &source);
    mem_free(name);
    mem_free(full);
}

/* Numbers of the used rows, when leaving out the others is worth it. */
static int64_t *used_places(const struct snapshot *s, int64_t n)
{
    const struct embed_table *t = s->t;
    int64_t row_bytes = t->stride * (int64_t)sizeof(float), at = 0;
    if ((t->conf.rows - n) * row_bytes - n * (int64_t)sizeof(int64_t) < SAVES_ENOUGH)
        return NULL;
    int64_t *places = mem_try_alloc((size_t)n + 1, sizeof(*places));
    for (size_t i = 0; places && i < words_of(t); i++)
        for (uint64_t bits = t->used[i]; bits; bits &= bits - 1)
            places[at++] = (int64_t)i * 64 + CTZ64(bits);
    return places;
}

static void choose_form(struct snapshot *s)
{
    const struct embed_table *t = s->t;
    s->form = FORM_ALL;
    s->n = t->conf.rows;
    if (t->keyed) {
        s->form = FORM_KEYS;
        s->n = t->keyed->ids.n + (t->conf.keyed.kind == KEYED_ZCH ? 1 : 0);
        return;
    }
    int64_t used = count_used(s);
    s->places = used_places(s, used);
    if (s->places) {
        s->form = FORM_SOME;
        s->n = used;
    }
}

static void add_used(struct ckpt_writer *w, const struct snapshot *s)
{
    bool all = s->form == FORM_ALL;
    char *name = table_part_name(s->t, all ? "used" : "row_ids");
    int64_t n = all ? (s->t->conf.rows + 7) / 8 : s->n;
    struct st_source source = {.name = name,
                               .type = all ? ST_U8 : ST_I64,
                               .n_dims = 1,
                               .dims = {n},
                               .rows = n,
                               .row_bytes = all ? 1 : sizeof(int64_t),
                               .fn = all ? used_rows : place_rows,
                               .arg = s};
    ckpt_add_source(w, all ? CKPT_STATE : CKPT_MODEL, &source);
    mem_free(name);
}

static const void *touched_rows(const void *arg, int64_t row, int64_t n, void *scratch)
{
    const struct snapshot *s = arg;
    return s->touched + row;
}

/* Ids that the next dump of changed rows is to have. */
static void add_touched(struct ckpt_writer *w, struct snapshot *s)
{
    struct err err = {0};
    int64_t n = 0;
    if (!s->t->touched)
        return;
    enum rc rc = embed_touched_list(s->t->touched, &s->touched, &n, &err);
    if (rc)
        ckpt_fail(w, rc, &err);
    if (rc || n == 0)
        return;
    char *name = table_part_name(s->t, "touched");
    struct st_source source = {.name = name,
                               .type = ST_I64,
                               .n_dims = 1,
                               .dims = {n},
                               .rows = n,
                               .row_bytes = sizeof(int64_t),
                               .fn = touched_rows,
                               .arg = s};
    ckpt_add_source(w, CKPT_STATE, &source);
    mem_free(name);
}

void table_add(struct ckpt_writer *w, const struct embed_table *t)
{
    struct snapshot *s = mem_calloc(1, sizeof(*s));
    struct table_column cols[TABLE_COLUMNS_MAX];
    int n = table_columns(t, cols);
    s->t = t;
    s->used = t->used;
    choose_form(s);
    s->first_state = mem_calloc((size_t)(t->stride - t->state_at) + 1, sizeof(float));
    if (t->conf.trainable)
        embed_row_opt_init(&t->conf.opt, s->first_state, t->conf.dim);
    ckpt_add_owner(w, &snapshot_ops, s);
    for (int i = 0; i < n; i++)
        add_column(w, s, &cols[i]);
    if (t->keyed)
        table_add_keys(w, t);
    else
        add_used(w, s);
    add_touched(w, s);
}
