/* SPDX-License-Identifier: Apache-2.0 */
/* nn/cpu/coded.h - columns of an input that take few values, one stretch per feature. The
 * values of all stretches together are numbered by codes; the last code of a stretch
 * stands for zeros.
 */
#ifndef NN_CPU_CODED_H
#define NN_CPU_CODED_H

#include "nn/cpu/cpu.h"

struct nn_cpu_coded_stretch {
    int64_t col, width;
    int64_t from, n; /* its codes: [from, from + n] */
};

struct nn_cpu_coded {
    struct nn_cpu_coded_stretch at[CODED_MAX];
    int n;
    int64_t n_codes; /* of all stretches, zeros included */
    int64_t *first;  /* [n_codes]: the first row of each code in this batch, or -1 */
    bool on;         /* this batch has codes */
    int32_t *codes;  /* [rows][n] then, in the graph's memory */
};

/* Settings of a linear layer on such an input. */
struct nn_cpu_coded_conf {
    const struct nn_cpu_coded *coded;
    enum gemm_act act;
    bool bias;
    int64_t out;
};

int64_t nn_cpu_coded_width(const struct nn_cpu_coded *c); /* of all stretches */
/* Floats per row that the layer keeps for backward. */
int64_t nn_cpu_coded_keep_width(const struct nn_cpu_coded *c, int64_t width);

extern const struct nn_cpu_op nn_cpu_linear_coded;

#endif
