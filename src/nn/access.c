/* SPDX-License-Identifier: Apache-2.0 */
/* How the host reaches values, gradients and parameters of a graph: where it sees the
 * device's memory, that memory itself; else a copy that graph_plan() has made room for.
 */
#include <assert.h>
#include <string.h>

#include "nn/graph_private.h"

static bool host_sees(const struct device *d)
{
    return !d || d->ops->host_visible;
}

bool graph_staged(const struct graph *g, const struct nn_val *v)
{
    return (v->kept || g->options.keep) && v->dtype == DT_F32;
}

bool graph_staged_grad(const struct graph *g, const struct nn_val *v)
{
    return !v->by && v->needs_grad && g->options.training;
}

int64_t graph_rows_of(const struct graph *g, const struct nn_val *v)
{
    return g->env.rows.n[v->shape.axis];
}

/* The host's copy of a value or gradient that lies on the device as `v`. */
static struct view staged(const struct graph *g, const struct view *v, int64_t at)
{
    assert(at >= 0); /* not one that the host has no business with */
    return (struct view){
        .data = g->stage + at, .rows = v->rows, .width = v->width, .ld = v->width};
}

/* Rows that follow each other at once, those with a stride one by one. */
static void copy_rows(const struct graph *g, const struct view *to,
                      const struct view *from, enum device_way way)
{
    size_t row = (size_t)to->width * sizeof(float);
    bool whole = to->ld == to->width && from->ld == from->width;
    for (int64_t r = 0; !whole && r < to->rows; r++)
        g->device->ops->copy(g->device, view_row(to, r), view_row(from, r), row, way);
    if (whole)
        g->device->ops->copy(g->device, to->data, from->data, (size_t)to->rows * row,
                             way);
}

/* What the device has, in host memory. */
static struct view pulled(const struct graph *g, const struct view *v, int64_t at)
{
    if (!v->data || host_sees(g->device))
        return *v;
    struct view host = staged(g, v, at);
    copy_rows(g, &host, v, DEVICE_OUT);
    return host;
}

struct view graph_write_begin(struct graph *g, struct nn_val *v)
{
    return host_sees(g->device) ? v->view : staged(g, &v->view, v->stage_at);
}

void graph_write_end(struct graph *g, struct nn_val *v)
{
    if (host_sees(g->device))
        return;
    struct view host = staged(g, &v->view, v->stage_at);
    copy_rows(g, &v->view, &host, DEVICE_IN);
}

struct view graph_read(struct graph *g, const struct nn_val *v)
{
    return pulled(g, &v->view, v->stage_at);
}

struct view graph_read_grad(struct graph *g, const struct nn_val *v)
{
    return v->needs_grad ? pulled(g, &v->grad, v->stage_grad_at) : (struct view){0};
}

struct view graph_device_view(const struct graph *g, const struct nn_val *v)
{
    return v->view;
}

struct view graph_device_grad(const struct graph *g, const struct nn_val *v)
{
    return v->needs_grad ? v->grad : (struct view){0};
}

void graph_set(struct graph *g, struct nn_val *v, const float *rows)
{
    struct view to = graph_write_begin(g, v);
    for (int64_t r = 0; r < to.rows; r++)
        memcpy(view_row(&to, r), rows + r * to.width, (size_t)to.width * sizeof(float));
    graph_write_end(g, v);
}

void graph_get(struct graph *g, const struct nn_val *v, float *rows)
{
    struct view from = graph_read(g, v);
    for (int64_t r = 0; r < from.rows; r++)
        memcpy(rows + r * from.width, view_row(&from, r),
               (size_t)from.width * sizeof(float));
}

bool graph_scale_grad(struct graph *g, const struct nn_val *v, float by)
{
    return !v->needs_grad || !v->grad.data || g->executor->scale(g->device, &v->grad, by);
}

static const float *param_pull(const struct param *p, const float *from, float *host)
{
    if (!from || host_sees(p->device))
        return from;
    p->device->ops->copy(p->device, host, from, (size_t)p->n * sizeof(float), DEVICE_OUT);
    return host;
}

const float *param_read(const struct param *p)
{
    return param_pull(p, p->value, p->host);
}

const float *param_read_grad(const struct param *p)
{
    return param_pull(p, p->grad, p->host_grad);
}

float *param_write_begin(struct param *p)
{
    if (host_sees(p->device))
        return p->value;
    param_read(p);
    return p->host;
}

void param_write_end(struct param *p)
{
    if (!host_sees(p->device))
        param_set(p, p->host);
}

static void param_put(const struct param *p, float *to, const float *from)
{
    size_t bytes = (size_t)p->n * sizeof(float);
    if (host_sees(p->device))
        memcpy(to, from, bytes);
    else
        p->device->ops->copy(p->device, to, from, bytes, DEVICE_IN);
}

void param_get(const struct param *p, float *to)
{
    memcpy(to, param_read(p), (size_t)p->n * sizeof(float));
}

void param_set(struct param *p, const float *from)
{
    param_put(p, p->value, from);
}

void param_get_grad(const struct param *p, float *to)
{
    memcpy(to, param_read_grad(p), (size_t)p->n * sizeof(float));
}

void param_set_grad(struct param *p, const float *from)
{
    param_put(p, p->grad, from);
}
