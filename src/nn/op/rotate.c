/* SPDX-License-Identifier: Apache-2.0 */
/* Products with a matrix Q [n, r] whose columns stay orthonormal while it is trained. It
 * is base * H_0 H_1 .. H_(r-1) restricted to its first r columns, each times a sign, with
 * reflections H_k = I - tau_k v_k v_k' whose vectors v_k (1 at place k, 0 before it) lie
 * below the diagonal of the parameter; the signs are its diagonal. A reflection undoes
 * itself, so that the backward pass walks through the products without keeping them.
 */
#include <string.h>

#include "base/mem.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

struct rotate_conf {
    enum gemm_precision precision;
    int64_t n, r;
    bool back; /* times Q transposed */
};

struct rotate_state {
    struct gemm_weight *packed;
    float *weight, *grad; /* [out][in] */
    double *m, *dm;       /* [n][r]: the product of reflections, its gradient */
    double *v, *dv;       /* [n] */
};

static double reflector(const struct rotate_conf *c, const float *x, int64_t k, double *v)
{
    double sum = 1;
    for (int64_t i = 0; i < c->n; i++) {
        v[i] = i < k ? 0 : i == k ? 1 : (double)x[i * c->r + k];
        sum += i > k ? v[i] * v[i] : 0;
    }
    return 2 / sum;
}

/* m = m - tau v (v' m). */
static void reflect(const struct rotate_conf *c, const double *v, double tau, double *m)
{
    for (int64_t j = 0; j < c->r; j++) {
        double dot = 0;
        for (int64_t i = 0; i < c->n; i++)
            dot += v[i] * m[i * c->r + j];
        for (int64_t i = 0; i < c->n; i++)
            m[i * c->r + j] -= tau * v[i] * dot;
    }
}

static double sign_of(const struct rotate_conf *c, const float *x, int64_t j)
{
    return x[j * c->r + j] > 0 ? 1 : -1; /* decay may have moved it, no slope does */
}

/* m = H_0 .. H_(r-1), its first r columns. */
static void product(const struct rotate_conf *c, const float *x, double *m, double *v)
{
    for (int64_t i = 0; i < c->n * c->r; i++)
        m[i] = i / c->r == i % c->r ? 1 : 0;
    for (int64_t k = c->r; k-- > 0;)
        reflect(c, v, reflector(c, x, k, v), m);
}

/* q[i][j] = sign_j * sum_l base[i][l] m[l][j]. */
static void rotation(const struct rotate_conf *c, const float *x, const float *base,
                     const double *m, float *q)
{
    for (int64_t i = 0; i < c->n; i++)
        for (int64_t j = 0; j < c->r; j++) {
            double sum = 0;
            for (int64_t l = 0; l < c->n; l++)
                sum += (double)base[i * c->n + l] * m[l * c->r + j];
            q[c->back ? i * c->r + j : j * c->n + i] = (float)(sum * sign_of(c, x, j));
        }
}

static enum rc rotate_infer(const void *conf, const struct shape *in, int n_in,
                            struct shape *out, int64_t *keep_width, struct err *err)
{
    const struct rotate_conf *c = conf;
    int64_t from = c->back ? c->r : c->n;
    *keep_width = 0;
    out[0] = in[0];
    out[0].n_dims = 1;
    out[0].dims[0] = c->back ? c->n : c->r;
    if (shape_width(&in[0]) != from)
        return err_set(err, RC_INVAL, "takes %jd values, not %jd", (intmax_t)from,
                       (intmax_t)shape_width(&in[0]));
    return RC_OK;
}

static void rotate_teardown(void *state)
{
    struct rotate_state *s = state;
    if (!s)
        return;
    gemm_weight_destroy(s->packed);
    mem_free(s->weight);
    mem_free(s->grad);
    mem_free(s->m);
    mem_free(s->dm);
    mem_free(s->v);
    mem_free(s->dv);
    mem_free(s);
}

static enum rc rotate_setup(const void *conf, const struct shape *in,
                            const struct shape *out, bool training, void **state,
                            struct err *err)
{
    const struct rotate_conf *c = conf;
    struct rotate_state *s = mem_calloc(1, sizeof(*s));
    size_t n = (size_t)(c->n * c->r);
    enum rc rc = gemm_weight_create(c->back ? c->n : c->r, c->back ? c->r : c->n,
                                    c->precision, training, &s->packed, err);
    s->weight = mem_try_alloc(n, sizeof(float));
    s->grad = mem_try_alloc(n, sizeof(float));
    s->m = mem_try_alloc(n, sizeof(double));
    s->dm = mem_try_alloc(n, sizeof(double));
    s->v = mem_try_alloc((size_t)c->n, sizeof(double));
    s->dv = mem_try_alloc((size_t)c->n, sizeof(double));
    if (!rc && (!s->weight || !s->grad || !s->m || !s->dm || !s->v || !s->dv))
        rc = err_set(err, RC_NOMEM, "no memory for %zu weights", n);
    if (rc)
        rotate_teardown(s);
    else
        *state = s;
    return rc;
}

static void rotate_begin(const struct op_run *r)
{
    struct rotate_state *s = r->state;
    product(r->conf, r->params[0]->value, s->m, s->v);
    rotation(r->conf, r->params[0]->value, r->params[1]->value, s->m, s->weight);
    gemm_pack(s->packed, s->weight);
}

static void rotate_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct rotate_state *s = r->state;
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    gemm_forward(s->packed, view_rows(&r->in[0], from, to), NULL, GEMM_ACT_NONE,
                 view_rows(&r->out[0], from, to));
}

static void rotate_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct rotate_state *s = r->state;
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    gemm_backward(s->packed, view_rows(&r->d_out[0], from, to), !r->d_in_fresh[0],
                  view_rows(&r->d_in[0], from, to));
}

/* dm = sign * base' * dq. */
static void product_slope(const struct rotate_conf *c, const float *x, const float *base,
                          const float *dq, double *dm)
{
    memset(dm, 0, (size_t)(c->n * c->r) * sizeof(*dm));
    for (int64_t i = 0; i < c->n; i++)
        for (int64_t j = 0; j < c->r; j++) {
            double d = (double)dq[c->back ? i * c->r + j : j * c->n + i];
            d *= sign_of(c, x, j);
            for (int64_t l = 0; l < c->n; l++)
                dm[l * c->r + j] += (double)base[i * c->n + l] * d;
        }
}

/* Through m_k = H_k m_(k+1): takes m_k and its gradient to m_(k+1) and its own, and adds
 * what v_k gets.
 */
static void reflect_slope(const struct rotate_conf *c, struct rotate_state *s,
                          const float *x, int64_t k, float *grad)
{
    double tau = reflector(c, x, k, s->v), d_tau = 0;
    reflect(c, s->v, tau, s->m); /* m_(k+1) */
    memset(s->dv, 0, (size_t)c->n * sizeof(*s->dv));
    for (int64_t j = 0; j < c->r; j++) {
        double w = 0, dw = 0;
        for (int64_t i = 0; i < c->n; i++) {
            w += s->v[i] * s->m[i * c->r + j];
            dw += s->v[i] * s->dm[i * c->r + j];
        }
        d_tau -= w * dw;
        for (int64_t i = 0; i < c->n; i++) {
            s->dv[i] -= tau * (s->dm[i * c->r + j] * w + s->m[i * c->r + j] * dw);
            s->dm[i * c->r + j] -= tau * s->v[i] * dw;
        }
    }
    for (int64_t i = k + 1; i < c->n; i++)
        grad[i * c->r + k] += (float)(s->dv[i] - d_tau * tau * tau * s->v[i]);
}

static void rotate_grads(const struct op_run *r)
{
    const struct rotate_conf *c = r->conf;
    struct rotate_state *s = r->state;
    const float *x = r->params[0]->value;
    if (!r->params[0]->grad)
        return;
    memset(s->grad, 0, (size_t)(c->n * c->r) * sizeof(float));
    gemm_gradient(s->packed, r->d_out[0], r->in[0], s->grad, NULL, r->env->pool);
    product_slope(c, x, r->params[1]->value, s->grad, s->dm);
    product(c, x, s->m, s->v);
    for (int64_t k = 0; k < c->r; k++)
        reflect_slope(c, s, x, k, r->params[0]->grad);
}

/* The matrix itself is a constant outside training. */
static void rotate_onnx(struct onnx *o, const struct onnx_op *op)
{
    struct rotate_conf c = *(const struct rotate_conf *)op->conf;
    int64_t dims[] = {c.back ? c.r : c.n, c.back ? c.n : c.r};
    double *m = mem_calloc((size_t)(c.n * c.r + c.n), sizeof(*m));
    float *q = mem_calloc((size_t)(c.n * c.r), sizeof(*q));
    product(&c, op->params[0]->value, m, m + c.n * c.r);
    c.back = !c.back; /* ONNX multiplies with [in, out] */
    rotation(&c, op->params[0]->value, op->params[1]->value, m, q);
    onnx_binary(o, "MatMul", op->y[0], onnx_flat(o, op->x[0], &op->in[0]),
                onnx_floats(o, q, dims, 2));
    mem_free(m);
    mem_free(q);
}

static const struct op_ops op_rotate = {.name = "rotate",
                                        .flags = OP_NEEDS_IN | OP_WRITES,
                                        .infer = rotate_infer,
                                        .setup = rotate_setup,
                                        .teardown = rotate_teardown,
                                        .begin = rotate_begin,
                                        .forward = rotate_forward,
                                        .backward = rotate_backward,
                                        .grads = rotate_grads,
                                        .onnx = rotate_onnx};

struct rotation nn_rotation(struct graph *g, const char *name, int64_t n, int64_t r)
{
    struct rotation out = {.n = n, .r = r};
    if (r < 1 || n <= r) {
        graph_fail(g, "%s: %jd columns of %jd values: there must be fewer", name,
                   (intmax_t)r, (intmax_t)n);
        return out;
    }
    graph_push(g, name);
    out.original =
        nn_param(g, "parametrizations.weight.original", (const int64_t[]){n, r}, 2,
                 (struct init){INIT_EYE, -1, 0}, true);
    out.base = nn_param(g, "parametrizations.weight.0.base", (const int64_t[]){n, n}, 2,
                        (struct init){INIT_ORTHOGONAL, 0, 0}, false);
    graph_pop(g);
    return out;
}

struct val *nn_rotate(struct graph *g, struct rotation by, struct val *x, bool back)
{
    struct rotate_conf conf = {
        .precision = g->options.precision, .n = by.n, .r = by.r, .back = back};
    struct param *params[] = {by.original, by.base};
    if (!by.original || !by.base)
        return NULL;
    return nn_op(g, &op_rotate, &x, 1, params, 2, &conf, sizeof(conf));
}
