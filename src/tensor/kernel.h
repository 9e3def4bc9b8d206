/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/kernel.h - loops over contiguous floats, in one table per processor level.
 *
 * kernels_ref() defines each of them in plain C; faster tables (avx2, avx512) are
 * compared with it on random data. Lengths may be any number >= 0 and pointers need no
 * alignment. `y` is written, or added to where the comment says so; arrays do not overlap
 * unless they are the same. A result depends on its arguments alone, never on where they
 * lie. What each loop does stands beside it in kernels.def.
 */
#ifndef TENSOR_KERNEL_H
#define TENSOR_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpu.h"
#include "base/rng.h"

/* Activations: y = act(x), and dx += dy * act'(x). `param` is the slope of leaky_relu and
 * the alpha of elu; others do not look at it. Against exact arithmetic: relative error up
 * to 5e-7, or absolute error up to 2e-7 where that is more.
 */
#define KERNEL_ACTS(ACT)      \
    ACT(RELU, relu)           \
    ACT(LEAKY, leaky)         \
    ACT(ELU, elu)             \
    ACT(SELU, selu)           \
    ACT(GELU, gelu)           \
    ACT(GELU_TANH, gelu_tanh) \
    ACT(SILU, silu)           \
    ACT(SIGMOID, sigmoid)     \
    ACT(TANH, tanh)           \
    ACT(SOFTPLUS, softplus)   \
    ACT(MISH, mish)           \
    ACT(HARDSWISH, hardswish) \
    ACT(RELU6, relu6)         \
    ACT(SOFTSIGN, softsign)

enum kernel_act {
#define ACT(NAME, name) KERNEL_##NAME,
    KERNEL_ACTS(ACT)
#undef ACT
        KERNEL_ACT_COUNT
};

struct kernel_acts {
    void (*value)(float *y, const float *x, float param, int64_t n);
    void (*grad)(float *dx, const float *dy, const float *x, float param, int64_t n);
};

/* One step of an optimizer. `g` below is the gradient plus weight_decay * w, or, when
 * `decoupled`, the gradient alone with w *= 1 - lr * weight_decay beforehand (adam).
 *   sgd       m = rate1 * m + (1 - rate2) * g        (m = g when `first`)
 *             d = g + rate1 * m when nesterov, else m
 *             w -= lr * d
 *   adam      m = rate1 * m + (1 - rate1) * g
 *             v = rate2 * v + (1 - rate2) * g^2;  v_max = max(v_max, v)
 *             w -= lr * (m / bias1) / (sqrt(v or v_max) / sqrt(bias2) + eps)
 *   adagrad   s += g^2
 *             w -= lr * g / (sqrt(s) + eps)
 *   rmsprop   s = rate1 * s + (1 - rate1) * g^2
 *             w -= lr * g / (sqrt(s) + eps)
 *   adadelta  s = rate1 * s + (1 - rate1) * g^2
 *             d = sqrt(acc + eps) / sqrt(s + eps) * g
 *             acc = rate1 * acc + (1 - rate1) * d^2
 *             w -= lr * d
 */
struct kernel_optim_step {
    double lr, weight_decay, eps;
    double rate1; /* momentum, beta1, rho or alpha */
    double rate2; /* dampening or beta2 */
    double bias1; /* 1 - beta1^t */
    double bias2; /* 1 - beta2^t */
    bool first, nesterov, decoupled;
};

struct kernels {
    const char *name;
#define KERNEL(result, name, arguments) result(*name) arguments;
#include "tensor/kernels.def"
#undef KERNEL
    struct kernel_acts act[KERNEL_ACT_COUNT];
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
