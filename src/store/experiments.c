/* SPDX-License-Identifier: Apache-2.0 */
#include "store/experiments.h"

#include "store/table.h"

static const struct store_table_column columns[] = {
    TABLE_TEXT(struct store_experiment, id),
    TABLE_TEXT(struct store_experiment, node),
    TABLE_TEXT(struct store_experiment, owner),
    TABLE_TEXT(struct store_experiment, snapshot),
};
static const struct store_table experiments = {.name = "experiments",
                                               .columns = columns,
                                               .n = ARRAY_LEN(columns),
                                               .size = sizeof(struct store_experiment)};

void store_experiments_release(struct store_experiments *l)
{
    store_table_release(l);
}

enum rc store_experiment_put(struct store *s, const struct store_experiment *x,
                             struct err *err)
{
    return store_table_insert(s, &experiments, x,
                              "ON CONFLICT (id, node) DO UPDATE SET owner = "
                              "excluded.owner, snapshot = excluded.snapshot",
                              NULL, err);
}

enum rc store_experiment_get(struct store *s, const char *node,
                             struct store_experiments *out, struct err *err)
{
    const struct store_db_value params[] = {DB_TEXT(node)};
    return store_table_select(s, &experiments, node ? "WHERE node = $1" : "", params,
                              node ? 1 : 0, out, err);
}

enum rc store_experiment_delete(struct store *s, const char *id, const char *node,
                                struct err *err)
{
    const struct store_db_value params[] = {DB_TEXT(id), DB_TEXT(node)};
    return store_run(s, "DELETE FROM experiments WHERE id = $1 AND node = $2", params, 2,
                     NULL, NULL, NULL, err);
}
