/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/op/pairs.h - what the files of attention over pairs share. */
#ifndef CUDA_OP_PAIRS_H
#define CUDA_OP_PAIRS_H

#include "cuda/cuda_private.h"
#include "nn/op/pair_net.h"

/* to = [Wk - Wd, Wp], and the gradient of it added to where it came from. */
void cuda_pair_join(const struct cuda_run *r, const struct op_pair_conf *c,
                    struct cuda_rows to);
void cuda_pair_split(const struct cuda_run *r, const struct op_pair_conf *c,
                     struct cuda_rows d_joined);

/* pairs_bf16.c: `pair net` in bf16; false, and nothing is queued, where it does not suit. */
bool cuda_pair_net_bf16_forward(const struct cuda_run *r);
bool cuda_pair_net_bf16_backward(const struct cuda_run *r);

#endif
