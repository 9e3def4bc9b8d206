/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU runs a graph: groups one after the other, tiles of a group on any thread. How
 * many rows a tile has follows from the batch alone, so that no sum depends on the number
 * of threads.
 */
#include <string.h>

#include "base/mem.h"
#include "nn/cpu/cpu_private.h"
#include "tensor/kernel.h"

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

static int64_t longest_axis(const struct graph *g)
{
    int64_t most = 0;
    for (int i = 0; i < g->n_axes; i++)
        most = at_least(most, g->env.rows.n[i]);
    return most;
}

/* The same for any number of threads: it follows from the batch alone. */
static int64_t tile_rows(const struct graph *g)
{
    int64_t batch = g->env.rows.n[AXIS_BATCH], widest = 1;
    if (g->options.tile_rows)
        return g->options.tile_rows;
    for (size_t i = 0; i < g->vals.n && batch; i++) {
        const struct nn_shape *s = &g->vals.at[i]->shape;
        int64_t per_row =
            nn_shape_width(s) * (g->env.rows.n[s->axis] + batch - 1) / batch;
        widest = per_row > widest ? per_row : widest;
    }
    int64_t tile = TILE_BYTES / (widest * (int64_t)sizeof(float)) / 16 * 16;
    if (tile < TILE_MIN && longest_axis(g) >= TILE_MIN * batch)
        return 1; /* a row of the batch has more rows than a tile wants */
    int64_t few = batch / TILES_LEAST / 16 * 16;
    if (has_large_weight(g))
        tile = at_least(tile, few < TILE_READ ? few : TILE_READ);
    return tile > TILE_MAX ? TILE_MAX : at_least(tile, TILE_MIN);
}

struct pass {
    struct graph *g;
    struct nn_cpu_group group;
};

static void forward_tile(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct pass *p = arg;
    for (size_t i = p->group.from; i < p->group.to; i++)
        nn_cpu_op_of(p->g->ops.at[i])->forward(&p->g->ops.at[i]->run, begin, end);
}

/* The same where some values are alike in all rows: forward_alike() has made them. */
static void forward_others(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct pass *p = arg;
    for (size_t i = p->group.from; i < p->group.to; i++)
        if (!nn_cpu_is_alike(p->g->ops.at[i]))
            nn_cpu_op_of(p->g->ops.at[i])->forward(&p->g->ops.at[i]->run, begin, end);
}

/* In a group all values are alive: which op comes first is free but for what they read. */
static void forward_alike(const struct pass *p)
{
    for (size_t i = p->group.from; i < p->group.to; i++) {
        const struct op_node *n = p->g->ops.at[i];
        if (!nn_cpu_is_alike(n))
            continue;
        nn_cpu_op_of(n)->forward(&n->run, 0, 1);
        for (int k = 0; k < n->n_out; k++)
            if (n->out[k]->spread)
                nn_cpu_spread(p->g, n->out[k]);
    }
}

static void spread_inputs(const struct graph *g)
{
    for (size_t i = 0; i < g->vals.n; i++)
        if (!g->vals.at[i]->by && g->vals.at[i]->spread)
            nn_cpu_spread(g, g->vals.at[i]);
}

static void zero_rows(const struct graph *g, const struct view *v, int axis,
                      int64_t begin, int64_t end)
{
    int64_t from, to;
    nn_cpu_rows(&g->env, axis, begin, end, &from, &to);
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
        if (n->fresh[k] && n->d_in_views[k].data &&
            !(nn_cpu_op_of(n)->flags & CPU_WRITES))
            zero_rows(g, &n->d_in_views[k], n->in_axis[k], begin, end);
    for (int k = 0; k < n->n_out; k++)
        if (!n->out[k]->reached && n->d_out_views[k].data)
            zero_rows(g, &n->d_out_views[k], n->out_axis[k], begin, end);
    if (nn_cpu_op_of(n)->backward)
        nn_cpu_op_of(n)->backward(&n->run, begin, end);
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
    struct nn_cpu_plan *p = g->plan;
    for (size_t i = 0; i < g->losses.n; i++) {
        struct view v = g->losses.at[i].val->view;
        int64_t parts = pool_chunks(v.rows, LOSS_GRAIN);
        if (parts > p->n_loss_parts) {
            mem_free(p->loss_parts);
            p->loss_parts = mem_calloc((size_t)parts, sizeof(double));
            p->n_loss_parts = parts;
        }
        g->losses.at[i].sum =
            pool_sum(g->env.pool, v.rows, LOSS_GRAIN, sum_rows, &v, p->loss_parts);
    }
}

static void begin_ops(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct graph *g = arg;
    for (int64_t i = begin; i < end; i++)
        if (nn_cpu_op_of(g->ops.at[i])->begin)
            nn_cpu_op_of(g->ops.at[i])->begin(&g->ops.at[i]->run);
}

void nn_cpu_run_forward(struct graph *g)
{
    struct nn_cpu_plan *plan = g->plan;
    plan->tile = tile_rows(g);
    if (!plan->begun)
        pool_for(g->env.pool, (int64_t)g->ops.n, 1, begin_ops, g);
    plan->begun = g->options.fixed;
    bool alike = !g->env.training && nn_cpu_mark_alike(g);
    if (alike)
        spread_inputs(g);
    if (g->options.fixed)
        nn_cpu_tell_once(g);
    for (size_t i = 0; i < plan->forward.n; i++) {
        struct pass p = {g, plan->forward.at[i]};
        const struct op_node *first = g->ops.at[p.group.from];
        if (nn_cpu_op_of(first)->sync_forward)
            nn_cpu_op_of(first)->sync_forward(&first->run);
        if (alike)
            forward_alike(&p);
        pool_for(g->env.pool, g->env.rows.n[AXIS_BATCH], plan->tile,
                 alike ? forward_others : forward_tile, &p);
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

void nn_cpu_run_backward(struct graph *g, bool zero)
{
    const struct nn_cpu_plan *plan = g->plan;
    if (zero && g->grads.at)
        memset(g->grads.at, 0, (size_t)g->grads.n * sizeof(float));
    seed_losses(g);
    for (size_t i = 0; i < plan->backward.n; i++) {
        struct pass p = {g, plan->backward.at[i]};
        const struct op_node *first = g->ops.at[p.group.to - 1];
        if (first->backward && nn_cpu_op_of(first)->sync_backward)
            nn_cpu_op_of(first)->sync_backward(&first->run);
        pool_for(g->env.pool, g->env.rows.n[AXIS_BATCH], plan->tile, backward_tile, &p);
        for (size_t k = p.group.to; k-- > p.group.from;)
            if (g->ops.at[k]->backward && nn_cpu_op_of(g->ops.at[k])->grads)
                nn_cpu_op_of(g->ops.at[k])->grads(&g->ops.at[k]->run);
        if (g->watch && p.group.from > 0)
            g->watch(g->watch_arg, p.group.from);
    }
}

bool nn_cpu_scale_rows(const struct device *d, const struct view *v, float by)
{
    bool finite = true;
    for (int64_t r = 0; r < v->rows; r++) {
        kernels()->scale(view_row(v, r), by, v->width);
        finite = kernels()->finite(view_row(v, r), v->width) && finite;
    }
    return finite;
}
