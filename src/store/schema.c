/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and how older ones become newer ones. A migration is a list of statements that
 * ends with NULL; the list of migrations ends with a second NULL. Migrations are only
 * ever added: the n-th leads from version n-1 to n. `{serial}` stands for the database's
 * own counting column.
 *
 * The index row (jobs) is narrow, so that a scan over 100,000 of them is quick; the
 * specification lies beside it.
 */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "store/schema.h"
#include "store/store_private.h"

static enum rc take_version(void *arg, const struct store_db_row *row, struct err *err)
{
    *(int64_t *)arg = store_db_int(row, 0);
    return RC_OK;
}

static enum rc read_version(struct store *s, struct err *err)
{
    s->version = 0;
    return store_run(s, "SELECT value FROM meta WHERE key = 'version'", NULL, 0,
                     take_version, &s->version, NULL, err);
}

static enum rc run_ddl(struct store *s, const char *text, struct err *err)
{
    static const char mark[] = "{serial}";
    struct buf sql;
    buf_init(&sql, 1 << 16);
    for (const char *at; (at = strstr(text, mark)); text = at + sizeof(mark) - 1) {
        buf_add(&sql, text, (size_t)(at - text));
        buf_puts(&sql, s->db->serial);
    }
    buf_puts(&sql, text);
    struct store_db_call call = {.sql = buf_str(&sql), .once = true};
    enum rc rc = s->db->run(s->state, &call, NULL, err);
    buf_release(&sql);
    return rc;
}

static enum rc migrate_locked(struct store *s, struct err *err)
{
    enum rc rc = run_ddl(
        s, "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
        err);
    if (!rc)
        rc = read_version(s, err);
    const char *const *at = s->db->migrations;
    for (int64_t v = 1; !rc && *at; v++, at++) {
        bool apply = v > s->version;
        for (; *at && !rc; at++)
            if (apply)
                rc = run_ddl(s, *at, err);
        if (apply)
            s->version = v;
        if (rc)
            break;
    }
    char number[24] = "";
    struct buf b;
    buf_init(&b, sizeof(number));
    buf_printf(&b, "%jd", (intmax_t)s->version);
    const struct store_db_value params[] = {DB_TEXT(buf_str(&b))};
    if (!rc)
        rc = store_run(s,
                       "INSERT INTO meta (key, value) VALUES ('version', $1) ON CONFLICT "
                       "(key) DO UPDATE SET value = excluded.value",
                       params, 1, NULL, NULL, NULL, err);
    buf_release(&b);
    return rc;
}

enum rc store_migrate(struct store *s, struct err *err)
{
    struct err first = {0};
    /* The usual case costs one statement and no lock. */
    if (read_version(s, &first) == RC_OK && s->version == STORE_VERSION)
        return RC_OK;
    if (s->version > STORE_VERSION)
        return err_coded(err, RC_UNSUPPORTED, E3105,
                         "the store has version %jd, this program knows %d",
                         (intmax_t)s->version, STORE_VERSION);
    enum rc rc = s->db->begin(s->state, err);
    if (rc)
        return rc;
    rc = s->db->lock_schema(s->state, err);
    if (!rc)
        rc = migrate_locked(s, err);
    if (!rc)
        rc = s->db->commit(s->state, err);
    if (rc)
        s->db->rollback(s->state);
    return rc;
}
