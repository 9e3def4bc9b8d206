/* SPDX-License-Identifier: Apache-2.0 */
/* What one table costs when it is cut in one way. With W ranks, L of a host, B_i lookups
 * and B_o vectors of a rank's batch, s bytes of a number and D columns of a part:
 *
 *                    lookups     ids read        rows read           vectors out
 *   table, column    B_i W       8 n             n max(D, 32) s      B_o W D s
 *   row              B_i         8 n             n D s               B_o W D s
 *   table_row, grid  B_i W / L   8 n             n D s               B_o W D s
 *   data_parallel    B_i         8 n             n D s               B_o D s
 *
 * (of sequences row cuts have B_i / W and B_i / L vectors). Forward takes their sum over
 * the bandwidth of the memory, backward twice that; vectors go over the network both ways.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "dist/plan_private.h"

#define GIB_PER_S ((double)(1 << 30) / 1000) /* in bytes per millisecond */
#define DEVICE (897 * GIB_PER_S)
#define HOST (51 * GIB_PER_S)
#define BETWEEN (32 * GIB_PER_S) /* memory of a card and of its machine */
#define ID 8.0
#define BACKWARD 2.0
#define WEIGHTED_KERNEL 1.1
#define BATCHED_COPY 2.455
#define ELEMENTWISE 9.22
#define CACHED 0.2
#define MIN_COLUMNS 32.0
#define BLOCK 128 /* columns of a part, at least */

static const char *const kinds[DIST_KINDS] = {
    [DIST_DATA_PARALLEL] = "data_parallel",
    [DIST_TABLE_WISE] = "table_wise",
    [DIST_COLUMN_WISE] = "column_wise",
    [DIST_TABLE_COLUMN_WISE] = "table_column_wise",
    [DIST_ROW_WISE] = "row_wise",
    [DIST_TABLE_ROW_WISE] = "table_row_wise",
    [DIST_GRID] = "grid_shard",
};
static const char *const kernels[DIST_KERNELS] = {[DIST_DENSE] = "dense",
                                                  [DIST_FUSED] = "fused",
                                                  [DIST_UVM] = "fused_uvm",
                                                  [DIST_UVM_CACHING] =
                                                      "fused_uvm_caching"};

const char *dist_kind_name(enum dist_kind kind)
{
    return kinds[kind];
}

const char *dist_kernel_name(enum dist_kernel kernel)
{
    return kernels[kernel];
}

enum dist_kind dist_kind_find(const char *name)
{
    int k = 0;
    while (k < DIST_KINDS && strcmp(kinds[k], name) != 0)
        k++;
    return (enum dist_kind)k;
}

enum dist_kernel dist_kernel_find(const char *name)
{
    int k = 0;
    while (k < DIST_KERNELS && strcmp(kernels[k], name) != 0)
        k++;
    return (enum dist_kernel)k;
}

struct dist_topology dist_topology_of(int world, int local, double batch)
{
    return (struct dist_topology){.world = world,
                                  .local = local,
                                  .batch = batch,
                                  .intra = 600 * GIB_PER_S,
                                  .cross = 12.5 * GIB_PER_S,
                                  .device_bins = 100,
                                  .host_bins = 25};
}

double dist_plan_cost_sum(const struct dist_plan_cost *c)
{
    return c->forward + c->forward_comm + c->backward + c->backward_comm;
}

static double memory_bandwidth(const struct dist_topology *t, enum dist_kernel kernel)
{
    bool card = t->device_bytes > 0;
    switch (kernel) {
    case DIST_DENSE:
        return 0.5 * (card ? DEVICE : HOST);
    case DIST_UVM:
        return BETWEEN / 10;
    case DIST_UVM_CACHING:
        return (CACHED * DEVICE + (1 - CACHED) * BETWEEN) / 10;
    case DIST_FUSED:
    case DIST_KERNELS:
        break;
    }
    return card ? DEVICE : HOST;
}

/* Of what goes between all ranks. */
static double network(const struct dist_topology *t)
{
    return t->world <= t->local ? t->intra : t->cross;
}

static double penalty(int64_t cols)
{
    return cols >= 128 ? 1 : cols >= 64 ? 1.15 : 1.75;
}

/* What a part of a table has to do with. */
struct use {
    const struct dist_topology *t;
    const struct dist_plan_table *x;
    double lookups, vectors; /* B_i, B_o */
    double world, local;
    double bandwidth;
    double table; /* bytes of all of it */
};

static double sequence_or(const struct use *u, double vectors, double sequence)
{
    return u->x->sequence ? sequence : vectors;
}

static struct dist_plan_cost cost_of(const struct use *u, double lookups, double columns,
                                     double width, double vectors, double times)
{
    double element = u->x->element;
    double ids = ceil(lookups * ID) * (u->x->weighted ? 2 : 1);
    double out = vectors * width * element;
    struct dist_plan_cost c = {.forward = (ids + lookups * columns * element + out) *
                                          times / u->bandwidth};
    c.backward =
        BACKWARD * c.forward + (u->x->weighted ? WEIGHTED_KERNEL * c.forward : 0);
    return c;
}

static struct dist_plan_cost whole_rows(const struct use *u, int64_t cols)
{
    double d = (double)cols, out = u->vectors * u->world * d * u->x->element;
    struct dist_plan_cost c =
        cost_of(u, u->lookups * u->world, d > MIN_COLUMNS ? d : MIN_COLUMNS, d,
                u->vectors * u->world, penalty(cols));
    if (u->t->world > 1)
        c.forward_comm = c.backward_comm = out / network(u->t);
    return c;
}

static struct dist_plan_cost some_rows(const struct use *u)
{
    double d = (double)u->x->dim;
    double vectors = sequence_or(u, u->vectors, u->lookups / u->world) * u->world;
    double out = vectors * d * u->x->element;
    struct dist_plan_cost c = cost_of(u, u->lookups, d, d, vectors, 1);
    if (u->t->world > 1)
        c.forward_comm = c.backward_comm = out / network(u->t);
    c.backward_comm += out * BATCHED_COPY / u->bandwidth;
    return c;
}

static struct dist_plan_cost rows_of_host(const struct use *u, int64_t cols)
{
    double d = (double)cols, hosts = u->world / u->local;
    double vectors = sequence_or(u, u->vectors, u->lookups / u->local) * u->world;
    double out = vectors * d * u->x->element;
    struct dist_plan_cost c =
        cost_of(u, u->lookups / u->local * u->world, d, d, vectors, 1);
    c.forward_comm = out / u->t->intra;
    if (hosts > 1)
        c.forward_comm += u->vectors * hosts * d * u->x->element / u->t->cross;
    c.backward_comm = c.forward_comm + out * BATCHED_COPY / u->bandwidth;
    return c;
}

static struct dist_plan_cost copies(const struct use *u)
{
    double d = (double)u->x->dim, hosts = u->world / u->local;
    double n = hosts < 2 ? hosts : 2;
    struct dist_plan_cost c = cost_of(u, u->lookups, d, d, u->vectors, 1);
    if (u->t->world > 1)
        c.backward_comm = u->table * (2 * n - 1) / n / (u->t->cross * u->local) *
                          (u->world > 2 * u->local ? 2 : 1);
    c.backward_comm += u->table * ELEMENTWISE / u->bandwidth;
    return c;
}

/* The narrowest part that is wide enough; all of it where there is none. */
static int64_t columns_of_part(int64_t dim)
{
    for (int64_t d = BLOCK; d < dim; d += 4)
        if (dim % d == 0)
            return d;
    return dim;
}

static void add_shards(struct dist_plan_option *o, int n, struct dist_plan_shard shard)
{
    o->shards = mem_realloc(o->shards, (size_t)(o->n + n), sizeof(*o->shards));
    for (int i = 0; i < n; i++)
        o->shards[o->n++] = shard;
}

/* n parts of the rows, the last of them short. */
static void add_row_parts(struct dist_plan_option *o, int64_t rows, int n,
                          struct dist_plan_shard shard)
{
    int64_t each = (rows + n - 1) / n;
    for (int i = 0; i < n; i++) {
        int64_t left = rows - i * each;
        shard.rows = left < 0 ? 0 : left < each ? left : each;
        add_shards(o, 1, shard);
    }
}

static void cut(const struct use *u, struct dist_plan_option *o)
{
    const struct dist_plan_table *x = u->x;
    int64_t cols = columns_of_part(x->dim);
    struct dist_plan_shard all = {.rank = -1, .rows = x->rows, .cols = x->dim},
                           part = all;
    part.cols = cols;
    switch (o->kind) {
    case DIST_DATA_PARALLEL:
        all.cost = copies(u);
        add_shards(o, u->t->world, all);
        break;
    case DIST_TABLE_WISE:
        all.cost = whole_rows(u, x->dim);
        add_shards(o, 1, all);
        break;
    case DIST_COLUMN_WISE:
    case DIST_TABLE_COLUMN_WISE:
        part.cost = whole_rows(u, cols);
        add_shards(o, (int)(x->dim / cols), part);
        break;
    case DIST_ROW_WISE:
        all.cost = some_rows(u);
        add_row_parts(o, x->rows, u->t->world, all);
        break;
    case DIST_TABLE_ROW_WISE:
        all.cost = rows_of_host(u, x->dim);
        add_row_parts(o, x->rows, u->t->local, all);
        break;
    case DIST_GRID:
        part.cost = rows_of_host(u, cols);
        for (int64_t at = 0; at < x->dim; at += cols)
            add_row_parts(o, x->rows, u->t->local, part);
        break;
    case DIST_KINDS:
        break;
    }
}

/* Ids that come in and vectors that go out, in bytes. */
static double traffic(const struct use *u, enum dist_kind kind,
                      const struct dist_plan_shard *s)
{
    double in = u->lookups, width = (double)s->cols * u->x->element;
    double out = u->vectors * u->world * width;
    if (kind == DIST_DATA_PARALLEL)
        out = u->vectors * width;
    else if (kind == DIST_ROW_WISE)
        in = s->rows ? u->lookups : 0;
    else if (kind == DIST_TABLE_ROW_WISE || kind == DIST_GRID)
        in = u->lookups / u->local * u->world;
    else
        in = u->lookups * u->world;
    return ceil(in * ID) + ceil(out);
}

static void weigh(const struct use *u, enum dist_kind kind, enum dist_kernel kernel,
                  struct dist_plan_shard *s)
{
    double part = (double)s->rows * (double)s->cols * u->x->element;
    double kept = part * (1 + u->x->state), moves = traffic(u, kind, s);
    bool card = u->t->device_bytes > 0, away = kernel >= DIST_UVM;
    s->device_bytes = card ? moves + (away ? 0 : kept) : 0;
    s->host_bytes = card ? (away ? kept : 0) : moves + kept;
    if (kernel == DIST_UVM_CACHING) /* a part of it, and who is in it */
        s->device_bytes += kept * CACHED + (double)s->rows * (4 + 16 * CACHED);
}

void dist_plan_option_make(const struct dist_topology *t, const struct dist_plan_table *x,
                           enum dist_kind kind, enum dist_kernel kernel,
                           struct dist_plan_option *out)
{
    struct use u = {.t = t,
                    .x = x,
                    .lookups = x->inputs * x->pooling * t->batch,
                    .world = t->world,
                    .local = t->local,
                    .bandwidth = memory_bandwidth(t, kernel),
                    .table = (double)x->rows * (double)x->dim * x->element};
    u.vectors = x->sequence ? u.lookups : x->inputs * t->batch;
    *out = (struct dist_plan_option){.kind = kind, .kernel = kernel};
    cut(&u, out);
    for (int i = 0; i < out->n; i++)
        weigh(&u, kind, kernel, &out->shards[i]);
}

void dist_plan_option_release(struct dist_plan_option *o)
{
    mem_free(o->shards);
    *o = (struct dist_plan_option){0};
}
