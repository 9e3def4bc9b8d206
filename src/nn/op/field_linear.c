/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix of its own for each field; or for each pair i < j of fields, applied to field
 * i. The pairs of one field follow each other, so either way a field takes part in one
 * product, with all matrices that it meets below each other.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

struct own_conf {
    enum gemm_precision precision;
    int64_t n, d, out; /* fields, their width, units per matrix */
    bool pairs;
};

/* Matrices that field i meets. */
static int64_t matrices(const struct own_conf *c, int64_t i)
{
    return c->pairs ? c->n - 1 - i : 1;
}

static int64_t all_matrices(const struct own_conf *c)
{
    return c->pairs ? c->n * (c->n - 1) / 2 : c->n;
}

static enum rc own_infer(const void *conf, const struct shape *in, int n_in,
                         struct shape *out, int64_t *keep_width, struct err *err)
{
    const struct own_conf *c = conf;
    *keep_width = 0;
    out[0] = (struct shape){
        .axis = in[0].axis, .n_dims = 2, .dims = {all_matrices(c), c->out}};
    return RC_OK;
}

struct own_state {
    int64_t n;
    struct gemm_weight *w[]; /* [n]; NULL: nothing to do */
};

static void own_teardown(void *state)
{
    struct own_state *s = state;
    for (int64_t i = 0; s && i < s->n; i++)
        gemm_weight_destroy(s->w[i]);
    mem_free(s);
}

static enum rc own_setup(const void *conf, const struct shape *in,
                         const struct shape *out, bool training, void **state,
                         struct err *err)
{
    const struct own_conf *c = conf;
    struct own_state *s =
        mem_calloc(1, sizeof(*s) + (size_t)c->n * sizeof(struct gemm_weight *));
    enum rc rc = RC_OK;
    s->n = c->n;
    for (int64_t i = 0; !rc && i < c->n; i++)
        if (matrices(c, i) > 0)
            rc = gemm_weight_create(matrices(c, i) * c->out, c->d, c->precision, training,
                                    &s->w[i], err);
    if (rc)
        own_teardown(s);
    else
        *state = s;
    return rc;
}

/* The field, its matrices and what they make, as views of all rows of x and y. */
struct part {
    struct gemm_weight *w;
    int64_t from; /* first row of the parameter */
    struct view x, y;
};

static struct part part_of(const struct op_run *r, int64_t i, int64_t *from,
                           struct view x, struct view y)
{
    const struct own_conf *c = r->conf;
    const struct own_state *s = r->state;
    int64_t n = matrices(c, i) * c->out;
    struct part p = {.w = s->w[i], .from = *from};
    if (x.data)
        p.x = view_cols(&x, i * c->d, c->d);
    if (y.data)
        p.y = view_cols(&y, *from, n);
    *from += n;
    return p;
}

static void own_begin(const struct op_run *r)
{
    const struct own_conf *c = r->conf;
    int64_t from = 0;
    for (int64_t i = 0; i < c->n; i++) {
        struct part p = part_of(r, i, &from, (struct view){0}, (struct view){0});
        if (p.w)
            gemm_pack(p.w, r->params[0]->value + p.from * c->d);
    }
}

static void own_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct own_conf *c = r->conf;
    int64_t from, to, at = 0;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t i = 0; i < c->n; i++) {
        struct part p = part_of(r, i, &at, view_rows(&r->in[0], from, to),
                                view_rows(&r->out[0], from, to));
        if (p.w)
            gemm_forward(p.w, p.x, r->n_params > 1 ? r->params[1]->value + p.from : NULL,
                         GEMM_ACT_NONE, p.y);
    }
}

static void own_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct own_conf *c = r->conf;
    int64_t from, to, at = 0;
    if (!r->d_in[0].data)
        return;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t i = 0; i < c->n; i++) {
        struct part p = part_of(r, i, &at, view_rows(&r->d_in[0], from, to),
                                view_rows(&r->d_out[0], from, to));
        if (p.w)
            gemm_backward(p.w, p.y, !r->d_in_fresh[0], p.x);
        else if (r->d_in_fresh[0])
            for (int64_t k = 0; k < p.x.rows; k++)
                memset(view_row(&p.x, k), 0, (size_t)c->d * sizeof(float));
    }
}

static void own_grads(const struct op_run *r)
{
    const struct own_conf *c = r->conf;
    int64_t at = 0;
    for (int64_t i = 0; r->params[0]->grad && i < c->n; i++) {
        struct part p = part_of(r, i, &at, r->in[0], r->d_out[0]);
        if (p.w)
            gemm_gradient(p.w, p.y, p.x, r->params[0]->grad + p.from * c->d,
                          r->n_params > 1 ? r->params[1]->grad + p.from : NULL,
                          r->env->pool);
    }
}

/* [.., m, 1, d] times [m, d, out]. */
static void own_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct own_conf *c = op->conf;
    int64_t m = all_matrices(c), across = -2, *at = mem_calloc((size_t)m, sizeof(*at));
    for (int64_t i = 0, p = 0; i < c->n; i++)
        for (int64_t k = 0; k < matrices(c, i); k++)
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
    struct shape wide = op->out[0];
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

static const struct op_ops op_own = {.name = "linear of each field",
                                     .flags = OP_NEEDS_IN | OP_WRITES,
                                     .infer = own_infer,
                                     .setup = own_setup,
                                     .teardown = own_teardown,
                                     .begin = own_begin,
                                     .forward = own_forward,
                                     .backward = own_backward,
                                     .grads = own_grads,
                                     .onnx = own_onnx};

struct val *nn_field_linear(struct graph *g, const char *name, struct val *x, bool pairs,
                            int64_t out, const char *bias)
{
    if (!x)
        return NULL;
    struct own_conf conf = {.precision = g->options.precision,
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
    params[0] =
        nn_param(g, "weight", dims, 3, (struct init){INIT_UNIFORM, -bound, bound}, true);
    graph_pop(g);
    if (bias)
        params[1] = nn_param(g, bias, dims, 2, (struct init){INIT_ZEROS, 0, 0}, true);
    return nn_op(g, &op_own, &x, 1, params, bias ? 2 : 1, &conf, sizeof(conf));
}
