/* SPDX-License-Identifier: Apache-2.0 */
/* store/db.h - what the store needs of a database: statements with parameters, rows of
 * texts, transactions. One table of functions per database; the statements themselves are
 * written once, in the SQL that both understand, with parameters $1, $2 ...
 */
#ifndef STORE_DB_H
#define STORE_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A parameter: a text, or with s == NULL a number, or with `null` nothing. */
struct store_db_value {
    const char *s;
    int64_t i;
    bool null;
};
#define DB_INT(x)           \
    (struct store_db_value) \
    {                       \
        .i = (x)            \
    }
#define DB_TEXT(x)          \
    (struct store_db_value) \
    {                       \
        .s = (x) ? (x) : "" \
    }
#define DB_NULL             \
    (struct store_db_value) \
    {                       \
        .null = true        \
    }

/* Columns as texts, NULL for null; valid during the call alone. */
struct store_db_row {
    const char *const *at;
    size_t n;
};
typedef enum rc store_db_row_fn(void *arg, const struct store_db_row *row,
                                struct err *err);

struct store_db_call {
    const char *sql;
    const struct store_db_value *at;
    size_t n;
    store_db_row_fn *fn; /* NULL: rows are not looked at */
    void *arg;
    bool once; /* the text is not a constant: nothing is kept for it */
};

#define DB_PARAMS_MAX 160
#define DB_COLUMNS_MAX 32

struct store_db_ops {
    const char *name;
    const char *serial; /* type of a column that counts rows */
    const char *find;   /* function: place of a text in another, 0: none */
    bool narrow_first;  /* a page is found quicker by its numbers alone, then read */
    const char *now_ms; /* expression: the database's clock */
    const char *const *migrations; /* statements; see schema.c */
    enum rc (*open)(const char *where, void **state, struct err *err);
    void (*close)(void *state);
    void (*patience)(void *state, int64_t ms);
    /* A transaction that will write. */
    enum rc (*begin)(void *state, struct err *err);
    enum rc (*commit)(void *state, struct err *err);
    void (*rollback)(void *state);
    /* Only one transaction at a time brings the tables up to date. */
    enum rc (*lock_schema)(void *state, struct err *err);
    /* *changed (may be NULL): rows inserted, updated or deleted. */
    enum rc (*run)(void *state, const struct store_db_call *call, int64_t *changed,
                   struct err *err);
};

#define DB(name) extern const struct store_db_ops db_##name;
#include "store/dbs.def"
#undef DB

int64_t store_db_int(const struct store_db_row *row, size_t i);      /* 0 for null */
const char *store_db_text(const struct store_db_row *row, size_t i); /* "" for null */

#endif
