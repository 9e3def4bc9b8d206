/* SPDX-License-Identifier: Apache-2.0 */
/* store/store_private.h - shared by the files of the store. */
#ifndef STORE_STORE_PRIVATE_H
#define STORE_STORE_PRIVATE_H

#include "store/db.h"
#include "store/store.h"

struct store {
    const struct store_db_ops *db;
    void *state; /* of the database */
    int64_t version;
    char *fence, *fence_holder; /* see store_fence(); owned, NULL: none */
    int64_t fence_epoch;
};

/* Makes or updates the tables; sets s->version. */
enum rc store_migrate(struct store *s, struct err *err) MUST_CHECK;

/* Runs one statement outside or inside a transaction. */
enum rc store_run(struct store *s, const char *sql, const struct store_db_value *at,
                  size_t n, store_db_row_fn *fn, void *arg, int64_t *changed,
                  struct err *err) MUST_CHECK;

/* Inside a transaction: is the fence still ours? The row stays locked until its end. */
enum rc store_fence_check(struct store *s, struct err *err) MUST_CHECK;

#endif
