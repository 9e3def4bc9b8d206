/* SPDX-License-Identifier: Apache-2.0 */
/* What heads need beside layers. */
#include "cuda/op/op.h"

static void both_forward(const struct cuda_run *r)
{
    cuda_both_logit(r->cuda->stream, cuda_in(r, 0), cuda_in(r, 1), cuda_out(r));
}

static void both_backward(const struct cuda_run *r)
{
    for (int i = 0; i < 2; i++)
        if (cuda_wants(r, i))
            cuda_both_logit_back(r->cuda->stream, cuda_in(r, 0), cuda_in(r, 1),
                                 cuda_d_out(r), i, cuda_d_in(r, i), cuda_adds(r, i));
}

const struct cuda_op cuda_op_both_logit = {.forward = both_forward,
                                           .backward = both_backward};

static void pick_forward(const struct cuda_run *r)
{
    cuda_pick(r->cuda->stream, cuda_in(r, 0), cuda_in(r, 1), cuda_out(r));
}

static void pick_backward(const struct cuda_run *r)
{
    if (cuda_wants(r, 0))
        cuda_pick_back(r->cuda->stream, cuda_in(r, 1), cuda_d_out(r), cuda_d_in(r, 0),
                       cuda_adds(r, 0));
}

const struct cuda_op cuda_op_pick = {.forward = pick_forward, .backward = pick_backward};

/* Kept: the sum of all rows; behind it, on the way back, that of rows times slopes. */
static void root_forward(const struct cuda_run *r)
{
    float *scratch = cuda_scratch(r->cuda, cuda_column_scratch(1));
    if (!scratch || !cuda_room_card(r->kept, 2 * sizeof(double)))
        return;
    double *sum = r->kept->at;
    cuda_dot_total(r->cuda->stream, cuda_in(r, 0), (struct cuda_rows){0}, scratch, sum);
    cuda_root_share(r->cuda->stream, sum, cuda_in(r, 0), cuda_out(r));
}

static void root_backward(const struct cuda_run *r)
{
    float *scratch = cuda_scratch(r->cuda, cuda_column_scratch(1));
    double *sum = r->kept->at;
    if (!scratch || !sum || !cuda_wants(r, 0))
        return;
    cuda_dot_total(r->cuda->stream, cuda_in(r, 0), cuda_d_out(r), scratch, sum + 1);
    cuda_root_share_back(r->cuda->stream, sum, sum + 1, cuda_d_out(r), cuda_d_in(r, 0),
                         cuda_adds(r, 0));
}

const struct cuda_op cuda_op_root_share = {.forward = root_forward,
                                           .backward = root_backward};
