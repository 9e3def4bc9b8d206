/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/gemm_private.h - what a backend of gemm.h provides. */
#ifndef TENSOR_GEMM_PRIVATE_H
#define TENSOR_GEMM_PRIVATE_H

#include "tensor/gemm.h"

/* Most units and columns of one piece of a gradient. */
#define GEMM_PIECE_UNITS 256
#define GEMM_PIECE_COLUMNS 256

struct gemm_ops;

struct gemm_weight {
    const struct gemm_ops *ops; /* the backend that was in use when it was made */
    int64_t out, in;
    enum gemm_precision precision;
    bool backward;
    void *packed; /* the backend's */
};

/* Units [unit, unit + units) and columns [col, col + cols) of a gradient. */
struct gemm_piece {
    int64_t unit, units, col, cols;
};

struct gemm_ops {
    const char *name;
    enum rc (*load)(struct err *err); /* RC_NOTFOUND when its library is missing */
    enum rc (*create)(struct gemm_weight *w, struct err *err);
    void (*destroy)(struct gemm_weight *w);
    void (*pack)(struct gemm_weight *w, const float *from);
    void (*forward)(const struct gemm_weight *w, struct view x, const float *bias,
                    enum gemm_act act, struct view y);
    void (*backward)(const struct gemm_weight *w, struct view dy, bool add,
                     struct view dx);
    /* One piece of dw over all rows in order; what it adds must not depend on how dw is
     * cut.
     */
    void (*gradient)(const struct gemm_weight *w, struct view dy, struct view x,
                     struct gemm_piece at, float *dw);
    bool large_pieces; /* of a gradient: no limit, it cuts by itself */
    /* gemm_bf16_in() and gemm_bf16_out(); NULL: never. */
    bool (*bf16_in)(const struct gemm_weight *w);
    bool (*bf16_out)(const struct gemm_weight *w);
};

#define BACKEND(name) extern const struct gemm_ops gemm_##name;
#include "tensor/backends.def"
#undef BACKEND

/* gemm_own.c: what the processor does best. */
struct gemm_kernel;
const struct gemm_kernel *gemm_own_kernel(enum gemm_precision precision);

/* RC_NOMEM with the message for it. */
enum rc gemm_no_memory(const struct gemm_weight *w, struct err *err);

#endif
