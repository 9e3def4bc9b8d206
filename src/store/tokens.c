/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "store/table.h"
#include "store/users.h"

static const struct store_table_column columns[] = {
    TABLE_TEXT(struct store_token, id),     TABLE_TEXT(struct store_token, hash),
    TABLE_TEXT(struct store_token, owner),  TABLE_TEXT(struct store_token, role),
    TABLE_TEXT(struct store_token, note),   TABLE_INT(struct store_token, created),
    TABLE_INT(struct store_token, expires), TABLE_INT(struct store_token, used),
};
static const struct store_table tokens = {.name = "tokens",
                                          .columns = columns,
                                          .n = ARRAY_LEN(columns),
                                          .size = sizeof(struct store_token)};

void store_tokens_release(struct store_tokens *l)
{
    store_table_release(l);
}

enum rc store_token_create(struct store *s, const struct store_token *t, struct err *err)
{
    int64_t changed = 0;
    enum rc rc =
        store_table_insert(s, &tokens, t, "ON CONFLICT DO NOTHING", &changed, err);
    if (!rc && !changed)
        rc = err_coded(err, RC_INVAL, E3110, "there is a token '%.200s' already", t->id);
    return rc;
}

enum rc store_token_list(struct store *s, const char *owner, struct store_tokens *out,
                         struct err *err)
{
    const struct store_db_value params[] = {DB_TEXT(owner)};
    return store_table_select(s, &tokens,
                              owner ? "WHERE owner = $1 ORDER BY created, id LIMIT 10000"
                                    : "ORDER BY owner, created, id LIMIT 10000",
                              params, owner ? 1 : 0, out, err);
}

enum rc store_token_by_hash(struct store *s, const char *hash, struct store_tokens *out,
                            struct err *err)
{
    struct store_tokens l = {0};
    const struct store_db_value params[] = {DB_TEXT(hash)};
    enum rc rc = store_table_select(s, &tokens, "WHERE hash = $1", params, 1, &l, err);
    if (!rc && l.n == 0)
        rc = err_coded(err, RC_NOTFOUND, E3111, "no such token");
    if (!rc)
        *out = l;
    return rc;
}

enum rc store_token_touch(struct store *s, const char *id, int64_t now, struct err *err)
{
    const struct store_db_value params[] = {DB_TEXT(id), DB_INT(now)};
    return store_run(s, "UPDATE tokens SET used = $2 WHERE id = $1", params, 2, NULL,
                     NULL, NULL, err);
}

enum rc store_token_delete(struct store *s, const char *id, struct err *err)
{
    int64_t changed = 0;
    char *note = mem_printf(STORE_SESSION_OF "%s", id);
    const struct store_db_value params[] = {DB_TEXT(id), DB_TEXT(note)};
    enum rc rc = store_run(s, "DELETE FROM tokens WHERE id = $1 OR note = $2", params, 2,
                           NULL, NULL, &changed, err);
    mem_free(note);
    if (!rc && !changed)
        rc = err_coded(err, RC_NOTFOUND, E3111, "no token '%.200s'", id);
    return rc;
}
