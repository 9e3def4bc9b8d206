/* SPDX-License-Identifier: Apache-2.0 */
/* Running a graph: groups one after the other, tiles of a group on any thread. */
#include <math.h>
#include <string.h>

#include "nn/graph_private.h"

#define TILE_BYTES ((int64_t)512 << 10) /* of the widest value of a tile */
#define TILE_MIN 16
#define TILE_MAX 256
#define TILE_READ 128 /* rows that make up for reading a large weight once per tile, */
#define LARGE_BYTES ((int64_t)2 << 20) /* which does not stay in the cache, */
#define TILES_LEAST 32 /* as long as there are so many tiles for threads */
#define LOSS_GRAIN 4096

static bool has_large_weight(const struct graph *g)
{
    for (size_t i = 0; i < g->params.n; i++)
        if (g->params.at[i]->n * (int64_t)sizeof(float) > LARGE_BYTES)
            return true;
    return false;
}

static int64_t at_least(int64_t tile, int64_t least)
{
    return tile < least ? least : tile;
}

/* The same for any number of threads: it follows from the batch alone. */
static int64_t tile_rows(const struct graph *g)
{
    int64_t batch = g->env.rows.n[AXIS_BATCH], widest = 1;
    if (g->options.tile_rows)
        return g->options.tile_rows;
    for (size_t i = 0; i < g->vals.n && batch; i++) {
        const struct shape *s = &g->vals.at[i]->shape;
        int64_t per_row = shape_width(s) * (g->env.rows.n[s->axis] + batch - 1) / batch;
        widest = per_row > widest ? per_row : widest;
    }
    int64_t tile = TILE_BYTES / (widest * (int64_t)sizeof(float)) / 16 * 16;
    int64_t few = batch / TILES_LEAST / 16 * 16;
    if (has_large_weight(g))
        tile = at_least(tile, few < TILE_READ ? few : TILE_READ);
    return tile > TILE_MAX ? TILE_MAX : at_least(tile, TILE_MIN);
}

struct pass {
    struct graph *g;
    struct op_group group;
};

static void forward_tile(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct pass *p = arg;
    for (size_t i = p->group.from; i < p->group.to; i++)
        p->g->ops.at[i]->ops->forward(&p->g->ops.at[i]->run, begin, end);
}

static void zero_rows(const struct graph *g, const struct view *v, int axis,
                      int64_t begin, int64_t end)
{
    int64_t from, to;
    op_rows(&g->env, axis, begin, end, &from, &to);
    if (v->ld == v->width || v->dtype == DT_BF16) {
        memset(view_row(v, from), 0, (size_t)((to - from) * v->ld) * sizeof(float));
        return;
    }
    for (int64_t r = from; r < to; r++)
        memset(view_row(v, r), 0, (size_t)v->width * sizeof(float));
}

static void backward_op(struct graph *g, struct op_node *n, int64_t begin, int64_t end)
{
    for (int k = 0; k < n->n_in; k++)
        if (n->fresh[k] && n->d_in_views[k].data && !(n->ops->flags & OP_WRITES))
            zero_rows(g, &n->d_in_views[k], n->in_axis[k], begin, end);
    for (int k = 0; k < n->n_out; k++)
        if (!n->out[k]->reached && n->d_out_views[k].data)
            zero_rows(g, &n->d_out_views[k], n->out_axis[k], begin, end);
    if (n->ops->backward)
        n->ops->backward(&n->run, begin, end);
}

static void backward_tile(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct pass *p = arg;
    for (size_t i = p->group.to; i-- > p->group.from;)
        if (p->g->ops.at[i]->backward)
            backward_op(p->g, p->g->ops.at[i], begin, end);
}

static double sum_rows(void *arg, int64_t begin, int64_t end)
{
    const struct view *v = arg;
    double sum = 0;
    for (int64_t r = begin; r < end; r++)
        sum += (double)*view_row(v, r);
    return sum;
}

static void sum_losses(struct graph *g)
{
    for (size_t i = 0; i < g->losses.n; i++) {
        struct view v = g->losses.at[i].val->view;
        int64_t parts = pool_chunks(v.rows, LOSS_GRAIN);
        if (parts > g->n_loss_parts) {
            mem_free(g->loss_parts);
            g->loss_parts = mem_calloc((size_t)parts, sizeof(double));
            g->n_loss_parts = parts;
        }
        g->losses.at[i].sum =
            pool_sum(g->env.pool, v.rows, LOSS_GRAIN, sum_rows, &v, g->loss_parts);
    }
}

void graph_training(struct graph *g, bool on)
{
    g->env.training = on && g->options.training;
}

static void begin_ops(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct graph *g = arg;
    for (int64_t i = begin; i < end; i++)
        if (g->ops.at[i]->ops->begin)
            g->ops.at[i]->ops->begin(&g->ops.at[i]->run);
}

void graph_forward(struct graph *g, uint64_t step)
{
    g->env.step = step;
    g->tile = tile_rows(g);
    if (!g->begun)
        pool_for(g->env.pool, (int64_t)g->ops.n, 1, begin_ops, g);
    g->begun = g->options.fixed;
    for (size_t i = 0; i < g->forward_groups.n; i++) {
        struct pass p = {g, g->forward_groups.at[i]};
        const struct op_node *first = g->ops.at[p.group.from];
        if (first->ops->sync_forward)
            first->ops->sync_forward(&first->run);
        pool_for(g->env.pool, g->env.rows.n[AXIS_BATCH], g->tile, forward_tile, &p);
    }
    sum_losses(g);
}

/* d(total)/d(each row of a loss): one, unless graph_seed() said otherwise. */
static void seed_losses(struct graph *g)
{
    for (size_t i = 0; i < g->losses.n; i++) {
        struct view d = g->losses.at[i].val->grad;
        for (int64_t r = 0; d.data && r < d.rows; r++)
            *view_row(&d, r) = g->losses.at[i].seed;
    }
}

void graph_seed(struct graph *g, size_t loss, float seed)
{
    g->losses.at[loss].seed = seed;
}

void graph_backward(struct graph *g, bool zero)
{
    if (zero && g->grads)
        memset(g->grads, 0, (size_t)g->n_grads * sizeof(float));
    seed_losses(g);
    for (size_t i = 0; i < g->backward_groups.n; i++) {
        struct pass p = {g, g->backward_groups.at[i]};
        const struct op_node *first = g->ops.at[p.group.to - 1];
        if (first->backward && first->ops->sync_backward)
            first->ops->sync_backward(&first->run);
        pool_for(g->env.pool, g->env.rows.n[AXIS_BATCH], g->tile, backward_tile, &p);
        for (size_t k = p.group.to; k-- > p.group.from;)
            if (g->ops.at[k]->backward && g->ops.at[k]->ops->grads)
                g->ops.at[k]->ops->grads(&g->ops.at[k]->run);
    }
}

double graph_loss(const struct graph *g)
{
    double sum = 0;
    for (size_t i = 0; i < g->losses.n; i++)
        if (g->env.training || !g->losses.at[i].training)
            sum += g->losses.at[i].sum;
    return sum;
}

size_t graph_n_losses(const struct graph *g)
{
    return g->losses.n;
}

const char *graph_loss_name(const struct graph *g, size_t loss)
{
    return g->losses.at[loss].name;
}

double graph_loss_at(const struct graph *g, size_t loss)
{
    return g->losses.at[loss].sum;
}

bool graph_loss_training(const struct graph *g, size_t loss)
{
    return g->losses.at[loss].training;
}

double graph_loss_named(const struct graph *g, const char *name)
{
    for (size_t i = 0; i < g->losses.n; i++)
        if (strcmp(g->losses.at[i].name, name) == 0)
            return g->losses.at[i].sum;
    return (double)NAN;
}
