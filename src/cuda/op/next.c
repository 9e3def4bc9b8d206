/* SPDX-License-Identifier: Apache-2.0 */
/* Losses that tell what comes next from what does not, and means over windows. */
#include "nn/op/next.h"

#include <string.h>

#include "cuda/op/op.h"
#include "nn/op/windows.h"

static void next_forward(const struct cuda_run *r)
{
    cuda_next_loss(r->cuda->stream, r->offsets[r->op->in_axis[0]],
                   (double)op_total(r->op), cuda_in(r, NEXT_IN_STATE),
                   cuda_in(r, NEXT_IN_NEXT), cuda_in(r, NEXT_IN_OTHER), cuda_out(r));
}

static void next_backward(const struct cuda_run *r)
{
    struct cuda_next d = {
        .at = r->offsets[r->op->in_axis[0]],
        .total = (float)op_total(r->op),
        .state = cuda_in(r, NEXT_IN_STATE),
        .next = cuda_in(r, NEXT_IN_NEXT),
        .other = cuda_in(r, NEXT_IN_OTHER),
        .dy = cuda_d_out(r),
    };
    if (cuda_wants(r, NEXT_IN_STATE))
        cuda_next_loss_back_state(r->cuda->stream, d, cuda_d_in(r, NEXT_IN_STATE),
                                  cuda_adds(r, NEXT_IN_STATE));
    for (int i = NEXT_IN_NEXT; i <= NEXT_IN_OTHER; i++)
        if (cuda_wants(r, i))
            cuda_next_loss_back(r->cuda->stream, d, i == NEXT_IN_NEXT, cuda_d_in(r, i),
                                cuda_adds(r, i));
}

const struct cuda_op cuda_op_next_loss = {.forward = next_forward,
                                          .backward = next_backward};

static void tell_forward(const struct cuda_run *r)
{
    cuda_tell_loss(r->cuda->stream, (double)op_total(r->op), cuda_in(r, TELL_X),
                   cuda_in(r, TELL_HAPPENED), cuda_in(r, TELL_OTHERS),
                   cuda_in(r, TELL_WEIGHT), cuda_out(r));
}

static void tell_backward(const struct cuda_run *r)
{
    struct cuda_tell t = {
        .total = (float)op_total(r->op),
        .x = cuda_in(r, TELL_X),
        .happened = cuda_in(r, TELL_HAPPENED),
        .others = cuda_in(r, TELL_OTHERS),
        .weight = cuda_in(r, TELL_WEIGHT),
        .dy = cuda_d_out(r),
    };
    cuda_tell_loss_back(r->cuda->stream, t, cuda_d_in(r, TELL_X), cuda_adds(r, TELL_X),
                        cuda_d_in(r, TELL_HAPPENED), cuda_adds(r, TELL_HAPPENED),
                        cuda_d_in(r, TELL_OTHERS), cuda_adds(r, TELL_OTHERS));
}

const struct cuda_op cuda_op_tell_loss = {.forward = tell_forward,
                                          .backward = tell_backward};

_Static_assert(NN_WINDOWS_MAX <= CUDA_WINDOWS_MAX, "windows are passed by value");

static struct cuda_windows windows_of(const struct cuda_run *r)
{
    const struct op_windows_conf *c = r->op->conf;
    struct cuda_windows w = {.at = r->offsets[r->op->in_axis[0]], .n = c->n};
    memcpy(w.start, c->start, (size_t)(c->n + 1) * sizeof(*w.start));
    return w;
}

static void windows_forward(const struct cuda_run *r)
{
    cuda_seq_windows(r->cuda->stream, windows_of(r), cuda_in(r, 0), cuda_in(r, 1),
                     cuda_out(r));
}

static void windows_backward(const struct cuda_run *r)
{
    cuda_seq_windows_back(r->cuda->stream, windows_of(r), cuda_in(r, 0), cuda_in(r, 1),
                          cuda_d_out(r), cuda_d_in(r, 0), cuda_adds(r, 0),
                          cuda_d_in(r, 1), cuda_adds(r, 1));
}

const struct cuda_op cuda_op_seq_windows = {.forward = windows_forward,
                                            .backward = windows_backward};
