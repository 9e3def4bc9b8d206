/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op.h - what an operation is, whoever runs it: its name, its shape rule, what its
 * gradient reads, and what it is in ONNX.
 *
 * ops.def lists all of them. nn/op/FILE.c defines ops and the builders (nn/ops.h) that
 * models call; nn/op/FILE.h has their settings. How a device runs an op is in a table of
 * that device under the same name: nn/cpu/FILE.c has `const struct nn_cpu_op
 * nn_cpu_NAME`. An implementation computes the outputs from inputs, settings and parameters, and adds to
 * the gradients of inputs and parameters; results depend on nothing else but the seed,
 * the step and the op's number (for random numbers).
 */
#ifndef NN_OP_H
#define NN_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define OP_INPUTS_MAX 64
#define OP_OUTPUTS_MAX 4
#define OP_PARAMS_MAX 8
#define AXES_MAX 1024

/* Axis 0 is the batch; others are sequences, with rows offsets[b] .. offsets[b + 1] for
 * batch row b.
 */
#define AXIS_BATCH 0

/* Shape of a value: rows of an axis, each of dims[0] x dims[1] x dims[2] floats. */
struct nn_shape {
    int axis;
    int n_dims; /* of a row; 1 to 3 */
    int64_t dims[3];
};
int64_t nn_shape_width(const struct nn_shape *s); /* product of dims */

enum op_flags {
    OP_NEEDS_IN = 1,    /* the gradient rule reads the inputs */
    OP_NEEDS_OUT = 2,   /* it reads the outputs */
    OP_NO_GRAD = 4,     /* gradients stop here */
    OP_SETS_PARAMS = 8, /* the forward pass may write trainable parameters: a first fit */
};

struct onnx;
struct onnx_op;

struct op {
    const char *name;
    unsigned flags;
    /* Shapes of the outputs from those of the inputs; RC_INVAL with a message when they
     * do not fit. *keep_width: floats per row of the first output that the forward pass
     * keeps for the gradient.
     */
    enum rc (*infer)(const void *conf, const struct nn_shape *in, int n_in,
                     struct nn_shape *out, int64_t *keep_width, struct err *err);
    /* Writes what it is in ONNX outside training (nn/onnx.h). Every op has one: a graph
     * refuses an op that has not.
     */
    void (*onnx)(struct onnx *o, const struct onnx_op *op);
};

#define OP(name, file) extern const struct op op_##name;
#include "nn/ops.def"
#undef OP

#endif
