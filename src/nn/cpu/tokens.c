/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/op/tokens.h"

#include <string.h>

#include "nn/cpu/cpu.h"
#include "tensor/kernel.h"

static void put(bool back, const struct view *out, int64_t row, float *x, int64_t n)
{
    if (back)
        kernels()->add(x, view_row(out, row), n);
    else
        memcpy(view_row(out, row), x, (size_t)n * sizeof(float));
}

/* Tokens of row b of the batch, part after part; `back` takes gradients from them. */
static void join_row(const struct op_run *r, int64_t b, bool back)
{
    const struct op_tokens_conf *c = r->conf;
    int64_t to = r->env->rows.offsets[r->out_axis[0]][b];
    for (int i = 0; i < r->n_in; i++) {
        const struct view *x = back ? &r->d_in[i] : &r->in[i];
        int64_t from, end, each = r->in[i].width / c->width;
        nn_cpu_rows(r->env, r->in_axis[i], b, b + 1, &from, &end);
        for (int64_t k = from; k < end; k++)
            for (int64_t t = 0; t < each; t++, to++)
                if (x->data)
                    put(back, back ? &r->d_out[0] : &r->out[0], to,
                        view_row(x, k) + t * c->width, c->width);
    }
}

static void join_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    for (int64_t b = begin; b < end; b++)
        join_row(r, b, false);
}

static void join_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    for (int64_t b = begin; b < end; b++)
        join_row(r, b, true);
}

const struct nn_cpu_op nn_cpu_seq_join = {
    .flags = CPU_STRIDED,
    .forward = join_forward,
    .backward = join_backward,
};

/* The first positions of a row, then its last ones: as many as the output has. */
static void keep_row(const struct op_run *r, int64_t b, bool back)
{
    const struct op_tokens_conf *c = r->conf;
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    const int64_t *to = r->env->rows.offsets[r->out_axis[0]];
    int64_t n = to[b + 1] - to[b], behind = at[b + 1] - at[b] - n;
    for (int64_t k = 0; k < n; k++) {
        const struct view *x = back ? &r->d_in[0] : &r->in[0];
        put(back, back ? &r->d_out[0] : &r->out[0], to[b] + k,
            view_row(x, at[b] + k + (k < c->front ? 0 : behind)), r->in[0].width);
    }
}

static void keep_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    for (int64_t b = begin; b < end; b++)
        keep_row(r, b, false);
}

static void keep_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    for (int64_t b = begin; r->d_in[0].data && b < end; b++)
        keep_row(r, b, true);
}

const struct nn_cpu_op nn_cpu_seq_keep = {
    .flags = CPU_STRIDED,
    .forward = keep_forward,
    .backward = keep_backward,
};

static void reverse_row(const struct op_run *r, int64_t b, bool back)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    const struct view *x = back ? &r->d_in[0] : &r->in[0];
    for (int64_t k = at[b]; k < at[b + 1]; k++)
        put(back, back ? &r->d_out[0] : &r->out[0], at[b] + at[b + 1] - 1 - k,
            view_row(x, k), r->in[0].width);
}

static void reverse_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    for (int64_t b = begin; b < end; b++)
        reverse_row(r, b, false);
}

static void reverse_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    for (int64_t b = begin; r->d_in[0].data && b < end; b++)
        reverse_row(r, b, true);
}

const struct nn_cpu_op nn_cpu_seq_reverse = {
    .flags = CPU_STRIDED,
    .forward = reverse_forward,
    .backward = reverse_backward,
};
