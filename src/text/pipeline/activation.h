/* SPDX-License-Identifier: Apache-2.0 */
/* text/pipeline/activation.h - activations as configs write them: "nn.PReLU(init=0.1)".
 */
#ifndef TEXT_PIPELINE_ACTIVATION_H
#define TEXT_PIPELINE_ACTIVATION_H

#include <stdbool.h>

#include "base/err.h"

struct pc_activation {
    const char *name; /* of the class, "ReLU"; "Dice"; "" for none */
    float param;      /* slope, alpha, or first slope; that of torch unless it is given */
    bool tanh;        /* GELU by way of tanh */
};

/* `text` may be NULL. RC_INVAL: `err` says what is wrong with it, without its text. */
enum rc pc_activation_read(const char *text, struct pc_activation *out,
                           struct err *err) MUST_CHECK;

#endif
