/* SPDX-License-Identifier: Apache-2.0 */
/* nn/onnx.h - the part of a graph behind its outputs as an ONNX model.
 *
 * Every op has a function beside it that says what it is in ONNX (struct op, .onnx); this is
 * what those functions call. A value of the batch is a tensor [batch, dims...]. A value
 * of a sequence axis is padded to the longest row of the batch, [batch, axis, dims...],
 * with anything at the padding; the model gets an input "<axis>.mask" [batch, axis] that
 * is 1 at positions and 0 at padding. Rows are independent of each other, so padding
 * further changes nothing. Inputs of the graph keep their names; parameters are
 * initialisers that keep name and shape.
 */
#ifndef NN_ONNX_H
#define NN_ONNX_H

#include "base/str.h"
#include "nn/graph.h"

#define ONNX_OPSET 17
#define ONNX_IR_VERSION 8
#define ONNX_BYTES_MAX ((size_t)INT32_MAX) /* what protobuf can hold */

/* Only those outputs, and what they need. RC_NOTFOUND for a name that there is not,
 * RC_UNSUPPORTED when an op that they need has no form in ONNX, RC_NOMEM, RC_INVAL when
 * it grows beyond ONNX_BYTES_MAX.
 */
enum rc onnx_print(const struct graph *g, const char *const *outputs, size_t n,
                   struct buf *out, struct err *err) MUST_CHECK;

/* What onnx_print() declares as inputs: values that the caller fills, and axes with
 * masks.
 */
struct onnx_inputs {
    struct nn_val *vals[256];
    size_t n;
    bool mask[AXES_MAX];
};
enum rc onnx_inputs(const struct graph *g, const char *const *outputs, size_t n,
                    struct onnx_inputs *out, struct err *err) MUST_CHECK;
const char *nn_val_name(const struct nn_val *v);              /* of an input; else NULL */
const char *graph_axis_name(const struct graph *g, int axis); /* "batch" for 0 */

/* --- for ops --- */

struct onnx;

/* The op that is to be written. */
struct onnx_op {
    const void *conf;
    int n_in, n_out, n_params;
    const struct nn_shape *in, *out;
    const char *const *x; /* [n_in]: names of the inputs */
    const char *const *y; /* [n_out]: names that the outputs must get */
    struct param *const *params;
};

enum onnx_attr_kind { ONNX_ATTR_NONE, ONNX_ATTR_INT, ONNX_ATTR_FLOAT, ONNX_ATTR_INTS };
struct onnx_attr {
    const char *name;
    enum onnx_attr_kind kind;
    int64_t i;
    float f;
    int64_t ints[4];
    int n_ints;
};
#define ONNX_INT(name_, v)                               \
    {                                                    \
        .name = (name_), .kind = ONNX_ATTR_INT, .i = (v) \
    }
#define ONNX_FLOAT(name_, v)                               \
    {                                                      \
        .name = (name_), .kind = ONNX_ATTR_FLOAT, .f = (v) \
    }

struct onnx_node {
    const char *type;
    const char *const *in;
    int n_in;
    const char *out; /* NULL: a new name */
    struct onnx_attr attrs[2];
    const char **second; /* gets the name of a second result; NULL: it has none */
};

/* All give the name of the result, valid as long as `o`. `out` NULL: a new name. */
const char *onnx_node(struct onnx *o, const struct onnx_node *n);
const char *onnx_unary(struct onnx *o, const char *type, const char *out, const char *a);
const char *onnx_binary(struct onnx *o, const char *type, const char *out, const char *a,
                        const char *b);
/* act(x), of those that a product does; GEMM_ACT_NONE gives `x` as it is called. */
const char *onnx_act(struct onnx *o, const char *out, const char *x, enum gemm_act act);
/* act(x * w + bias); bias NULL: none. */
const char *onnx_layer(struct onnx *o, const char *out, const char *x, const char *w,
                       const char *bias, enum gemm_act act);
/* a op a constant number. */
const char *onnx_with(struct onnx *o, const char *type, const char *out, const char *a,
                      float by);
/* Sum over the axis `axis` (negative: from the end), which stays with size 1 if `keep`.
 */
const char *onnx_sum(struct onnx *o, const char *out, const char *a, int64_t axis,
                     bool keep);
const char *onnx_param(struct onnx *o, const struct param *p);
const char *onnx_floats(struct onnx *o, const float *v, const int64_t *dims, int n_dims);
const char *onnx_number(struct onnx *o, float v);
const char *onnx_ints(struct onnx *o, const int64_t *v, int n);
/* Rows of shape `from` as rows of `to`: the same floats. */
const char *onnx_reshape(struct onnx *o, const char *out, const char *a,
                         const struct nn_shape *from, const struct nn_shape *to);
/* The same as rows of one dimension. */
const char *onnx_flat(struct onnx *o, const char *a, const struct nn_shape *from);
/* A loop along the first axis of x[0] .. x[n_x - 1]: the state begins as `first`; `body`
 * writes how the next one follows from it and from a slice of each x, and gives its name.
 * The body may read what was written before the loop, but no masks. Gives the name of all
 * states, one behind the other along a new first axis.
 */
#define ONNX_SCAN_MAX 4
struct onnx_scan {
    const char *first;
    const char *const *x;
    int n_x; /* up to ONNX_SCAN_MAX */
    const char *(*body)(struct onnx *o, const char *state, const char *const *x,
                        const void *arg);
    const void *arg;
};
const char *onnx_scan(struct onnx *o, const struct onnx_scan *s);
/* [batch, axis] and [batch, axis, 1]. */
const char *onnx_mask(struct onnx *o, int axis);
const char *onnx_mask_column(struct onnx *o, int axis);
/* The result is not needed outside training: nothing is written. */
void onnx_nothing(struct onnx *o, const struct onnx_op *op);
/* The first input is the result. */
void onnx_same(struct onnx *o, const struct onnx_op *op);

#endif
