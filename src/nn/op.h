/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op.h - what an operation is.
 *
 * The executor cuts the batch into tiles of rows and takes each tile through as many ops
 * as it can before the next (a tile's activations stay in the cache); tiles run on any
 * thread. So an op works on a range of batch rows at a time, and says in its table what
 * else it needs:
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
 * Tiles are ranges of batch rows. A value on a sequence axis has many rows per batch row:
 * op_rows() translates. An op never allocates, and uses kernels of tensor/ for its loops.
 */
#ifndef NN_OP_H
#define NN_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pool.h"
#include "tensor/tensor.h"

#define OP_INPUTS_MAX 64
#define OP_OUTPUTS_MAX 4
#define OP_PARAMS_MAX 8
#define AXES_MAX 32

/* Axis 0 is the batch; others are sequences, with rows offsets[b] .. offsets[b + 1] for
 * batch row b.
 */
#define AXIS_BATCH 0

/* Shape of a value: rows of an axis, each of dims[0] x dims[1] x dims[2] floats. */
struct shape {
    int axis;
    int n_dims; /* of a row; 1 to 3 */
    int64_t dims[3];
};
int64_t shape_width(const struct shape *s); /* product of dims */

struct param;

/* Columns of an input that take few values, one stretch per feature. The values of all
 * stretches together are numbered by codes; the last code of a stretch stands for zeros.
 */
#define CODED_MAX 32
struct coded_stretch {
    int64_t col, width;
    int64_t from, n; /* its codes: [from, from + n] */
};
struct coded {
    struct coded_stretch at[CODED_MAX];
    int n;
    int64_t n_codes;  /* of all stretches, zeros included */
    int64_t *first;   /* [n_codes]: the first row of each code in this batch, or -1 */
    bool on;          /* this batch has codes */
    int32_t *codes;   /* [rows][n] then */
    int64_t codes_at; /* in the graph's memory */
};

/* How many rows the current batch has, on each axis. */
struct batch_rows {
    int64_t n[AXES_MAX];
    const int64_t *offsets[AXES_MAX]; /* [n[0] + 1]; NULL for the batch axis */
    /* Rows of the whole batch, when this is one shard of it: means over the batch divide
     * by them. 0: n[0].
     */
    int64_t total;
};

/* What a mean over the rows of `axis` divides by. */
static inline int64_t batch_rows_total(const struct batch_rows *rows, int axis)
{
    return axis == AXIS_BATCH && rows->total ? rows->total : rows->n[axis];
}

struct comm;

/* The setting that ops run in; one per executor. */
struct op_env {
    struct pool *pool;
    struct comm *comm; /* the ranks that share a batch; NULL: this one alone */
    bool training;
    uint64_t seed, step; /* of the counter-based generator */
    struct batch_rows rows;
};

/* One op of a graph while it runs. */
struct op_run {
    const struct op_env *env;
    const void *conf;
    uint64_t id; /* the op's number in its graph: a stream for random numbers */
    int n_in, n_out, n_params;
    const struct view *in, *out;
    /* Gradients. d_in[i].data is NULL when nobody wants it. */
    const struct view *d_in, *d_out;
    /* With OP_WRITES: d_in[i] holds nothing yet and must be written, not added to. */
    const bool *d_in_fresh;
    const int *in_axis, *out_axis;
    struct param *const *params;
    struct view keep; /* keep_width floats per row of the first output, for backward */
    void *state;      /* what `setup` made */
};

/* What a mean over the rows of the first output divides by. */
static inline int64_t op_total(const struct op_run *r)
{
    return batch_rows_total(&r->env->rows, r->out_axis[0]);
}

/* The rows of `axis` that belong to batch rows [begin, end). */
static inline void op_rows(const struct op_env *env, int axis, int64_t begin, int64_t end,
                           int64_t *from, int64_t *to)
{
    const int64_t *offsets = env->rows.offsets[axis];
    *from = offsets ? offsets[begin] : begin;
    *to = offsets ? offsets[end] : end;
}

enum op_flags {
    OP_NEEDS_IN = 1,  /* backward or grads read the inputs */
    OP_NEEDS_OUT = 2, /* they read the outputs */
    OP_WRITES = 4,    /* backward looks at d_in_fresh; else the executor zeroes first */
    OP_STRIDED = 8,  /* outputs may have ld > width: they can be placed inside a concat */
    OP_NO_GRAD = 16, /* gradients stop here */
};

/* What an op can do with rows of bf16 (struct view). */
enum op_bf16 {
    OP_BF16_IN = 1,  /* read its first input so, and write that one's gradient */
    OP_BF16_OUT = 2, /* write its first output so, and read that one's gradient */
};

struct onnx;
struct onnx_op;

struct op_ops {
    const char *name;
    unsigned flags;
    /* Shapes of the outputs from those of the inputs; RC_INVAL with a message when they
     * do not fit. *keep_width: floats to keep per row of the first output.
     */
    enum rc (*infer)(const void *conf, const struct shape *in, int n_in,
                     struct shape *out, int64_t *keep_width, struct err *err);
    /* Optional: state beyond parameters (packed weights), made once. */
    enum rc (*setup)(const void *conf, const struct shape *in, const struct shape *out,
                     bool training, void **state, struct err *err);
    void (*teardown)(void *state);
    /* Optional: enum op_bf16, for values that only ops which can do so write and read. */
    unsigned (*bf16)(const void *conf, const void *state);
    void (*begin)(const struct op_run *r);
    void (*sync_forward)(const struct op_run *r);
    void (*forward)(const struct op_run *r, int64_t begin, int64_t end);
    void (*sync_backward)(const struct op_run *r);
    void (*backward)(const struct op_run *r, int64_t begin, int64_t end);
    void (*grads)(const struct op_run *r);
    /* Writes what it is in ONNX outside training (nn/onnx.h). Every op has one: a graph
     * refuses an op that has not.
     */
    void (*onnx)(struct onnx *o, const struct onnx_op *op);
};

#endif
