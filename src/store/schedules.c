/* SPDX-License-Identifier: Apache-2.0 */
/* A run of a schedule is a row under (schedule, planned time): whoever inserts it first has
 * it, which is what keeps two servers from firing the same run. The next time of a schedule
 * is moved by compare and set.
 */
#include "store/schedules.h"

#include "base/str.h"
#include "store/table.h"

static const struct store_table_column columns[] = {
    TABLE_TEXT(struct store_schedule, name),
    TABLE_TEXT(struct store_schedule, owner),
    TABLE_TEXT(struct store_schedule, project),
    TABLE_TEXT(struct store_schedule, cron),
    TABLE_TEXT(struct store_schedule, zone),
    TABLE_TEXT(struct store_schedule, spec),
    TABLE_TEXT(struct store_schedule, params),
    TABLE_TEXT(struct store_schedule, catch_up),
    TABLE_INT(struct store_schedule, paused),
    TABLE_INT(struct store_schedule, created),
    TABLE_INT(struct store_schedule, next),
    TABLE_TEXT(struct store_schedule, node),
};
static const struct store_table schedules = {.name = "schedules",
                                             .columns = columns,
                                             .n = ARRAY_LEN(columns),
                                             .size = sizeof(struct store_schedule)};

static const struct store_table_column run_columns[] = {
    TABLE_TEXT(struct store_run_row, schedule), TABLE_INT(struct store_run_row, planned),
    TABLE_INT(struct store_run_row, fired),     TABLE_TEXT(struct store_run_row, job),
    TABLE_TEXT(struct store_run_row, outcome),
};
static const struct store_table runs = {.name = "schedule_runs",
                                        .columns = run_columns,
                                        .n = ARRAY_LEN(run_columns),
                                        .size = sizeof(struct store_run_row)};

void store_schedules_release(struct store_schedules *l)
{
    store_table_release(l);
}

void store_run_rows_release(struct store_run_rows *l)
{
    store_table_release(l);
}

static enum rc none(const char *name, struct err *err)
{
    return err_coded(err, RC_NOTFOUND, E3111, "no schedule '%.200s'", name);
}

enum rc store_schedule_create(struct store *s, const struct store_schedule *x,
                              struct err *err)
{
    int64_t changed = 0;
    enum rc rc =
        store_table_insert(s, &schedules, x, "ON CONFLICT DO NOTHING", &changed, err);
    if (!rc && !changed)
        rc = err_coded(err, RC_INVAL, E3110, "there is a schedule '%.200s' already",
                       x->name);
    return rc;
}

enum rc store_schedule_update(struct store *s, const struct store_schedule *x,
                              struct err *err)
{
    int64_t changed = 0;
    const struct store_db_value params[] = {
        DB_TEXT(x->name), DB_TEXT(x->project), DB_TEXT(x->cron),     DB_TEXT(x->zone),
        DB_TEXT(x->spec), DB_TEXT(x->params),  DB_TEXT(x->catch_up), DB_INT(x->paused),
        DB_INT(x->next),  DB_TEXT(x->node),    DB_INT(x->created)};
    enum rc rc =
        store_run(s,
                  "UPDATE schedules SET project = $2, cron = $3, zone = $4, spec "
                  "= $5, params = $6, catch_up = $7, paused = $8, next = $9, node = $10 "
                  "WHERE name = $1 AND created = $11",
                  params, ARRAY_LEN(params), NULL, NULL, &changed, err);
    return rc || changed ? rc : none(x->name, err);
}

enum rc store_schedule_get(struct store *s, const char *name, struct store_schedules *out,
                           struct err *err)
{
    struct store_schedules l = {0};
    const struct store_db_value params[] = {DB_TEXT(name)};
    enum rc rc = store_table_select(
        s, &schedules, name ? "WHERE name = $1" : "ORDER BY name LIMIT 10000", params,
        name ? 1 : 0, &l, err);
    if (!rc && name && l.n == 0)
        rc = none(name, err);
    if (!rc)
        *out = l;
    return rc;
}

enum rc store_schedule_due(struct store *s, int64_t now, struct store_schedules *out,
                           struct err *err)
{
    const struct store_db_value params[] = {DB_INT(now)};
    return store_table_select(
        s, &schedules,
        "WHERE paused = 0 AND next > 0 AND next <= $1 ORDER BY next, name "
        "LIMIT 1000",
        params, 1, out, err);
}

enum rc store_schedule_move(struct store *s, const char *name, int64_t from, int64_t to,
                            bool *moved, struct err *err)
{
    int64_t changed = 0;
    const struct store_db_value params[] = {DB_TEXT(name), DB_INT(from), DB_INT(to)};
    enum rc rc =
        store_run(s, "UPDATE schedules SET next = $3 WHERE name = $1 AND next = $2",
                  params, 3, NULL, NULL, &changed, err);
    if (!rc)
        *moved = changed > 0;
    return rc;
}

enum rc store_schedule_delete(struct store *s, const char *name, struct err *err)
{
    int64_t changed = 0;
    const struct store_db_value params[] = {DB_TEXT(name)};
    enum rc rc = s->db->begin(s->state, err);
    if (rc)
        return rc;
    rc = store_run(s, "DELETE FROM schedule_runs WHERE schedule = $1", params, 1, NULL,
                   NULL, NULL, err);
    if (!rc)
        rc = store_run(s, "DELETE FROM schedules WHERE name = $1", params, 1, NULL, NULL,
                       &changed, err);
    if (!rc && !changed)
        rc = none(name, err);
    if (!rc)
        rc = s->db->commit(s->state, err);
    if (rc)
        s->db->rollback(s->state);
    return rc;
}

enum rc store_schedule_claim(struct store *s, const struct store_run_row *r, bool *first,
                             struct err *err)
{
    int64_t changed = 0;
    enum rc rc = store_table_insert(s, &runs, r, "ON CONFLICT DO NOTHING", &changed, err);
    if (!rc)
        *first = changed > 0;
    return rc;
}

enum rc store_schedule_settle(struct store *s, const struct store_run_row *r,
                              struct err *err)
{
    int64_t changed = 0;
    const struct store_db_value params[] = {DB_TEXT(r->schedule), DB_INT(r->planned),
                                            DB_TEXT(r->job), DB_TEXT(r->outcome)};
    enum rc rc = store_run(s,
                           "UPDATE schedule_runs SET job = $3, outcome = $4 WHERE "
                           "schedule = $1 AND planned = $2",
                           params, 4, NULL, NULL, &changed, err);
    return rc || changed ? rc : none(r->schedule, err);
}

enum rc store_schedule_runs(struct store *s, const char *schedule, int64_t before,
                            size_t limit, struct store_run_rows *out, struct err *err)
{
    size_t most = limit && limit < STORE_ROWS_MAX ? limit : STORE_ROWS_MAX;
    const struct store_db_value params[] = {
        DB_TEXT(schedule), DB_INT(before ? before : INT64_MAX), DB_INT((int64_t)most)};
    return store_table_select(
        s, &runs, "WHERE schedule = $1 AND planned < $2 ORDER BY planned DESC LIMIT $3",
        params, 3, out, err);
}
