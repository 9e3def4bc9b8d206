/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/mem.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/op/field_linear.h"
#include "nn/ops.h"

static int64_t all_matrices(const struct op_own_conf *c)
{
    return c->pairs ? c->n * (c->n - 1) / 2 : c->n;
}

static enum rc own_infer(const void *conf, const struct nn_shape *in, int n_in,
                         struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_own_conf *c = conf;
    *keep_width = 0;
    out[0] = (struct nn_shape){
        .axis = in[0].axis, .n_dims = 2, .dims = {all_matrices(c), c->out}};
    return RC_OK;
}

/* [.., m, 1, d] times [m, d, out]. */
static void own_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_own_conf *c = op->conf;
    int64_t m = all_matrices(c), across = -2, *at = mem_calloc((size_t)m, sizeof(*at));
    for (int64_t i = 0, p = 0; i < c->n; i++)
        for (int64_t k = 0; k < op_matrices(c, i); k++)
            at[p++] = i;
    const char *picks[] = {op->x[0], onnx_ints(o, at, (int)m)};
    const char *x = onnx_node(o, &(struct onnx_node){.type = "Gather",
                                                     .in = picks,
                                                     .n_in = 2,
                                                     .attrs = {ONNX_INT("axis", -2)}});
    x = onnx_binary(o, "Unsqueeze", NULL, x, onnx_ints(o, &across, 1));
    struct onnx_attr perm = {
        .name = "perm", .kind = ONNX_ATTR_INTS, .ints = {0, 2, 1}, .n_ints = 3};
    const char *w = onnx_param(o, op->params[0]);
    w = onnx_node(o, &(struct onnx_node){
                         .type = "Transpose", .in = &w, .n_in = 1, .attrs = {perm}});
    struct nn_shape wide = op->out[0];
    wide.n_dims = 3;
    wide.dims[1] = 1;
    wide.dims[2] = c->out;
    bool bias = op->n_params > 1;
    const char *y =
        onnx_reshape(o, bias ? NULL : op->y[0], onnx_binary(o, "MatMul", NULL, x, w),
                     &wide, &op->out[0]);
    if (bias)
        onnx_binary(o, "Add", op->y[0], y, onnx_param(o, op->params[1]));
    mem_free(at);
}

const struct op op_field_linear = {
    .name = "linear of each field",
    .flags = OP_NEEDS_IN,
    .infer = own_infer,
    .onnx = own_onnx,
};

struct nn_val *nn_field_linear(struct graph *g, const char *name, struct nn_val *x,
                               bool pairs, int64_t out, const char *bias)
{
    if (!x)
        return NULL;
    struct op_own_conf conf = {.precision = g->options.precision,
                               .n = x->shape.dims[0],
                               .d = x->shape.dims[1],
                               .out = out,
                               .pairs = pairs};
    if (x->shape.n_dims != 2 || (pairs && conf.n < 2))
        return graph_fail(g, "%s takes rows of %sfields [n, d]", name,
                          pairs ? "two or more " : "");
    double bound = 1.0 / sqrt((double)conf.d);
    graph_push(g, name);
    const int64_t dims[] = {all_matrices(&conf), out, conf.d};
    struct param *params[2];
    params[0] = nn_param(g, "weight", dims, 3,
                         (struct nn_init){INIT_UNIFORM, -bound, bound}, true);
    graph_pop(g);
    if (bias)
        params[1] = nn_param(g, bias, dims, 2, (struct nn_init){INIT_ZEROS, 0, 0}, true);
    return nn_op(g, &op_field_linear, &x, 1, params, bias ? 2 : 1, &conf, sizeof(conf));
}
