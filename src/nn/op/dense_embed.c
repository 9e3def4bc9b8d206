/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors for numbers: a learnt direction per number, and AutoDis (Guo et al. 2021),
 * which mixes the vectors of a few soft buckets.
 */
#include <math.h>

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/op/dense_embed.h"
#include "nn/ops.h"

/* x [v] times w [v, d]. */
static enum rc direct_infer(const void *conf, const struct nn_shape *in, int n_in,
                            struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const int64_t *dim = conf;
    *keep_width = 0;
    out[0] = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {*dim}};
    return RC_OK;
}

static void direct_onnx(struct onnx *o, const struct onnx_op *op)
{
    const char *w = onnx_param(o, op->params[0]);
    if (op->params[0]->n_dims == 1)
        onnx_binary(o, "Mul", op->y[0], op->x[0], w);
    else
        onnx_binary(o, "MatMul", op->y[0], op->x[0], w);
}

const struct op op_number_embed = {
    .name = "number embedding",
    .flags = OP_NEEDS_IN,
    .infer = direct_infer,
    .onnx = direct_onnx,
};

struct nn_val *nn_number_embed(struct graph *g, const char *feature, struct nn_val *x,
                               int64_t dim)
{
    if (!x)
        return NULL;
    int64_t v = nn_shape_width(&x->shape);
    struct nn_init init = {INIT_NORMAL, 0, sqrt(2.0 / (double)(v + dim))};
    graph_push(g, arena_printf(&g->arena, "proj_w_%s", feature));
    struct param *w =
        v == 1 ? nn_param(g, "weight", &dim, 1, init, true)
               : nn_param(g, "weight", (const int64_t[]){v, dim}, 2, init, true);
    graph_pop(g);
    return nn_op(g, &op_number_embed, &x, 1, &w, 1, &dim, sizeof(dim));
}

static enum rc autodis_infer(const void *conf, const struct nn_shape *in, int n_in,
                             struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_autodis_conf *c = conf;
    *keep_width = DENSE_EMBED_KEEPS * c->channels;
    out[0] = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {c->dim}};
    if (nn_shape_width(&in[0]) != 1)
        return err_set(err, RC_INVAL, "takes one number, not %jd",
                       (intmax_t)nn_shape_width(&in[0]));
    return RC_OK;
}

static void autodis_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_autodis_conf *c = op->conf;
    const char *h = onnx_binary(o, "Mul", NULL, op->x[0], onnx_param(o, op->params[0]));
    h = onnx_node(o, &(struct onnx_node){.type = "LeakyRelu",
                                         .in = &h,
                                         .n_in = 1,
                                         .attrs = {ONNX_FLOAT("alpha", SLOPE)}});
    const char *turned = onnx_unary(o, "Transpose", NULL, onnx_param(o, op->params[1]));
    const char *u = onnx_binary(o, "Add", NULL, onnx_binary(o, "MatMul", NULL, h, turned),
                                onnx_with(o, "Mul", NULL, h, c->keep));
    u = onnx_with(o, "Div", NULL, u, c->temperature);
    const char *p = onnx_node(
        o, &(struct onnx_node){
               .type = "Softmax", .in = &u, .n_in = 1, .attrs = {ONNX_INT("axis", -1)}});
    onnx_binary(o, "MatMul", op->y[0], p, onnx_param(o, op->params[2]));
}

const struct op op_autodis = {
    .name = "autodis",
    .flags = OP_NEEDS_IN,
    .infer = autodis_infer,
    .onnx = autodis_onnx,
};

static struct param *named(struct graph *g, const char *what, const char *feature,
                           const int64_t *dims, int n_dims, double deviation)
{
    graph_push(g, arena_printf(&g->arena, "%s_%s", what, feature));
    struct param *p = nn_param(g, "weight", dims, n_dims,
                               (struct nn_init){INIT_NORMAL, 0, deviation}, true);
    graph_pop(g);
    return p;
}

struct nn_val *nn_autodis(struct graph *g, const char *feature, struct nn_val *x,
                          int64_t channels, int64_t dim, float keep, float temperature)
{
    if (!x)
        return NULL;
    if (channels < 1 || dim < 1 || !(temperature > 0))
        return graph_fail(g, "autodis of '%s': %jd channels, temperature %g", feature,
                          (intmax_t)channels, (double)temperature);
    double c = (double)channels;
    struct param *params[] = {
        [DENSE_EMBED_W] = named(g, "proj_w", feature, &channels, 1, sqrt(2.0 / (1 + c))),
        [DENSE_EMBED_M] = named(g, "proj_m", feature,
                                (const int64_t[]){channels, channels}, 2, sqrt(1.0 / c)),
        [DENSE_EMBED_E] =
            named(g, "meta_emb", feature, (const int64_t[]){channels, dim}, 2, 1)};
    struct op_autodis_conf conf = {
        .channels = channels, .dim = dim, .keep = keep, .temperature = temperature};
    return nn_op(g, &op_autodis, &x, 1, params, 3, &conf, sizeof(conf));
}
