/* SPDX-License-Identifier: Apache-2.0 */
/* The card runs a graph: one op after the other, each over all rows. An op that the card
 * has kernels for (op/) runs there; any other runs on the CPU with its values copied back
 * and forth (host_op.c), so that every model works and what is missing costs time alone.
 */
#include <cuda_runtime_api.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cuda/cuda_private.h"
#include "nn/cpu/cpu.h"
#include "nn/op.h"

/* graph.plan */
struct cuda_plan {
    struct host_op **host;      /* [ops]: NULL where the card has kernels */
    int64_t *offsets[AXES_MAX]; /* the card's copies */
    int64_t room[AXES_MAX];     /* elements of each */
    double *sums;               /* of losses */
    struct cuda_room *kept;     /* [ops]: what an op keeps for its backward pass */
};

static const struct cuda_op *choose(const struct op_node *n)
{
    const struct cuda_op *impl = cuda_op_find(n->op->name);
    struct nn_shape in[OP_INPUTS_MAX];
    for (int i = 0; i < n->n_in; i++)
        in[i] = n->in[i]->shape;
    return impl && (!impl->fits || impl->fits(n->conf, in, n->n_in)) ? impl : NULL;
}

static bool has_op(const struct op *op)
{
    return host_op_named(op->name) != NULL;
}

/* All of a value in another shape is that value when nobody else reads it. */
static void place_reshapes(struct graph *g)
{
    for (size_t i = 0; i < g->ops.n; i++) {
        const struct op_node *n = g->ops.at[i];
        struct nn_val *x = n->in[0], *y = n->out[0];
        if (strcmp(n->op->name, op_slice.name) == 0 && x->n_uses == 1 && !y->kept &&
            !graph_is_loss(g, y) && !graph_is_loss(g, x) &&
            nn_shape_width(&x->shape) == nn_shape_width(&y->shape)) {
            y->host = x;
            y->host_col = 0;
        }
    }
}

/* Whether a value that one concat reads may lie inside its result: kernels write rows with a
 * stride; inputs may when the host does not write them.
 */
static bool can_be_inside(const struct graph *g, const struct nn_val *v)
{
    if (v->n_uses != 1 || v->host || v->shape.n_dims != 1 || graph_is_loss(g, v))
        return false;
    return v->by ? !v->kept : g->options.device_inputs && v->needs_grad;
}

static bool has_reshape_inside(const struct graph *g, const struct nn_val *v)
{
    for (size_t i = 0; i < g->vals.n; i++)
        if (g->vals.at[i]->host == v)
            return true;
    return false;
}

/* Rows of concats begin at multiples of 16 bytes, which products want. */
static void pad_concats(struct graph *g)
{
    for (size_t i = 0; i < g->ops.n; i++) {
        struct nn_val *v = g->ops.at[i]->out[0];
        int64_t width = nn_shape_width(&v->shape);
        if (strcmp(g->ops.at[i]->op->name, op_concat.name) == 0 && v->shape.n_dims == 1 &&
            !v->kept && !v->host && !graph_is_loss(g, v) && !has_reshape_inside(g, v))
            v->stride = cuda_padded(width);
    }
}

/* Multiples of 16 bytes, so that wide reads and writes stay possible. */
static bool is_aligned(const struct nn_val *out, int64_t col)
{
    int64_t stride = out->stride ? out->stride : nn_shape_width(&out->shape);
    return col % 4 == 0 && stride % 4 == 0;
}

static void place_in_concats(struct graph *g)
{
    for (size_t i = 0; i < g->ops.n; i++) {
        const struct op_node *n = g->ops.at[i];
        int64_t col = 0;
        for (int k = 0; strcmp(n->op->name, op_concat.name) == 0 && k < n->n_in; k++) {
            struct nn_val *v = n->in[k];
            if (can_be_inside(g, v) && (v->by || is_aligned(n->out[0], col))) {
                v->host = n->out[0];
                v->host_col = col;
            }
            col += nn_shape_width(&v->shape);
        }
    }
}

static enum rc plan(struct graph *g, struct err *err)
{
    struct cuda_plan *p = g->plan = mem_calloc(1, sizeof(*p));
    enum rc rc = RC_OK;
    p->host = mem_calloc(g->ops.n + 1, sizeof(*p->host));
    p->sums = mem_calloc(g->losses.n + 1, sizeof(*p->sums));
    p->kept = mem_calloc(g->ops.n + 1, sizeof(*p->kept));
    for (size_t i = 0; i < g->ops.n && !rc; i++) {
        struct op_node *n = g->ops.at[i];
        n->impl = choose(n);
        n->forward_at = (int)i;
        n->backward_at = (int)(g->ops.n - 1 - i);
        if (!n->impl)
            rc = host_op_create(g, n, &p->host[i], err);
    }
    g->n_forward = g->n_backward = (int)g->ops.n;
    place_reshapes(g);
    pad_concats(g);
    place_in_concats(g);
    cuda_linear_plan(g);
    return rc;
}

static void release(struct graph *g)
{
    struct cuda_plan *p = g->plan;
    if (!p)
        return;
    for (size_t i = 0; i < g->ops.n; i++)
        host_op_destroy(p->host[i]);
    for (size_t i = 0; i < g->ops.n; i++)
        cuda_room_release(&p->kept[i], false);
    cuda_linear_release(g);
    for (int i = 0; i < AXES_MAX; i++)
        cudaFree(p->offsets[i]);
    mem_free(p->host);
    mem_free(p->sums);
    mem_free(p->kept);
    mem_free(p);
    g->plan = NULL;
}

static void upload_offsets(struct cuda *c, struct cuda_plan *p, int axis,
                           const int64_t *at, int64_t n)
{
    if (n > p->room[axis]) {
        cudaStreamSynchronize(c->stream);
        cudaFree(p->offsets[axis]);
        int code = (int)cudaMalloc((void **)&p->offsets[axis], (size_t)n * sizeof(*at));
        cuda_note(c, code);
        p->room[axis] = code ? 0 : n;
        if (code)
            return;
    }
    cuda_note(c, (int)cudaMemcpyAsync(p->offsets[axis], at, (size_t)n * sizeof(*at),
                                      cudaMemcpyHostToDevice, c->stream));
}

static void new_rows(struct graph *g)
{
    const struct nn_batch_rows *rows = &g->env.rows;
    for (int i = 0; i < g->n_axes; i++)
        if (rows->offsets[i])
            upload_offsets(cuda_of(g->device), g->plan, i, rows->offsets[i],
                           rows->n[AXIS_BATCH] + 1);
}

static struct cuda_run run_of(const struct graph *g, const struct op_node *n)
{
    const struct cuda_plan *p = g->plan;
    return (struct cuda_run){
        &n->run, cuda_of(g->device), (const int64_t *const *)p->offsets,
        g->options.tf32 || g->options.precision == GEMM_BF16, &p->kept[n->forward_at]};
}

static void sum_losses(struct graph *g)
{
    struct cuda_plan *p = g->plan;
    struct cuda *c = cuda_of(g->device);
    double *totals = cuda_totals(c, (int64_t)g->losses.n);
    for (size_t i = 0; totals && i < g->losses.n; i++)
        cuda_total(c->stream, CUDA_SUM, cuda_view(&g->losses.at[i].val->view), totals,
                   totals + CUDA_TOTAL_PARTS + i);
    cuda_read_totals(c, p->sums, (int64_t)g->losses.n);
    for (size_t i = 0; i < g->losses.n; i++)
        g->losses.at[i].sum = p->sums[i];
}

static void forward(struct graph *g)
{
    struct cuda_plan *p = g->plan;
    struct cuda *c = cuda_of(g->device);
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < g->ops.n; i++) {
        struct op_node *n = g->ops.at[i];
        struct cuda_run r = run_of(g, n);
        if (p->host[i])
            host_op_forward(p->host[i], g, n);
        else
            ((const struct cuda_op *)n->impl)->forward(&r);
    }
    sum_losses(g);
    pthread_mutex_unlock(&c->lock);
}

/* Gradients that nobody has written: of outputs that no loss depends on. */
static void zero_unreached(struct cuda *c, struct op_node *n)
{
    for (int k = 0; k < n->n_out; k++)
        if (!n->out[k]->reached && n->d_out_views[k].data)
            cuda_fill(c->stream, cuda_view(&n->d_out_views[k]), 0);
}

static void backward_op(struct graph *g, size_t i)
{
    struct cuda_plan *p = g->plan;
    struct op_node *n = g->ops.at[i];
    const struct cuda_op *impl = n->impl;
    struct cuda_run r = run_of(g, n);
    zero_unreached(cuda_of(g->device), n);
    if (p->host[i])
        host_op_backward(p->host[i], g, n);
    else if (impl->backward)
        impl->backward(&r);
}

static void backward(struct graph *g, bool zero)
{
    struct cuda *c = cuda_of(g->device);
    pthread_mutex_lock(&c->lock);
    if (zero && g->grads.at)
        cuda_note(c, (int)cudaMemsetAsync(g->grads.at, 0,
                                          (size_t)g->grads.n * sizeof(float), c->stream));
    for (size_t i = 0; i < g->losses.n; i++)
        if (g->losses.at[i].val->grad.data)
            cuda_fill(c->stream, cuda_view(&g->losses.at[i].val->grad),
                      g->losses.at[i].seed);
    for (size_t i = g->ops.n; i-- > 0;)
        if (g->ops.at[i]->backward)
            backward_op(g, i);
    pthread_mutex_unlock(&c->lock);
}

/* What is not finite makes the sum of squares so. */
static bool scale(const struct device *d, const struct view *v, float by)
{
    struct cuda *c = cuda_of(d);
    double total = 0;
    pthread_mutex_lock(&c->lock);
    cuda_scale(c->stream, by, 0, cuda_view(v), cuda_view(v), false);
    double *totals = cuda_totals(c, 1);
    if (totals)
        cuda_total(c->stream, CUDA_LARGEST, cuda_view(v), totals,
                   totals + CUDA_TOTAL_PARTS);
    cuda_read_totals(c, &total, 1);
    pthread_mutex_unlock(&c->lock);
    return isfinite(total);
}

static size_t by_host(const struct graph *g, const char **names, size_t max)
{
    const struct cuda_plan *p = g->plan;
    size_t n = 0;
    for (size_t i = 0; i < g->ops.n; i++)
        if (p->host[i] && n++ < max)
            names[n - 1] = g->ops.at[i]->op->name;
    return n;
}

const struct executor_ops cuda_executor = {
    .has = has_op,
    .plan = plan,
    .release = release,
    .rows = new_rows,
    .forward = forward,
    .backward = backward,
    .scale = scale,
    .by_host = by_host,
    .params = &cuda_params,
};
