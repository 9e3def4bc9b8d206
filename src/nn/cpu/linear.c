/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layer with a fused activation. The activation's derivative is taken from the
 * output, which holds for the four that are fused.
 */
#include "nn/op/linear.h"
#include "base/compiler.h"
#include "nn/cpu/cpu.h"
#include "tensor/gemm.h"
#include "tensor/kernel.h"

/* A row of dims [.., n] is several rows of n to the product. */
static struct view flat(struct view v, int64_t n)
{
    int64_t per_row = v.width / n;
    if (per_row == 1)
        return v;
    return (struct view){.data = v.data, .rows = v.rows * per_row, .width = n, .ld = n};
}

static enum rc linear_setup(const void *conf, const struct nn_shape *in,
                            const struct nn_shape *out, bool training, void **state,
                            struct err *err)
{
    const struct op_linear_conf *c = conf;
    struct gemm_weight *w = NULL;
    enum rc rc = gemm_weight_create(c->out, in[0].dims[in[0].n_dims - 1], c->precision,
                                    training, &w, err);
    *state = w;
    return rc;
}

static unsigned linear_bf16(const void *conf, const void *state)
{
    const struct op_linear_conf *c = conf;
    bool out = c->act == GEMM_ACT_NONE || c->act == GEMM_ACT_RELU;
    return (gemm_bf16_in(state) ? CPU_BF16_IN : 0) |
           (out && gemm_bf16_out(state) ? CPU_BF16_OUT : 0);
}

static void linear_teardown(void *state)
{
    gemm_weight_destroy(state);
}

static void linear_begin(const struct op_run *r)
{
    const struct op_linear_conf *c = r->conf;
    gemm_pack(r->state, r->params[0]->value + c->from * r->params[0]->dims[1]);
}

static void linear_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_linear_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    struct view x = flat(view_rows(&r->in[0], from, to), r->params[0]->dims[1]);
    struct view y = flat(view_rows(&r->out[0], from, to), c->out);
    gemm_forward(r->state, x, c->bias ? r->params[1]->value + c->from : NULL, c->act, y);
}

CLONED static void relu_through_bf16(const uint16_t *restrict y, uint16_t *restrict dy,
                                     int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        dy[i] = (int16_t)y[i] > 0 ? dy[i] : 0;
}

/* d_out becomes the gradient before the activation, in place: nobody else reads it. */
static void through_act(const struct op_linear_conf *c, struct view y, struct view dy)
{
    const struct kernels *k = kernels();
    for (int64_t i = 0; i < y.rows && c->act != GEMM_ACT_NONE; i++)
        if (y.dtype == DT_BF16)
            relu_through_bf16((const uint16_t *)view_row(&y, i),
                              (uint16_t *)view_row(&dy, i), y.width);
        else
            k->act_grad_from_out[c->act](view_row(&y, i), view_row(&dy, i), y.width);
}

static void linear_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_linear_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    struct view dy = flat(view_rows(&r->d_out[0], from, to), c->out);
    through_act(c, flat(view_rows(&r->out[0], from, to), c->out), dy);
    if (!r->d_in[0].data)
        return;
    struct view dx = flat(view_rows(&r->d_in[0], from, to), r->params[0]->dims[1]);
    gemm_backward(r->state, dy, !r->d_in_fresh[0], dx);
}

static void linear_grads(const struct op_run *r)
{
    const struct op_linear_conf *c = r->conf;
    if (!r->params[0]->grad)
        return;
    gemm_gradient(r->state, flat(r->d_out[0], c->out),
                  flat(r->in[0], r->params[0]->dims[1]),
                  r->params[0]->grad + c->from * r->params[0]->dims[1],
                  c->bias ? r->params[1]->grad + c->from : NULL, r->env->pool);
}

const struct nn_cpu_op nn_cpu_linear = {
    .flags = CPU_WRITES | CPU_STRIDED,
    .setup = linear_setup,
    .teardown = linear_teardown,
    .bf16 = linear_bf16,
    .begin = linear_begin,
    .forward = linear_forward,
    .backward = linear_backward,
    .grads = linear_grads,
};
