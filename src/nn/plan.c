/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of activations and gradients: each buffer is wanted over a span of moments (the
 * executor says which op runs at which), and buffers whose spans do not meet may share
 * the same bytes. Largest first, each at the lowest place where it fits: within a few
 * percent of the best in practice. Where the host does not see the device's memory,
 * values that it reads or writes have a copy each beside it.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "nn/graph_private.h"

#define ALIGN_FLOATS 16
#define SLACK_SHIFT 3 /* capacity grows by an eighth more than asked */

struct buffer {
    int64_t *at; /* where the offset goes */
    int64_t floats;
    int from, to; /* moments, inclusive; the backward ones follow the forward ones */
};

static int backward_time(const struct graph *g, const struct op_node *n)
{
    return g->n_forward + n->backward_at;
}

static int last_time(const struct graph *g)
{
    return g->n_forward + g->n_backward;
}

static void stretch(int *to, int time)
{
    if (time > *to)
        *to = time;
}

/* The last moment at which v is read. */
static int value_end(const struct graph *g, const struct nn_val *v)
{
    int to = v->by ? v->by->forward_at : 0;
    if (v->kept || g->options.keep)
        return last_time(g);
    if (v->by && v->by->backward && (v->by->op->flags & OP_NEEDS_OUT))
        stretch(&to, backward_time(g, v->by));
    for (size_t i = 0; i < g->ops.n; i++) {
        const struct op_node *n = g->ops.at[i];
        for (int k = 0; k < n->n_in; k++) {
            if (n->in[k] != v)
                continue;
            stretch(&to, n->forward_at);
            if (n->backward && (n->op->flags & OP_NEEDS_IN))
                stretch(&to, backward_time(g, n));
        }
    }
    return to;
}

/* The last moment at which what an op has kept is read. */
static int keep_end(const struct graph *g, const struct op_node *n)
{
    if (g->options.keep)
        return last_time(g);
    return n->backward ? backward_time(g, n) : n->forward_at;
}

/* The first moment at which the gradient of v is written, or -1. */
static int grad_start(const struct graph *g, const struct nn_val *v)
{
    int from = -1;
    for (size_t i = 0; i < g->losses.n; i++)
        if (g->losses.at[i].val == v)
            return g->n_forward;
    for (size_t i = 0; i < g->ops.n; i++) {
        const struct op_node *n = g->ops.at[i];
        for (int k = 0; n->backward && k < n->n_in; k++)
            if (n->in[k] == v && (from < 0 || backward_time(g, n) < from))
                from = backward_time(g, n);
    }
    /* an output that no loss reaches: zeroed where its op runs */
    if (from < 0 && v->by && v->by->backward)
        from = backward_time(g, v->by);
    return from;
}

static int64_t rows_floats(const struct graph *g, int axis, int64_t width)
{
    int64_t n = g->capacity[axis] * width;
    return (n + ALIGN_FLOATS - 1) / ALIGN_FLOATS * ALIGN_FLOATS;
}

/* Floats that a row of v takes. */
static int64_t row_floats(const struct nn_val *v)
{
    if (v->stride)
        return v->stride;
    return v->dtype == DT_BF16 ? nn_shape_width(&v->shape) / 2
                               : nn_shape_width(&v->shape);
}

static struct nn_val *outermost(struct nn_val *v)
{
    while (v->host)
        v = v->host;
    return v;
}

static bool needs_buffer(const struct nn_val *v)
{
    return v->needs_grad && v->graph->options.training &&
           (v->reached || (v->by && v->by->backward));
}

/* Buffers of all values, gradients and kept rows; returns how many. A value that lies
 * inside another stretches the span of that one.
 */
static size_t list_buffers(struct graph *g, struct buffer *out)
{
    size_t n = 0;
    for (size_t i = 0; i < g->vals.n; i++) {
        struct nn_val *v = g->vals.at[i];
        v->at = v->grad_at = -1;
        if (v->host)
            continue;
        struct buffer value = {&v->at, rows_floats(g, v->shape.axis, row_floats(v)),
                               v->by ? v->by->forward_at : 0, value_end(g, v)};
        struct buffer grad = {&v->grad_at, value.floats, grad_start(g, v),
                              v->by ? backward_time(g, v->by) : last_time(g)};
        for (size_t k = 0; k < g->vals.n; k++) {
            struct nn_val *inner = g->vals.at[k];
            if (!inner->host || outermost(inner) != v)
                continue;
            int made = inner->by ? inner->by->forward_at : 0;
            value.from = made < value.from ? made : value.from;
            stretch(&value.to, value_end(g, inner));
            stretch(&grad.to, inner->by ? backward_time(g, inner->by) : last_time(g));
            int start = grad_start(g, inner);
            if (start >= 0 && start < grad.from)
                grad.from = start;
        }
        out[n++] = value;
        if (needs_buffer(v) && grad.from >= 0)
            out[n++] = grad;
        if (v->beside_width)
            out[n++] = (struct buffer){&v->beside_at,
                                       rows_floats(g, v->shape.axis, v->beside_width), 0,
                                       last_time(g)};
    }
    for (size_t i = 0; i < g->ops.n; i++) {
        struct op_node *o = g->ops.at[i];
        if (o->keep_width)
            out[n++] = (struct buffer){
                &o->keep_at, rows_floats(g, o->out[0]->shape.axis, o->keep_width),
                o->forward_at, keep_end(g, o)};
    }
    return n;
}

static int larger_first(const void *x, const void *y)
{
    const struct buffer *a = x, *b = y;
    if (a->floats != b->floats)
        return a->floats > b->floats ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* The lowest offset at which `b` meets no placed buffer of the same time. */
static int64_t lowest_place(const struct buffer *placed, size_t n, const struct buffer *b)
{
    int64_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < n; i++) {
            const struct buffer *p = &placed[i];
            if (p->to < b->from || p->from > b->to || *p->at + p->floats <= at ||
                at + b->floats <= *p->at)
                continue;
            at = *p->at + p->floats;
            moved = true;
        }
    }
    return at;
}

/* Places every buffer; returns the floats that this takes. */
static int64_t lay_out(struct graph *g)
{
    struct buffer *buffers = mem_calloc(g->vals.n * 3 + g->ops.n + 1, sizeof(*buffers));
    size_t n = list_buffers(g, buffers);
    int64_t total = 0;
    qsort(buffers, n, sizeof(*buffers), larger_first);
    for (size_t i = 0; i < n; i++) {
        int64_t at = lowest_place(buffers, i, &buffers[i]);
        *buffers[i].at = at;
        if (at + buffers[i].floats > total)
            total = at + buffers[i].floats;
    }
    mem_free(buffers);
    return total;
}

/* What an axis has at most, by what others have. */
static int64_t rule_capacity(const struct graph *g, const struct graph_axis_rule *rule)
{
    int64_t batch = g->capacity[AXIS_BATCH], n = rule->fixed * batch;
    for (int i = 0; i < rule->n; i++) {
        const struct nn_axis_part *p = &rule->parts[i];
        int64_t all = g->capacity[p->axis] * p->times;
        n += p->most && all > p->most * batch ? p->most * batch : all;
    }
    return n;
}

size_t graph_plan_bytes(struct graph *g, const int64_t rows[AXES_MAX])
{
    int64_t before[AXES_MAX];
    assert(!g->slab);
    memcpy(before, g->capacity, sizeof(before));
    memcpy(g->capacity, rows, sizeof(before));
    for (int i = 0; i < g->n_axes; i++)
        if (g->rules[i])
            g->capacity[i] = rule_capacity(g, g->rules[i]);
    int64_t total = lay_out(g);
    memcpy(g->capacity, before, sizeof(before));
    return (size_t)total * sizeof(float);
}

/* Places of the host's copies; returns their floats. */
static int64_t stage_values(struct graph *g)
{
    int64_t at = 0;
    for (size_t i = 0; i < g->vals.n; i++) {
        struct nn_val *v = g->vals.at[i];
        int64_t floats = rows_floats(g, v->shape.axis, nn_shape_width(&v->shape));
        v->stage_at = v->stage_grad_at = -1;
        if (graph_staged(g, v)) {
            v->stage_at = at;
            at += floats;
        }
        if (graph_staged_grad(g, v)) {
            v->stage_grad_at = at;
            at += floats;
        }
    }
    return at;
}

static float *alloc_stage(struct graph *g)
{
    const struct device_ops *device = g->device->ops;
    size_t n = (size_t)stage_values(g) + 1;
    if (!device->host_alloc)
        return mem_try_calloc(n, sizeof(float));
    float *at = device->host_alloc(g->device, n * sizeof(float));
    if (at)
        memset(at, 0, n * sizeof(float));
    return at;
}

void graph_free_stage(struct graph *g)
{
    const struct device_ops *device = g->device->ops;
    if (device->host_free)
        device->host_free(g->device, g->stage);
    else
        mem_free(g->stage);
    g->stage = NULL;
}

enum rc graph_plan(struct graph *g, struct err *err)
{
    const struct device_ops *device = g->device->ops;
    int64_t total = lay_out(g);
    device->free(g->device, g->slab);
    graph_free_stage(g);
    g->slab_floats = 0;
    g->slab = device->alloc(g->device, ((size_t)total + ALIGN_FLOATS) * sizeof(float));
    g->stage = device->host_visible ? NULL : alloc_stage(g);
    if (!g->slab || (!g->stage && !device->host_visible))
        return err_set(err, RC_NOMEM, "no memory for %jd bytes of activations",
                       (intmax_t)total * 4);
    g->slab_floats = total;
    return RC_OK;
}

static struct view place(const struct graph *g, int64_t at, int axis, int64_t width)
{
    if (at < 0)
        return (struct view){0};
    return (struct view){.data = g->slab + at,
                         .rows = g->env.rows.n[axis],
                         .width = width,
                         .ld = width,
                         .device = g->device};
}

static void bind_val(struct graph *g, struct nn_val *v)
{
    int64_t width = nn_shape_width(&v->shape), col = 0;
    struct nn_val *home = v;
    while (home->host) {
        col += home->host_col;
        home = home->host;
    }
    int64_t home_width = home->stride ? home->stride : nn_shape_width(&home->shape);
    v->view = place(g, home->at, v->shape.axis, home_width);
    v->grad = place(g, home->grad_at, v->shape.axis, home_width);
    if (v->view.data)
        v->view = view_cols(&v->view, col, width);
    if (v->grad.data)
        v->grad = view_cols(&v->grad, col, width);
    if (v->dtype == DT_BF16) {
        v->view.ld = v->grad.ld = row_floats(v);
        v->view.dtype = v->grad.dtype = DT_BF16;
    }
}

static void bind_op(struct graph *g, struct op_node *n)
{
    for (int i = 0; i < n->n_in; i++) {
        n->in_views[i] = n->in[i]->view;
        n->d_in_views[i] = n->in[i]->needs_grad ? n->in[i]->grad : (struct view){0};
    }
    for (int i = 0; i < n->n_out; i++) {
        n->out_views[i] = n->out[i]->view;
        n->d_out_views[i] = n->out[i]->grad;
    }
    n->keep = place(g, n->keep_at, n->out[0]->shape.axis, n->keep_width);
    n->run = (struct op_run){.env = &g->env,
                             .conf = n->impl_conf ? n->impl_conf : n->conf,
                             .id = n->id,
                             .n_in = n->n_in,
                             .n_out = n->n_out,
                             .n_params = n->n_params,
                             .in = n->in_views,
                             .out = n->out_views,
                             .d_in = n->d_in_views,
                             .d_out = n->d_out_views,
                             .d_in_fresh = n->fresh,
                             .in_axis = n->in_axis,
                             .out_axis = n->out_axis,
                             .params = n->params,
                             .keep = n->keep,
                             .state = n->state};
}

void graph_bind(struct graph *g)
{
    for (size_t i = 0; i < g->vals.n; i++) {
        g->vals.at[i]->alike = false;
        g->vals.at[i]->n_once = 0;
        bind_val(g, g->vals.at[i]);
    }
    for (size_t i = 0; i < g->ops.n; i++)
        bind_op(g, g->ops.at[i]);
    if (g->executor->rows)
        g->executor->rows(g);
}

/* Rows of an axis for row b of the batch. */
static int64_t rule_rows(const struct nn_batch_rows *rows,
                         const struct graph_axis_rule *rule, int64_t b)
{
    int64_t n = rule->fixed;
    for (int i = 0; i < rule->n; i++) {
        const struct nn_axis_part *p = &rule->parts[i];
        const int64_t *at = rows->offsets[p->axis];
        int64_t have = at ? (at[b + 1] - at[b]) * p->times : 0;
        n += p->most && have > p->most ? p->most : have;
    }
    return n;
}

/* Rows of an axis that follow from those of others, which were made before it. */
static enum rc set_rule_rows(struct graph *g, int axis, struct err *err)
{
    struct nn_batch_rows *rows = &g->env.rows;
    int64_t n = rows->n[AXIS_BATCH];
    if (n + 1 > g->rule_room[axis]) {
        int64_t *more = mem_try_realloc(g->rule_at[axis], (size_t)n + 1, sizeof(*more));
        if (!more)
            return err_set(err, RC_NOMEM, "no memory for the offsets of %jd rows",
                           (intmax_t)n);
        g->rule_at[axis] = more;
        g->rule_room[axis] = n + 1;
    }
    int64_t *at = g->rule_at[axis];
    at[0] = 0;
    for (int64_t b = 0; b < n; b++)
        at[b + 1] = at[b] + rule_rows(rows, g->rules[axis], b);
    rows->n[axis] = at[n];
    rows->offsets[axis] = at;
    return RC_OK;
}

enum rc graph_rows(struct graph *g, const struct nn_batch_rows *rows, struct err *err)
{
    bool grow = !g->slab;
    size_t axes = (size_t)g->n_axes; /* a few of AXES_MAX */
    memcpy(g->env.rows.n, rows->n, axes * sizeof(*rows->n));
    memcpy(g->env.rows.offsets, rows->offsets, axes * sizeof(*rows->offsets));
    for (int i = 0; i < g->n_axes; i++) {
        if (g->rules[i] && set_rule_rows(g, i, err))
            return RC_NOMEM;
        int64_t n = g->env.rows.n[i];
        if (n <= g->capacity[i])
            continue;
        g->capacity[i] = n + (i == AXIS_BATCH ? 0 : n >> SLACK_SHIFT);
        grow = true;
    }
    enum rc rc = grow ? graph_plan(g, err) : RC_OK;
    if (!rc)
        graph_bind(g);
    return rc;
}
