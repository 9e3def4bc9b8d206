/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the ops behind the outputs in their order and lets each write itself. The file is
 * protocol buffers, of which this writes the few messages that are needed, by the field
 * numbers of onnx.proto.
 */
#include "nn/onnx.h"

#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "nn/graph_private.h"

enum wire { WIRE_VARINT = 0, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };
/* Field numbers. */
enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPSET = 8 };
enum { OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INIT = 5, GRAPH_IN = 11, GRAPH_OUT = 12 };
enum { NODE_IN = 1, NODE_OUT = 2, NODE_NAME = 3, NODE_TYPE = 4, NODE_ATTR = 5 };
enum { ATTR_NAME = 1, ATTR_F, ATTR_I, ATTR_GRAPH = 6, ATTR_INTS = 8, ATTR_TYPE = 20 };
enum { ATTR_TYPE_FLOAT = 1, ATTR_TYPE_INT = 2, ATTR_TYPE_GRAPH = 5, ATTR_TYPE_INTS = 7 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9 };
enum { ELEM_FLOAT = 1, ELEM_INT64 = 7 };
enum { INFO_NAME = 1, INFO_TYPE = 2, TYPE_TENSOR = 1 };
enum { TENSOR_ELEM = 1, TENSOR_SHAPE = 2, SHAPE_DIM = 1, DIM_VALUE = 1, DIM_PARAM = 2 };

struct onnx {
    const struct graph *g;
    struct arena arena;
    struct buf nodes, inits; /* fields of the graph message */
    struct map params;       /* names that are initialisers already */
    bool mask[AXES_MAX];
    const char *mask_column[AXES_MAX];
    const char *longer_mask[AXES_MAX];
    int64_t next; /* number of the next name */
};

static void put_varint(struct buf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_putc(b, (char)(v | 0x80));
    buf_putc(b, (char)v);
}

static void put_int(struct buf *b, int field, int64_t v)
{
    put_varint(b, (uint64_t)field << 3 | WIRE_VARINT);
    put_varint(b, (uint64_t)v);
}

static void put_bytes(struct buf *b, int field, const void *p, size_t n)
{
    put_varint(b, (uint64_t)field << 3 | WIRE_BYTES);
    put_varint(b, n);
    buf_add(b, p, n);
}

static void put_text(struct buf *b, int field, const char *s)
{
    put_bytes(b, field, s, strlen(s));
}

/* `m` as a field, and emptied. */
static void put_message(struct buf *b, int field, struct buf *m)
{
    put_bytes(b, field, buf_str(m), m->n);
    b->failed |= m->failed;
    buf_release(m);
}

static struct buf message(void)
{
    struct buf b;
    buf_init(&b, ONNX_BYTES_MAX);
    return b;
}

static const char *fresh(struct onnx *o, const char *kind)
{
    return arena_printf(&o->arena, "%s_%jd", kind, (intmax_t)o->next++);
}

static void put_attr(struct buf *node, const struct onnx_attr *a)
{
    struct buf b = message();
    put_text(&b, ATTR_NAME, a->name);
    switch (a->kind) {
    case ONNX_ATTR_NONE:
        break;
    case ONNX_ATTR_INT:
        put_int(&b, ATTR_I, a->i);
        put_int(&b, ATTR_TYPE, ATTR_TYPE_INT);
        break;
    case ONNX_ATTR_FLOAT:
        put_varint(&b, ATTR_F << 3 | WIRE_FIXED32);
        buf_add(&b, &a->f, sizeof(a->f));
        put_int(&b, ATTR_TYPE, ATTR_TYPE_FLOAT);
        break;
    case ONNX_ATTR_INTS:
        for (int i = 0; i < a->n_ints; i++)
            put_int(&b, ATTR_INTS, a->ints[i]);
        put_int(&b, ATTR_TYPE, ATTR_TYPE_INTS);
        break;
    }
    put_message(node, NODE_ATTR, &b);
}

const char *onnx_node(struct onnx *o, const struct onnx_node *n)
{
    struct buf b = message();
    const char *out = n->out ? n->out : fresh(o, n->type);
    for (int i = 0; i < n->n_in; i++)
        put_text(&b, NODE_IN, n->in[i]);
    put_text(&b, NODE_OUT, out);
    if (n->second)
        put_text(&b, NODE_OUT, *n->second = fresh(o, n->type));
    put_text(&b, NODE_NAME, out);
    put_text(&b, NODE_TYPE, n->type);
    for (size_t i = 0; i < ARRAY_LEN(n->attrs) && n->attrs[i].name; i++)
        put_attr(&b, &n->attrs[i]);
    put_message(&o->nodes, GRAPH_NODE, &b);
    return out;
}

const char *onnx_unary(struct onnx *o, const char *type, const char *out, const char *a)
{
    return onnx_node(o,
                     &(struct onnx_node){.type = type, .in = &a, .n_in = 1, .out = out});
}

const char *onnx_binary(struct onnx *o, const char *type, const char *out, const char *a,
                        const char *b)
{
    const char *in[] = {a, b};
    return onnx_node(o,
                     &(struct onnx_node){.type = type, .in = in, .n_in = 2, .out = out});
}

const char *onnx_act(struct onnx *o, const char *out, const char *x, enum gemm_act act)
{
    static const char *const acts[] = {[GEMM_ACT_RELU] = "Relu",
                                       [GEMM_ACT_SIGMOID] = "Sigmoid",
                                       [GEMM_ACT_TANH] = "Tanh"};
    return act == GEMM_ACT_NONE ? x : onnx_unary(o, acts[act], out, x);
}

const char *onnx_layer(struct onnx *o, const char *out, const char *x, const char *w,
                       const char *bias, enum gemm_act act)
{
    const char *sum = act == GEMM_ACT_NONE ? out : NULL;
    const char *y = onnx_binary(o, "MatMul", bias ? NULL : sum, x, w);
    if (bias)
        y = onnx_binary(o, "Add", sum, y, bias);
    return onnx_act(o, out, y, act);
}

const char *onnx_with(struct onnx *o, const char *type, const char *out, const char *a,
                      float by)
{
    return onnx_binary(o, type, out, a, onnx_number(o, by));
}

const char *onnx_sum(struct onnx *o, const char *out, const char *a, int64_t axis,
                     bool keep)
{
    const char *in[] = {a, onnx_ints(o, &axis, 1)};
    return onnx_node(o, &(struct onnx_node){.type = "ReduceSum",
                                            .in = in,
                                            .n_in = 2,
                                            .out = out,
                                            .attrs = {ONNX_INT("keepdims", keep)}});
}

/* Floats of any shape, as a graph within a graph may declare them. */
static void put_any(struct buf *graph, int field, const char *name)
{
    struct buf tensor = message(), type = message(), info = message();
    put_int(&tensor, TENSOR_ELEM, ELEM_FLOAT);
    put_message(&type, TYPE_TENSOR, &tensor);
    put_text(&info, INFO_NAME, name);
    put_message(&info, INFO_TYPE, &type);
    put_message(graph, field, &info);
}

/* The graph that is applied to each slice. Nodes that the body writes are its own;
 * constants stay with the graph around it, where it sees them.
 */
static struct buf scan_graph(struct onnx *o, const struct onnx_scan *s)
{
    struct buf graph = message(), around = o->nodes;
    const char *x[ONNX_SCAN_MAX], *state = fresh(o, "state");
    put_text(&graph, GRAPH_NAME, "body");
    put_any(&graph, GRAPH_IN, state);
    for (int i = 0; i < s->n_x; i++) {
        x[i] = fresh(o, "slice");
        put_any(&graph, GRAPH_IN, x[i]);
    }
    o->nodes = message();
    const char *next = s->body(o, state, x, s->arg);
    const char *seen = onnx_unary(o, "Identity", NULL, next);
    buf_add(&graph, buf_str(&o->nodes), o->nodes.n);
    graph.failed |= o->nodes.failed;
    buf_release(&o->nodes);
    o->nodes = around;
    put_any(&graph, GRAPH_OUT, next);
    put_any(&graph, GRAPH_OUT, seen);
    return graph;
}

const char *onnx_scan(struct onnx *o, const struct onnx_scan *s)
{
    struct buf node = message(), attr = message(), graph = scan_graph(o, s);
    struct onnx_attr count = ONNX_INT("num_scan_inputs", s->n_x);
    const char *out = fresh(o, "Scan");
    put_text(&node, NODE_IN, s->first);
    for (int i = 0; i < s->n_x; i++)
        put_text(&node, NODE_IN, s->x[i]);
    put_text(&node, NODE_OUT, fresh(o, "last"));
    put_text(&node, NODE_OUT, out);
    put_text(&node, NODE_NAME, out);
    put_text(&node, NODE_TYPE, "Scan");
    put_text(&attr, ATTR_NAME, "body");
    put_message(&attr, ATTR_GRAPH, &graph);
    put_int(&attr, ATTR_TYPE, ATTR_TYPE_GRAPH);
    put_message(&node, NODE_ATTR, &attr);
    put_attr(&node, &count);
    put_message(&o->nodes, GRAPH_NODE, &node);
    return out;
}

static void put_tensor(struct onnx *o, const char *name, int type, const int64_t *dims,
                       int n_dims, const void *data, size_t bytes)
{
    struct buf b = message();
    for (int i = 0; i < n_dims; i++)
        put_int(&b, TENSOR_DIMS, dims[i]);
    put_int(&b, TENSOR_TYPE, type);
    put_text(&b, TENSOR_NAME, name);
    put_bytes(&b, TENSOR_RAW, data, bytes);
    put_message(&o->inits, GRAPH_INIT, &b);
}

const char *onnx_param(struct onnx *o, const struct param *p)
{
    struct str key = str_c(p->name);
    if (map_find(&o->params, key))
        return p->name;
    map_put(&o->params, key);
    put_tensor(o, p->name, ELEM_FLOAT, p->dims, p->n_dims, param_read(p),
               (size_t)p->n * sizeof(float));
    return p->name;
}

const char *onnx_floats(struct onnx *o, const float *v, const int64_t *dims, int n_dims)
{
    const char *name = fresh(o, "constant");
    size_t n = 1;
    for (int i = 0; i < n_dims; i++)
        n *= (size_t)dims[i];
    put_tensor(o, name, ELEM_FLOAT, dims, n_dims, v, n * sizeof(float));
    return name;
}

const char *onnx_number(struct onnx *o, float v)
{
    return onnx_floats(o, &v, NULL, 0);
}

const char *onnx_ints(struct onnx *o, const int64_t *v, int n)
{
    const char *name = fresh(o, "constant");
    int64_t dim = n;
    put_tensor(o, name, ELEM_INT64, &dim, 1, v, (size_t)n * sizeof(*v));
    return name;
}

static bool same_dims(const struct nn_shape *a, const struct nn_shape *b)
{
    return a->n_dims == b->n_dims &&
           memcmp(a->dims, b->dims, (size_t)a->n_dims * sizeof(*a->dims)) == 0;
}

/* A 0 takes over the size of the input: batch and positions. */
const char *onnx_reshape(struct onnx *o, const char *out, const char *a,
                         const struct nn_shape *from, const struct nn_shape *to)
{
    int64_t dims[5] = {0};
    int n = from->axis == AXIS_BATCH ? 1 : 2;
    if (same_dims(from, to))
        return out ? onnx_unary(o, "Identity", out, a) : a;
    for (int i = 0; i < to->n_dims; i++)
        dims[n++] = to->dims[i];
    return onnx_binary(o, "Reshape", out, a, onnx_ints(o, dims, n));
}

const char *onnx_flat(struct onnx *o, const char *a, const struct nn_shape *from)
{
    struct nn_shape to = {
        .axis = from->axis, .n_dims = 1, .dims = {nn_shape_width(from)}};
    return onnx_reshape(o, NULL, a, from, &to);
}

const char *graph_axis_name(const struct graph *g, int axis)
{
    return g->axes[axis];
}

const char *nn_val_name(const struct nn_val *v)
{
    return v->by ? NULL : v->name;
}

/* Of an axis that is longer: a column of ones before the other's. */
static const char *longer_mask(struct onnx *o, const char *mask)
{
    static const float one = 1;
    static const int64_t zero = 0, first = 1;
    const char *cut[] = {onnx_unary(o, "Shape", NULL, mask), onnx_ints(o, &zero, 1),
                         onnx_ints(o, &first, 1)};
    const char *sides[] = {
        onnx_node(o, &(struct onnx_node){.type = "Slice", .in = cut, .n_in = 3}),
        onnx_ints(o, &first, 1)};
    const char *column[] = {
        onnx_floats(o, &one, (const int64_t[]){1, 1}, 2),
        onnx_node(o, &(struct onnx_node){.type = "Concat",
                                         .in = sides,
                                         .n_in = 2,
                                         .attrs = {ONNX_INT("axis", 0)}})};
    const char *both[] = {onnx_binary(o, "Expand", NULL, column[0], column[1]), mask};
    return onnx_node(
        o, &(struct onnx_node){
               .type = "Concat", .in = both, .n_in = 2, .attrs = {ONNX_INT("axis", 1)}});
}

const char *onnx_mask(struct onnx *o, int axis)
{
    int shorter = o->g->shorter[axis];
    if (shorter && !o->longer_mask[axis])
        o->longer_mask[axis] = longer_mask(o, onnx_mask(o, shorter));
    if (shorter)
        return o->longer_mask[axis];
    o->mask[axis] = true;
    return arena_printf(&o->arena, "%s.mask", o->g->axes[axis]);
}

const char *onnx_mask_column(struct onnx *o, int axis)
{
    int64_t last = -1;
    if (!o->mask_column[axis])
        o->mask_column[axis] =
            onnx_binary(o, "Unsqueeze", NULL, onnx_mask(o, axis), onnx_ints(o, &last, 1));
    return o->mask_column[axis];
}

void onnx_nothing(struct onnx *o, const struct onnx_op *op)
{
}

void onnx_same(struct onnx *o, const struct onnx_op *op)
{
    onnx_unary(o, "Identity", op->y[0], op->x[0]);
}

/* --- the walk --- */

static const char *name_of(struct onnx *o, const struct nn_val *v)
{
    if (!v->by)
        return v->name;
    char *name = arena_printf(&o->arena, "%s_op%ju_%d", v->by->op->name,
                              (uintmax_t)v->by->id, v->index);
    for (char *p = name; *p; p++)
        if (*p == ' ')
            *p = '_';
    return name;
}

static void put_op(struct onnx *o, const struct op_node *n)
{
    struct nn_shape in[OP_INPUTS_MAX], out[OP_OUTPUTS_MAX];
    const char *x[OP_INPUTS_MAX], *y[OP_OUTPUTS_MAX];
    for (int i = 0; i < n->n_in; i++) {
        in[i] = n->in[i]->shape;
        x[i] = name_of(o, n->in[i]);
    }
    for (int i = 0; i < n->n_out; i++) {
        out[i] = n->out[i]->shape;
        y[i] = name_of(o, n->out[i]);
    }
    n->op->onnx(o, &(struct onnx_op){.conf = n->conf,
                                     .n_in = n->n_in,
                                     .n_out = n->n_out,
                                     .n_params = n->n_params,
                                     .in = in,
                                     .out = out,
                                     .x = x,
                                     .y = y,
                                     .params = n->params});
}

static void put_dim(struct buf *shape, int64_t value, const char *param)
{
    struct buf b = message();
    if (param)
        put_text(&b, DIM_PARAM, param);
    else
        put_int(&b, DIM_VALUE, value);
    put_message(shape, SHAPE_DIM, &b);
}

/* A declared input or output: batch, the axis if it is a sequence, then dims. */
static void put_info(const struct onnx *o, struct buf *graph, int field, const char *name,
                     int axis, const int64_t *dims, int n_dims)
{
    struct buf shape = message(), tensor = message(), type = message(), info = message();
    put_dim(&shape, 0, "batch");
    if (axis != AXIS_BATCH)
        put_dim(&shape, 0, o->g->axes[axis]);
    for (int i = 0; i < n_dims; i++)
        put_dim(&shape, dims[i], NULL);
    put_int(&tensor, TENSOR_ELEM, ELEM_FLOAT);
    put_message(&tensor, TENSOR_SHAPE, &shape);
    put_message(&type, TYPE_TENSOR, &tensor);
    put_text(&info, INFO_NAME, name);
    put_message(&info, INFO_TYPE, &type);
    put_message(graph, field, &info);
}

/* An output of one number per row is [batch]. */
static void put_output(struct onnx *o, const char *name, const struct nn_val *v,
                       struct buf *graph)
{
    int64_t last = -1;
    if (v->shape.axis == AXIS_BATCH && nn_shape_width(&v->shape) == 1) {
        onnx_binary(o, "Squeeze", name, onnx_flat(o, name_of(o, v), &v->shape),
                    onnx_ints(o, &last, 1));
        put_info(o, graph, GRAPH_OUT, name, AXIS_BATCH, NULL, 0);
        return;
    }
    onnx_unary(o, "Identity", name, name_of(o, v));
    put_info(o, graph, GRAPH_OUT, name, v->shape.axis, v->shape.dims, v->shape.n_dims);
}

/* Which ops the outputs need; bytes of the caller's, one per op. */
static enum rc mark_needed(const struct graph *g, const char *const *outputs, size_t n,
                           bool *ops, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct nn_val *v = graph_output(g, outputs[i]);
        if (!v)
            return err_set(err, RC_NOTFOUND, "there is no output '%s'", outputs[i]);
        if (v->by)
            ops[v->by->id] = true;
    }
    for (size_t i = g->ops.n; i-- > 0;)
        for (int k = 0; ops[g->ops.at[i]->id] && k < g->ops.at[i]->n_in; k++)
            if (g->ops.at[i]->in[k]->by)
                ops[g->ops.at[i]->in[k]->by->id] = true;
    return RC_OK;
}

static size_t id_limit(const struct graph *g)
{
    return g->ops.n ? (size_t)g->ops.at[g->ops.n - 1]->id + 1 : 1;
}

static bool reads(const struct graph *g, const bool *ops, const struct nn_val *v)
{
    for (size_t i = 0; i < g->ops.n; i++)
        for (int k = 0; ops[g->ops.at[i]->id] && k < g->ops.at[i]->n_in; k++)
            if (g->ops.at[i]->in[k] == v)
                return true;
    return false;
}

static bool is_output(const struct graph *g, const char *const *outputs, size_t n,
                      const struct nn_val *v)
{
    for (size_t i = 0; i < n; i++)
        if (graph_output(g, outputs[i]) == v)
            return true;
    return false;
}

static void put_inputs(struct onnx *o, const bool *ops, const char *const *outputs,
                       size_t n, struct buf *graph)
{
    const struct graph *g = o->g;
    for (size_t i = 0; i < g->vals.n; i++) {
        const struct nn_val *v = g->vals.at[i];
        if (!v->by && (reads(g, ops, v) || is_output(g, outputs, n, v)))
            put_info(o, graph, GRAPH_IN, v->name, v->shape.axis, v->shape.dims,
                     v->shape.n_dims);
    }
    for (int i = 1; i < g->n_axes; i++)
        if (o->mask[i])
            put_info(o, graph, GRAPH_IN, onnx_mask(o, i), i, NULL, 0);
}

static void onnx_release(struct onnx *o)
{
    buf_release(&o->nodes);
    buf_release(&o->inits);
    map_release(&o->params);
    arena_release(&o->arena);
}

static void put_model(struct onnx *o, struct buf *graph, struct buf *out)
{
    struct buf opset = message();
    buf_add(graph, buf_str(&o->nodes), o->nodes.n);
    buf_add(graph, buf_str(&o->inits), o->inits.n);
    graph->failed |= o->nodes.failed | o->inits.failed;
    put_text(&opset, OPSET_DOMAIN, "");
    put_int(&opset, OPSET_VERSION, ONNX_OPSET);
    put_int(out, MODEL_IR, ONNX_IR_VERSION);
    put_text(out, MODEL_PRODUCER, "trainyard");
    put_message(out, MODEL_OPSET, &opset);
    put_message(out, MODEL_GRAPH, graph);
}

enum rc onnx_print(const struct graph *g, const char *const *outputs, size_t n,
                   struct buf *out, struct err *err)
{
    struct onnx o = {.g = g, .nodes = message(), .inits = message()};
    struct buf graph = message();
    bool *ops = mem_calloc(id_limit(g), sizeof(*ops));
    enum rc rc = mark_needed(g, outputs, n, ops, err);
    put_text(&graph, GRAPH_NAME, "model");
    for (size_t i = 0; i < g->ops.n && !rc; i++) {
        const struct op_node *n_op = g->ops.at[i];
        if (ops[n_op->id] && n_op->op->onnx == onnx_nothing)
            rc = err_set(err, RC_UNSUPPORTED, "op '%s' has no form in ONNX",
                         n_op->op->name);
        else if (ops[n_op->id])
            put_op(&o, n_op);
    }
    for (size_t i = 0; i < n && !rc; i++)
        put_output(&o, outputs[i], graph_output(g, outputs[i]), &graph);
    if (!rc) {
        put_inputs(&o, ops, outputs, n, &graph);
        put_model(&o, &graph, out);
        rc = buf_check(out, err);
    }
    buf_release(&graph);
    onnx_release(&o);
    mem_free(ops);
    return rc ? err_wrap(err, rc, "ONNX graph") : RC_OK;
}

enum rc onnx_inputs(const struct graph *g, const char *const *outputs, size_t n,
                    struct onnx_inputs *out, struct err *err)
{
    struct onnx o = {.g = g, .nodes = message(), .inits = message()};
    bool *ops = mem_calloc(id_limit(g), sizeof(*ops));
    enum rc rc = mark_needed(g, outputs, n, ops, err);
    *out = (struct onnx_inputs){0};
    for (size_t i = 0; i < g->ops.n && !rc; i++)
        if (ops[g->ops.at[i]->id])
            put_op(&o, g->ops.at[i]); /* says which masks it reads */
    for (size_t i = 0; i < g->vals.n && !rc; i++) {
        struct nn_val *v = g->vals.at[i];
        if (v->by || !(reads(g, ops, v) || is_output(g, outputs, n, v)))
            continue;
        if (out->n == ARRAY_LEN(out->vals))
            rc = err_set(err, RC_UNSUPPORTED, "the graph has more than %zu inputs",
                         ARRAY_LEN(out->vals));
        else
            out->vals[out->n++] = v;
    }
    memcpy(out->mask, o.mask, sizeof(out->mask));
    onnx_release(&o);
    mem_free(ops);
    return rc;
}
