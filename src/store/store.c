/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "store/store_private.h"

static const struct store_db_ops *const dbs[] = {
#define DB(name) &db_##name,
#include "store/dbs.def"
#undef DB
};

bool store_is_url(const char *where)
{
    return str_starts(where, "postgresql://") || str_starts(where, "postgres://");
}

static const struct store_db_ops *find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(dbs); i++)
        if (strcmp(dbs[i]->name, name) == 0)
            return dbs[i];
    return NULL;
}

enum rc store_open(const char *where, struct store **out, struct err *err)
{
    const struct store_db_ops *db = find(store_is_url(where) ? "postgresql" : "sqlite");
    if (!db)
        return err_coded(err, RC_UNSUPPORTED, E3101,
                         "this build has no support for PostgreSQL");
    struct store *s = mem_calloc(1, sizeof(*s));
    s->db = db;
    enum rc rc = db->open(where, &s->state, err);
    if (!rc)
        rc = store_migrate(s, err);
    if (rc) {
        store_close(s);
        return rc;
    }
    *out = s;
    return RC_OK;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    if (s->state)
        s->db->close(s->state);
    mem_free(s->fence);
    mem_free(s->fence_holder);
    mem_free(s);
}

void store_set_patience(struct store *s, int64_t ms)
{
    s->db->patience(s->state, ms);
}

const char *store_kind(const struct store *s)
{
    return s->db->name;
}

int64_t store_version(const struct store *s)
{
    return s->version;
}

enum rc store_run(struct store *s, const char *sql, const struct store_db_value *at,
                  size_t n, store_db_row_fn *fn, void *arg, int64_t *changed,
                  struct err *err)
{
    struct store_db_call call = {.sql = sql, .at = at, .n = n, .fn = fn, .arg = arg};
    return s->db->run(s->state, &call, changed, err);
}

int64_t store_db_int(const struct store_db_row *row, size_t i)
{
    int64_t v = 0;
    if (i < row->n && row->at[i] && !str_to_i64(str_c(row->at[i]), &v))
        v = 0;
    return v;
}

const char *store_db_text(const struct store_db_row *row, size_t i)
{
    return i < row->n && row->at[i] ? row->at[i] : "";
}
