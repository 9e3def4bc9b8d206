/* SPDX-License-Identifier: Apache-2.0 */
#include "store/accounts.h"

#include "store/table.h"

static const struct store_table_column columns[] = {
    TABLE_TEXT(struct store_account, name),
    TABLE_INT(struct store_account, uid),
};
static const struct store_table accounts = {.name = "accounts",
                                            .columns = columns,
                                            .n = ARRAY_LEN(columns),
                                            .size = sizeof(struct store_account)};

void store_accounts_release(struct store_accounts *l)
{
    store_table_release(l);
}

enum rc store_account_get(struct store *s, struct store_accounts *out, struct err *err)
{
    return store_table_select(s, &accounts, "ORDER BY uid", NULL, 0, out, err);
}

enum rc store_account_find(struct store *s, const char *name, int64_t *uid,
                           struct err *err)
{
    const struct store_db_value params[] = {DB_TEXT(name)};
    bool found = false;
    *uid = 0;
    return store_table_number(s, "SELECT uid FROM accounts WHERE name = $1", params, 1,
                              uid, &found, err);
}

/* Another server may take the same number at the same time: then nothing is written. */
static enum rc try_next(struct store *s, const char *name, int64_t first, int64_t last,
                        struct err *err)
{
    const struct store_db_value range[] = {DB_INT(first), DB_INT(last)};
    struct store_account x = {.name = name, .uid = first};
    int64_t most = 0;
    bool found = false;
    enum rc rc = store_table_number(
        s, "SELECT coalesce(max(uid), 0) FROM accounts WHERE uid >= $1 AND uid <= $2",
        range, ARRAY_LEN(range), &most, &found, err);
    if (rc)
        return rc;
    if (most)
        x.uid = most + 1;
    return x.uid > last ? RC_NOTFOUND : store_account_put(s, &x, err);
}

enum rc store_account_take(struct store *s, const char *name, int64_t first, int64_t last,
                           int64_t *uid, struct err *err)
{
    int64_t found = 0;
    enum rc rc = store_account_find(s, name, &found, err);
    while (!rc && !found) {
        rc = try_next(s, name, first, last, err);
        if (!rc)
            rc = store_account_find(s, name, &found, err);
    }
    if (!rc)
        *uid = found;
    return rc;
}

enum rc store_account_put(struct store *s, const struct store_account *x, struct err *err)
{
    return store_table_insert(s, &accounts, x, "ON CONFLICT DO NOTHING", NULL, err);
}

enum rc store_account_retire(struct store *s, const char *name, struct err *err)
{
    const struct store_db_value params[] = {DB_TEXT(name)};
    return store_run(
        s, "UPDATE accounts SET name = '#' || CAST(uid AS TEXT) WHERE name = $1", params,
        1, NULL, NULL, NULL, err);
}
