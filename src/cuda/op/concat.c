/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/op.h"

static void concat_forward(const struct cuda_run *r)
{
    int64_t col = 0;
    for (int i = 0; i < r->op->n_in; i++) {
        struct cuda_rows x = cuda_in(r, i);
        if (x.at != cuda_out(r).at + col) /* unless it lies there already */
            cuda_put(r->cuda->stream, x, cuda_cols(cuda_out(r), col, x.width), false);
        col += x.width;
    }
}

static void concat_backward(const struct cuda_run *r)
{
    int64_t col = 0;
    for (int i = 0; i < r->op->n_in; i++) {
        int64_t width = r->op->in[i].width;
        if (cuda_wants(r, i) && cuda_d_in(r, i).at != cuda_d_out(r).at + col)
            cuda_put(r->cuda->stream, cuda_cols(cuda_d_out(r), col, width),
                     cuda_d_in(r, i), cuda_adds(r, i));
        col += width;
    }
}

const struct cuda_op cuda_op_concat = {.forward = concat_forward,
                                       .backward = concat_backward};
