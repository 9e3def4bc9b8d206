/* SPDX-License-Identifier: Apache-2.0 */
/* The card runs a graph: one op after the other, each over all rows, from a recording where there
 * is one (record.c). An op that the card
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
    uint64_t shape;             /* of the batch, and where its values lie */
    struct cuda_recorder *recorder;
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
    p->recorder = cuda_recorder_create(cuda_of(g->device), g->options.training);
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
    cudaStreamSynchronize(cuda_of(g->device)->stream);
    cuda_recorder_destroy(cuda_of(g->device), p->recorder);
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

static uint64_t mix_view(uint64_t into, const struct view *v)
{
    into = cuda_digest(into, (uint64_t)(uintptr_t)v->data);
    return cuda_digest(into, (uint64_t)v->rows << 32 ^ (uint64_t)v->ld);
}

/* All that ops queue follows from it, but for those that say that they vary. */
static uint64_t shape_of(const struct graph *g)
{
    uint64_t shape = (uint64_t)(uintptr_t)g->values.at;
    shape = cuda_digest(shape, (uint64_t)(uintptr_t)g->grads.at);
    for (int i = 0; i < g->n_axes; i++)
        shape = cuda_digest(shape, (uint64_t)g->env.rows.n[i]);
    for (size_t i = 0; i < g->vals.n; i++)
        shape = mix_view(mix_view(shape, &g->vals.at[i]->view), &g->vals.at[i]->grad);
    for (size_t i = 0; i < g->ops.n; i++)
        shape = mix_view(shape, &g->ops.at[i]->keep);
    return shape;
}

static void new_rows(struct graph *g)
{
    const struct nn_batch_rows *rows = &g->env.rows;
    struct cuda_plan *p = g->plan;
    p->shape = shape_of(g);
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

static void forward_op(struct graph *g, size_t i)
{
    struct cuda_plan *p = g->plan;
    struct op_node *n = g->ops.at[i];
    struct cuda_run r = run_of(g, n);
    if (p->host[i])
        host_op_forward(p->host[i], g, n);
    else
        ((const struct cuda_op *)n->impl)->forward(&r);
}

/* Ops [from, to) of a pass, in its order. */
struct stretch {
    struct graph *g;
    void (*each)(struct graph *g, size_t i);
    size_t from, to;
    bool back; /* from the last to the first */
};

static size_t op_at(const struct stretch *s, size_t i)
{
    return s->back ? s->g->ops.n - 1 - i : i;
}

static void queue_stretch(void *arg)
{
    const struct stretch *s = arg;
    for (size_t i = s->from; i < s->to; i++)
        s->each(s->g, op_at(s, i));
}

static bool can_record(const struct graph *g, size_t i)
{
    const struct op_node *n = g->ops.at[i];
    const struct cuda_op *impl = n->impl;
    struct cuda_run r = run_of(g, n);
    return impl && (!impl->varies || !impl->varies(&r));
}

/* What a pass queues follows from it: the shape, and where memory lies that has grown with it. */
static uint64_t key_of(const struct graph *g, bool back)
{
    const struct cuda_plan *p = g->plan;
    const struct cuda *c = cuda_of(g->device);
    uint64_t key = cuda_digest(p->shape, (uint64_t)back << 1 | (uint64_t)g->env.training);
    key = cuda_digest(key, (uint64_t)(uintptr_t)c->scratch);
    for (size_t i = 0; i < g->ops.n; i++)
        key = cuda_digest(key, (uint64_t)(uintptr_t)p->kept[i].at);
    for (int i = 0; i < g->n_axes; i++)
        key = cuda_digest(key, (uint64_t)(uintptr_t)p->offsets[i]);
    return cuda_linear_mix(g, key);
}

#define RECORD_MIN 3 /* ops that are worth it */

/* All ops in their order: stretches that can be recorded, and those in between. */
static void run_pass(struct stretch s)
{
    struct cuda_plan *p = s.g->plan;
    struct cuda *c = cuda_of(s.g->device);
    uint64_t key = key_of(s.g, s.back);
    for (s.from = 0; s.from < s.g->ops.n; s.from = s.to) {
        s.to = s.from;
        while (p->recorder && s.to < s.g->ops.n && can_record(s.g, op_at(&s, s.to)))
            s.to++;
        if (s.to >= s.from + RECORD_MIN) {
            cuda_play(p->recorder, c, cuda_digest(key, s.from), queue_stretch, &s);
        } else {
            s.to += s.to == s.from;
            queue_stretch(&s);
        }
    }
}

static void forward(struct graph *g)
{
    struct cuda *c = cuda_of(g->device);
    pthread_mutex_lock(&c->lock);
    run_pass((struct stretch){.g = g, .each = forward_op});
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
    if (!n->backward)
        return;
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
    run_pass((struct stretch){.g = g, .each = backward_op, .back = true});
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

static uint64_t replays(const struct graph *g)
{
    return cuda_recorder_replays(((const struct cuda_plan *)g->plan)->recorder);
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
    .replays = replays,
    .params = &cuda_params,
};
