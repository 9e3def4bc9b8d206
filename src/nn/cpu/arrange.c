/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPU decides once for a graph: the implementation of each op (choose.c) and its
 * state, which values lie inside others or as bf16, and the groups of ops that a tile
 * goes through without waiting for the other tiles. A group is a moment of the pass: in
 * it all of its values are alive.
 */
#include "base/mem.h"
#include "nn/cpu/cpu_private.h"

/* A concat needs no copy of an input that nobody else reads and whose op can write rows
 * with a stride: the input lies inside the result from the start. Rows of fields are
 * taken apart by ops that know no stride: they are copied.
 */
static void place_in_concats(struct graph *g)
{
    for (size_t i = 0; i < g->ops.n; i++) {
        struct op_node *n = g->ops.at[i];
        int64_t col = 0;
        for (int k = 0; n->op == &op_concat && k < n->n_in; k++) {
            struct nn_val *v = n->in[k];
            if (v->by && (nn_cpu_op_of(v->by)->flags & CPU_STRIDED) && v->n_uses == 1 &&
                !v->host && !v->kept && v->shape.n_dims == 1) {
                v->host = n->out[0];
                v->host_col = col;
            }
            col += nn_shape_width(&v->shape);
        }
    }
}

/* All of a value in another shape is that value when nobody else reads it. */
static void place_reshapes(struct graph *g)
{
    for (size_t i = 0; i < g->ops.n; i++) {
        const struct op_node *n = g->ops.at[i];
        if (n->op != &op_slice)
            continue;
        struct nn_val *x = n->in[0], *y = n->out[0];
        if (x->n_uses == 1 && !y->kept && !graph_is_loss(g, y) && !graph_is_loss(g, x) &&
            nn_shape_width(&x->shape) == nn_shape_width(&y->shape)) {
            y->host = x;
            y->host_col = 0;
        }
    }
}

static unsigned bf16_of(const struct op_node *n)
{
    return nn_cpu_op_of(n)->bf16 ? nn_cpu_op_of(n)->bf16(nn_cpu_conf(n), n->state) : 0;
}

/* What one op that can do so writes and one reads lies in memory as bf16. */
static void mark_bf16(struct graph *g)
{
    for (size_t i = 0; i < g->ops.n; i++) {
        struct nn_val *v = g->ops.at[i]->in[0];
        if ((bf16_of(g->ops.at[i]) & CPU_BF16_IN) && v->by && v->index == 0 &&
            (bf16_of(v->by) & CPU_BF16_OUT) && v->n_uses == 1 && !v->kept && !v->host &&
            !graph_is_loss(g, v) && v->shape.n_dims == 1)
            v->dtype = DT_BF16;
    }
}

static void cut_groups(struct graph *g, struct nn_cpu_plan *p)
{
    for (size_t i = 0; i < g->ops.n; i++) {
        if (i == 0 || nn_cpu_op_of(g->ops.at[i])->sync_forward)
            VEC_PUSH(&p->forward, ((struct nn_cpu_group){.from = i, .to = i}));
        p->forward.at[p->forward.n - 1].to = i + 1;
        g->ops.at[i]->forward_at = (int)p->forward.n - 1;
    }
    for (size_t i = g->ops.n; i-- > 0;) {
        bool sync = nn_cpu_op_of(g->ops.at[i])->sync_backward && g->ops.at[i]->backward;
        if (p->backward.n == 0 || sync)
            VEC_PUSH(&p->backward, ((struct nn_cpu_group){.from = i, .to = i + 1}));
        p->backward.at[p->backward.n - 1].from = i;
        g->ops.at[i]->backward_at = (int)p->backward.n - 1;
    }
    g->n_forward = (int)p->forward.n;
    g->n_backward = (int)p->backward.n;
}

static enum rc set_up(const struct graph *g, struct op_node *n, struct err *err)
{
    struct nn_shape in[OP_INPUTS_MAX], out[OP_OUTPUTS_MAX];
    for (int i = 0; i < n->n_in; i++)
        in[i] = n->in[i]->shape;
    for (int i = 0; i < n->n_out; i++)
        out[i] = n->out[i]->shape;
    nn_cpu_choose(n->in[0]->graph, n);
    const struct nn_cpu_op *impl = nn_cpu_op_of(n);
    enum rc rc = impl->setup ? impl->setup(nn_cpu_conf(n), in, out, g->options.training,
                                           &n->state, err)
                             : RC_OK;
    if (rc && n->layer[0])
        return err_wrap(err, rc, "%s: %s", n->layer, n->op->name);
    return rc ? err_wrap(err, rc, "%s", n->op->name) : RC_OK;
}

enum rc nn_cpu_arrange(struct graph *g, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < g->ops.n && !rc; i++)
        rc = set_up(g, g->ops.at[i], err);
    if (rc)
        return rc;
    struct nn_cpu_plan *p = g->plan = mem_calloc(1, sizeof(*p));
    place_reshapes(g);
    place_in_concats(g);
    mark_bf16(g);
    cut_groups(g, p);
    return RC_OK;
}

void nn_cpu_release(struct graph *g)
{
    struct nn_cpu_plan *p = g->plan;
    for (size_t i = 0; i < g->ops.n; i++) {
        struct op_node *n = g->ops.at[i];
        if (n->state)
            nn_cpu_op_of(n)->teardown(n->state);
        n->state = NULL;
    }
    if (p) {
        VEC_RELEASE(&p->forward);
        VEC_RELEASE(&p->backward);
        mem_free(p->loss_parts);
    }
    mem_free(p);
    g->plan = NULL;
}
