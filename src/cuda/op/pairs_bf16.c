/* SPDX-License-Identifier: Apache-2.0 */
/* `pair net` in bf16: what is laid out for all positions of a batch (k and q * k, the hidden
 * values, their gradients) is bf16, sums are f32. The operand and the hidden values of the forward
 * pass are kept for the backward pass. Batches with more positions than that should take memory
 * for go the way of pairs.c.
 */
#include <cuda_runtime_api.h>

#include "cuda/op/linear.h"
#include "cuda/op/pairs.h"

#define POSITIONS_MAX ((int64_t)1 << 21)
#define MULTIPLE 8 /* of elements: 16 bytes */

/* What the op works with, in its scratch and in what it keeps. */
struct net {
    const struct cuda_run *r;
    const struct op_net_conf *c;
    const int64_t *at;                  /* offsets of the batch rows */
    struct cuda_rows16 operand, hidden; /* kept: [positions][2 d], [positions][out] */
    struct cuda_rows16 first, second;   /* weights */
    struct cuda_rows joined;            /* the first weight as f32, then its gradient */
    float *parts;
    struct cuda_rows16 d_out, d_hidden, d_operand;
};

static struct blas_matrix plain(struct cuda_rows16 v)
{
    return (struct blas_matrix){v.at, v.ld, false, true};
}

static struct blas_matrix turned(struct cuda_rows16 v)
{
    return (struct blas_matrix){v.at, v.ld, true, true};
}

static struct blas_out into(struct cuda_rows v)
{
    return (struct blas_out){v.at, v.rows, v.width, v.ld, false};
}

static struct blas_out into16(struct cuda_rows16 v)
{
    return (struct blas_out){v.at, v.rows, v.width, v.ld, true};
}

static void multiply(const struct net *n, struct blas_matrix a, struct blas_matrix b,
                     int64_t k, bool add, struct blas_out out)
{
    cuda_note(n->r->cuda, blas_product(&n->r->cuda->blas, BLAS_BF16, a, b, k, add, out));
}

static bool suits(const struct cuda_run *r)
{
    const struct op_net_conf *c = r->op->conf;
    int64_t positions = r->op->in[IN_KEY].rows;
    return c->first.precision == GEMM_BF16 && r->cuda->blas.lt && positions > 0 &&
           positions <= POSITIONS_MAX && 2 * c->first.d % MULTIPLE == 0 &&
           c->first.out % MULTIPLE == 0 && c->out % MULTIPLE == 0;
}

static struct cuda_rows16 take(uint16_t **at, int64_t rows, int64_t width)
{
    struct cuda_rows16 v = {*at, rows, width, width};
    *at += (rows * width + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
    return v;
}

/* False: there is no memory. */
static bool reserve(const struct cuda_run *r, struct net *n)
{
    const struct op_net_conf *c = n->c = r->op->conf;
    int64_t positions = r->op->in[IN_KEY].rows, d2 = 2 * c->first.d, out = c->first.out;
    int64_t weights = out * (d2 + c->out), laid_out = positions * (c->out + out + d2);
    n->r = r;
    n->at = r->offsets[r->op->in_axis[IN_KEY]];
    if (!cuda_room_card(r->kept, (size_t)(positions * (d2 + out) + MULTIPLE) * 2))
        return false;
    uint16_t *kept = r->kept->at;
    n->operand = take(&kept, positions, d2);
    n->hidden = take(&kept, positions, out);
    float *scratch = cuda_scratch(r->cuda, out * d2 + cuda_back_scratch(c->out) +
                                               (weights + laid_out) / 2 + 5 * MULTIPLE);
    if (!scratch)
        return false;
    n->joined = (struct cuda_rows){scratch, out, d2, d2};
    n->parts = scratch + out * d2;
    uint16_t *at = (uint16_t *)(n->parts + cuda_back_scratch(c->out));
    n->first = take(&at, out, d2);
    n->second = take(&at, c->out, out);
    n->d_out = take(&at, positions, c->out);
    n->d_hidden = take(&at, positions, out);
    n->d_operand = take(&at, positions, d2);
    return true;
}

static void round_weights(const struct net *n)
{
    const struct param *w = n->r->op->params[PARAM_SECOND];
    cuda_stream s = n->r->cuda->stream;
    cuda_pair_join(n->r, &n->c->first, n->joined);
    cuda_to_bf16(s, n->joined, n->first);
    cuda_to_bf16(s, (struct cuda_rows){w->value, w->dims[0], w->dims[1], w->dims[1]},
                 n->second);
}

static void second_layer(const struct net *n)
{
    const struct op_net_conf *c = n->c;
    const float *bias = c->bias ? n->r->op->params[PARAM_BIAS]->value : NULL;
    struct blas_out y = into(cuda_out(n->r));
    bool relu = c->act == GEMM_ACT_RELU;
    if (bias && (relu || c->act == GEMM_ACT_NONE) &&
        blas_product_then(&n->r->cuda->blas, BLAS_BF16, plain(n->hidden),
                          turned(n->second), c->first.out, y,
                          (struct blas_after){bias, relu}))
        return;
    multiply(n, plain(n->hidden), turned(n->second), c->first.out, false, y);
    cuda_bias_act(n->r->cuda->stream, bias, cuda_act_of(c->act), cuda_out(n->r));
}

bool cuda_pair_net_bf16_forward(const struct cuda_run *r)
{
    struct net n;
    cuda_stream s = r->cuda->stream;
    if (!suits(r) || !reserve(r, &n))
        return false;
    round_weights(&n);
    cuda_pair_operand16(s, n.at, cuda_in(r, IN_QUERY), cuda_in(r, IN_KEY), n.operand);
    multiply(&n, plain(n.operand), turned(n.first), n.operand.width, false,
             into16(n.hidden));
    cuda_pair_act16(s, n.at, cuda_in(r, IN_START), cuda_act_of(n.c->first.act), n.hidden);
    second_layer(&n);
    return true;
}

static void second_back(const struct net *n)
{
    const struct op_net_conf *c = n->c;
    const struct cuda_run *r = n->r;
    const struct param *w = r->op->params[PARAM_SECOND];
    float *sums = c->bias ? r->op->params[PARAM_BIAS]->grad : NULL;
    cuda_act_back_sums_to16(r->cuda->stream, cuda_act_of(c->act), cuda_out(r),
                            cuda_d_out(r), n->d_out, n->parts, sums);
    if (w->grad)
        multiply(n, turned(n->d_out), plain(n->hidden), n->d_out.rows, true,
                 into((struct cuda_rows){w->grad, c->out, c->first.out, c->first.out}));
    multiply(n, plain(n->d_out), plain(n->second), c->out, false, into16(n->d_hidden));
}

/* Inputs whose gradient is not wanted have no rows. */
static struct cuda_rows wanted(const struct cuda_run *r, int input)
{
    return cuda_wants(r, input) ? cuda_d_in(r, input) : (struct cuda_rows){0};
}

bool cuda_pair_net_bf16_backward(const struct cuda_run *r)
{
    struct net n;
    cuda_stream s = r->cuda->stream;
    if (!suits(r) || !reserve(r, &n))
        return false;
    round_weights(&n);
    second_back(&n);
    cuda_pair_back16(s, n.at, cuda_in(r, IN_START).rows, cuda_act_of(n.c->first.act),
                     n.hidden, n.d_hidden, wanted(r, IN_START), cuda_adds(r, IN_START));
    if (r->op->params[PARAM_FIRST]->grad) {
        multiply(&n, turned(n.d_hidden), plain(n.operand), n.d_hidden.rows, false,
                 into(n.joined));
        cuda_pair_split(r, &n.c->first, n.joined);
    }
    multiply(&n, plain(n.d_hidden), plain(n.first), n.c->first.out, false,
             into16(n.d_operand));
    cuda_pair_split16(s, n.at, cuda_in(r, IN_QUERY), cuda_in(r, IN_KEY), n.d_operand,
                      wanted(r, IN_KEY), cuda_adds(r, IN_KEY), wanted(r, IN_QUERY),
                      cuda_adds(r, IN_QUERY));
    return true;
}
