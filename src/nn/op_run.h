/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op_run.h - one op of a planned graph while a device runs it. */
#ifndef NN_OP_RUN_H
#define NN_OP_RUN_H

#include "base/pool.h"
#include "nn/graph.h"

/* The setting that ops run in; one per graph. */
struct op_env {
    struct pool *pool;
    struct comm *comm; /* the ranks of the run; NULL: this one alone */
    bool training;
    uint64_t seed, step; /* of the counter-based generator */
    struct nn_batch_rows rows;
};

struct op_run {
    const struct op_env *env;
    const void *conf;
    uint64_t id; /* the op's number in its graph: a stream for random numbers */
    int n_in, n_out, n_params;
    const struct view *in, *out;
    /* Gradients. d_in[i].data is NULL when nobody wants it. */
    const struct view *d_in, *d_out;
    const bool *d_in_fresh; /* d_in[i] holds nothing yet: this op is the first to write */
    const int *in_axis, *out_axis;
    struct param *const *params;
    struct view keep; /* keep_width floats per row of the first output, for backward */
    void *state;      /* of the device's implementation */
};

/* What a mean over the rows of the first output divides by. */
static inline int64_t op_total(const struct op_run *r)
{
    return r->env->rows.n[r->out_axis[0]];
}

#endif
