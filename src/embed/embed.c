/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and slots, and what happens to a batch: parts.c sorts its ids, rows.c gathers
 * rows, and later adds up the gradients of each distinct row and updates it.
 */
#include "embed/embed_private.h"

#include <string.h>

#include "base/mem.h"

struct embed *embed_create(struct pool *pool)
{
    struct embed *e = mem_calloc(1, sizeof(*e));
    e->pool = pool;
    return e;
}

void embed_share(struct embed *e, const struct embed *with)
{
    for (size_t i = 0; i < e->tables.n; i++) {
        table_destroy(e->tables.at[i]);
        e->tables.at[i] = with->tables.at[i];
    }
    e->shared = true;
}

void embed_destroy(struct embed *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->tables.n && !e->shared; i++)
        table_destroy(e->tables.at[i]);
    for (size_t i = 0; i < e->slots.n; i++) {
        mem_free(e->slots.at[i].feature);
        mem_free(e->slots.at[i].rows);
    }
    VEC_RELEASE(&e->tables);
    VEC_RELEASE(&e->slots);
    VEC_RELEASE(&e->pieces);
    VEC_RELEASE(&e->uses);
    parts_release(e);
    mem_free(e);
}

int embed_table(struct embed *e, const struct table_conf *conf, struct err *err)
{
    for (size_t i = 0; i < e->tables.n; i++) {
        const struct table_conf *have = &e->tables.at[i]->conf;
        if (strcmp(have->name, conf->name) != 0)
            continue;
        if (have->rows == conf->rows && have->dim == conf->dim)
            return (int)i;
        err_set(
            err, RC_INVAL,
            "table '%s' is shared by features that want %jd x %jd and %jd x %jd values",
            conf->name, (intmax_t)have->rows, (intmax_t)have->dim, (intmax_t)conf->rows,
            (intmax_t)conf->dim);
        return -1;
    }
    struct table *t = NULL;
    if (table_create(conf, &t, err))
        return -1;
    VEC_PUSH(&e->tables, t);
    return (int)e->tables.n - 1;
}

int embed_slot(struct embed *e, const struct slot_conf *conf)
{
    struct slot s = {.conf = *conf,
                     .feature = mem_strdup(conf->feature),
                     .first = (int32_t)e->slots.n};
    for (size_t i = e->slots.n; i-- > 0;) {
        const struct slot *other = &e->slots.at[i];
        if (other->conf.table == conf->table && other->conf.pooling == conf->pooling &&
            strcmp(other->feature, conf->feature) == 0)
            s.first = (int32_t)i;
    }
    VEC_PUSH(&e->slots, s);
    return (int)e->slots.n - 1;
}

const struct slot_conf *embed_slot_conf(const struct embed *e, int slot)
{
    return &e->slots.at[slot].conf;
}

int embed_n_slots(const struct embed *e)
{
    return (int)e->slots.n;
}

struct table *embed_table_at(const struct embed *e, int table)
{
    return e->tables.at[table];
}

int embed_n_tables(const struct embed *e)
{
    return (int)e->tables.n;
}

struct table *embed_slot_table(const struct embed *e, int slot)
{
    return e->tables.at[e->slots.at[slot].conf.table];
}

enum rc embed_track(struct embed *e, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < e->tables.n && !rc; i++) {
        struct table *t = e->tables.at[i];
        if (!t->touched)
            rc = touched_create(t->keyed ? 0 : t->conf.rows, &t->touched, err);
        if (t->keyed)
            t->keyed->touched = t->touched;
    }
    return rc;
}

enum rc embed_batch(struct embed *e, const struct slot_ids *ids, bool training,
                    struct err *err)
{
    for (size_t i = 0; i < e->slots.n; i++)
        e->slots.at[i].ids = ids[i];
    e->training = training;
    enum rc rc = find_rows(e, ids, training, err);
    if (!rc)
        rc = parts_count(e, err);
    if (!rc && training)
        parts_chain(e);
    return rc;
}

void embed_counts(const struct embed *e, int64_t *lookups, int64_t *distinct)
{
    *lookups = *distinct = 0;
    for (int p = 0; p < PARTS; p++) {
        *lookups += e->parts[p].end - e->parts[p].begin;
        *distinct += e->parts[p].n_unique;
    }
}
