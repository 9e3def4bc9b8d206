/* SPDX-License-Identifier: Apache-2.0 */
/* nn/optim/sparse.h - the optimizer of the embedding rows, from its message. */
#ifndef NN_OPTIM_SPARSE_H
#define NN_OPTIM_SPARSE_H

#include "embed/row_opt.h"
#include "nn/schedule.h"

struct pc_SparseOptimizer;

struct optim_sparse {
    struct embed_row_opt rule;
    struct nn_schedule schedule; /* borrows from the message */
    float max_gradient;          /* clamp at the embedding's output; 0: none */
};

/* RC_INVAL: no optimizer (E0304) or schedule (E0305), or a setting out of range. */
enum rc optim_sparse_from(const struct pc_SparseOptimizer *conf, struct optim_sparse *out,
                          struct err *err) MUST_CHECK;

#endif
