/* SPDX-License-Identifier: Apache-2.0 */
/* An op on the CPU in the middle of a graph on the card: what it reads is copied to the
 * host, the CPU's implementation runs over all rows, and what it wrote is copied back.
 * What it keeps for its gradient stays on the host. Results are those of the CPU.
 */
#include <cuda_runtime_api.h>
#include <string.h>

#include "base/mem.h"
#include "cuda/cuda_private.h"
#include "nn/cpu/cpu.h"

#define TILE 64 /* rows of the batch that a thread takes at a time */

/* A value on the host: rows that follow each other. */
struct mirror {
    float *at;
    int64_t room;
};

struct host_op {
    const struct nn_cpu_op *impl;
    void *state;
    struct mirror in[OP_INPUTS_MAX], d_in[OP_INPUTS_MAX];
    struct mirror out[OP_OUTPUTS_MAX], d_out[OP_OUTPUTS_MAX], keep;
    struct view in_views[OP_INPUTS_MAX], d_in_views[OP_INPUTS_MAX];
    struct view out_views[OP_OUTPUTS_MAX], d_out_views[OP_OUTPUTS_MAX];
    struct param params[OP_PARAMS_MAX], *param_list[OP_PARAMS_MAX];
    struct op_run run;
};

const struct op *host_op_named(const char *name)
{
    static const struct op *const all[] = {
#define OP(name, file) &op_##name,
#include "nn/ops.def"
#undef OP
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

static void copy_params(struct host_op *h, const struct op_node *n)
{
    for (int i = 0; i < n->n_params; i++) {
        struct param *p = &h->params[i];
        h->param_list[i] = n->params[i] ? p : NULL;
        if (!n->params[i])
            continue;
        *p = *n->params[i];
        p->device = NULL;
        p->value = mem_calloc((size_t)p->n + 1, sizeof(float));
        p->grad = p->trainable ? mem_calloc((size_t)p->n + 1, sizeof(float)) : NULL;
    }
}

enum rc host_op_create(const struct graph *g, struct op_node *n, struct host_op **out,
                       struct err *err)
{
    struct nn_shape ins[OP_INPUTS_MAX], outs[OP_OUTPUTS_MAX];
    struct host_op *h = mem_calloc(1, sizeof(*h));
    for (int i = 0; i < n->n_in; i++)
        ins[i] = n->in[i]->shape;
    for (int i = 0; i < n->n_out; i++)
        outs[i] = n->out[i]->shape;
    h->impl = nn_cpu_find(host_op_named(n->op->name));
    enum rc rc = h->impl->setup ? h->impl->setup(n->conf, ins, outs, g->options.training,
                                                 &h->state, err)
                                : RC_OK;
    copy_params(h, n);
    *out = h;
    return rc;
}

void host_op_destroy(struct host_op *h)
{
    if (!h)
        return;
    if (h->state && h->impl->teardown)
        h->impl->teardown(h->state);
    for (int i = 0; i < OP_INPUTS_MAX; i++) {
        mem_free(h->in[i].at);
        mem_free(h->d_in[i].at);
    }
    for (int i = 0; i < OP_OUTPUTS_MAX; i++) {
        mem_free(h->out[i].at);
        mem_free(h->d_out[i].at);
    }
    for (int i = 0; i < OP_PARAMS_MAX; i++)
        if (h->param_list[i]) {
            mem_free(h->params[i].value);
            mem_free(h->params[i].grad);
        }
    mem_free(h->keep.at);
    mem_free(h);
}

/* Room for what lies on the card as `v`; .data NULL when that has none. */
static struct view mirrored(struct mirror *m, const struct view *v)
{
    int64_t n = v->rows * v->width;
    if (!v->data)
        return (struct view){0};
    if (n > m->room || !m->at) {
        mem_free(m->at);
        m->at = mem_calloc((size_t)n + 1, sizeof(float));
        m->room = n;
    }
    return view_of(m->at, v->rows, v->width);
}

static void copy_rows(struct cuda *c, const struct view *to, const struct view *from,
                      enum cudaMemcpyKind way)
{
    if (to->data && from->data && to->rows && to->width)
        cuda_note(c, (int)cudaMemcpy2DAsync(to->data, (size_t)to->ld * sizeof(float),
                                            from->data, (size_t)from->ld * sizeof(float),
                                            (size_t)to->width * sizeof(float),
                                            (size_t)to->rows, way, c->stream));
}

static void pull(struct cuda *c, const struct view *host, const struct view *card)
{
    copy_rows(c, host, card, cudaMemcpyDeviceToHost);
}

static void push(struct cuda *c, const struct view *host, const struct view *card)
{
    copy_rows(c, card, host, cudaMemcpyHostToDevice);
}

static void copy_param(struct cuda *c, float *to, const float *from, int64_t n,
                       enum cudaMemcpyKind way)
{
    if (to && from && n)
        cuda_note(
            c, (int)cudaMemcpyAsync(to, from, (size_t)n * sizeof(float), way, c->stream));
}

static void wait(struct cuda *c)
{
    cuda_note(c, (int)cudaStreamSynchronize(c->stream));
}

/* The first input that is the same value: they have one mirror, as they have one place on
 * the card.
 */
static int first_of(const struct op_node *n, int i)
{
    int first = 0;
    while (n->in[first] != n->in[i])
        first++;
    return first;
}

/* Views of the mirrors for the rows at hand. */
static void bind(struct host_op *h, const struct op_node *n)
{
    for (int i = 0; i < n->n_in; i++) {
        int first = first_of(n, i);
        h->in_views[i] = mirrored(&h->in[first], &n->in_views[i]);
        h->d_in_views[i] = mirrored(&h->d_in[first], &n->d_in_views[i]);
    }
    for (int i = 0; i < n->n_out; i++) {
        h->out_views[i] = mirrored(&h->out[i], &n->out_views[i]);
        h->d_out_views[i] = mirrored(&h->d_out[i], &n->d_out_views[i]);
    }
    h->run = n->run;
    h->run.in = h->in_views;
    h->run.d_in = h->d_in_views;
    h->run.out = h->out_views;
    h->run.d_out = h->d_out_views;
    h->run.keep = mirrored(&h->keep, &n->keep);
    h->run.params = h->param_list;
    h->run.state = h->state;
}

static void forward_tile(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct host_op *h = arg;
    h->impl->forward(&h->run, begin, end);
}

static void backward_tile(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct host_op *h = arg;
    h->impl->backward(&h->run, begin, end);
}

/* Buffers (running statistics) change in the forward pass, and what an op fits by itself. */
static void push_buffers(struct cuda *c, const struct host_op *h, const struct op_node *n)
{
    for (int i = 0; i < n->n_params; i++)
        if (n->params[i] && (!n->params[i]->trainable || (n->op->flags & OP_SETS_PARAMS)))
            copy_param(c, n->params[i]->value, h->params[i].value, n->params[i]->n,
                       cudaMemcpyHostToDevice);
}

void host_op_forward(struct host_op *h, struct graph *g, struct op_node *n)
{
    struct cuda *c = cuda_of(g->device);
    bind(h, n);
    for (int i = 0; i < n->n_in; i++)
        pull(c, &h->in_views[i], &n->in_views[i]);
    for (int i = 0; i < n->n_params; i++)
        if (n->params[i])
            copy_param(c, h->params[i].value, n->params[i]->value, n->params[i]->n,
                       cudaMemcpyDeviceToHost);
    wait(c);
    if (h->impl->begin)
        h->impl->begin(&h->run);
    if (h->impl->sync_forward)
        h->impl->sync_forward(&h->run);
    pool_for(g->env.pool, g->env.rows.n[AXIS_BATCH], TILE, forward_tile, h);
    for (int i = 0; i < n->n_out; i++)
        push(c, &h->out_views[i], &n->out_views[i]);
    push_buffers(c, h, n);
}

/* The gradient of an input as it stands, or nothing when this op is the first to write. */
static void pull_d_in(struct cuda *c, const struct host_op *h, const struct op_node *n,
                      int i)
{
    const struct view *d = &h->d_in_views[i];
    if (!n->fresh[i])
        pull(c, d, &n->d_in_views[i]);
    else if (d->data)
        memset(d->data, 0, (size_t)(d->rows * d->width) * sizeof(float));
}

/* Inputs, outputs and parameters are still there from the forward pass. */
static void pull_gradients(struct cuda *c, const struct host_op *h,
                           const struct op_node *n)
{
    for (int i = 0; i < n->n_out; i++)
        pull(c, &h->d_out_views[i], &n->d_out_views[i]);
    for (int i = 0; i < n->n_in; i++)
        if (first_of(n, i) == i)
            pull_d_in(c, h, n, i);
    for (int i = 0; i < n->n_params; i++)
        if (n->params[i])
            copy_param(c, h->params[i].grad, n->params[i]->grad, n->params[i]->n,
                       cudaMemcpyDeviceToHost);
    wait(c);
}

void host_op_backward(struct host_op *h, struct graph *g, struct op_node *n)
{
    struct cuda *c = cuda_of(g->device);
    pull_gradients(c, h, n);
    if (h->impl->sync_backward)
        h->impl->sync_backward(&h->run);
    if (h->impl->backward)
        pool_for(g->env.pool, g->env.rows.n[AXIS_BATCH], TILE, backward_tile, h);
    if (h->impl->grads)
        h->impl->grads(&h->run);
    for (int i = 0; i < n->n_in; i++)
        push(c, &h->d_in_views[i], &n->d_in_views[i]);
    for (int i = 0; i < n->n_params; i++)
        if (n->params[i])
            copy_param(c, n->params[i]->grad, h->params[i].grad, n->params[i]->n,
                       cudaMemcpyHostToDevice);
}
