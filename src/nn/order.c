/* SPDX-License-Identifier: Apache-2.0 */
/* What can be decided once, before the number of rows is known. */
#include "nn/graph_private.h"

/* From the losses backwards: which values a loss depends on. */
static void mark_reached(struct graph *g)
{
    for (size_t i = 0; i < g->losses.n; i++)
        g->losses.at[i].val->reached = true;
    for (size_t i = g->ops.n; i-- > 0;) {
        struct op_node *n = g->ops.at[i];
        bool reached = false;
        for (int k = 0; k < n->n_out; k++)
            reached |= n->out[k]->reached && n->out[k]->needs_grad;
        n->backward = reached && g->options.training && !(n->ops->flags & OP_NO_GRAD);
        for (int k = 0; n->backward && k < n->n_in; k++)
            n->in[k]->reached = true;
    }
}

static bool wants_grad(const struct val *v)
{
    return v->needs_grad && v->reached && v->graph->options.training;
}

static bool is_loss(const struct graph *g, const struct val *v)
{
    for (size_t i = 0; i < g->losses.n; i++)
        if (g->losses.at[i].val == v)
            return true;
    return false;
}

/* In the backward pass the last op that reads a value is the first to write its gradient.
 */
static void mark_fresh(struct graph *g)
{
    for (size_t i = 0; i < g->ops.n; i++) {
        struct op_node *n = g->ops.at[i];
        if (!n->backward)
            continue;
        for (int k = 0; k < n->n_in; k++) {
            struct val *v = n->in[k];
            bool later = false;
            for (size_t j = i; j < g->ops.n && !later; j++) {
                const struct op_node *m = g->ops.at[j];
                for (int x = 0; m->backward && x < m->n_in; x++)
                    later |= m->in[x] == v && (j > i || x < k);
            }
            n->fresh[k] = !later && wants_grad(v) && !is_loss(g, v);
        }
    }
}

/* A concat needs no copy of an input that nobody else reads and whose op can write rows
 * with a stride: the input lies inside the result from the start. Rows of fields are
 * taken apart by ops that know no stride: they are copied.
 */
static void place_in_concats(struct graph *g)
{
    for (size_t i = 0; i < g->ops.n; i++) {
        struct op_node *n = g->ops.at[i];
        int64_t col = 0;
        for (int k = 0; n->ops == &op_concat && k < n->n_in; k++) {
            struct val *v = n->in[k];
            if (v->by && (v->by->ops->flags & OP_STRIDED) && v->n_uses == 1 && !v->host &&
                !v->kept && v->shape.n_dims == 1) {
                v->host = n->out[0];
                v->host_col = col;
            }
            col += shape_width(&v->shape);
        }
    }
}

/* All of a value in another shape is that value when nobody else reads it. */
static void place_reshapes(struct graph *g)
{
    for (size_t i = 0; i < g->ops.n; i++) {
        const struct op_node *n = g->ops.at[i];
        if (n->ops != &op_take)
            continue;
        struct val *x = n->in[0], *y = n->out[0];
        if (x->n_uses == 1 && !y->kept && !is_loss(g, y) && !is_loss(g, x) &&
            shape_width(&x->shape) == shape_width(&y->shape)) {
            y->host = x;
            y->host_col = 0;
        }
    }
}

static unsigned bf16_of(const struct op_node *n)
{
    return n->ops->bf16 ? n->ops->bf16(n->conf, n->state) : 0;
}

/* What one op that can do so writes and one reads lies in memory as bf16. */
static void mark_bf16(struct graph *g)
{
    for (size_t i = 0; i < g->ops.n; i++) {
        struct val *v = g->ops.at[i]->in[0];
        if ((bf16_of(g->ops.at[i]) & OP_BF16_IN) && v->by && v->index == 0 &&
            (bf16_of(v->by) & OP_BF16_OUT) && v->n_uses == 1 && !v->kept && !v->host &&
            !is_loss(g, v) && v->shape.n_dims == 1)
            v->dtype = DT_BF16;
    }
}

static void cut_groups(struct graph *g)
{
    for (size_t i = 0; i < g->ops.n; i++) {
        if (i == 0 || g->ops.at[i]->ops->sync_forward)
            VEC_PUSH(&g->forward_groups, ((struct op_group){.from = i, .to = i}));
        g->forward_groups.at[g->forward_groups.n - 1].to = i + 1;
        g->ops.at[i]->forward_group = (int)g->forward_groups.n - 1;
    }
    for (size_t i = g->ops.n; i-- > 0;) {
        bool sync = g->ops.at[i]->ops->sync_backward && g->ops.at[i]->backward;
        if (g->backward_groups.n == 0 || sync)
            VEC_PUSH(&g->backward_groups, ((struct op_group){.from = i, .to = i + 1}));
        g->backward_groups.at[g->backward_groups.n - 1].from = i;
        g->ops.at[i]->backward_group = (int)g->backward_groups.n - 1;
    }
}

void graph_prune(struct graph *g)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->outputs.n; i++)
        g->outputs.at[i].val->reached = true;
    for (size_t i = g->ops.n; i-- > 0;) {
        struct op_node *n = g->ops.at[i];
        bool needed = false;
        for (int k = 0; k < n->n_out; k++)
            needed |= n->out[k]->reached;
        for (int k = 0; k < n->n_in; k++) {
            n->in[k]->reached |= needed;
            n->in[k]->n_uses -= !needed;
        }
        n->backward = needed;
    }
    for (size_t i = 0; i < g->ops.n; i++) {
        struct op_node *n = g->ops.at[i];
        if (n->backward)
            g->ops.at[kept++] = n;
        else if (n->state)
            n->ops->teardown(n->state);
        n->backward = false;
    }
    g->ops.n = kept;
    g->losses.n = 0;
    for (size_t i = 0; i < g->vals.n; i++)
        g->vals.at[i]->reached = false;
}

void graph_order(struct graph *g)
{
    mark_reached(g);
    mark_fresh(g);
    place_reshapes(g);
    place_in_concats(g);
    mark_bf16(g);
    cut_groups(g);
}
