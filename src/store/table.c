/* SPDX-License-Identifier: Apache-2.0 */
#include "store/table.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define SQL_MAX (1 << 16)

static void add_columns(struct buf *sql, const struct store_table *t)
{
    for (size_t i = 0; i < t->n; i++)
        buf_printf(sql, "%s%s", i ? ", " : "", t->columns[i].name);
}

enum rc store_table_insert(struct store *s, const struct store_table *t, const void *row,
                           const char *rest, int64_t *changed, struct err *err)
{
    struct store_db_value params[DB_COLUMNS_MAX];
    struct buf sql;
    buf_init(&sql, SQL_MAX);
    buf_printf(&sql, "INSERT INTO %s (", t->name);
    add_columns(&sql, t);
    buf_puts(&sql, ") VALUES (");
    for (size_t i = 0; i < t->n; i++) {
        const char *field = (const char *)row + t->columns[i].at;
        if (t->columns[i].text)
            params[i] = DB_TEXT(*(const char *const *)(const void *)field);
        else
            params[i] = DB_INT(*(const int64_t *)(const void *)field);
        buf_printf(&sql, "%s$%zu", i ? ", " : "", i + 1);
    }
    buf_printf(&sql, ") %s", rest);
    struct store_db_call call = {
        .sql = buf_str(&sql), .at = params, .n = t->n, .once = true};
    enum rc rc = s->db->run(s->state, &call, changed, err);
    buf_release(&sql);
    return rc;
}

struct reading {
    const struct store_table *t;
    struct store_table_list *out;
    size_t cap;
};

static enum rc make_room(struct reading *r, struct err *err)
{
    struct store_table_list *l = r->out;
    if (l->n < r->cap)
        return RC_OK;
    size_t cap = r->cap ? r->cap * 2 : 16;
    void *at = arena_try_alloc(&l->arena, cap, r->t->size);
    if (!at)
        return err_set(err, RC_NOMEM, "out of memory for %zu rows of %s", cap,
                       r->t->name);
    if (l->n)
        memcpy(at, l->at, l->n * r->t->size);
    l->at = at;
    r->cap = cap;
    return RC_OK;
}

static enum rc take_row(void *arg, const struct store_db_row *row, struct err *err)
{
    struct reading *r = arg;
    enum rc rc = make_room(r, err);
    if (rc)
        return rc;
    char *to = (char *)r->out->at + r->out->n++ * r->t->size;
    memset(to, 0, r->t->size); /* fields that are no columns */
    for (size_t i = 0; i < r->t->n; i++) {
        const struct store_table_column *c = &r->t->columns[i];
        if (c->text)
            *(const char **)(void *)(to + c->at) =
                arena_strdup(&r->out->arena, store_db_text(row, i));
        else
            *(int64_t *)(void *)(to + c->at) = store_db_int(row, i);
    }
    return RC_OK;
}

void store_table_release(void *list)
{
    struct store_table_list *l = list;
    arena_release(&l->arena);
    *l = (struct store_table_list){0};
}

enum rc store_table_select(struct store *s, const struct store_table *t, const char *rest,
                           const struct store_db_value *at, size_t n, void *out,
                           struct err *err)
{
    struct store_table_list l = {0};
    struct reading r = {.t = t, .out = &l};
    struct buf sql;
    buf_init(&sql, SQL_MAX);
    buf_puts(&sql, "SELECT ");
    add_columns(&sql, t);
    buf_printf(&sql, " FROM %s %s", t->name, rest);
    struct store_db_call call = {
        .sql = buf_str(&sql), .at = at, .n = n, .fn = take_row, .arg = &r, .once = true};
    enum rc rc = s->db->run(s->state, &call, NULL, err);
    buf_release(&sql);
    if (rc) {
        store_table_release(&l);
        return rc;
    }
    memcpy(out, &l, sizeof(l));
    return RC_OK;
}

struct number {
    int64_t v;
    bool found;
};

static enum rc take_number(void *arg, const struct store_db_row *row, struct err *err)
{
    *(struct number *)arg = (struct number){.v = store_db_int(row, 0), .found = true};
    return RC_OK;
}

enum rc store_table_number(struct store *s, const char *sql,
                           const struct store_db_value *at, size_t n, int64_t *out,
                           bool *found, struct err *err)
{
    struct number v = {0};
    struct store_db_call call = {
        .sql = sql, .at = at, .n = n, .fn = take_number, .arg = &v, .once = true};
    enum rc rc = s->db->run(s->state, &call, NULL, err);
    if (rc)
        return rc;
    *out = v.v;
    *found = v.found;
    return RC_OK;
}
