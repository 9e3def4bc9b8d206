/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/kernel.h - loops over contiguous floats, in one table per processor level.
 *
 * kernels_ref() defines each of them in plain C; faster tables (avx2, avx512) are
 * compared with it on random data. Lengths may be any number >= 0 and pointers need no
 * alignment. `y` is written, or added to where the name says so; arrays do not overlap
 * unless they are the same.
 */
#ifndef TENSOR_KERNEL_H
#define TENSOR_KERNEL_H

#include <stdint.h>

#include "base/cpu.h"

struct kernels {
    const char *name;
    void (*add)(float *y, const float *x, int64_t n);                     /* y += x */
    void (*axpy)(float *y, float a, const float *x, int64_t n);           /* y += a * x */
    void (*mul_add)(float *y, const float *a, const float *b, int64_t n); /* y += a * b */
    float (*dot)(const float *a, const float *b, int64_t n);
    float (*sum)(const float *x, int64_t n);
    /* By enum gemm_act: dy becomes dy * act'(x), where y = act(x). */
    void (*act_grad_from_out[4])(const float *y, float *dy, int64_t n);
};

/* The best for this processor, settled at the first call. */
const struct kernels *kernels(void);
const struct kernels *kernels_ref(void);
const struct kernels *kernels_of(enum cpu_level level); /* NULL: no table of that level */
enum cpu_level kernels_level(void);                     /* that kernels() goes by */
/* For tests and benches: settles it anew, at most so high. Packed weights that exist stay
 * with the kernel that packed them.
 */
void kernels_use(enum cpu_level most);

#endif
