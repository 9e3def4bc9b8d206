/* SPDX-License-Identifier: Apache-2.0 */
/* nn/optim/sparse.h - the optimiser of the embedding rows, from its message. */
#ifndef NN_OPTIM_SPARSE_H
#define NN_OPTIM_SPARSE_H

#include "embed/row_opt.h"
#include "nn/schedule.h"

struct pc_SparseOptimizer;

struct sparse_optim {
    struct embed_row_opt rule;
    struct schedule schedule; /* borrows from the message */
    float max_gradient;       /* clamp at the embedding's output; 0: none */
};

/* RC_INVAL: no optimiser (E0304) or schedule (E0305), or a setting out of range. */
enum rc sparse_optim_from(const struct pc_SparseOptimizer *conf, struct sparse_optim *out,
                          struct err *err) MUST_CHECK;

#endif
