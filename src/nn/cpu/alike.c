/* SPDX-License-Identifier: Apache-2.0 */
/* What is the same in all rows of a batch: a user beside many candidates. From inputs that
 * are said to be so (graph_alike()) it follows for the ops that read nothing else; they are
 * run for the first row. Where another op or the host reads their values, that row is
 * copied to all others.
 */
#include <string.h>

#include "nn/cpu/cpu_private.h"

/* Every row of the batch has as many rows of the axis. */
static bool is_even(const struct graph *g, int axis)
{
    const int64_t *at = g->env.rows.offsets[axis];
    int64_t rows = g->env.rows.n[AXIS_BATCH];
    if (!at)
        return g->env.rows.n[axis] == rows;
    for (int64_t r = 1; r < rows; r++)
        if (at[r + 1] - at[r] != at[1] - at[0])
            return false;
    return at[0] == 0;
}

static bool follows_from_inputs(const struct nn_cpu_op *op)
{
    return !(op->flags & CPU_DRAWS) &&
           (!op->sync_forward || (op->flags & CPU_SYNC_TRAINING));
}

bool nn_cpu_is_alike(const struct op_node *n)
{
    return n->out[0]->alike;
}

static void mark_op(struct graph *g, struct op_node *n)
{
    bool alike = follows_from_inputs(nn_cpu_op_of(n));
    for (int k = 0; k < n->n_in && alike; k++)
        alike = n->in[k]->alike && is_even(g, n->in_axis[k]);
    for (int k = 0; k < n->n_out && alike; k++)
        alike = is_even(g, n->out_axis[k]);
    for (int k = 0; k < n->n_out; k++) {
        n->out[k]->alike = alike;
        n->out[k]->spread = alike && n->out[k]->kept;
    }
    for (int k = 0; k < n->n_in; k++)
        n->in[k]->spread |= n->in[k]->alike && !alike;
}

bool nn_cpu_mark_alike(struct graph *g)
{
    bool any = false;
    for (size_t i = 0; i < g->vals.n; i++) {
        g->vals.at[i]->spread = false;
        any |= !g->vals.at[i]->by && g->vals.at[i]->alike;
    }
    for (size_t i = 0; i < g->ops.n && any; i++)
        mark_op(g, g->ops.at[i]);
    return any;
}

void nn_cpu_tell_once(const struct graph *g)
{
    for (size_t i = 0; i < g->ops.n; i++) {
        const struct op_node *n = g->ops.at[i];
        const struct nn_val *x = n->in[0];
        if (nn_cpu_op_of(n)->once && !x->by)
            nn_cpu_op_of(n)->once(&n->run, x->once, n->out[0]->alike ? 0 : x->n_once);
    }
}

void nn_cpu_spread(const struct graph *g, const struct nn_val *v)
{
    int64_t from, to;
    nn_cpu_rows(&g->env, v->shape.axis, 0, 1, &from, &to);
    bool whole = v->view.ld == v->view.width || v->view.dtype == DT_BF16;
    int64_t step = whole ? (to - from) * v->view.ld : v->view.width;
    int64_t times = whole ? 1 : to - from;
    for (int64_t r = to; r < v->view.rows; r += to - from)
        for (int64_t k = 0; k < times; k++)
            memcpy(view_row(&v->view, r + k), view_row(&v->view, from + k),
                   (size_t)step * sizeof(float));
}
