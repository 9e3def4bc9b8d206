/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/mem.h"
#include "nn/cpu/cpu.h"
#include "nn/op/rotate.h"
#include "tensor/gemm.h"

struct rotate_state {
    struct gemm_weight *packed;
    float *weight, *grad; /* [out][in] */
    double *m, *dm;       /* [n][r]: the product of reflections, its gradient */
    double *v, *dv;       /* [n] */
};

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

static enum rc rotate_setup(const void *conf, const struct nn_shape *in,
                            const struct nn_shape *out, bool training, void **state,
                            struct err *err)
{
    const struct op_rotate_conf *c = conf;
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
    op_rotate_product(r->conf, r->params[0]->value, s->m, s->v);
    op_rotate_matrix(r->conf, r->params[0]->value, r->params[1]->value, s->m, s->weight);
    gemm_pack(s->packed, s->weight);
}

static void rotate_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct rotate_state *s = r->state;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    gemm_forward(s->packed, view_rows(&r->in[0], from, to), NULL, GEMM_ACT_NONE,
                 view_rows(&r->out[0], from, to));
}

static void rotate_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct rotate_state *s = r->state;
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    gemm_backward(s->packed, view_rows(&r->d_out[0], from, to), !r->d_in_fresh[0],
                  view_rows(&r->d_in[0], from, to));
}

/* dm = sign * base' * dq. */
static void product_slope(const struct op_rotate_conf *c, const float *x,
                          const float *base, const float *dq, double *dm)
{
    memset(dm, 0, (size_t)(c->n * c->r) * sizeof(*dm));
    for (int64_t i = 0; i < c->n; i++)
        for (int64_t j = 0; j < c->r; j++) {
            double d = (double)dq[c->back ? i * c->r + j : j * c->n + i];
            d *= op_sign_of(c, x, j);
            for (int64_t l = 0; l < c->n; l++)
                dm[l * c->r + j] += (double)base[i * c->n + l] * d;
        }
}

/* Through m_k = H_k m_(k+1): takes m_k and its gradient to m_(k+1) and its own, and adds
 * what v_k gets.
 */
static void reflect_slope(const struct op_rotate_conf *c, struct rotate_state *s,
                          const float *x, int64_t k, float *grad)
{
    double tau = op_reflector(c, x, k, s->v), d_tau = 0;
    op_reflect(c, s->v, tau, s->m); /* m_(k+1) */
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
    const struct op_rotate_conf *c = r->conf;
    struct rotate_state *s = r->state;
    const float *x = r->params[0]->value;
    if (!r->params[0]->grad)
        return;
    memset(s->grad, 0, (size_t)(c->n * c->r) * sizeof(float));
    gemm_gradient(s->packed, r->d_out[0], r->in[0], s->grad, NULL, r->env->pool);
    product_slope(c, x, r->params[1]->value, s->grad, s->dm);
    op_rotate_product(c, x, s->m, s->v);
    for (int64_t k = 0; k < c->r; k++)
        reflect_slope(c, s, x, k, r->params[0]->grad);
}

const struct nn_cpu_op nn_cpu_rotate = {
    .flags = CPU_WRITES,
    .setup = rotate_setup,
    .teardown = rotate_teardown,
    .begin = rotate_begin,
    .forward = rotate_forward,
    .backward = rotate_backward,
    .grads = rotate_grads,
};
