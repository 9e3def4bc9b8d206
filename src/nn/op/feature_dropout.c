/* SPDX-License-Identifier: Apache-2.0 */
/* Variational dropout of whole features (Ma et al. 2022): each has a learnt probability q
 * of being left out. In training a row draws a soft mask z near 0 or 1 from q, so that
 * the gradient reaches q; otherwise features are scaled by 1 - q. A second output is the
 * loss that draws q upwards.
 */
#include "nn/op/feature_dropout.h"
#include "base/mem.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc drop_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_drop_conf *c = conf;
    if (nn_shape_width(&in[0]) != c->end[c->n - 1])
        return err_set(err, RC_INVAL, "features of %jd values in rows of %jd",
                       (intmax_t)c->end[c->n - 1], (intmax_t)nn_shape_width(&in[0]));
    out[0] = in[0];
    out[1] = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {1}};
    *keep_width = c->n;
    return RC_OK;
}

static void drop_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_drop_conf *c = op->conf;
    int64_t width = c->end[c->n - 1];
    float *stay = mem_calloc((size_t)width, sizeof(*stay));
    const float *learnt = param_read(op->params[0]);
    for (int64_t i = 0, col = 0; i < c->n; i++)
        for (; col < c->end[i]; col++)
            stay[col] = 1.0f - (float)op_sigmoid((double)learnt[i]);
    struct nn_shape flat = {.axis = op->in[0].axis, .n_dims = 1, .dims = {width}};
    const char *y = onnx_binary(o, "Mul", NULL, onnx_flat(o, op->x[0], &op->in[0]),
                                onnx_floats(o, stay, &width, 1));
    onnx_reshape(o, op->y[0], y, &flat, &op->out[0]);
    mem_free(stay);
}

const struct op op_feature_dropout = {
    .name = "feature dropout",
    .flags = OP_NEEDS_IN,
    .infer = drop_infer,
    .onnx = drop_onnx,
};

struct nn_val *nn_feature_dropout(struct graph *g, const char *name, struct nn_val *x,
                                  const int64_t *widths, int64_t n, double lambda,
                                  struct nn_val **loss)
{
    if (!x)
        return NULL;
    size_t size = sizeof(struct op_drop_conf) + (size_t)n * sizeof(int64_t);
    struct op_drop_conf *conf = mem_calloc(1, size);
    conf->n = n;
    conf->lambda = lambda;
    for (int64_t i = 0, end = 0; i < n; i++)
        conf->end[i] = end += widths[i];
    graph_push(g, name);
    struct param *p =
        nn_param(g, "feature_p", &n, 1, (struct nn_init){INIT_NORMAL, 0, 1}, true);
    graph_pop(g);
    struct nn_val *y = nn_op(g, &op_feature_dropout, &x, 1, &p, 1, conf, size);
    mem_free(conf);
    *loss = nn_sibling(y, 1);
    return y;
}
