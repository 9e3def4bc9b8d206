/* SPDX-License-Identifier: Apache-2.0 */
/* How linear layers of a graph are run. With products in bf16 a layer rounds its factors in
 * memory, once, and what passes between two such layers is bf16 itself: half the bytes, and
 * products that take twice as many of them. Everything else stays f32.
 */
#include <string.h>

#include "base/mem.h"
#include "cuda/cuda_private.h"
#include "nn/op/linear.h"

#define BF16_MULTIPLE 8 /* 16 bytes */

static struct cuda_linear *linear_of(const struct op_node *n)
{
    return n && n->impl && strcmp(n->op->name, op_linear.name) == 0 ? n->state : NULL;
}

static bool is_plain(const struct nn_val *v)
{
    return v->shape.n_dims == 1 && !v->host;
}

static bool is_bf16(const struct graph *g, const struct op_node *n)
{
    const struct op_linear_conf *c = n->conf;
    return c->precision == GEMM_BF16 && c->out > 1 && n->in[0]->shape.n_dims == 1 &&
           n->out[0]->shape.n_dims == 1 && cuda_of(g->device)->blas.lt;
}

/* Whether the layer `n` alone reads what `by` makes. */
static bool is_between(const struct graph *g, const struct op_node *by,
                       const struct op_node *n)
{
    const struct nn_val *v = n->in[0];
    const struct op_linear_conf *c = by->conf;
    return c->bias && c->out % BF16_MULTIPLE == 0 &&
           (c->act == GEMM_ACT_RELU || c->act == GEMM_ACT_NONE) && v->n_uses == 1 &&
           !v->kept && is_plain(v) && !v->stride && !graph_is_loss(g, v);
}

/* A value that others lie inside, or that a test reads, stays as it is. */
static void pass_bf16(struct graph *g, struct op_node *n)
{
    struct cuda_linear *l = n->state, *by = linear_of(n->in[0]->by);
    if (g->options.keep || !by || !l->bf16 || !by->bf16 ||
        !is_between(g, n->in[0]->by, n))
        return;
    n->in[0]->dtype = DT_BF16;
    l->in16 = by->out16 = true;
}

/* An input of several layers is rounded by the first of them. */
static const struct cuda_linear *same_input(const struct graph *g, size_t i)
{
    const struct op_node *n = g->ops.at[i];
    for (size_t k = 0; k < i; k++) {
        const struct cuda_linear *l = linear_of(g->ops.at[k]);
        if (l && l->bf16 && !l->in16 && !l->same && g->ops.at[k]->in[0] == n->in[0])
            return l;
    }
    return NULL;
}

void cuda_linear_plan(struct graph *g)
{
    for (size_t i = 0; i < g->ops.n; i++) {
        struct op_node *n = g->ops.at[i];
        if (!n->impl || strcmp(n->op->name, op_linear.name) != 0)
            continue;
        struct cuda_linear *l = n->state = mem_calloc(1, sizeof(*l));
        l->own_stride = is_plain(n->in[0]) && n->in[0]->stride > 0;
        l->bf16 = is_bf16(g, n);
        pass_bf16(g, n);
        if (l->bf16 && !l->in16)
            l->same = same_input(g, i);
    }
}

uint64_t cuda_linear_mix(const struct graph *g, uint64_t into)
{
    for (size_t i = 0; i < g->ops.n; i++) {
        const struct cuda_linear *l = linear_of(g->ops.at[i]);
        if (l)
            into = cuda_digest(cuda_digest(into, (uint64_t)(uintptr_t)l->x.at),
                               (uint64_t)(uintptr_t)l->w.at);
    }
    return into;
}

void cuda_linear_release(struct graph *g)
{
    for (size_t i = 0; i < g->ops.n; i++) {
        struct cuda_linear *l = linear_of(g->ops.at[i]);
        if (!l)
            continue;
        cuda_room_release(&l->x, false);
        cuda_room_release(&l->w, false);
        mem_free(l);
        g->ops.at[i]->state = NULL;
    }
}
