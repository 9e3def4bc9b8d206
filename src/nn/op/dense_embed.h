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

enum { DENSE_EMBED_W, DENSE_EMBED_M, DENSE_EMBED_E };

/* What is kept of a row, c values each: after the rectifier, the shares; then, backwards,
 * slopes of the scores and in front of the rectifier.
 */
enum {
    DENSE_EMBED_KEEP_H,
    DENSE_EMBED_KEEP_P,
    DENSE_EMBED_KEEP_DU,
    DENSE_EMBED_KEEP_DH,
    DENSE_EMBED_KEEPS
};

#endif
