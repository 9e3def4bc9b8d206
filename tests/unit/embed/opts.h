/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/embed/opts.h - an optimizer of rows whose settings are all in use. */
#ifndef TESTS_EMBED_OPTS_H
#define TESTS_EMBED_OPTS_H

#include "embed/row_opt.h"

static inline struct embed_row_opt opt_of(enum embed_row_opt_kind kind)
{
    return (struct embed_row_opt){.kind = kind,
                                  .beta1 = 0.9,
                                  .beta2 = 0.999,
                                  .eps = 1e-8,
                                  .momentum = 0.9,
                                  .rho = 0.95,
                                  .alpha = 0.99,
                                  .initial_accumulator = 0.1,
                                  .weight_decay = 0.01};
}

#endif
