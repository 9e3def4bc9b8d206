/* SPDX-License-Identifier: Apache-2.0 */
/* Building a graph. Ops are appended in the order in which they are called, so the list
 * is in topological order as it stands.
 */
#include "nn/graph.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "nn/device.h"
#include "nn/graph_private.h"

#define NAME_LIMIT ((size_t)4096)
#define ALIGN_FLOATS 16 /* 64 bytes */

int64_t nn_shape_width(const struct nn_shape *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->n_dims; i++)
        n *= s->dims[i];
    return n;
}

struct graph *graph_create(const struct graph_options *options)
{
    struct graph *g = mem_calloc(1, sizeof(*g));
    g->options = *options;
    g->device = options->device ? options->device : nn_device_default();
    g->executor = g->device->ops->executor;
    g->env.pool = options->pool;
    g->env.comm = options->comm;
    g->env.training = options->training;
    g->env.seed = options->seed;
    g->axes[AXIS_BATCH] = "batch";
    g->n_axes = 1;
    buf_init(&g->prefix, NAME_LIMIT);
    return g;
}

void graph_destroy(struct graph *g)
{
    if (!g)
        return;
    if (g->executor->release)
        g->executor->release(g);
    VEC_RELEASE(&g->vals);
    VEC_RELEASE(&g->ops);
    VEC_RELEASE(&g->params);
    VEC_RELEASE(&g->losses);
    VEC_RELEASE(&g->outputs);
    VEC_RELEASE(&g->prefix_marks);
    for (int i = 0; i < g->n_axes; i++)
        mem_free(g->rule_at[i]);
    g->device->ops->free(g->device, g->slab);
    graph_free_stage(g);
    device_floats_release(&g->values);
    device_floats_release(&g->grads);
    buf_release(&g->prefix);
    arena_release(&g->arena);
    mem_free(g);
}

static void fail(struct graph *g, enum code code, const char *fmt, va_list ap)
    PRINTF_LIKE(3, 0);

static void fail(struct graph *g, enum code code, const char *fmt, va_list ap)
{
    if (g->failed)
        return;
    char text[ERR_MSG_SIZE];
    vsnprintf(text, sizeof(text), fmt, ap);
    if (g->prefix.n)
        err_coded(&g->err, RC_INVAL, code, "%.*s: %s", (int)g->prefix.n - 1,
                  buf_str(&g->prefix), text);
    else
        err_coded(&g->err, RC_INVAL, code, "%s", text);
    g->failed = true;
}

struct nn_val *graph_fail(struct graph *g, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail(g, E_NONE, fmt, ap);
    va_end(ap);
    return NULL;
}

struct nn_val *graph_fail_as(struct graph *g, enum code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail(g, code, fmt, ap);
    va_end(ap);
    return NULL;
}

int graph_axis(struct graph *g, const char *name)
{
    if (g->n_axes == AXES_MAX) {
        graph_fail(g, "more than %d sequence axes", AXES_MAX - 1);
        return -1;
    }
    g->axes[g->n_axes] = arena_strdup(&g->arena, name);
    return g->n_axes++;
}

int graph_n_axes(const struct graph *g)
{
    return g->n_axes;
}

int graph_axis_sum(struct graph *g, const char *name, int64_t fixed,
                   const struct nn_axis_part *parts, int n)
{
    struct graph_axis_rule *rule = arena_alloc(&g->arena, sizeof(*rule));
    *rule = (struct graph_axis_rule){.fixed = fixed, .n = n};
    bool fits = n >= 1 && n <= AXIS_PARTS_MAX && fixed >= 0;
    for (int i = 0; fits && i < n; i++) {
        fits = parts[i].axis > AXIS_BATCH && parts[i].axis < g->n_axes &&
               parts[i].times >= 1 && parts[i].most >= 0;
        rule->parts[i] = parts[i];
    }
    if (!fits) {
        graph_fail(g, "axis '%s' does not follow from %d others", name, n);
        return -1;
    }
    int axis = graph_axis(g, name);
    if (axis > 0)
        g->rules[axis] = rule;
    return axis;
}

int graph_axis_longer(struct graph *g, int axis)
{
    if (axis <= AXIS_BATCH || axis >= g->n_axes) {
        graph_fail(g, "no sequence axis %d to be longer than", axis);
        return -1;
    }
    int longer = graph_axis_sum(g, arena_printf(&g->arena, "%s+", g->axes[axis]), 1,
                                &(struct nn_axis_part){.axis = axis, .times = 1}, 1);
    if (longer > 0)
        g->shorter[longer] = axis;
    return longer;
}

void graph_push(struct graph *g, const char *name)
{
    VEC_PUSH(&g->prefix_marks, g->prefix.n);
    buf_printf(&g->prefix, "%s.", name);
}

void graph_pop(struct graph *g)
{
    g->prefix.n = g->prefix_marks.at[--g->prefix_marks.n];
    if (g->prefix.p)
        g->prefix.p[g->prefix.n] = '\0';
}

const char *graph_prefix(const struct graph *g)
{
    return g->prefix.p ? g->prefix.p : "";
}

static struct nn_val *val_create(struct graph *g, const struct nn_shape *shape)
{
    struct nn_val *v = arena_alloc(&g->arena, sizeof(*v));
    v->graph = g;
    v->shape = *shape;
    v->at = v->grad_at = -1;
    VEC_PUSH(&g->vals, v);
    return v;
}

static bool shape_fits(const struct graph *g, const struct nn_shape *s)
{
    if (s->axis < 0 || s->axis >= g->n_axes || s->n_dims < 1 || s->n_dims > 3)
        return false;
    for (int i = 0; i < s->n_dims; i++)
        if (s->dims[i] < 1 || s->dims[i] > INT32_MAX)
            return false;
    return nn_shape_width(s) <= INT32_MAX;
}

struct nn_val *nn_input(struct graph *g, const char *name, const struct nn_shape *shape,
                        bool wants_grad)
{
    if (!shape_fits(g, shape))
        return graph_fail(g, "input '%s' has no usable shape", name);
    struct nn_val *v = val_create(g, shape);
    v->name = arena_strdup(&g->arena, name);
    v->needs_grad = wants_grad;
    v->kept = true;
    return v;
}

/* The path of the layer that an op belongs to: that of its first parameter, or the current
 * prefix.
 */
static const char *layer_of(struct graph *g, struct param *const *params, int n_params)
{
    const char *name = n_params ? params[0]->name : buf_str(&g->prefix);
    const char *end = strrchr(name, '.');
    return end ? arena_strndup(&g->arena, name, (size_t)(end - name)) : "";
}

static struct op_node *node_of(struct graph *g, const struct op *op,
                               struct nn_val *const *in, int n_in,
                               struct param *const *params, int n_params,
                               const void *conf, size_t conf_size)
{
    struct op_node *n = arena_alloc(&g->arena, sizeof(*n));
    n->op = op;
    n->layer = layer_of(g, params, n_params);
    n->id = g->ops.n;
    n->n_in = n_in;
    n->n_params = n_params;
    n->keep_at = -1;
    n->in = arena_alloc(&g->arena, (size_t)(n_in + 1) * sizeof(*n->in));
    memcpy(n->in, in, (size_t)n_in * sizeof(*n->in));
    n->params = arena_alloc(&g->arena, (size_t)(n_params + 1) * sizeof(*n->params));
    if (n_params)
        memcpy(n->params, params, (size_t)n_params * sizeof(*n->params));
    n->conf = arena_alloc(&g->arena, conf_size);
    if (conf_size)
        memcpy(n->conf, conf, conf_size);
    n->fresh = arena_alloc(&g->arena, (size_t)(n_in + 1) * sizeof(*n->fresh));
    n->in_views = arena_alloc(&g->arena, (size_t)(n_in + 1) * sizeof(*n->in_views));
    n->d_in_views = arena_alloc(&g->arena, (size_t)(n_in + 1) * sizeof(*n->d_in_views));
    n->in_axis = arena_alloc(&g->arena, (size_t)(n_in + 1) * sizeof(*n->in_axis));
    return n;
}

static void add_outputs(struct graph *g, struct op_node *n, const struct nn_shape *out)
{
    bool behind = false;
    for (int i = 0; i < n->n_params; i++)
        behind |= n->params[i]->trainable;
    for (int i = 0; i < n->n_in; i++) {
        behind |= n->in[i]->needs_grad;
        n->in[i]->n_uses++;
        n->in_axis[i] = n->in[i]->shape.axis;
    }
    n->out_views = arena_alloc(&g->arena, (size_t)n->n_out * sizeof(*n->out_views));
    n->d_out_views = arena_alloc(&g->arena, (size_t)n->n_out * sizeof(*n->d_out_views));
    n->out_axis = arena_alloc(&g->arena, (size_t)n->n_out * sizeof(*n->out_axis));
    for (int i = 0; i < n->n_out; i++) {
        struct nn_val *v = val_create(g, &out[i]);
        v->by = n;
        v->index = i;
        v->needs_grad = behind && !(n->op->flags & OP_NO_GRAD);
        n->out[i] = v;
        n->out_axis[i] = out[i].axis;
    }
}

struct nn_val *nn_op(struct graph *g, const struct op *op, struct nn_val *const *in,
                     int n_in, struct param *const *params, int n_params,
                     const void *conf, size_t conf_size)
{
    struct nn_shape shapes[OP_INPUTS_MAX], out[OP_OUTPUTS_MAX] = {0};
    struct err err = {0};
    int64_t keep_width = 0;
    if (g->failed)
        return NULL;
    if (!op->onnx)
        return graph_fail(g, "%s: the op does not say what it is in ONNX", op->name);
    if (n_in < 1 || n_in > OP_INPUTS_MAX || n_params > OP_PARAMS_MAX)
        return graph_fail(g, "%s: %d inputs", op->name, n_in);
    for (int i = 0; i < n_in; i++) {
        if (!in[i])
            return graph_fail(g, "%s: input %d is missing", op->name, i);
        shapes[i] = in[i]->shape;
    }
    for (int i = 0; i < n_params; i++)
        if (!params[i])
            return NULL;
    if (op->infer(conf, shapes, n_in, out, &keep_width, &err))
        return graph_fail(g, "%s: %s", op->name, err.msg);
    struct op_node *n = node_of(g, op, in, n_in, params, n_params, conf, conf_size);
    n->keep_width = keep_width;
    for (n->n_out = 0; n->n_out < OP_OUTPUTS_MAX && out[n->n_out].n_dims; n->n_out++)
        if (!shape_fits(g, &out[n->n_out]))
            return graph_fail(g, "%s: output %d has no usable shape", op->name, n->n_out);
    add_outputs(g, n, out);
    VEC_PUSH(&g->ops, n);
    return n->out[0];
}

struct nn_val *nn_sibling(struct nn_val *v, int i)
{
    return v && v->by && i < v->by->n_out ? v->by->out[i] : NULL;
}

void graph_reuse(struct graph *g, bool on)
{
    g->reuse += on ? 1 : -1;
}

static struct param *same_param(struct graph *g, struct param *have,
                                const struct param *want)
{
    if (g->reuse && have->n_dims == want->n_dims &&
        memcmp(have->dims, want->dims, sizeof(have->dims)) == 0)
        return have;
    graph_fail(g,
               g->reuse ? "parameter '%s' is wanted in two sizes"
                        : "two parameters are named '%s'",
               want->name);
    return NULL;
}

struct param *nn_param(struct graph *g, const char *name, const int64_t *dims, int n_dims,
                       struct nn_init init, bool trainable)
{
    if (g->failed)
        return NULL;
    struct param *p = arena_alloc(&g->arena, sizeof(*p));
    p->name = arena_printf(&g->arena, "%s%s", buf_str(&g->prefix), name);
    p->n_dims = n_dims;
    p->n = 1;
    for (int i = 0; i < n_dims; i++) {
        if (dims[i] < 1 || dims[i] > INT32_MAX || p->n > INT64_C(1) << 40) {
            graph_fail(g, "parameter '%s': size %jd", p->name, (intmax_t)dims[i]);
            return NULL;
        }
        p->dims[i] = dims[i];
        p->n *= dims[i];
    }
    if (graph_param(g, p->name))
        return same_param(g, graph_param(g, p->name), p);
    p->init = init;
    p->trainable = trainable;
    VEC_PUSH(&g->params, p);
    return p;
}

void nn_loss(struct graph *g, const char *name, struct nn_val *v)
{
    if (!v)
        return;
    if (nn_shape_width(&v->shape) != 1) {
        graph_fail(g, "loss '%s' has %jd values per row", name,
                   (intmax_t)nn_shape_width(&v->shape));
        return;
    }
    v->kept = true;
    VEC_PUSH(&g->losses,
             ((struct graph_named_val){
                 .name = arena_strdup(&g->arena, name), .val = v, .seed = 1.0f}));
}

void nn_loss_training(struct graph *g, const char *name, struct nn_val *v)
{
    size_t n = g->losses.n;
    nn_loss(g, name, v);
    if (g->losses.n > n)
        g->losses.at[n].training = true;
}

void nn_keep(struct graph *g, struct nn_val *v)
{
    if (v)
        v->kept = true;
}

void nn_output(struct graph *g, const char *name, struct nn_val *v)
{
    if (!v)
        return;
    v->kept = true;
    VEC_PUSH(&g->outputs,
             ((struct graph_named_val){.name = arena_strdup(&g->arena, name), .val = v}));
}

void nn_output_whole(struct graph *g, const char *name, struct nn_val *v)
{
    nn_output(g, name, v);
    if (v)
        g->outputs.at[g->outputs.n - 1].whole = true;
}

bool graph_output_whole(const struct graph *g, size_t i)
{
    return g->outputs.at[i].whole;
}

struct nn_val *graph_output(const struct graph *g, const char *name)
{
    for (size_t i = 0; i < g->outputs.n; i++)
        if (strcmp(g->outputs.at[i].name, name) == 0)
            return g->outputs.at[i].val;
    return NULL;
}

size_t graph_n_outputs(const struct graph *g)
{
    return g->outputs.n;
}

const char *graph_output_name(const struct graph *g, size_t i)
{
    return g->outputs.at[i].name;
}

const struct nn_batch_rows *graph_batch_rows(const struct graph *g)
{
    return &g->env.rows;
}

const struct nn_shape *nn_val_shape(const struct nn_val *v)
{
    return &v->shape;
}

/* Rows of normal numbers, each freed of those before it (twice, against rounding). */
static void make_orthogonal(float *w, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float *row = w + i * n;
        double size = 0;
        for (int64_t k = 0; k < 2 * i; k++) {
            const float *other = w + k % i * n;
            double dot = 0;
            for (int64_t j = 0; j < n; j++)
                dot += (double)row[j] * (double)other[j];
            for (int64_t j = 0; j < n; j++)
                row[j] -= (float)(dot * (double)other[j]);
        }
        for (int64_t j = 0; j < n; j++)
            size += (double)row[j] * (double)row[j];
        for (int64_t j = 0; j < n; j++)
            row[j] = (float)((double)row[j] / sqrt(size));
    }
}

static void fill_truncated(struct rng *r, const struct param *p, float *value)
{
    for (int64_t i = 0; i < p->n;) {
        double x = rng_normal(r);
        if (fabs(x) <= 2)
            value[i++] = (float)(p->init.a + p->init.b * x);
    }
}

/* Each parameter's initial values follow from the seed and its name alone. */
static void init_param(const struct graph *g, const struct param *p, float *value)
{
    struct rng r;
    rng_init(&r, g->options.seed, hash_xxh3(p->name, strlen(p->name)), 0, 0);
    size_t n = (size_t)p->n;
    float a = (float)p->init.a;
    switch (p->init.kind) {
    case INIT_ZEROS:
        memset(value, 0, n * sizeof(float));
        break;
    case INIT_ONES:
    case INIT_CONST:
        for (size_t i = 0; i < n; i++)
            value[i] = p->init.kind == INIT_ONES ? 1.0f : a;
        break;
    case INIT_UNIFORM:
        rng_fill_uniform(&r, a, (float)p->init.b, value, n);
        break;
    case INIT_NORMAL:
        rng_fill_normal(&r, a, (float)p->init.b, value, n);
        break;
    case INIT_TRUNCATED:
        fill_truncated(&r, p, value);
        break;
    case INIT_EYE:
        for (int64_t i = 0; i < p->n; i++)
            value[i] = i / p->dims[1] == i % p->dims[1] ? a : 0.0f;
        break;
    case INIT_ORTHOGONAL:
        rng_fill_normal(&r, 0, 1, value, n);
        make_orthogonal(value, p->dims[0]);
        break;
    }
}

static int64_t aligned(int64_t n)
{
    return (n + ALIGN_FLOATS - 1) / ALIGN_FLOATS * ALIGN_FLOATS;
}

static void count_params(const struct graph *g, int64_t *values, int64_t *grads)
{
    *values = *grads = 0;
    for (size_t i = 0; i < g->params.n; i++) {
        *values += aligned(g->params.at[i]->n);
        if (g->params.at[i]->trainable && g->options.training)
            *grads += aligned(g->params.at[i]->n);
    }
}

/* Told before any memory is taken: a process beyond its limit is ended without a word. */
static enum rc check_params(const struct graph *g, struct err *err)
{
    int64_t values, grads;
    count_params(g, &values, &grads);
    double bytes = (double)sizeof(float) * (double)(values + grads);
    if (g->options.memory <= 0 || bytes <= (double)g->options.memory)
        return RC_OK;
    return err_coded(err, RC_NOMEM, E1408,
                     "%jd dense parameters and their gradients need %.1f MiB of memory, "
                     "%.1f MiB may be used; smaller hidden_units help",
                     (intmax_t)values, bytes / (1 << 20),
                     (double)g->options.memory / (1 << 20));
}

static enum rc alloc_params(struct graph *g, struct err *err)
{
    int64_t values, grads;
    count_params(g, &values, &grads);
    enum rc rc = device_floats_init(&g->values, g->device, values);
    if (!rc && g->options.training)
        rc = device_floats_init(&g->grads, g->device, grads);
    return rc ? err_set(err, rc, "no memory for %jd dense parameters", (intmax_t)values)
              : RC_OK;
}

static enum rc place_params(struct graph *g, struct err *err)
{
    int64_t at = 0, grad_at = 0;
    bool copies = !g->device->ops->host_visible;
    enum rc rc = alloc_params(g, err);
    for (size_t i = 0; i < g->params.n && !rc; i++) {
        struct param *p = g->params.at[i];
        p->device = g->device;
        p->value = g->values.at + at;
        p->host = copies ? g->values.host + at : NULL;
        init_param(g, p, g->values.host + at);
        at += aligned(p->n);
        if (p->trainable && g->grads.at) {
            p->grad = g->grads.at + grad_at;
            p->host_grad = copies ? g->grads.host + grad_at : NULL;
            grad_at += aligned(p->n);
        }
    }
    if (!rc)
        device_floats_push(&g->values, 0, g->values.n);
    return rc;
}

/* All ops that the device lacks are one message: the first, and how many there are. */
static enum rc check_ops(const struct graph *g, struct err *err)
{
    const struct op_node *first = NULL;
    size_t lacking = 0;
    for (size_t i = 0; i < g->ops.n; i++) {
        if (g->executor->has(g->ops.at[i]->op))
            continue;
        first = first ? first : g->ops.at[i];
        lacking++;
    }
    if (!first)
        return RC_OK;
    return err_coded(err, RC_UNSUPPORTED, E2601,
                     "device '%s' has no implementation of op '%s' of layer '%s' (%zu of "
                     "%zu ops are lacking)",
                     g->device->ops->name, first->op->name, first->layer, lacking,
                     g->ops.n);
}

static bool is_moment(int at, int n)
{
    return at >= 0 && at < n;
}

/* Memory is laid out by moments: without them no op would have any, and an op at a moment
 * that does not exist would share it with others.
 */
static enum rc check_plan(const struct graph *g, const struct err_call *call)
{
    if (g->ops.n && g->n_forward <= 0)
        return err_broken(call, "planned none of %zu ops", g->ops.n);
    for (size_t i = 0; i < g->ops.n; i++) {
        const struct op_node *n = g->ops.at[i];
        if (!is_moment(n->forward_at, g->n_forward) ||
            (n->backward && !is_moment(n->backward_at, g->n_backward)))
            return err_broken(call,
                              "gave op '%s' of layer '%s' a moment outside the pass",
                              n->op->name, n->layer);
    }
    return RC_OK;
}

enum rc graph_finish(struct graph *g, struct err *err)
{
    if (g->failed) {
        if (err)
            *err = g->err;
        return RC_INVAL;
    }
    enum rc rc = nn_device_check(g->device, err);
    if (rc)
        return rc;
    g->finished = true;
    if (g->options.fixed)
        graph_prune(g);
    graph_order(g);
    rc = check_ops(g, err);
    if (!rc)
        rc = check_params(g, err);
    if (rc)
        return rc;
    struct err_call call = err_enter(err, "device", g->device->ops->name, "plan");
    rc = err_leave(&call, g->executor->plan(g, err));
    if (!rc)
        rc = check_plan(g, &call);
    return rc ? rc : place_params(g, err);
}

struct param *const *graph_params(const struct graph *g, size_t *n)
{
    *n = g->params.n;
    return g->params.at;
}

struct param *graph_param(const struct graph *g, const char *name)
{
    for (size_t i = 0; i < g->params.n; i++)
        if (strcmp(g->params.at[i]->name, name) == 0)
            return g->params.at[i];
    return NULL;
}

size_t graph_by_host(const struct graph *g, const char **names, size_t max)
{
    return g->executor->by_host ? g->executor->by_host(g, names, max) : 0;
}

uint64_t graph_replays(const struct graph *g)
{
    return g->executor->replays ? g->executor->replays(g) : 0;
}

size_t graph_n_ops(const struct graph *g)
{
    return g->ops.n;
}

size_t graph_bytes(const struct graph *g)
{
    return (size_t)g->slab_floats * sizeof(float);
}
