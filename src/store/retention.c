/* SPDX-License-Identifier: Apache-2.0 */
/* The row of a job goes first: the database lets events go only once their job has. What the
 * job used is written down in the same transaction, so that nobody's share is forgotten with
 * it.
 */
#include "store/retention.h"

#include "store/table.h"

static const struct store_table_column columns[] = {
    TABLE_TEXT(struct store_retention, name),
    TABLE_INT(struct store_retention, age_s),
    TABLE_INT(struct store_retention, jobs),
    TABLE_INT(struct store_retention, bytes),
};
static const struct store_table retention = {.name = "retention",
                                             .columns = columns,
                                             .n = ARRAY_LEN(columns),
                                             .size = sizeof(struct store_retention)};

void store_retentions_release(struct store_retentions *l)
{
    store_table_release(l);
}

enum rc store_retention_put(struct store *s, const struct store_retention *x,
                            struct err *err)
{
    return store_table_insert(s, &retention, x,
                              "ON CONFLICT (name) DO UPDATE SET age_s = excluded.age_s, "
                              "jobs = excluded.jobs, bytes = excluded.bytes",
                              NULL, err);
}

static enum rc no_policy(const char *name, struct err *err)
{
    return err_coded(err, RC_NOTFOUND, E3111, "no retention policy '%.200s'", name);
}

enum rc store_retention_get(struct store *s, const char *name,
                            struct store_retentions *out, struct err *err)
{
    struct store_retentions l = {0};
    const struct store_db_value params[] = {DB_TEXT(name)};
    enum rc rc = store_table_select(
        s, &retention, name ? "WHERE name = $1" : "ORDER BY name LIMIT 10000", params,
        name ? 1 : 0, &l, err);
    if (!rc && name && l.n == 0)
        rc = no_policy(name, err);
    if (!rc)
        *out = l;
    return rc;
}

enum rc store_retention_delete(struct store *s, const char *name, struct err *err)
{
    int64_t changed = 0;
    const struct store_db_value params[] = {DB_TEXT(name)};
    enum rc rc = store_run(s, "DELETE FROM retention WHERE name = $1", params, 1, NULL,
                           NULL, &changed, err);
    return rc || changed ? rc : no_policy(name, err);
}

static enum rc delete_rest(struct store *s, const char *id, struct err *err)
{
    static const char *const sql[] = {
        "DELETE FROM events WHERE job = $1", "DELETE FROM specs WHERE job = $1",
        "DELETE FROM labels WHERE job = $1", "DELETE FROM metrics WHERE job = $1"};
    const struct store_db_value params[] = {DB_TEXT(id)};
    enum rc rc = RC_OK;
    for (size_t i = 0; i < ARRAY_LEN(sql) && !rc; i++)
        rc = store_run(s, sql[i], params, 1, NULL, NULL, NULL, err);
    return rc;
}

enum rc store_delete(struct store *s, const char *id, int64_t seq, struct err *err)
{
    int64_t changed = 0;
    const struct store_db_value params[] = {DB_TEXT(id), DB_INT(seq)};
    enum rc rc = s->db->begin(s->state, err);
    if (rc)
        return rc;
    rc = store_run(s,
                   "INSERT INTO past_use (owner, project, started, finished, cpu_milli, "
                   "memory, gpu) SELECT owner, project, started, finished, cpu_milli, "
                   "memory, gpu FROM jobs WHERE id = $1 AND seq = $2",
                   params, 2, NULL, NULL, NULL, err);
    if (!rc)
        rc = store_run(s, "DELETE FROM jobs WHERE id = $1 AND seq = $2", params, 2, NULL,
                       NULL, &changed, err);
    if (!rc && !changed)
        rc =
            err_coded(err, RC_CANCELED, E3104, "job '%.64s' changed in the meantime", id);
    if (!rc)
        rc = delete_rest(s, id, err);
    if (!rc)
        rc = s->db->commit(s->state, err);
    if (rc)
        s->db->rollback(s->state);
    return rc;
}
