/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/op/interact.h"

#include "cuda/op/op.h"

static void fm_forward(const struct cuda_run *r)
{
    const struct op_fields_conf *c = r->op->conf;
    cuda_fm(r->cuda->stream, c->n, c->d, cuda_in(r, 0), cuda_view(&r->op->keep),
            cuda_out(r));
}

static void fm_backward(const struct cuda_run *r)
{
    const struct op_fields_conf *c = r->op->conf;
    if (cuda_wants(r, 0))
        cuda_fm_back(r->cuda->stream, c->n, c->d, cuda_in(r, 0), cuda_view(&r->op->keep),
                     cuda_d_out(r), cuda_d_in(r, 0), cuda_adds(r, 0));
}

const struct cuda_op cuda_op_fm = {.forward = fm_forward, .backward = fm_backward};

#define FIELDS_MAX 255                   /* a byte says which */
#define SHARED_BYTES ((int64_t)96 << 10) /* that a block of any card we run on has */

static bool dots_fit(const void *conf, const struct nn_shape *in, int n_in)
{
    const struct op_fields_conf *c = conf;
    return c->n <= FIELDS_MAX &&
           (c->n * (c->d + 8) + 2 * c->n * c->n) * (int64_t)sizeof(float) <= SHARED_BYTES;
}

static void dots_forward(const struct cuda_run *r)
{
    const struct op_fields_conf *c = r->op->conf;
    if (!r->tf32 ||
        !cuda_pair_dots_tensor(r->cuda->stream, c->n, c->d, cuda_in(r, 0), cuda_out(r)))
        cuda_pair_dots(r->cuda->stream, c->n, c->d, cuda_in(r, 0), cuda_out(r));
}

static void dots_backward(const struct cuda_run *r)
{
    const struct op_fields_conf *c = r->op->conf;
    cuda_stream s = r->cuda->stream;
    struct cuda_rows x = cuda_in(r, 0), dy = cuda_d_out(r), dx = cuda_d_in(r, 0);
    bool add = cuda_adds(r, 0);
    if (!cuda_wants(r, 0))
        return;
    if (!r->tf32 || !cuda_pair_dots_tensor_back(s, c->n, c->d, x, dy, dx, add))
        cuda_pair_dots_back(s, c->n, c->d, x, dy, dx, add);
}

const struct cuda_op cuda_op_pair_dots = {
    .fits = dots_fit, .forward = dots_forward, .backward = dots_backward};

static void mix_forward(const struct cuda_run *r)
{
    const struct op_fields_conf *c = r->op->conf;
    cuda_mix(r->cuda->stream, c->n, c->d, cuda_in(r, 0), cuda_in(r, 1), cuda_out(r));
}

static void mix_backward(const struct cuda_run *r)
{
    const struct op_fields_conf *c = r->op->conf;
    cuda_stream s = r->cuda->stream;
    if (cuda_wants(r, 0))
        cuda_mix_back_gate(s, c->n, c->d, cuda_in(r, 1), cuda_d_out(r), cuda_d_in(r, 0),
                           cuda_adds(r, 0));
    if (cuda_wants(r, 1))
        cuda_mix_back_x(s, c->n, c->d, cuda_in(r, 0), cuda_d_out(r), cuda_d_in(r, 1),
                        cuda_adds(r, 1));
}

const struct cuda_op cuda_op_mix = {.forward = mix_forward, .backward = mix_backward};
