/* SPDX-License-Identifier: Apache-2.0 */
/* How the CPU chooses among several ways to run the same op.
 *
 * Every product of a linear layer is one of these; values differ by rounding alone.
 *   packed  the weight is laid out once per step for the kernel of this processor
 *           (tensor/gemm.h): the usual way. tensor/gemm.c picks the kernel.
 *   small   matrices up to GEMM_SMALL_K wide, one product per row (gemm_small()): ops
 *           over the fields or heads of a row, and columns of the next.
 *   coded   a first layer whose input has columns that take few values, the vectors of
 *           small tables: products are worked out per value, and rows add them up
 *           (linear_coded.c). Decided in three steps: nn_coded() accepts a feature
 *           (nn_cpu_accept_codes() here), plan() takes the layer where it gains by what was
 *           accepted (layer_gains()), and graph_codes() uses it in batches with enough
 *           rows per value (coded.c); in others the same layer is a packed one.
 *
 * What coding gains was measured with products of f32, where a vector of sixteen columns
 * costs a row 48 multiplications per unit in the three products of a step, and a code the
 * time of eight: one addition forwards and one backwards, from memory. With tiles of bf16
 * the products are the cheaper ones, so it is left out there.
 */
#include "nn/cpu/cpu_private.h"
#include "nn/op/linear.h"

#define WIDTH_MIN 8
#define WIDTH_MAX GEMM_SMALL_K
#define VALUES_MAX GEMM_SMALL_K /* of a stretch */
#define CODES_MAX 640           /* of an input: their products are to stay in the cache */
#define LANES 16                /* units of a vector */
#define UNITS_MIN 64

static bool feature_gains(const struct graph *g, const struct nn_val *v, int64_t width,
                          int64_t n)
{
    const struct nn_cpu_coded *c = v->coded;
    return g->options.training && g->options.precision == GEMM_F32 && !v->by &&
           v->shape.n_dims == 1 && width >= WIDTH_MIN && width <= WIDTH_MAX && n > 0 &&
           n <= VALUES_MAX && (!c || (c->n < CODED_MAX && c->n_codes + n < CODES_MAX));
}

/* The first column behind the stretches that are there. */
static int64_t behind(const struct nn_cpu_coded *c)
{
    return c ? c->at[c->n - 1].col + c->at[c->n - 1].width : 0;
}

bool nn_cpu_accept_codes(struct graph *g, struct nn_val *v, int64_t col, int64_t width,
                         int64_t n)
{
    if (!v || !feature_gains(g, v, width, n) || col < behind(v->coded) ||
        col + width > v->shape.dims[0])
        return false;
    if (!v->coded) {
        v->coded = arena_alloc(&g->arena, sizeof(*v->coded));
        v->coded->first = arena_alloc(&g->arena, CODES_MAX * sizeof(*v->coded->first));
    }
    struct nn_cpu_coded *c = v->coded;
    c->at[c->n++] = (struct nn_cpu_coded_stretch){
        .col = col, .width = width, .from = c->n_codes, .n = n};
    c->n_codes += n + 1;
    v->beside_width = c->n;
    return true;
}

/* Per row and sixteen units: three multiplications for each coded column are saved; a
 * code takes the time of 8. Moving sixteen of the other columns takes that of 32.
 */
static bool layer_gains(const struct nn_val *x, int64_t out)
{
    const struct nn_cpu_coded *c = x->coded;
    if (!c || out < UNITS_MIN || out % LANES != 0)
        return false;
    int64_t coded = nn_cpu_coded_width(c), rest = nn_shape_width(&x->shape) - coded;
    return (3 * coded - 8 * c->n) * out > 32 * rest;
}

/* The layer as one on coded columns. */
static void use_codes(struct graph *g, struct op_node *n)
{
    const struct op_linear_conf *c = n->conf;
    const struct nn_val *x = n->in[0];
    struct nn_cpu_coded_conf *conf = arena_alloc(&g->arena, sizeof(*conf));
    *conf = (struct nn_cpu_coded_conf){
        .coded = x->coded, .act = c->act, .bias = c->bias, .out = c->out};
    n->impl = &nn_cpu_linear_coded;
    n->impl_conf = conf;
    n->keep_width = nn_cpu_coded_keep_width(x->coded, nn_shape_width(&x->shape));
}

void nn_cpu_choose(struct graph *g, struct op_node *n)
{
    n->impl = nn_cpu_find(n->op);
    if (n->op == &op_linear) {
        const struct op_linear_conf *c = n->conf;
        if (c->whole && layer_gains(n->in[0], c->out))
            use_codes(g, n);
    }
}
