/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "nn/cpu/cpu.h"
#include "nn/op/dense_embed.h"
#include "tensor/kernel.h"

static void rows_of(const struct op_run *r, int64_t begin, int64_t end, int64_t *from,
                    int64_t *to)
{
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, from, to);
}

static void direct_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const float *w = r->params[0]->value;
    int64_t from, to, d = r->out[0].width;
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        float *y = view_row(&r->out[0], k);
        memset(y, 0, (size_t)d * sizeof(float));
        for (int64_t v = 0; v < r->in[0].width; v++)
            kernels()->axpy(y, view_row(&r->in[0], k)[v], w + v * d, d);
    }
}

static void direct_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const float *w = r->params[0]->value;
    int64_t from, to, d = r->out[0].width;
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; r->d_in[0].data && k < to; k++)
        for (int64_t v = 0; v < r->in[0].width; v++)
            view_row(&r->d_in[0], k)[v] +=
                kernels()->dot(w + v * d, view_row(&r->d_out[0], k), d);
}

static void direct_grads(const struct op_run *r)
{
    int64_t d = r->out[0].width;
    for (int64_t k = 0; r->params[0]->grad && k < r->in[0].rows; k++)
        for (int64_t v = 0; v < r->in[0].width; v++)
            kernels()->axpy(r->params[0]->grad + v * d, view_row(&r->in[0], k)[v],
                            view_row(&r->d_out[0], k), d);
}

const struct nn_cpu_op nn_cpu_number_embed = {
    .flags = CPU_STRIDED,
    .forward = direct_forward,
    .backward = direct_backward,
    .grads = direct_grads,
};

static float *kept(const struct op_run *r, int64_t row, int what)
{
    const struct op_autodis_conf *c = r->conf;
    return view_row(&r->keep, row) + what * c->channels;
}

static void autodis_row(const struct op_run *r, int64_t row)
{
    const struct op_autodis_conf *c = r->conf;
    const float *w = r->params[DENSE_EMBED_W]->value,
                *m = r->params[DENSE_EMBED_M]->value;
    float x = *view_row(&r->in[0], row), *h = kept(r, row, DENSE_EMBED_KEEP_H);
    float *p = kept(r, row, DENSE_EMBED_KEEP_P), *y = view_row(&r->out[0], row);
    for (int64_t i = 0; i < c->channels; i++)
        h[i] = x * w[i] > 0 ? x * w[i] : SLOPE * x * w[i];
    for (int64_t i = 0; i < c->channels; i++)
        p[i] = (kernels()->dot(m + i * c->channels, h, c->channels) + c->keep * h[i]) /
               c->temperature;
    kernels()->softmax(p, p, c->channels, c->channels);
    memset(y, 0, (size_t)c->dim * sizeof(float));
    for (int64_t i = 0; i < c->channels; i++)
        kernels()->axpy(y, p[i], r->params[DENSE_EMBED_E]->value + i * c->dim, c->dim);
}

static void autodis_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        autodis_row(r, k);
}

static void autodis_slopes(const struct op_run *r, int64_t row)
{
    const struct op_autodis_conf *c = r->conf;
    const float *w = r->params[DENSE_EMBED_W]->value,
                *m = r->params[DENSE_EMBED_M]->value;
    const float *p = kept(r, row, DENSE_EMBED_KEEP_P), *dy = view_row(&r->d_out[0], row);
    float x = *view_row(&r->in[0], row), *du = kept(r, row, DENSE_EMBED_KEEP_DU);
    float *dh = kept(r, row, DENSE_EMBED_KEEP_DH), mean = 0, dx = 0;
    for (int64_t i = 0; i < c->channels; i++) {
        du[i] = kernels()->dot(dy, r->params[DENSE_EMBED_E]->value + i * c->dim, c->dim);
        mean += p[i] * du[i];
    }
    for (int64_t i = 0; i < c->channels; i++) {
        du[i] = p[i] * (du[i] - mean) / c->temperature;
        dh[i] = c->keep * du[i];
    }
    for (int64_t i = 0; i < c->channels; i++)
        kernels()->axpy(dh, du[i], m + i * c->channels, c->channels);
    for (int64_t i = 0; i < c->channels; i++) {
        dh[i] *= x * w[i] > 0 ? 1.0f : SLOPE;
        dx += dh[i] * w[i];
    }
    if (r->d_in[0].data)
        *view_row(&r->d_in[0], row) += dx;
}

static void autodis_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        autodis_slopes(r, k);
}

static void autodis_grads(const struct op_run *r)
{
    const struct op_autodis_conf *c = r->conf;
    float *dw = r->params[DENSE_EMBED_W]->grad, *dm = r->params[DENSE_EMBED_M]->grad;
    float *de = r->params[DENSE_EMBED_E]->grad;
    for (int64_t k = 0; dw && dm && de && k < r->in[0].rows; k++) {
        const float *h = kept(r, k, DENSE_EMBED_KEEP_H),
                    *p = kept(r, k, DENSE_EMBED_KEEP_P);
        const float *du = kept(r, k, DENSE_EMBED_KEEP_DU);
        kernels()->axpy(dw, *view_row(&r->in[0], k), kept(r, k, DENSE_EMBED_KEEP_DH),
                        c->channels);
        for (int64_t i = 0; i < c->channels; i++) {
            kernels()->axpy(dm + i * c->channels, du[i], h, c->channels);
            kernels()->axpy(de + i * c->dim, p[i], view_row(&r->d_out[0], k), c->dim);
        }
    }
}

const struct nn_cpu_op nn_cpu_autodis = {
    .flags = CPU_STRIDED,
    .forward = autodis_forward,
    .backward = autodis_backward,
    .grads = autodis_grads,
};
