/* SPDX-License-Identifier: Apache-2.0 */
/* Use of the machine, added up by the database: resources times the seconds between start
 * and end of each job, cut to the time that was asked for.
 */
#include "base/str.h"
#include "store/projects.h"
#include "store/table.h"

static const struct store_table_column columns[] = {
    TABLE_TEXT(struct store_usage, name),   TABLE_INT(struct store_usage, jobs),
    TABLE_INT(struct store_usage, running), TABLE_INT(struct store_usage, cpu_milli_s),
    TABLE_INT(struct store_usage, gpu_s),   TABLE_INT(struct store_usage, memory_mib_s),
};

void store_usages_release(struct store_usages *l)
{
    store_table_release(l);
}

enum rc store_usage_get(struct store *s, enum store_usage_by by, int64_t since,
                        int64_t until, struct store_usages *out, struct err *err)
{
    const struct store_db_value params[] = {DB_INT(since), DB_INT(until)};
    struct buf from;
    buf_init(&from, 1 << 13);
    /* Milliseconds inside, so that sums of short jobs are not cut to nothing. */
    buf_printf(
        &from,
        "(SELECT who AS name, count(*) AS jobs, sum(live) AS running, "
        "CAST(sum(ms * cpu_milli) / 1000 AS BIGINT) AS cpu_milli_s, "
        "CAST(sum(ms * gpu) / 1000 AS BIGINT) AS gpu_s, "
        "CAST(sum(ms * (memory / 1048576)) / 1000 AS BIGINT) AS memory_mib_s FROM "
        "(SELECT %s AS who, cpu_milli, gpu, memory, "
        "CASE WHEN finished = 0 THEN 1 ELSE 0 END AS live, "
        "((CASE WHEN finished = 0 OR finished > CAST($2 AS BIGINT) THEN CAST($2 AS "
        "BIGINT) ELSE finished END) - (CASE WHEN started < CAST($1 AS BIGINT) THEN "
        "CAST($1 AS BIGINT) ELSE started END)) / 1000000 AS ms "
        "FROM (SELECT owner, project, started, finished, cpu_milli, memory, gpu FROM jobs "
        "UNION ALL SELECT owner, project, started, finished, cpu_milli, memory, gpu FROM "
        "past_use) AS use WHERE started > 0 AND started < CAST($2 AS BIGINT) AND (finished "
        "= 0 OR finished > CAST($1 AS BIGINT))) AS one GROUP BY who) AS total",
        by == STORE_BY_PROJECT ? "project" : "owner");
    const struct store_table usage = {.name = buf_str(&from),
                                      .columns = columns,
                                      .n = ARRAY_LEN(columns),
                                      .size = sizeof(struct store_usage)};
    enum rc rc =
        store_table_select(s, &usage, "ORDER BY cpu_milli_s DESC, name LIMIT 10000",
                           params, ARRAY_LEN(params), out, err);
    buf_release(&from);
    return rc;
}
