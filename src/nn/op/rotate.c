/* SPDX-License-Identifier: Apache-2.0 */
/* Products with a matrix Q [n, r] whose columns stay orthonormal while it is trained. It
 * is base * H_0 H_1 .. H_(r-1) restricted to its first r columns, each times a sign, with
 * reflections H_k = I - tau_k v_k v_k' whose vectors v_k (1 at place k, 0 before it) lie
 * below the diagonal of the parameter; the signs are its diagonal. A reflection undoes
 * itself, so that the backward pass walks through the products without keeping them.
 */
#include "nn/op/rotate.h"
#include "base/mem.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc rotate_infer(const void *conf, const struct nn_shape *in, int n_in,
                            struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_rotate_conf *c = conf;
    int64_t from = c->back ? c->r : c->n;
    *keep_width = 0;
    out[0] = in[0];
    out[0].n_dims = 1;
    out[0].dims[0] = c->back ? c->n : c->r;
    if (nn_shape_width(&in[0]) != from)
        return err_set(err, RC_INVAL, "takes %jd values, not %jd", (intmax_t)from,
                       (intmax_t)nn_shape_width(&in[0]));
    return RC_OK;
}

/* The matrix itself is a constant outside training. */
static void rotate_onnx(struct onnx *o, const struct onnx_op *op)
{
    struct op_rotate_conf c = *(const struct op_rotate_conf *)op->conf;
    int64_t dims[] = {c.back ? c.r : c.n, c.back ? c.n : c.r};
    double *m = mem_calloc((size_t)(c.n * c.r + c.n), sizeof(*m));
    float *q = mem_calloc((size_t)(c.n * c.r), sizeof(*q));
    op_rotate_product(&c, param_read(op->params[0]), m, m + c.n * c.r);
    c.back = !c.back; /* ONNX multiplies with [in, out] */
    op_rotate_matrix(&c, param_read(op->params[0]), param_read(op->params[1]), m, q);
    onnx_binary(o, "MatMul", op->y[0], onnx_flat(o, op->x[0], &op->in[0]),
                onnx_floats(o, q, dims, 2));
    mem_free(m);
    mem_free(q);
}

const struct op op_rotate = {
    .name = "rotate",
    .flags = OP_NEEDS_IN,
    .infer = rotate_infer,
    .onnx = rotate_onnx,
};

struct nn_rotation nn_rotation(struct graph *g, const char *name, int64_t n, int64_t r)
{
    struct nn_rotation out = {.n = n, .r = r};
    if (r < 1 || n <= r) {
        graph_fail(g, "%s: %jd columns of %jd values: there must be fewer", name,
                   (intmax_t)r, (intmax_t)n);
        return out;
    }
    graph_push(g, name);
    out.original =
        nn_param(g, "parametrizations.weight.original", (const int64_t[]){n, r}, 2,
                 (struct nn_init){INIT_EYE, -1, 0}, true);
    out.base = nn_param(g, "parametrizations.weight.0.base", (const int64_t[]){n, n}, 2,
                        (struct nn_init){INIT_ORTHOGONAL, 0, 0}, false);
    graph_pop(g);
    return out;
}

struct nn_val *nn_rotate(struct graph *g, struct nn_rotation by, struct nn_val *x,
                         bool back)
{
    struct op_rotate_conf conf = {
        .precision = g->options.precision, .n = by.n, .r = by.r, .back = back};
    struct param *params[] = {by.original, by.base};
    if (!by.original || !by.base)
        return NULL;
    return nn_op(g, &op_rotate, &x, 1, params, 2, &conf, sizeof(conf));
}
