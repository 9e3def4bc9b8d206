/* SPDX-License-Identifier: Apache-2.0 */
/* store/table.h - plain tables: rows that are structs of texts and numbers, written and
 * read by one description of their columns. For the small tables of a team (users,
 * schedules, ...); jobs and events have statements of their own.
 */
#ifndef STORE_TABLE_H
#define STORE_TABLE_H

#include "store/store_private.h"

/* A column is a field of the same name: const char * or int64_t. */
struct store_table_column {
    const char *name;
    bool text;
    size_t at;
};
#define TABLE_TEXT(T, f)                                                      \
    {                                                                         \
        .name = #f, .text = true,                                             \
        .at = offsetof(T, f) +                                                \
              0 * sizeof(char[_Generic(((T *)0)->f, const char * : 1, default \
                                       : -1)])                                \
    }
#define TABLE_INT(T, f)                                                              \
    {                                                                                \
        .name = #f, .at = offsetof(T, f) +                                           \
                          0 * sizeof(char[_Generic(((T *)0)->f, int64_t : 1, default \
                                                   : -1)])                           \
    }

struct store_table {
    const char *name;
    const struct store_table_column *columns;
    size_t n, size; /* columns; bytes of a row */
};

/* The shape of every list of rows: struct { struct arena; T *at; size_t n; }. */
struct store_table_list {
    struct arena arena;
    void *at;
    size_t n;
};

/* `rest` follows the values: "ON CONFLICT ...", or "". *changed may be NULL. */
enum rc store_table_insert(struct store *s, const struct store_table *t, const void *row,
                           const char *rest, int64_t *changed,
                           struct err *err) MUST_CHECK;
/* `rest` follows the table's name: "WHERE name = $1 ORDER BY name". `out` is a list as
 * above; it is written only on success, and released with store_table_release().
 */
enum rc store_table_select(struct store *s, const struct store_table *t, const char *rest,
                           const struct store_db_value *at, size_t n, void *out,
                           struct err *err) MUST_CHECK;
void store_table_release(void *list);
/* Sets *out to the whole number that one row of one column holds; false: no row. */
enum rc store_table_number(struct store *s, const char *sql,
                           const struct store_db_value *at, size_t n, int64_t *out,
                           bool *found, struct err *err) MUST_CHECK;

#endif
