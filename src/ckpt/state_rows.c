/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out the plan for one table: rows from tensors into the table. */
#include <string.h>

#include "base/mem.h"
#include "ckpt/state_private.h"

int64_t st_i64(const struct st_tensor *t, int64_t i)
{
    int64_t v;
    memcpy(&v, t->data + (size_t)i * sizeof(v), sizeof(v));
    return v;
}

static void mark(struct embed_table *t, int64_t row)
{
    t->used[row >> 6] |= (uint64_t)1 << (row & 63);
}

/* Rows of the weights that are stored in another type than here. */
static enum rc convert_rows(const struct table_job *j, int64_t at, int64_t row, int64_t n,
                            struct err *err)
{
    float w[EMBED_DIM_MAX];
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < n && !rc; i++) {
        rc = st_read_f32(j->from[0], at + i, 1, w, j->t->conf.dim, err);
        embed_table_store(j->t, row + i, w);
    }
    return rc;
}

static void copy_rows(const struct table_job *j, int64_t at, int64_t row, int64_t n)
{
    const struct st_tensor *from = j->from[0];
    size_t bytes = (size_t)j->t->conf.dim * st_type_size(from->type);
    for (int64_t i = 0; i < n; i++)
        memcpy(embed_table_row(j->t, row + i), from->data + (size_t)(at + i) * bytes,
               bytes);
}

/* Initial values of state, for rows whose state is not in the checkpoint. */
static void init_state(const struct table_job *j, int64_t row, int64_t n)
{
    struct embed_table *t = j->t;
    bool lacks = false;
    for (int i = 1; i < j->n_cols; i++)
        lacks |= !j->from[i];
    for (int64_t r = row; lacks && r < row + n; r++)
        embed_row_opt_init(&t->conf.opt, embed_table_state(t, r), t->conf.dim);
}

/* Rows [at, at + n) of the tensors to rows [row, row + n), all used from here on. */
static enum rc read_rows(const struct table_job *j, int64_t at, int64_t row, int64_t n,
                         struct err *err)
{
    struct embed_table *t = j->t;
    enum rc rc = RC_OK;
    init_state(j, row, n);
    if (j->from[0]->type == j->cols[0].type)
        copy_rows(j, at, row, n);
    else
        rc = convert_rows(j, at, row, n, err);
    for (int i = 1; i < j->n_cols && !rc; i++)
        if (j->from[i])
            rc = st_read_f32(j->from[i], at, n, embed_table_row(t, row) + j->cols[i].at,
                             t->stride, err);
    for (int64_t r = row; r < row + n; r++)
        mark(t, r);
    return rc;
}

static void forget_row(struct embed_table *t, int64_t row)
{
    if (!embed_table_used(t, row))
        return;
    memset(embed_table_row(t, row), 0, (size_t)t->stride * sizeof(float));
    t->used[row >> 6] &= ~((uint64_t)1 << (row & 63));
}

static bool used_bit(const struct table_job *j, int64_t row)
{
    return !j->used || (j->used[row >> 3] >> (row & 7) & 1);
}

static enum rc read_all(const struct table_job *j, struct err *err)
{
    int64_t rows = j->rows < j->t->conf.rows ? j->rows : j->t->conf.rows;
    enum rc rc = RC_OK;
    for (int64_t row = 0, end; row < rows && !rc; row = end) {
        bool used = used_bit(j, row);
        for (end = row + 1; end < rows && used_bit(j, end) == used; end++)
            ;
        if (used)
            rc = read_rows(j, row, row, end - row, err);
        for (int64_t r = row; !used && r < end; r++)
            forget_row(j->t, r);
    }
    return rc;
}

/* A row that the checkpoint leaves out: unused again, or the initial values it had then. */
static void rest_row(const struct table_job *j, int64_t row)
{
    struct embed_table *t = j->t;
    float first[EMBED_DIM_MAX];
    forget_row(t, row);
    if (!j->other_first)
        return;
    embed_values_draw(&j->origin.values, j->origin.seed, j->origin.stream, row, first,
                      t->conf.dim);
    embed_table_store(t, row, first);
    if (t->conf.trainable)
        embed_row_opt_init(&t->conf.opt, embed_table_state(t, row), t->conf.dim);
    mark(t, row);
}

static enum rc read_some(const struct table_job *j, struct err *err)
{
    int64_t rows = j->rows < j->t->conf.rows ? j->rows : j->t->conf.rows, at = 0;
    enum rc rc = RC_OK;
    for (int64_t row = 0; row < rows && !rc; row++)
        if (at < j->n && st_i64(j->places, at) == row)
            rc = read_rows(j, at++, row, 1, err);
        else
            rest_row(j, row);
    return rc;
}

static int64_t fact(const struct table_job *j, const char *name)
{
    const struct node *n = node_find(node_find(j->facts, "ids"), name);
    int64_t v = 0;
    return n && node_i64(n, &v) ? v : 0;
}

static enum rc read_key(const struct table_job *j, int64_t i, struct err *err)
{
    struct embed_keyed *k = j->t->keyed;
    int64_t key = st_i64(j->keys, i), row = k->ids.n;
    bool counted = j->counts && j->last;
    if (j->partial && !embed_idset_has_room(&k->ids, key))
        return RC_OK; /* fewer places than then */
    enum rc rc = embed_keyed_restore(&k->ids, key, counted ? st_i64(j->counts, i) : 0,
                                     counted ? st_i64(j->last, i) : 0, err);
    return rc ? rc : read_rows(j, i, row, 1, err);
}

static enum rc read_history(const struct table_job *j, struct err *err)
{
    struct embed_keyed *k = j->t->keyed;
    const struct st_tensor *ids = j->history[0], *times = j->history[1];
    int64_t room = fact(j, "room"), n = ids && times ? ids->dims[0] : 0;
    if (n > room || n < 0 || room < 0 || (n && times->dims[0] != n))
        return err_coded(err, RC_FORMAT, E2303, "a history of %jd ids in room for %jd",
                         (intmax_t)n, (intmax_t)room);
    return embed_keyed_restore_history(k, n ? ids->data : NULL, n ? times->data : NULL, n,
                                       room, err);
}

static enum rc read_decisions(const struct table_job *j, struct err *err)
{
    struct embed_keyed *k = j->t->keyed;
    enum rc rc = RC_OK;
    k->now = fact(j, "now");
    k->last_round = fact(j, "last_round");
    k->admitted = fact(j, "admitted");
    k->evicted = fact(j, "evicted");
    const struct st_tensor *keys = j->waiting[0];
    bool some = keys && j->waiting[1] && j->waiting[2] && k->waiting.capacity;
    for (int64_t i = 0; some && i < keys->dims[0] && !rc; i++)
        rc = embed_keyed_restore(&k->waiting, st_i64(keys, i), st_i64(j->waiting[1], i),
                                 st_i64(j->waiting[2], i), err);
    return rc ? rc : read_history(j, err);
}

static enum rc read_keys(const struct table_job *j, struct err *err)
{
    struct embed_table *t = j->t;
    enum rc rc = RC_OK;
    int64_t n = j->keys->dims[0];
    embed_keyed_clear(t->keyed);
    for (int64_t i = 0; i < n && !rc; i++)
        rc = read_key(j, i, err);
    if (!rc && t->conf.keyed.kind == KEYED_ZCH)
        rc = read_rows(j, n, embed_keyed_other(&t->conf.keyed, true), 1, err);
    if (!rc && !j->partial)
        rc = read_decisions(j, err);
    return rc ? err_wrap(err, rc, "table '%s'", t->name) : RC_OK;
}

static enum rc read_form(const struct table_job *j, struct err *err)
{
    switch (j->form) {
    case FORM_SOME:
        return read_some(j, err);
    case FORM_KEYS:
        return read_keys(j, err);
    case FORM_ALL:
        break;
    }
    return read_all(j, err);
}

enum rc table_job_run(const struct table_job *j, struct err *err)
{
    enum rc rc = read_form(j, err);
    if (j->t->touched)
        embed_touched_clear(j->t->touched);
    for (int64_t i = 0; j->touched && i < st_rows(j->touched) && !rc; i++)
        rc = embed_touched_add(j->t->touched, st_i64(j->touched, i), err);
    return rc;
}
