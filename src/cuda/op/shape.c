/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/op/shape.h"

#include "cuda/op/op.h"
#include "nn/op/tasks.h"

static void slice_forward(const struct cuda_run *r)
{
    const struct op_take_conf *c = r->op->conf;
    struct cuda_rows y = cuda_out(r);
    if (cuda_in(r, 0).at + c->from != y.at)
        cuda_put(r->cuda->stream, cuda_cols(cuda_in(r, 0), c->from, y.width), y, false);
}

static void slice_backward(const struct cuda_run *r)
{
    const struct op_take_conf *c = r->op->conf;
    struct cuda_rows dy = cuda_d_out(r), dx = cuda_d_in(r, 0);
    bool whole = dy.width == dx.width;
    if (!cuda_wants(r, 0) || dx.at == dy.at)
        return;
    if (!cuda_adds(r, 0) && !whole)
        cuda_fill(r->cuda->stream, dx, 0);
    cuda_put(r->cuda->stream, dy, cuda_cols(dx, c->from, dy.width),
             cuda_adds(r, 0) || !whole);
}

const struct cuda_op cuda_op_slice = {.forward = slice_forward,
                                      .backward = slice_backward};
const struct cuda_op cuda_op_stop_gradient = {.forward = slice_forward};

static void pad_forward(const struct cuda_run *r)
{
    struct cuda_rows x = cuda_in(r, 0), y = cuda_out(r);
    cuda_put(r->cuda->stream, x, cuda_cols(y, 0, x.width), false);
    cuda_fill(r->cuda->stream, cuda_cols(y, x.width, y.width - x.width), 0);
}

static void pad_backward(const struct cuda_run *r)
{
    if (cuda_wants(r, 0))
        cuda_put(r->cuda->stream, cuda_cols(cuda_d_out(r), 0, r->op->in[0].width),
                 cuda_d_in(r, 0), cuda_adds(r, 0));
}

const struct cuda_op cuda_op_pad = {.forward = pad_forward, .backward = pad_backward};

static void row_sum_forward(const struct cuda_run *r)
{
    cuda_row_sum(r->cuda->stream, cuda_in(r, 0), cuda_out(r));
}

static void row_sum_backward(const struct cuda_run *r)
{
    if (cuda_wants(r, 0))
        cuda_row_spread(r->cuda->stream, cuda_d_out(r), cuda_d_in(r, 0), cuda_adds(r, 0));
}

const struct cuda_op cuda_op_row_sum = {.forward = row_sum_forward,
                                        .backward = row_sum_backward};

static float share_of(const struct op_run *r)
{
    const struct op_share_conf *c = r->conf;
    return c->times ? (float)op_total(r) : 1.0f / (float)op_total(r);
}

static void share_forward(const struct cuda_run *r)
{
    cuda_scale(r->cuda->stream, share_of(r->op), 0, cuda_in(r, 0), cuda_out(r), false);
}

static void share_backward(const struct cuda_run *r)
{
    if (cuda_wants(r, 0))
        cuda_scale(r->cuda->stream, share_of(r->op), 0, cuda_d_out(r), cuda_d_in(r, 0),
                   cuda_adds(r, 0));
}

const struct cuda_op cuda_op_batch_share = {.forward = share_forward,
                                            .backward = share_backward};
