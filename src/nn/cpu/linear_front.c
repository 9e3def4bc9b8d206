/* SPDX-License-Identifier: Apache-2.0 */
/* A linear layer on rows of which only the first columns learn, because the others are
 * there to be looked at: its slopes are a product with those columns of the weight alone.
 * The columns that learn are an input of their own, which is not read.
 */
#include <string.h>

#include "base/mem.h"
#include "nn/cpu/cpu.h"
#include "nn/op/linear_front.h"
#include "tensor/gemm.h"
#include "tensor/kernel.h"

struct front_state {
    struct gemm_weight *all, *front; /* front: NULL when nothing is learnt */
    float *columns;                  /* of the weight, [out, front] */
    int64_t n;                       /* how many */
};

static void front_teardown(void *state)
{
    struct front_state *s = state;
    gemm_weight_destroy(s->all);
    gemm_weight_destroy(s->front);
    mem_free(s->columns);
    mem_free(s);
}

static enum rc front_setup(const void *conf, const struct nn_shape *in,
                           const struct nn_shape *out, bool training, void **state,
                           struct err *err)
{
    const struct op_front_conf *c = conf;
    struct front_state *s = mem_calloc(1, sizeof(*s));
    s->n = nn_shape_width(&in[IN_FRONT]);
    enum rc rc = gemm_weight_create(c->out, nn_shape_width(&in[IN_ALL]), c->precision,
                                    false, &s->all, err);
    if (!rc && training) {
        rc = gemm_weight_create(c->out, s->n, c->precision, true, &s->front, err);
        s->columns = rc ? NULL : mem_try_alloc((size_t)(c->out * s->n), sizeof(float));
        if (!rc && !s->columns)
            rc = err_set(err, RC_NOMEM, "no memory for %jd columns", (intmax_t)s->n);
    }
    if (rc)
        front_teardown(s);
    else
        *state = s;
    return rc;
}

static void front_begin(const struct op_run *r)
{
    const struct op_front_conf *c = r->conf;
    const struct front_state *s = r->state;
    const struct param *w = r->params[0];
    gemm_pack(s->all, w->value);
    for (int64_t u = 0; s->front && u < c->out; u++)
        memcpy(s->columns + u * s->n, w->value + u * w->dims[1],
               (size_t)s->n * sizeof(float));
    if (s->front)
        gemm_pack(s->front, s->columns);
}

static void front_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_front_conf *c = r->conf;
    const struct front_state *s = r->state;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    gemm_forward(s->all, view_rows(&r->in[IN_ALL], from, to), r->params[1]->value, c->act,
                 view_rows(&r->out[0], from, to));
}

/* d_out becomes the gradient before the activation, in place: nobody else reads it. */
static void front_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_front_conf *c = r->conf;
    const struct front_state *s = r->state;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to && c->act != GEMM_ACT_NONE; k++)
        kernels()->act_grad_from_out[c->act](view_row(&r->out[0], k),
                                             view_row(&r->d_out[0], k), c->out);
    if (r->d_in[IN_FRONT].data)
        gemm_backward(s->front, view_rows(&r->d_out[0], from, to),
                      !r->d_in_fresh[IN_FRONT], view_rows(&r->d_in[IN_FRONT], from, to));
}

static void front_grads(const struct op_run *r)
{
    const struct front_state *s = r->state;
    if (r->params[0]->grad)
        gemm_gradient(s->all, r->d_out[0], r->in[IN_ALL], r->params[0]->grad,
                      r->params[1]->grad, r->env->pool);
}

const struct nn_cpu_op nn_cpu_linear_front = {
    .flags = CPU_WRITES | CPU_STRIDED,
    .setup = front_setup,
    .teardown = front_teardown,
    .begin = front_begin,
    .forward = front_forward,
    .backward = front_backward,
    .grads = front_grads,
};
