/* SPDX-License-Identifier: Apache-2.0 */
/* One statement decides: the row changes if the lease is over or the holder's own, and
 * both databases let one such statement at a time touch a row.
 */
#include "store/leases.h"

#include "base/mem.h"
#include "base/str.h"
#include "store/table.h"

static const struct store_table_column columns[] = {
    TABLE_TEXT(struct store_lease, name),    TABLE_TEXT(struct store_lease, holder),
    TABLE_INT(struct store_lease, until_ms), TABLE_INT(struct store_lease, now_ms),
    TABLE_INT(struct store_lease, epoch),
};

void store_leases_release(struct store_leases *l)
{
    store_table_release(l);
}

enum rc store_lease_get(struct store *s, const char *name, struct store_leases *out,
                        struct err *err)
{
    struct store_leases l = {0};
    const struct store_db_value params[] = {DB_TEXT(name)};
    struct buf from;
    buf_init(&from, 1 << 12);
    buf_printf(&from,
               "(SELECT name, holder, until_ms, epoch, %s AS now_ms FROM leases) x",
               s->db->now_ms);
    const struct store_table leases = {.name = buf_str(&from),
                                       .columns = columns,
                                       .n = ARRAY_LEN(columns),
                                       .size = sizeof(struct store_lease)};
    enum rc rc = store_table_select(s, &leases, "WHERE name = $1", params, 1, &l, err);
    buf_release(&from);
    if (!rc && l.n == 0)
        rc = err_coded(err, RC_NOTFOUND, E3111, "no lease '%.200s'", name);
    if (!rc)
        *out = l;
    return rc;
}

enum rc store_lease_take(struct store *s, const char *name, const char *holder,
                         int64_t ms, bool *mine, int64_t *epoch, struct err *err)
{
    const struct store_db_value params[] = {DB_TEXT(name), DB_TEXT(holder), DB_INT(ms)};
    const char *now = s->db->now_ms;
    int64_t changed = 0;
    struct buf sql;
    buf_init(&sql, 1 << 12);
    buf_printf(
        &sql,
        "INSERT INTO leases (name, holder, until_ms, epoch) VALUES ($1, $2, %s + "
        "CAST($3 AS BIGINT), 1) ON CONFLICT (name) DO UPDATE SET holder = "
        "excluded.holder, until_ms = excluded.until_ms, epoch = leases.epoch + CASE "
        "WHEN leases.holder = excluded.holder THEN 0 ELSE 1 END WHERE leases.holder "
        "= excluded.holder OR leases.until_ms <= %s",
        now, now);
    struct store_db_call call = {
        .sql = buf_str(&sql), .at = params, .n = 3, .once = true};
    enum rc rc = s->db->run(s->state, &call, &changed, err);
    buf_release(&sql);
    bool found = false;
    int64_t value = 0;
    if (!rc)
        rc = store_table_number(s, "SELECT epoch FROM leases WHERE name = $1", params, 1,
                                &value, &found, err);
    if (rc)
        return rc;
    *mine = changed > 0;
    *epoch = value;
    return RC_OK;
}

enum rc store_lease_drop(struct store *s, const char *name, const char *holder,
                         struct err *err)
{
    const struct store_db_value params[] = {DB_TEXT(name), DB_TEXT(holder)};
    return store_run(s,
                     "UPDATE leases SET until_ms = 0, holder = '' WHERE name = $1 AND "
                     "holder = $2",
                     params, 2, NULL, NULL, NULL, err);
}

void store_fence(struct store *s, const char *name, const char *holder, int64_t epoch)
{
    mem_free(s->fence);
    mem_free(s->fence_holder);
    s->fence = name ? mem_strdup(name) : NULL;
    s->fence_holder = name ? mem_strdup(holder) : NULL;
    s->fence_epoch = epoch;
}

enum rc store_fence_check(struct store *s, struct err *err)
{
    int64_t changed = 0;
    if (!s->fence)
        return RC_OK;
    const struct store_db_value params[] = {DB_TEXT(s->fence), DB_TEXT(s->fence_holder),
                                            DB_INT(s->fence_epoch)};
    enum rc rc = store_run(s,
                           "UPDATE leases SET epoch = epoch WHERE name = $1 AND holder = "
                           "$2 AND epoch = $3",
                           params, 3, NULL, NULL, &changed, err);
    if (!rc && !changed)
        rc = err_coded(err, RC_INVAL, E5401, "lease '%.60s': another has it by now",
                       s->fence);
    return rc;
}

enum rc store_fence_begin(struct store *s, struct err *err)
{
    enum rc rc = s->db->begin(s->state, err);
    if (rc)
        return rc;
    rc = store_fence_check(s, err);
    if (rc)
        s->db->rollback(s->state);
    return rc;
}

enum rc store_fence_end(struct store *s, enum rc rc, struct err *err)
{
    if (!rc)
        rc = s->db->commit(s->state, err);
    if (rc)
        s->db->rollback(s->state);
    return rc;
}
