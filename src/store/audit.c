/* SPDX-License-Identifier: Apache-2.0 */
#include "store/audit.h"

#include "store/table.h"

static const struct store_table_column columns[] = {
    TABLE_INT(struct store_audit, time),     TABLE_TEXT(struct store_audit, who),
    TABLE_TEXT(struct store_audit, action),  TABLE_TEXT(struct store_audit, object),
    TABLE_TEXT(struct store_audit, outcome), TABLE_TEXT(struct store_audit, address),
    TABLE_INT(struct store_audit, num),
};
#define WRITTEN (ARRAY_LEN(columns) - 1) /* num counts by itself */

void store_audits_release(struct store_audits *l)
{
    store_table_release(l);
}

enum rc store_audit_add(struct store *s, const struct store_audit *rows, size_t n,
                        struct err *err)
{
    static const struct store_table audit = {.name = "audit",
                                             .columns = columns,
                                             .n = WRITTEN,
                                             .size = sizeof(struct store_audit)};
    enum rc rc = s->db->begin(s->state, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < n && !rc; i++)
        rc = store_table_insert(s, &audit, &rows[i], "", NULL, err);
    if (!rc)
        rc = s->db->commit(s->state, err);
    if (rc)
        s->db->rollback(s->state);
    return rc;
}

enum rc store_audit_get(struct store *s, const struct store_audit_filter *f,
                        struct store_audits *out, struct err *err)
{
    static const struct store_table audit = {.name = "audit",
                                             .columns = columns,
                                             .n = ARRAY_LEN(columns),
                                             .size = sizeof(struct store_audit)};
    size_t most = f->limit && f->limit < STORE_ROWS_MAX ? f->limit : STORE_ROWS_MAX;
    const struct store_db_value params[] = {
        DB_INT(f->before ? f->before : INT64_MAX), DB_INT((int64_t)most),
        DB_INT(f->since), DB_TEXT(f->action ? f->action : ""), DB_TEXT(f->who)};
    return store_table_select(
        s, &audit,
        f->who
            ? "WHERE num < $1 AND time >= $3 AND ($4 = '' OR action = $4) AND who = $5 "
              "ORDER BY num DESC LIMIT $2"
            : "WHERE num < $1 AND time >= $3 AND ($4 = '' OR action = $4) ORDER BY num "
              "DESC LIMIT $2",
        params, f->who ? 5 : 4, out, err);
}
