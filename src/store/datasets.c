/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "store/store_private.h"

void store_datasets_release(struct store_datasets *l)
{
    arena_release(&l->arena);
    *l = (struct store_datasets){0};
}

bool store_dataset_writable(const struct store_dataset *d)
{
    return d->options && strcmp(d->options, STORE_DATASET_WRITABLE) == 0;
}

enum rc store_dataset_create(struct store *s, const struct store_dataset *d,
                             struct err *err)
{
    int64_t changed = 0;
    const struct store_db_value params[] = {
        DB_TEXT(d->name),  DB_TEXT(d->id),      DB_TEXT(d->type),  DB_TEXT(d->uri),
        DB_TEXT(d->mount), DB_TEXT(d->options), DB_TEXT(d->owner), DB_INT(d->created)};
    enum rc rc = store_run(
        s,
        "INSERT INTO datasets (name, id, type, uri, mount, options, owner, created) VALUES "
        "($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
        params, ARRAY_LEN(params), NULL, NULL, &changed, err);
    if (!rc && !changed)
        rc = err_coded(err, RC_INVAL, E3106, "there is a dataset '%.200s' already",
                       d->name);
    return rc;
}

struct reading {
    struct store_datasets *out;
    size_t cap;
};

static enum rc take_dataset(void *arg, const struct store_db_row *row, struct err *err)
{
    struct reading *r = arg;
    struct store_datasets *l = r->out;
    if (l->n == r->cap) {
        size_t cap = r->cap ? r->cap * 2 : 16;
        struct store_dataset *at = arena_try_alloc(&l->arena, cap, sizeof(*at));
        if (!at)
            return err_set(err, RC_NOMEM, "out of memory for %zu datasets", cap);
        if (l->n)
            memcpy(at, l->at, l->n * sizeof(*at));
        l->at = at;
        r->cap = cap;
    }
    struct store_dataset *d = &l->at[l->n++];
    const char **texts[] = {&d->name,  &d->id,      &d->type, &d->uri,
                            &d->mount, &d->options, &d->owner};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *texts[i] = arena_strdup(&l->arena, store_db_text(row, i));
    d->created = store_db_int(row, ARRAY_LEN(texts));
    return RC_OK;
}

enum rc store_dataset_get(struct store *s, const char *name, struct store_datasets *out,
                          struct err *err)
{
    struct store_datasets l = {0};
    struct reading r = {.out = &l};
    const struct store_db_value params[] = {DB_TEXT(name)};
    enum rc rc = store_run(
        s,
        name ? "SELECT name, id, type, uri, mount, options, owner, created FROM datasets "
               "WHERE name = $1 OR id = $1"
             : "SELECT name, id, type, uri, mount, options, owner, created FROM datasets "
               "ORDER BY name",
        params, name ? 1 : 0, take_dataset, &r, NULL, err);
    if (!rc && name && l.n == 0)
        rc = err_coded(err, RC_NOTFOUND, E3107, "no dataset '%.200s'", name);
    if (rc) {
        store_datasets_release(&l);
        return rc;
    }
    *out = l;
    return RC_OK;
}

enum rc store_dataset_delete(struct store *s, const char *name, struct err *err)
{
    int64_t changed = 0;
    const struct store_db_value params[] = {DB_TEXT(name)};
    enum rc rc = store_run(s, "DELETE FROM datasets WHERE name = $1 OR id = $1", params,
                           1, NULL, NULL, &changed, err);
    if (!rc && !changed)
        rc = err_coded(err, RC_NOTFOUND, E3107, "no dataset '%.200s'", name);
    return rc;
}
