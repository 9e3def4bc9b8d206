/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and slots, and what happens to a batch: parts.c sorts its ids, rows.c gathers
 * rows, and later adds up the gradients of each distinct row and updates it. plain.c does
 * without sorting where it can.
 *
 * Threads take items one by one, as many lanes as there are threads. An item depends on
 * nothing that a lane holds from before, so it does not matter which takes it.
 */
#include "embed/embed_private.h"

#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"

struct embed *embed_create(struct pool *pool)
{
    struct embed *e = mem_calloc(1, sizeof(*e));
    e->lookup.ops = &lookup_local_ops;
    e->pool = pool;
    for (int i = 0; i < pool_threads(pool); i++)
        VEC_PUSH(&e->lanes, (struct embed_lane){0});
    return e;
}

struct lane_job {
    struct embed *e;
    embed_lane_fn *fn;
    int64_t n;
    _Atomic(int64_t) next;
};

static void run_lane(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct lane_job *job = arg;
    struct embed_lane *lane = &job->e->lanes.at[begin];
    for (int64_t i; (i = atomic_fetch_add(&job->next, 1)) < job->n;)
        job->fn(job->e, i, lane);
}

void embed_lanes(struct embed *e, int64_t n, embed_lane_fn *fn)
{
    struct lane_job job = {.e = e, .fn = fn, .n = n};
    int64_t lanes = (int64_t)e->lanes.n;
    pool_for(e->pool, n < lanes ? n : lanes, 1, run_lane, &job);
}

void embed_share(struct embed *e, const struct embed *with)
{
    for (size_t i = 0; i < e->tables.n; i++) {
        embed_table_destroy(e->tables.at[i]);
        e->tables.at[i] = with->tables.at[i];
    }
    e->shared = true;
}

void embed_destroy(struct embed *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->tables.n && !e->shared; i++)
        embed_table_destroy(e->tables.at[i]);
    for (size_t i = 0; i < e->slots.n; i++) {
        mem_free(e->slots.at[i].feature);
        mem_free(e->slots.at[i].rows);
    }
    VEC_RELEASE(&e->tables);
    VEC_RELEASE(&e->slots);
    VEC_RELEASE(&e->pieces);
    VEC_RELEASE(&e->uses);
    embed_parts_release(e);
    embed_plain_release(e);
    VEC_RELEASE(&e->plains);
    VEC_RELEASE(&e->shares);
    VEC_RELEASE(&e->readers);
    VEC_RELEASE(&e->rules);
    VEC_RELEASE(&e->lanes);
    mem_free(e);
}

int embed_add_table(struct embed *e, const struct embed_table_conf *conf, struct err *err)
{
    for (size_t i = 0; i < e->tables.n; i++) {
        const struct embed_table_conf *have = &e->tables.at[i]->conf;
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
    struct embed_table *t = NULL;
    if (embed_table_create(conf, &t, err))
        return -1;
    VEC_PUSH(&e->tables, t);
    VEC_PUSH(&e->readers, 0);
    VEC_PUSH(&e->rules, (struct embed_row_rule){0});
    return (int)e->tables.n - 1;
}

int embed_add_slot(struct embed *e, const struct embed_slot_conf *conf)
{
    struct embed_slot s = {.conf = *conf,
                           .feature = mem_strdup(conf->feature),
                           .first = (int32_t)e->slots.n};
    for (size_t i = e->slots.n; i-- > 0;) {
        const struct embed_slot *other = &e->slots.at[i];
        if (other->conf.table == conf->table && other->conf.pooling == conf->pooling &&
            strcmp(other->feature, conf->feature) == 0)
            s.first = (int32_t)i;
    }
    VEC_PUSH(&e->slots, s);
    return (int)e->slots.n - 1;
}

const struct embed_slot_conf *embed_slot_at(const struct embed *e, int slot)
{
    return &e->slots.at[slot].conf;
}

int embed_n_slots(const struct embed *e)
{
    return (int)e->slots.n;
}

struct embed_table *embed_table_at(const struct embed *e, int table)
{
    return e->tables.at[table];
}

int embed_n_tables(const struct embed *e)
{
    return (int)e->tables.n;
}

struct embed_table *embed_slot_table(const struct embed *e, int slot)
{
    return e->tables.at[e->slots.at[slot].conf.table];
}

enum rc embed_track(struct embed *e, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < e->tables.n && !rc; i++) {
        struct embed_table *t = e->tables.at[i];
        if (!t->touched)
            rc = embed_touched_create(t->keyed ? 0 : t->conf.rows, &t->touched, err);
        if (t->keyed)
            t->keyed->touched = t->touched;
    }
    return rc;
}

static bool has_keyed(const struct embed *e)
{
    for (size_t i = 0; i < e->tables.n; i++)
        if (e->tables.at[i]->keyed)
            return true;
    return false;
}

/* Ids are admitted only when no id of the batch is wrong. */
enum rc embed_batch(struct embed *e, const struct embed_slot_ids *ids, bool training,
                    struct err *err)
{
    for (size_t i = 0; i < e->slots.n; i++)
        e->slots.at[i].ids = ids[i];
    e->training = training;
    enum rc rc = training && has_keyed(e) ? embed_parts_inside(e, err) : RC_OK;
    if (!rc)
        rc = embed_find_rows(e, ids, training, err);
    if (!rc)
        rc = embed_parts_count(e, err);
    if (!rc && training)
        rc = embed_parts_sort(e, err);
    return rc;
}
