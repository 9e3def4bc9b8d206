/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over a graph, which its device carries out, and the losses that they leave. */
#include <math.h>
#include <string.h>

#include "nn/graph_private.h"

void graph_training(struct graph *g, bool on)
{
    g->env.training = on && g->options.training;
}

void graph_stream(struct graph *g, uint64_t stream)
{
    g->env.seed = g->options.seed ^ stream * 0x9e3779b97f4a7c15u;
}

void graph_forward(struct graph *g, uint64_t step)
{
    g->env.step = step;
    g->executor->forward(g);
}

void graph_backward(struct graph *g, bool zero)
{
    g->executor->backward(g, zero);
    if (g->watch)
        g->watch(g->watch_arg, 0);
}

void graph_watch_grads(struct graph *g, graph_grads_fn *fn, void *arg)
{
    g->watch = fn;
    g->watch_arg = arg;
}

size_t graph_param_op(const struct graph *g, const struct param *p)
{
    for (size_t i = 0; i < g->ops.n; i++)
        for (int k = 0; k < g->ops.at[i]->n_params; k++)
            if (g->ops.at[i]->params[k] == p)
                return i;
    return 0;
}

enum rc graph_wait(const struct graph *g, struct err *err)
{
    return device_synchronise(g->device, err);
}

void graph_seed(struct graph *g, size_t loss, float seed)
{
    g->losses.at[loss].seed = seed;
}

bool nn_coded(struct graph *g, struct nn_val *v, int64_t col, int64_t width, int64_t n)
{
    return v && g->executor->coded && g->executor->coded(g, v, col, width, n);
}

bool graph_takes_alike(const struct graph *g)
{
    return g->executor->alike;
}

bool graph_alike(struct graph *g, struct nn_val *v)
{
    v->alike = g->executor->alike;
    return v->alike;
}

void graph_alike_columns(struct nn_val *v, const struct nn_columns *at, int n)
{
    v->once = at;
    v->n_once = n;
}

void graph_codes(struct graph *g, struct nn_val *v, const struct nn_code_ids *ids)
{
    if (v->coded)
        g->executor->codes(g, v, ids);
}

double graph_loss(const struct graph *g)
{
    double sum = 0;
    for (size_t i = 0; i < g->losses.n; i++)
        if (g->env.training || !g->losses.at[i].training)
            sum += g->losses.at[i].sum;
    return sum;
}

size_t graph_n_losses(const struct graph *g)
{
    return g->losses.n;
}

const char *graph_loss_name(const struct graph *g, size_t loss)
{
    return g->losses.at[loss].name;
}

double graph_loss_at(const struct graph *g, size_t loss)
{
    return g->losses.at[loss].sum;
}

bool graph_loss_training(const struct graph *g, size_t loss)
{
    return g->losses.at[loss].training;
}

double graph_loss_named(const struct graph *g, const char *name)
{
    for (size_t i = 0; i < g->losses.n; i++)
        if (strcmp(g->losses.at[i].name, name) == 0)
            return g->losses.at[i].sum;
    return (double)NAN;
}
