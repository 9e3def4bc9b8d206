/* SPDX-License-Identifier: Apache-2.0 */
/* Rules are rows by id; what they have to tell are deliveries, whose key says what happened, so
 * that one is added once. Marks, numbers by name, say how far somebody has read.
 */
#include "store/notify.h"

#include "store/table.h"

static const struct store_table_column rule_columns[] = {
    TABLE_TEXT(struct store_rule, id),        TABLE_TEXT(struct store_rule, owner),
    TABLE_TEXT(struct store_rule, kind),      TABLE_TEXT(struct store_rule, target),
    TABLE_TEXT(struct store_rule, condition), TABLE_INT(struct store_rule, created),
};
static const struct store_table rules = {.name = "notify_rules",
                                         .columns = rule_columns,
                                         .n = ARRAY_LEN(rule_columns),
                                         .size = sizeof(struct store_rule)};

static const struct store_table_column columns[] = {
    TABLE_TEXT(struct store_delivery, key),    TABLE_TEXT(struct store_delivery, rule),
    TABLE_TEXT(struct store_delivery, job),    TABLE_TEXT(struct store_delivery, payload),
    TABLE_TEXT(struct store_delivery, state),  TABLE_TEXT(struct store_delivery, message),
    TABLE_INT(struct store_delivery, tries),   TABLE_INT(struct store_delivery, due),
    TABLE_INT(struct store_delivery, created),
};
static const struct store_table deliveries = {.name = "deliveries",
                                              .columns = columns,
                                              .n = ARRAY_LEN(columns),
                                              .size = sizeof(struct store_delivery)};

void store_rules_release(struct store_rules *l)
{
    store_table_release(l);
}

void store_deliveries_release(struct store_deliveries *l)
{
    store_table_release(l);
}

enum rc store_rule_create(struct store *s, const struct store_rule *r, struct err *err)
{
    int64_t changed = 0;
    enum rc rc =
        store_table_insert(s, &rules, r, "ON CONFLICT DO NOTHING", &changed, err);
    if (!rc && !changed)
        rc = err_coded(err, RC_INVAL, E3110, "there is a rule '%.200s' already", r->id);
    return rc;
}

enum rc store_rule_get(struct store *s, const char *id, const char *owner,
                       struct store_rules *out, struct err *err)
{
    struct store_rules l = {0};
    const struct store_db_value params[] = {DB_TEXT(id ? id : owner)};
    const char *rest = id      ? "WHERE id = $1"
                       : owner ? "WHERE owner = $1 ORDER BY created, id LIMIT 10000"
                               : "ORDER BY created, id LIMIT 10000";
    enum rc rc =
        store_table_select(s, &rules, rest, params, id || owner ? 1 : 0, &l, err);
    if (!rc && id && l.n == 0)
        rc = err_coded(err, RC_NOTFOUND, E3111, "no rule '%.200s'", id);
    if (!rc)
        *out = l;
    return rc;
}

enum rc store_rule_delete(struct store *s, const char *id, struct err *err)
{
    int64_t changed = 0;
    const struct store_db_value params[] = {DB_TEXT(id)};
    enum rc rc = store_run(s, "DELETE FROM notify_rules WHERE id = $1", params, 1, NULL,
                           NULL, &changed, err);
    if (!rc && !changed)
        rc = err_coded(err, RC_NOTFOUND, E3111, "no rule '%.200s'", id);
    return rc;
}

enum rc store_delivery_add(struct store *s, const struct store_delivery *d, bool *added,
                           struct err *err)
{
    int64_t changed = 0;
    enum rc rc =
        store_table_insert(s, &deliveries, d, "ON CONFLICT DO NOTHING", &changed, err);
    if (!rc)
        *added = changed > 0;
    return rc;
}

enum rc store_delivery_due(struct store *s, int64_t now, size_t limit,
                           struct store_deliveries *out, struct err *err)
{
    size_t most = limit && limit < STORE_ROWS_MAX ? limit : STORE_ROWS_MAX;
    const struct store_db_value params[] = {DB_INT(now), DB_INT((int64_t)most)};
    return store_table_select(
        s, &deliveries,
        "WHERE state = 'pending' AND due <= $1 ORDER BY due, key LIMIT $2", params, 2,
        out, err);
}

enum rc store_delivery_update(struct store *s, const struct store_delivery *d,
                              struct err *err)
{
    int64_t changed = 0;
    const struct store_db_value params[] = {DB_TEXT(d->key), DB_TEXT(d->state),
                                            DB_TEXT(d->message), DB_INT(d->tries),
                                            DB_INT(d->due)};
    enum rc rc = store_run(s,
                           "UPDATE deliveries SET state = $2, message = $3, tries = $4, "
                           "due = $5 WHERE key = $1",
                           params, ARRAY_LEN(params), NULL, NULL, &changed, err);
    if (!rc && !changed)
        rc = err_coded(err, RC_NOTFOUND, E3111, "no delivery '%.200s'", d->key);
    return rc;
}

enum rc store_delivery_list(struct store *s, const char *rule, size_t limit,
                            struct store_deliveries *out, struct err *err)
{
    size_t most = limit && limit < STORE_ROWS_MAX ? limit : STORE_ROWS_MAX;
    const struct store_db_value params[] = {DB_INT((int64_t)most), DB_TEXT(rule)};
    return store_table_select(s, &deliveries,
                              rule ? "WHERE rule = $2 ORDER BY created DESC, key LIMIT $1"
                                   : "ORDER BY created DESC, key LIMIT $1",
                              params, rule ? 2 : 1, out, err);
}

enum rc store_delivery_list_of(struct store *s, const char *owner, size_t limit,
                               struct store_deliveries *out, struct err *err)
{
    size_t most = limit && limit < STORE_ROWS_MAX ? limit : STORE_ROWS_MAX;
    const struct store_db_value params[] = {DB_INT((int64_t)most), DB_TEXT(owner)};
    return store_table_select(s, &deliveries,
                              "WHERE rule IN (SELECT id FROM notify_rules WHERE owner = "
                              "$2) ORDER BY created DESC, key LIMIT $1",
                              params, 2, out, err);
}

enum rc store_mark_get(struct store *s, const char *name, int64_t *value, struct err *err)
{
    bool found = false;
    const struct store_db_value params[] = {DB_TEXT(name)};
    return store_table_number(s, "SELECT value FROM marks WHERE name = $1", params, 1,
                              value, &found, err);
}

enum rc store_mark_set(struct store *s, const char *name, int64_t value, struct err *err)
{
    const struct store_db_value params[] = {DB_TEXT(name), DB_INT(value)};
    return store_run(s,
                     "INSERT INTO marks (name, value) VALUES ($1, $2) ON CONFLICT (name) "
                     "DO UPDATE SET value = excluded.value",
                     params, 2, NULL, NULL, NULL, err);
}

enum rc store_mark_first(struct store *s, const char *name, int64_t value,
                         struct err *err)
{
    const struct store_db_value params[] = {DB_TEXT(name), DB_INT(value)};
    return store_run(s,
                     "INSERT INTO marks (name, value) VALUES ($1, $2) ON CONFLICT (name) "
                     "DO NOTHING",
                     params, 2, NULL, NULL, NULL, err);
}
