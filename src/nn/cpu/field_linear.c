/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix of its own for each field; or for each pair i < j of fields, applied to field
 * i. The pairs of one field follow each other, so either way a field takes part in one
 * product, with all matrices that it meets below each other.
 */
#include <string.h>

#include "base/mem.h"
#include "nn/cpu/cpu.h"
#include "nn/op/field_linear.h"
#include "tensor/gemm.h"

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

static enum rc own_setup(const void *conf, const struct nn_shape *in,
                         const struct nn_shape *out, bool training, void **state,
                         struct err *err)
{
    const struct op_own_conf *c = conf;
    struct own_state *s =
        mem_calloc(1, sizeof(*s) + (size_t)c->n * sizeof(struct gemm_weight *));
    enum rc rc = RC_OK;
    s->n = c->n;
    for (int64_t i = 0; !rc && i < c->n; i++)
        if (op_matrices(c, i) > 0)
            rc = gemm_weight_create(op_matrices(c, i) * c->out, c->d, c->precision,
                                    training, &s->w[i], err);
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
    const struct op_own_conf *c = r->conf;
    const struct own_state *s = r->state;
    int64_t n = op_matrices(c, i) * c->out;
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
    const struct op_own_conf *c = r->conf;
    int64_t from = 0;
    for (int64_t i = 0; i < c->n; i++) {
        struct part p = part_of(r, i, &from, (struct view){0}, (struct view){0});
        if (p.w)
            gemm_pack(p.w, r->params[0]->value + p.from * c->d);
    }
}

static void own_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_own_conf *c = r->conf;
    int64_t from, to, at = 0;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
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
    const struct op_own_conf *c = r->conf;
    int64_t from, to, at = 0;
    if (!r->d_in[0].data)
        return;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
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
    const struct op_own_conf *c = r->conf;
    int64_t at = 0;
    for (int64_t i = 0; r->params[0]->grad && i < c->n; i++) {
        struct part p = part_of(r, i, &at, r->in[0], r->d_out[0]);
        if (p.w)
            gemm_gradient(p.w, p.y, p.x, r->params[0]->grad + p.from * c->d,
                          r->n_params > 1 ? r->params[1]->grad + p.from : NULL,
                          r->env->pool);
    }
}

const struct nn_cpu_op nn_cpu_field_linear = {
    .flags = CPU_WRITES,
    .setup = own_setup,
    .teardown = own_teardown,
    .begin = own_begin,
    .forward = own_forward,
    .backward = own_backward,
    .grads = own_grads,
};
