/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/dense_embed.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_DENSE_EMBED_H
#define NN_OP_DENSE_EMBED_H

#include "nn/op.h"

#define SLOPE 0.01f /* of the leaky rectifier */

struct op_autodis_conf {
    int64_t channels, dim;
    float keep, temperature;
};

enum { PARAM_W, PARAM_M, PARAM_E };

/* What is kept of a row, c values each: after the rectifier, the shares; then, backwards,
 * slopes of the scores and in front of the rectifier.
 */
enum { KEEP_H, KEEP_P, KEEP_DU, KEEP_DH, KEEPS };

#endif
