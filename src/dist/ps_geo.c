/* SPDX-License-Identifier: Apache-2.0 */
/* Old values of rows lie in tables of the same shapes: a row that was never exchanged has
 * its initial values there, which are the server's, too.
 */
#include "dist/ps_geo.h"

#include <string.h>

#include "base/mem.h"
#include "embed/embed.h"

struct dist_ps_geo {
    struct dist_ps_client *client; /* borrowed */
    struct embed *own;             /* of the trainer's lookup; borrowed */
    struct embed *old;
    int n_tables;
    float workers;
    float *old_dense, *dense, *values; /* of all blocks */
    int64_t n_dense;
    struct dist_ps_table *tables;
};

static enum rc make_tables(struct dist_ps_geo *g, struct err *err)
{
    g->old = embed_create(NULL);
    g->n_tables = embed_n_tables(g->own);
    g->tables = mem_calloc((size_t)g->n_tables + 1, sizeof(*g->tables));
    for (int t = 0; t < g->n_tables; t++)
        if (embed_add_table(g->old, &embed_table_at(g->own, t)->conf, err) != t)
            return RC_NOMEM;
    return RC_OK;
}

enum rc dist_ps_geo_create(struct dist_ps_client *client, struct lookup *lookup,
                           int workers, struct dist_ps_geo **out, struct err *err)
{
    struct dist_ps_geo *g = mem_calloc(1, sizeof(*g));
    g->client = client;
    g->own = embed_of(lookup);
    g->workers = (float)workers;
    g->n_dense = dist_ps_client_n_dense(client);
    size_t n = (size_t)g->n_dense + 1;
    g->old_dense = mem_try_alloc(n, sizeof(float));
    g->dense = mem_try_alloc(n, sizeof(float));
    g->values = mem_try_alloc(n, sizeof(float));
    enum rc rc = g->old_dense && g->dense && g->values
                     ? make_tables(g, err)
                     : err_set(err, RC_NOMEM, "no memory for old values");
    if (!rc) {
        dist_ps_client_read(client, g->old_dense);
        *out = g;
    } else {
        dist_ps_geo_destroy(g);
    }
    return rc;
}

void dist_ps_geo_destroy(struct dist_ps_geo *g)
{
    if (!g)
        return;
    if (g->old)
        embed_destroy(g->old);
    mem_free(g->old_dense);
    mem_free(g->dense);
    mem_free(g->values);
    mem_free(g->tables);
    mem_free(g);
}

/* to = (own - old) / workers; old += to */
static void move(const float *own, float *old, float *to, int64_t n, float workers)
{
    for (int64_t i = 0; i < n; i++) {
        to[i] = (own[i] - old[i]) / workers;
        old[i] += to[i];
    }
}

/* own += z - old */
static void follow(float *own, const float *old, const float *z, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        own[i] += z[i] - old[i];
}

static enum rc table_deltas(struct dist_ps_geo *g, int table, struct err *err)
{
    struct embed_table *own = embed_table_at(g->own, table);
    struct embed_table *old = embed_table_at(g->old, table);
    int64_t *ids = NULL, n = 0, dim = own->conf.dim;
    float w[EMBED_DIM_MAX], o[EMBED_DIM_MAX];
    enum rc rc = lookup_touched(embed_lookup(g->own), table, &ids, &n, err);
    float *sums = rc ? NULL : mem_try_alloc((size_t)(n * dim) + 1, sizeof(float));
    if (!rc && !sums)
        rc = err_set(err, RC_NOMEM, "no memory for %jd rows", (intmax_t)n);
    for (int64_t i = 0; i < n && !rc; i++) {
        embed_table_get(own, ids[i], w);
        embed_table_get(old, ids[i], o);
        move(w, o, sums + i * dim, dim, g->workers);
        embed_table_set(old, ids[i], o);
    }
    if (rc) {
        mem_free(ids);
        mem_free(sums);
        return rc;
    }
    g->tables[table] = (struct dist_ps_table){.n = n, .ids = ids, .sums = sums};
    return RC_OK;
}

static void take_rows(void *arg, int table, const void *ids, const void *values,
                      int64_t n)
{
    struct dist_ps_geo *g = arg;
    struct embed_table *own = embed_table_at(g->own, table);
    struct embed_table *old = embed_table_at(g->old, table);
    int64_t dim = own->conf.dim;
    float w[EMBED_DIM_MAX], o[EMBED_DIM_MAX], z[EMBED_DIM_MAX];
    for (int64_t i = 0; i < n; i++) {
        int64_t id;
        memcpy(&id, (const char *)ids + (size_t)i * sizeof(id), sizeof(id));
        if (id < 0 || id >= own->conf.rows)
            continue;
        memcpy(z, (const char *)values + (size_t)(i * dim) * sizeof(float),
               (size_t)dim * sizeof(float));
        embed_table_get(own, id, w);
        embed_table_get(old, id, o);
        follow(w, o, z, dim);
        embed_table_set(own, id, w);
        embed_table_set(old, id, z);
    }
}

static void release_tables(struct dist_ps_geo *g)
{
    for (int t = 0; t < g->n_tables; t++) {
        mem_free((void *)g->tables[t].ids);
        mem_free((void *)g->tables[t].sums);
        g->tables[t] = (struct dist_ps_table){0};
    }
}

enum rc dist_ps_geo_exchange(struct dist_ps_geo *g, struct err *err)
{
    enum rc rc = RC_OK;
    dist_ps_client_read(g->client, g->dense);
    move(g->dense, g->old_dense, g->values, g->n_dense, g->workers);
    for (int t = 0; t < g->n_tables && !rc; t++)
        rc = table_deltas(g, t, err);
    lookup_forget_touched(embed_lookup(g->own));
    if (!rc)
        rc = dist_ps_client_exchange(g->client, g->values, g->tables, g->values,
                                     take_rows, g, err);
    if (!rc) {
        follow(g->dense, g->old_dense, g->values, g->n_dense);
        memcpy(g->old_dense, g->values, (size_t)g->n_dense * sizeof(float));
        dist_ps_client_write(g->client, g->dense);
    }
    release_tables(g);
    return rc;
}
