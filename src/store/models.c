/* SPDX-License-Identifier: Apache-2.0 */
/* Versions are never given twice: a row of the table marks remembers the last one of a name,
 * so a version that was deleted does not come back as something else.
 */
#include "store/models.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "store/table.h"

static const struct store_table_column columns[] = {
    TABLE_TEXT(struct store_model, name),     TABLE_INT(struct store_model, version),
    TABLE_TEXT(struct store_model, owner),    TABLE_TEXT(struct store_model, project),
    TABLE_TEXT(struct store_model, job),      TABLE_TEXT(struct store_model, channel),
    TABLE_TEXT(struct store_model, snapshot), TABLE_TEXT(struct store_model, node),
    TABLE_INT(struct store_model, files),     TABLE_INT(struct store_model, bytes),
    TABLE_TEXT(struct store_model, lineage),  TABLE_TEXT(struct store_model, note),
    TABLE_INT(struct store_model, created),
};
static const struct store_table models = {.name = "models",
                                          .columns = columns,
                                          .n = ARRAY_LEN(columns),
                                          .size = sizeof(struct store_model)};

void store_models_release(struct store_models *l)
{
    store_table_release(l);
}

static enum rc no_model(const char *name, int64_t version, struct err *err)
{
    return version > 0 ? err_coded(err, RC_NOTFOUND, E3111, "no model '%.200s:%jd'", name,
                                   (intmax_t)version)
                       : err_coded(err, RC_NOTFOUND, E3111, "no model '%.200s'", name);
}

enum rc store_model_get(struct store *s, const char *name, int64_t version,
                        struct store_models *out, struct err *err)
{
    struct store_models l = {0};
    const struct store_db_value params[] = {DB_TEXT(name), DB_INT(version)};
    const char *rest = !name         ? "ORDER BY name, version DESC LIMIT 100000"
                       : version > 0 ? "WHERE name = $1 AND version = $2"
                       : version == 0
                           ? "WHERE name = $1 ORDER BY version DESC LIMIT 100000"
                           : "WHERE name = $1 ORDER BY version DESC LIMIT 1";
    enum rc rc = store_table_select(s, &models, rest, params,
                                    !name         ? 0u
                                    : version > 0 ? 2u
                                                  : 1u,
                                    &l, err);
    if (!rc && name && l.n == 0)
        rc = no_model(name, version, err);
    if (!rc)
        *out = l;
    return rc;
}

/* Whose name it is, by its latest version. */
static enum rc check_owner(struct store *s, const struct store_model *m, struct err *err)
{
    struct store_models l = {0};
    const struct store_db_value params[] = {DB_TEXT(m->name)};
    enum rc rc = store_table_select(
        s, &models, "WHERE name = $1 ORDER BY version DESC LIMIT 1", params, 1, &l, err);
    if (!rc && l.n && strcmp(l.at[0].owner, m->owner) != 0 &&
        (!*l.at[0].project || strcmp(l.at[0].project, m->project) != 0))
        rc = err_coded(err, RC_INVAL, E3110, "the name '%.200s' is taken", m->name);
    store_models_release(&l);
    return rc;
}

static enum rc next_version(struct store *s, const char *name, int64_t *out,
                            struct err *err)
{
    char *mark = mem_printf("model:%s", name);
    const struct store_db_value params[] = {DB_TEXT(mark)};
    bool found = false;
    enum rc rc = store_run(s,
                           "INSERT INTO marks (name, value) VALUES ($1, 1) ON CONFLICT "
                           "(name) DO UPDATE SET value = marks.value + 1",
                           params, 1, NULL, NULL, NULL, err);
    if (!rc)
        rc = store_table_number(s, "SELECT value FROM marks WHERE name = $1", params, 1,
                                out, &found, err);
    mem_free(mark);
    return rc;
}

enum rc store_model_create(struct store *s, const struct store_model *m, int64_t *version,
                           struct err *err)
{
    struct store_model row = *m;
    enum rc rc = s->db->begin(s->state, err);
    if (rc)
        return rc;
    rc = check_owner(s, m, err);
    if (!rc)
        rc = next_version(s, m->name, &row.version, err);
    if (!rc)
        rc = store_table_insert(s, &models, &row, "", NULL, err);
    if (!rc)
        rc = s->db->commit(s->state, err);
    if (rc)
        s->db->rollback(s->state);
    else
        *version = row.version;
    return rc;
}

enum rc store_model_delete(struct store *s, const char *name, int64_t version,
                           struct err *err)
{
    int64_t changed = 0;
    const struct store_db_value params[] = {DB_TEXT(name), DB_INT(version)};
    enum rc rc = store_run(s, "DELETE FROM models WHERE name = $1 AND version = $2",
                           params, 2, NULL, NULL, &changed, err);
    return rc || changed ? rc : no_model(name, version, err);
}
