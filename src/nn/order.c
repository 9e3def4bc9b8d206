/* SPDX-License-Identifier: Apache-2.0 */
/* What can be decided once for every device, before the number of rows is known: which
 * ops are needed, which take part in the backward pass, and which of them is the first to
 * write a gradient. Ops stand in the order in which they were built, which is an order in
 * which they can run.
 */
#include "nn/graph_private.h"

bool graph_is_loss(const struct graph *g, const struct nn_val *v)
{
    for (size_t i = 0; i < g->losses.n; i++)
        if (g->losses.at[i].val == v)
            return true;
    return false;
}

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
        n->backward = reached && g->options.training && !(n->op->flags & OP_NO_GRAD);
        for (int k = 0; n->backward && k < n->n_in; k++)
            n->in[k]->reached = true;
    }
}

static bool wants_grad(const struct nn_val *v)
{
    return v->needs_grad && v->reached && v->graph->options.training;
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
            struct nn_val *v = n->in[k];
            bool later = false;
            for (size_t j = i; j < g->ops.n && !later; j++) {
                const struct op_node *m = g->ops.at[j];
                for (int x = 0; m->backward && x < m->n_in; x++)
                    later |= m->in[x] == v && (j > i || x < k);
            }
            n->fresh[k] = !later && wants_grad(v) && !graph_is_loss(g, v);
        }
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
}
