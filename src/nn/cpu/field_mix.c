/* SPDX-License-Identifier: Apache-2.0 */
/* Fields mixed by a parameter: y [out, d] = w^T x, with w [n, out] and x [n, d]. One
 * small product per row, without turning the rows round. The gradient of w is added up in
 * PIECES of the batch whose sizes follow from the batch alone, one after the other in the
 * end: threads do not change it.
 */
#include <string.h>

#include "base/mem.h"
#include "nn/cpu/cpu.h"
#include "nn/op/field_mix.h"
#include "tensor/gemm.h"
#include "tensor/kernel.h"

#define PIECES 16

struct mix_state {
    float *turned; /* [out][n] */
    float *grads;  /* [PIECES][n][out]; NULL outside of training */
};

static void mix_teardown(void *state)
{
    struct mix_state *s = state;
    if (!s)
        return;
    mem_free(s->turned);
    mem_free(s->grads);
    mem_free(s);
}

static enum rc mix_setup(const void *conf, const struct nn_shape *in,
                         const struct nn_shape *out, bool training, void **state,
                         struct err *err)
{
    const struct op_mix_conf *c = conf;
    struct mix_state *s = mem_calloc(1, sizeof(*s));
    size_t n = (size_t)(c->n * c->out);
    s->turned = mem_try_calloc(n, sizeof(float));
    s->grads = training ? mem_try_calloc(PIECES * n, sizeof(float)) : NULL;
    if (!s->turned || (training && !s->grads)) {
        mix_teardown(s);
        return err_set(err, RC_NOMEM, "no memory for the gradient of %zu weights", n);
    }
    *state = s;
    return RC_OK;
}

static void mix_begin(const struct op_run *r)
{
    const struct op_mix_conf *c = r->conf;
    const struct mix_state *s = r->state;
    for (int64_t i = 0; i < c->n; i++)
        for (int64_t j = 0; j < c->out; j++)
            s->turned[j * c->n + i] = r->params[0]->value[i * c->out + j];
}

/* y [m][d] (+)= w [m][k] x [k][d], k in parts that a small product can take. */
static void apply(const float *w, int64_t m, int64_t k, const float *x, int64_t d,
                  bool add, float *y)
{
    for (int64_t at = 0; at < k; at += GEMM_SMALL_K) {
        struct gemm_small p = {.a = w + at,
                               .lda = k,
                               .b = x + at * d,
                               .ldb = d,
                               .m = m,
                               .n = d,
                               .k = k - at < GEMM_SMALL_K ? k - at : GEMM_SMALL_K};
        gemm_small(&p, add || at > 0, y, d);
    }
}

static void mix_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_mix_conf *c = r->conf;
    const struct mix_state *s = r->state;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t row = from; row < to; row++)
        apply(s->turned, c->out, c->n, view_row(&r->in[0], row), c->d, false,
              view_row(&r->out[0], row));
}

static void mix_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_mix_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t row = from; r->d_in[0].data && row < to; row++)
        apply(r->params[0]->value, c->n, c->out, view_row(&r->d_out[0], row), c->d,
              !r->d_in_fresh[0], view_row(&r->d_in[0], row));
}

/* x dy^T of some rows. */
static void mix_piece(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    const struct op_mix_conf *c = r->conf;
    const struct mix_state *s = r->state;
    float *grads = s->grads + chunk * c->n * c->out;
    memset(grads, 0, (size_t)(c->n * c->out) * sizeof(float));
    for (int64_t row = begin; row < end; row++)
        for (int64_t at = 0; at < c->d; at += GEMM_SMALL_K) {
            struct gemm_small p = {.a = view_row(&r->in[0], row) + at,
                                   .lda = c->d,
                                   .b = view_row(&r->d_out[0], row) + at,
                                   .ldb = c->d,
                                   .m = c->n,
                                   .n = c->out,
                                   .k = c->d - at < GEMM_SMALL_K ? c->d - at
                                                                 : GEMM_SMALL_K,
                                   .turned = true};
            gemm_small(&p, true, grads, c->out);
        }
}

static void mix_grads(const struct op_run *r)
{
    const struct op_mix_conf *c = r->conf;
    const struct mix_state *s = r->state;
    int64_t rows = r->d_out[0].rows, grain = (rows + PIECES - 1) / PIECES;
    if (!r->params[0]->grad || rows == 0)
        return;
    pool_for(r->env->pool, rows, grain, mix_piece, (void *)r);
    for (int64_t at = 0, chunk = 0; at < rows; at += grain, chunk++)
        kernels()->add(r->params[0]->grad, s->grads + chunk * c->n * c->out,
                       c->n * c->out);
}

const struct nn_cpu_op nn_cpu_field_mix = {
    .flags = CPU_WRITES,
    .setup = mix_setup,
    .teardown = mix_teardown,
    .begin = mix_begin,
    .forward = mix_forward,
    .backward = mix_backward,
    .grads = mix_grads,
};
