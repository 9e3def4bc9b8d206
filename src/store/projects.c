/* SPDX-License-Identifier: Apache-2.0 */
#include "store/projects.h"

#include "store/table.h"

static const struct store_table_column columns[] = {
    TABLE_TEXT(struct store_project, name),   TABLE_INT(struct store_project, cpu_milli),
    TABLE_INT(struct store_project, memory),  TABLE_INT(struct store_project, gpu),
    TABLE_INT(struct store_project, running), TABLE_INT(struct store_project, weight),
    TABLE_INT(struct store_project, created),
};
static const struct store_table projects = {.name = "projects",
                                            .columns = columns,
                                            .n = ARRAY_LEN(columns),
                                            .size = sizeof(struct store_project)};

void store_projects_release(struct store_projects *l)
{
    store_table_release(l);
}

enum rc store_project_put(struct store *s, const struct store_project *p, bool *made,
                          struct err *err)
{
    int64_t changed = 0;
    const struct store_db_value params[] = {DB_TEXT(p->name),   DB_INT(p->cpu_milli),
                                            DB_INT(p->memory),  DB_INT(p->gpu),
                                            DB_INT(p->running), DB_INT(p->weight)};
    enum rc rc =
        store_table_insert(s, &projects, p, "ON CONFLICT DO NOTHING", &changed, err);
    if (!rc && made)
        *made = changed > 0;
    if (rc || changed)
        return rc;
    return store_run(s,
                     "UPDATE projects SET cpu_milli = $2, memory = $3, gpu = $4, running "
                     "= $5, weight = $6 WHERE name = $1",
                     params, ARRAY_LEN(params), NULL, NULL, NULL, err);
}

enum rc store_project_get(struct store *s, const char *name, struct store_projects *out,
                          struct err *err)
{
    struct store_projects l = {0};
    const struct store_db_value params[] = {DB_TEXT(name)};
    enum rc rc = store_table_select(
        s, &projects, name ? "WHERE name = $1" : "ORDER BY name LIMIT 10000", params,
        name ? 1 : 0, &l, err);
    if (!rc && name && l.n == 0)
        rc = err_coded(err, RC_NOTFOUND, E3111, "no project '%.200s'", name);
    if (!rc)
        *out = l;
    return rc;
}

enum rc store_project_delete(struct store *s, const char *name, struct err *err)
{
    int64_t changed = 0;
    const struct store_db_value params[] = {DB_TEXT(name)};
    enum rc rc = store_run(s, "DELETE FROM projects WHERE name = $1", params, 1, NULL,
                           NULL, &changed, err);
    if (!rc && !changed)
        rc = err_coded(err, RC_NOTFOUND, E3111, "no project '%.200s'", name);
    return rc;
}
