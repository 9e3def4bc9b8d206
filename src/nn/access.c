/* SPDX-License-Identifier: Apache-2.0 */
/* How the host reaches values, gradients and parameters of a graph. */
#include <string.h>

#include "nn/graph_private.h"
#include "tensor/kernel.h"

struct view graph_view(const struct graph *g, const struct val *v)
{
    return v->view;
}

struct view graph_grad(const struct graph *g, const struct val *v)
{
    return v->needs_grad ? v->grad : (struct view){0};
}

int64_t graph_rows_of(const struct graph *g, const struct val *v)
{
    return g->env.rows.n[v->shape.axis];
}

struct view graph_write_begin(struct graph *g, struct val *v)
{
    return v->view;
}

void graph_write_end(struct graph *g, struct val *v)
{
}

struct view graph_read(struct graph *g, const struct val *v)
{
    return v->view;
}

struct view graph_read_grad(struct graph *g, const struct val *v)
{
    return graph_grad(g, v);
}

void graph_set(struct graph *g, struct val *v, const float *rows)
{
    struct view to = graph_write_begin(g, v);
    for (int64_t r = 0; r < to.rows; r++)
        memcpy(view_row(&to, r), rows + r * to.width, (size_t)to.width * sizeof(float));
    graph_write_end(g, v);
}

void graph_get(struct graph *g, const struct val *v, float *rows)
{
    struct view from = graph_read(g, v);
    for (int64_t r = 0; r < from.rows; r++)
        memcpy(rows + r * from.width, view_row(&from, r),
               (size_t)from.width * sizeof(float));
}

bool graph_scale_grad(struct graph *g, const struct val *v, float by)
{
    struct view d = graph_grad(g, v);
    bool finite = true;
    for (int64_t r = 0; d.data && r < d.rows; r++) {
        kernels()->scale(view_row(&d, r), by, d.width);
        finite = kernels()->finite(view_row(&d, r), d.width) && finite;
    }
    return finite;
}

const float *param_read(struct param *p)
{
    return p->value;
}

const float *param_read_grad(struct param *p)
{
    return p->grad;
}

float *param_write_begin(struct param *p)
{
    return p->value;
}

void param_write_end(struct param *p)
{
}

void param_get(struct param *p, float *to)
{
    memcpy(to, param_read(p), (size_t)p->n * sizeof(float));
}

void param_set(struct param *p, const float *from)
{
    memcpy(param_write_begin(p), from, (size_t)p->n * sizeof(float));
    param_write_end(p);
}

void param_get_grad(struct param *p, float *to)
{
    memcpy(to, param_read_grad(p), (size_t)p->n * sizeof(float));
}

void param_set_grad(struct param *p, const float *from)
{
    memcpy(p->grad, from, (size_t)p->n * sizeof(float));
}
