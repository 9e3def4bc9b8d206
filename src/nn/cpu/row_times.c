/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/op/row_times.h"

#include <string.h>

#include "nn/cpu/cpu.h"
#include "tensor/gemm.h"
#include "tensor/kernel.h"

static void field_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_row_times_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        float *y = view_row(&r->out[0], k);
        const float *x = view_row(&r->in[0], k), *w = r->params[0]->value;
        memcpy(y, r->params[1]->value, (size_t)(c->n * c->out) * sizeof(float));
        for (int64_t i = 0; i < c->n * c->in; i++)
            kernels()->axpy(y + i / c->in * c->out, x[i], w + i * c->out, c->out);
    }
}

static void field_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_row_times_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; r->d_in[0].data && k < to; k++)
        for (int64_t i = 0; i < c->n * c->in; i++)
            view_row(&r->d_in[0], k)[i] +=
                kernels()->dot(view_row(&r->d_out[0], k) + i / c->in * c->out,
                               r->params[0]->value + i * c->out, c->out);
}

/* Rows [begin, end) of all matrices, one below the other. */
static void field_rows(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    const struct op_row_times_conf *c = r->conf;
    for (int64_t i = begin; i < end; i++) {
        int64_t field = i / c->in;
        float *bias = i % c->in == 0 ? r->params[1]->grad : NULL;
        for (int64_t k = 0; k < r->out[0].rows; k++) {
            const float *dy = view_row(&r->d_out[0], k) + field * c->out;
            if (r->params[0]->grad)
                kernels()->axpy(r->params[0]->grad + i * c->out,
                                view_row(&r->in[0], k)[i], dy, c->out);
            if (bias)
                kernels()->add(bias + field * c->out, dy, c->out);
        }
    }
}

static void field_grads(const struct op_run *r)
{
    const struct op_row_times_conf *c = r->conf;
    struct op_run copy = *r;
    pool_for(r->env->pool, c->n * c->in, 1, field_rows, &copy);
}

const struct nn_cpu_op nn_cpu_field_times = {
    .forward = field_forward,
    .backward = field_backward,
    .grads = field_grads,
};

static int64_t some(int64_t left)
{
    return left < GEMM_SMALL_K ? left : GEMM_SMALL_K;
}

static void seq_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_row_times_conf *c = r->conf;
    const int64_t *at = r->env->rows.offsets[r->out_axis[0]];
    for (int64_t b = begin; b < end; b++) {
        for (int64_t k = at[b]; k < at[b + 1]; k++)
            memcpy(view_row(&r->out[0], k), view_row(&r->in[SEQ_TIMES_BIAS], b),
                   (size_t)c->out * sizeof(float));
        for (int64_t i = 0; at[b] < at[b + 1] && i < c->in; i += GEMM_SMALL_K) {
            struct gemm_small p = {.a = view_row(&r->in[SEQ_TIMES_X], at[b]) + i,
                                   .lda = r->in[SEQ_TIMES_X].ld,
                                   .b =
                                       view_row(&r->in[SEQ_TIMES_MATRIX], b) + i * c->out,
                                   .ldb = c->out,
                                   .m = at[b + 1] - at[b],
                                   .n = c->out,
                                   .k = some(c->in - i)};
            gemm_small(&p, true, view_row(&r->out[0], at[b]), r->out[0].ld);
        }
    }
}

static void seq_row_backward(const struct op_run *r, int64_t b, int64_t from, int64_t to)
{
    const struct op_row_times_conf *c = r->conf;
    for (int64_t i = 0; r->d_in[SEQ_TIMES_X].data && i < c->out; i += GEMM_SMALL_K) {
        struct gemm_small p = {.a = view_row(&r->d_out[0], from) + i,
                               .lda = r->d_out[0].ld,
                               .b = view_row(&r->in[SEQ_TIMES_MATRIX], b) + i,
                               .ldb = c->out,
                               .m = to - from,
                               .n = c->in,
                               .k = some(c->out - i),
                               .turned = true};
        gemm_small(&p, true, view_row(&r->d_in[SEQ_TIMES_X], from),
                   r->d_in[SEQ_TIMES_X].ld);
    }
    for (int64_t k = from; k < to; k++) {
        const float *x = view_row(&r->in[SEQ_TIMES_X], k),
                    *dy = view_row(&r->d_out[0], k);
        for (int64_t i = 0; r->d_in[SEQ_TIMES_MATRIX].data && i < c->in; i++)
            kernels()->axpy(view_row(&r->d_in[SEQ_TIMES_MATRIX], b) + i * c->out, x[i],
                            dy, c->out);
        if (r->d_in[SEQ_TIMES_BIAS].data)
            kernels()->add(view_row(&r->d_in[SEQ_TIMES_BIAS], b), dy, c->out);
    }
}

static void seq_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->out_axis[0]];
    for (int64_t b = begin; b < end; b++)
        if (at[b] < at[b + 1])
            seq_row_backward(r, b, at[b], at[b + 1]);
}

const struct nn_cpu_op nn_cpu_seq_times = {
    .flags = CPU_STRIDED,
    .forward = seq_forward,
    .backward = seq_backward,
};
