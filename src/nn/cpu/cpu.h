/* SPDX-License-Identifier: Apache-2.0 */
/* nn/cpu/cpu.h - how the CPU runs an op, and the executor that does so.
 *
 * The executor cuts the batch into tiles of rows and takes each tile through as many ops
 * as it can before the next (a tile's activations stay in the cache); tiles run on any
 * thread. So an implementation works on a range of batch rows at a time, and says in its
 * table what else it needs:
 *
 * - begin: once per step, before any row; parameters have changed (pack weights). Ops do
 *   so at the same time, each for itself.
 * - sync_forward: all rows of the inputs are there (batch statistics).
 * - forward: rows [begin, end) of the outputs.
 * - sync_backward: all rows of the outputs' gradients are there.
 * - backward: ADDS to rows [begin, end) of the inputs' gradients.
 * - grads: all rows are there; ADDS to the parameters' gradients. Cut it by units of the
 *   result or with pool_reduce, so that threads do not change the sum.
 *
 * Where all rows of an op's inputs are equal (graph_alike()), forward() is called for the
 * first row only, and the executor copies it to those who read more.
 *
 * Tiles are ranges of batch rows. A value on a sequence axis has many rows per batch row:
 * nn_cpu_rows() translates. None of them allocates; loops are kernels of tensor/.
 */
#ifndef NN_CPU_CPU_H
#define NN_CPU_CPU_H

#include "nn/executor.h"
#include "nn/op_run.h"

enum nn_cpu_flags {
    CPU_WRITES = 1,  /* backward looks at d_in_fresh; else the executor zeroes first */
    CPU_STRIDED = 2, /* outputs may have ld > width: they can be placed inside a concat */
    CPU_DRAWS =
        4, /* outside training too, rows with equal inputs may come out different */
    CPU_SYNC_TRAINING =
        8, /* rows depend on others, for which sync_forward is, in training only */
};

/* What an op can do with rows of bf16 (struct view). */
enum nn_cpu_bf16 {
    CPU_BF16_IN = 1,  /* read its first input so, and write that one's gradient */
    CPU_BF16_OUT = 2, /* write its first output so, and read that one's gradient */
};

struct nn_cpu_op {
    unsigned flags;
    /* Optional: state beyond parameters (packed weights), made once. */
    enum rc (*setup)(const void *conf, const struct nn_shape *in,
                     const struct nn_shape *out, bool training, void **state,
                     struct err *err);
    void (*teardown)(void *state);
    /* Optional: enum nn_cpu_bf16, for values that only ops which can do so write and read. */
    unsigned (*bf16)(const void *conf, const void *state);
    void (*begin)(const struct op_run *r);
    /* Optional: before the rows of a pass outside training, columns of the first input that
     * are equal in all of them; n is 0 where none are.
     */
    void (*once)(const struct op_run *r, const struct nn_columns *at, int n);
    void (*sync_forward)(const struct op_run *r);
    void (*forward)(const struct op_run *r, int64_t begin, int64_t end);
    void (*sync_backward)(const struct op_run *r);
    void (*backward)(const struct op_run *r, int64_t begin, int64_t end);
    void (*grads)(const struct op_run *r);
};

#define OP(name, file) extern const struct nn_cpu_op nn_cpu_##name;
#include "nn/ops.def"
#undef OP

/* The rows of `axis` that belong to batch rows [begin, end). */
static inline void nn_cpu_rows(const struct op_env *env, int axis, int64_t begin,
                               int64_t end, int64_t *from, int64_t *to)
{
    const int64_t *offsets = env->rows.offsets[axis];
    *from = offsets ? offsets[begin] : begin;
    *to = offsets ? offsets[end] : end;
}

const struct nn_cpu_op *nn_cpu_find(const struct op *op); /* NULL: the CPU has none */

extern const struct executor_ops nn_cpu_executor;
extern const struct param_ops nn_cpu_params;

#endif
