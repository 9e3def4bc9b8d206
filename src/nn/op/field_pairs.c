/* SPDX-License-Identifier: Apache-2.0 */
/* All pairs i < j of fields, each multiplied element by element (or as dot products):
 * fields with fields, vectors of the pairs with fields, or what field i holds for j with
 * what j holds for i. Pairs stand in row-major order: (0, 1), (0, 2), .., (1, 2), ..
 */
#include "nn/op/field_pairs.h"
#include "base/mem.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static int64_t n_pairs(int64_t n)
{
    return n * (n - 1) / 2;
}

static enum rc pairs_infer(const void *conf, const struct nn_shape *in, int n_in,
                           struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_pairs_conf *c = conf;
    int64_t left = c->left == LEFT_PAIR ? n_pairs(c->n) : c->n;
    *keep_width = 0;
    out[0] =
        (struct nn_shape){.axis = in[0].axis, .n_dims = 2, .dims = {n_pairs(c->n), c->d}};
    if (c->dots || c->flat)
        out[0].n_dims = 1;
    if (c->flat)
        out[0].dims[0] *= c->d;
    for (int i = 0; i < n_in; i++)
        if (in[i].n_dims != 2 || in[i].axis != in[0].axis)
            return err_set(err, RC_INVAL, "takes rows of fields [n, d]");
    if (c->n < 2)
        return err_set(err, RC_INVAL, "needs at least two fields");
    if (c->left == LEFT_AWARE)
        return in[0].dims[1] % c->n == 0
                   ? RC_OK
                   : err_set(err, RC_INVAL,
                             "fields of %jd floats have no part for each of %jd fields",
                             (intmax_t)in[0].dims[1], (intmax_t)c->n);
    if (in[0].dims[0] != left || in[0].dims[1] != c->d)
        return err_set(err, RC_INVAL, "%jd x %jd beside %jd fields of %jd",
                       (intmax_t)in[0].dims[0], (intmax_t)in[0].dims[1], (intmax_t)c->n,
                       (intmax_t)c->d);
    return RC_OK;
}

static const char *put_side(struct onnx *o, const char *x, const int64_t *at, int64_t n)
{
    const char *in[] = {x, onnx_ints(o, at, (int)n)};
    return onnx_node(
        o, &(struct onnx_node){
               .type = "Gather", .in = in, .n_in = 2, .attrs = {ONNX_INT("axis", -2)}});
}

static void pairs_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_pairs_conf *c = op->conf;
    int64_t n = n_pairs(c->n), *at = mem_calloc((size_t)n * 2, sizeof(*at));
    for (int64_t i = 0, p = 0; i < c->n; i++)
        for (int64_t j = i + 1; j < c->n; j++, p++) {
            at[p] = op_left_at(c, i, j, p) / c->d;
            at[n + p] = op_right_at(c, i, j) / c->d;
        }
    const char *a = op->x[0], *b = op->x[op->n_in - 1];
    if (c->left == LEFT_AWARE) {
        struct nn_shape parts = {
            .axis = op->in[0].axis, .n_dims = 2, .dims = {c->n * c->n, c->d}};
        a = b = onnx_reshape(o, NULL, a, &op->in[0], &parts);
    }
    if (c->left != LEFT_PAIR)
        a = put_side(o, a, at, n);
    const char *y = onnx_binary(o, "Mul", c->dots || c->flat ? NULL : op->y[0], a,
                                put_side(o, b, at + n, n));
    struct nn_shape wide = {.axis = op->out[0].axis, .n_dims = 2, .dims = {n, c->d}};
    if (c->dots)
        onnx_sum(o, op->y[0], y, -1, false);
    else if (c->flat)
        onnx_reshape(o, op->y[0], y, &wide, &op->out[0]);
    mem_free(at);
}

const struct op op_field_pairs = {
    .name = "pairs of fields",
    .flags = OP_NEEDS_IN,
    .infer = pairs_infer,
    .onnx = pairs_onnx,
};

static struct nn_val *products(struct graph *g, struct nn_val *a, bool of_pairs,
                               struct nn_val *b, bool flat)
{
    if (!a || !b)
        return NULL;
    struct op_pairs_conf conf = {.left = of_pairs ? LEFT_PAIR : LEFT_FIELD,
                                 .n = b->shape.dims[0],
                                 .d = b->shape.dims[1],
                                 .flat = flat};
    struct nn_val *in[] = {a, b};
    return nn_op(g, &op_field_pairs, in, 2, NULL, 0, &conf, sizeof(conf));
}

struct nn_val *nn_pair_products(struct graph *g, struct nn_val *a, bool of_pairs,
                                struct nn_val *b)
{
    return products(g, a, of_pairs, b, false);
}

struct nn_val *nn_pair_products_flat(struct graph *g, struct nn_val *a, bool of_pairs,
                                     struct nn_val *b)
{
    return products(g, a, of_pairs, b, true);
}

struct nn_val *nn_aware_pairs(struct graph *g, struct nn_val *x, bool dots)
{
    if (!x)
        return NULL;
    struct op_pairs_conf conf = {.left = LEFT_AWARE, .n = x->shape.dims[0], .dots = dots};
    conf.d = conf.n > 0 ? x->shape.dims[1] / conf.n : 0;
    return nn_op(g, &op_field_pairs, &x, 1, NULL, 0, &conf, sizeof(conf));
}
