/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as vectors: a row of a matrix times each, or shares of learnt vectors (AutoDis). All are
 * products by cuBLAS, with what lies between them value by value.
 */
#include "nn/op/dense_embed.h"

#include "cuda/op/op.h"
#include "cuda/op/product.h"

static struct cuda_rows matrix(float *at, int64_t rows, int64_t width)
{
    return (struct cuda_rows){at, rows, width, width};
}

static void number_forward(const struct cuda_run *r)
{
    struct cuda_rows x = cuda_in(r, 0), y = cuda_out(r);
    cuda_multiply(r, GEMM_F32, cuda_plain(x),
                  cuda_plain(matrix(r->op->params[0]->value, x.width, y.width)), x.width,
                  false, y);
}

static void number_backward(const struct cuda_run *r)
{
    struct cuda_rows x = cuda_in(r, 0), dy = cuda_d_out(r);
    const struct param *w = r->op->params[0];
    if (cuda_wants(r, 0))
        cuda_multiply(r, GEMM_F32, cuda_plain(dy),
                      cuda_turned(matrix(w->value, x.width, dy.width)), dy.width,
                      cuda_adds(r, 0), cuda_d_in(r, 0));
    if (w->grad)
        cuda_multiply(r, GEMM_F32, cuda_turned(x), cuda_plain(dy), x.rows, true,
                      matrix(w->grad, x.width, dy.width));
}

const struct cuda_op cuda_op_number_embed = {.forward = number_forward,
                                             .backward = number_backward};

/* One of the values that are kept of each row, by channel. */
static struct cuda_rows kept(const struct cuda_run *r, int what)
{
    const struct op_autodis_conf *c = r->op->conf;
    return cuda_cols(cuda_view(&r->op->keep), what * c->channels, c->channels);
}

static struct cuda_rows param_of(const struct cuda_run *r, int i, bool grad)
{
    const struct op_autodis_conf *c = r->op->conf;
    const struct param *p = r->op->params[i];
    int64_t rows = i == DENSE_EMBED_W ? 1 : c->channels;
    return matrix(grad ? p->grad : p->value, rows,
                  i == DENSE_EMBED_E ? c->dim : c->channels);
}

static void autodis_forward(const struct cuda_run *r)
{
    const struct op_autodis_conf *c = r->op->conf;
    struct cuda_rows h = kept(r, DENSE_EMBED_KEEP_H), p = kept(r, DENSE_EMBED_KEEP_P);
    cuda_stream s = r->cuda->stream;
    cuda_multiply(r, GEMM_F32, cuda_plain(cuda_in(r, 0)),
                  cuda_plain(param_of(r, DENSE_EMBED_W, false)), 1, false, h);
    cuda_act(s, CUDA_ACT_LEAKY, SLOPE, h, h);
    cuda_multiply(r, GEMM_F32, cuda_plain(h),
                  cuda_turned(param_of(r, DENSE_EMBED_M, false)), c->channels, false, p);
    cuda_mixed(s, c->keep, 1.0f / c->temperature, h, p);
    cuda_softmax(s, c->channels, p, p);
    cuda_multiply(r, GEMM_F32, cuda_plain(p),
                  cuda_plain(param_of(r, DENSE_EMBED_E, false)), c->channels, false,
                  cuda_out(r));
}

/* Slopes of the scores (du) and in front of the rectifier (dh). */
static void autodis_slopes(const struct cuda_run *r, struct cuda_rows du,
                           struct cuda_rows dh)
{
    const struct op_autodis_conf *c = r->op->conf;
    cuda_stream s = r->cuda->stream;
    cuda_multiply(r, GEMM_F32, cuda_plain(cuda_d_out(r)),
                  cuda_turned(param_of(r, DENSE_EMBED_E, false)), c->dim, false, du);
    cuda_softmax_back(s, c->channels, kept(r, DENSE_EMBED_KEEP_P), du, du, false);
    cuda_scale(s, 1.0f / c->temperature, 0, du, du, false);
    cuda_multiply(r, GEMM_F32, cuda_plain(du),
                  cuda_plain(param_of(r, DENSE_EMBED_M, false)), c->channels, false, dh);
    cuda_mixed(s, c->keep, 1.0f, du, dh);
    cuda_leaky_from_out(s, SLOPE, kept(r, DENSE_EMBED_KEEP_H), dh);
}

static void autodis_grads(const struct cuda_run *r, struct cuda_rows du,
                          struct cuda_rows dh)
{
    struct cuda_rows x = cuda_in(r, 0);
    cuda_multiply(r, GEMM_F32, cuda_turned(x), cuda_plain(dh), x.rows, true,
                  param_of(r, DENSE_EMBED_W, true));
    cuda_multiply(r, GEMM_F32, cuda_turned(du), cuda_plain(kept(r, DENSE_EMBED_KEEP_H)),
                  x.rows, true, param_of(r, DENSE_EMBED_M, true));
    cuda_multiply(r, GEMM_F32, cuda_turned(kept(r, DENSE_EMBED_KEEP_P)),
                  cuda_plain(cuda_d_out(r)), x.rows, true,
                  param_of(r, DENSE_EMBED_E, true));
}

static void autodis_backward(const struct cuda_run *r)
{
    struct cuda_rows du = kept(r, DENSE_EMBED_KEEP_DU), dh = kept(r, DENSE_EMBED_KEEP_DH);
    const struct op_autodis_conf *c = r->op->conf;
    autodis_slopes(r, du, dh);
    if (cuda_wants(r, 0))
        cuda_multiply(r, GEMM_F32, cuda_plain(dh),
                      cuda_turned(param_of(r, DENSE_EMBED_W, false)), c->channels,
                      cuda_adds(r, 0), cuda_d_in(r, 0));
    if (r->op->params[DENSE_EMBED_W]->grad)
        autodis_grads(r, du, dh);
}

const struct cuda_op cuda_op_autodis = {.forward = autodis_forward,
                                        .backward = autodis_backward};
