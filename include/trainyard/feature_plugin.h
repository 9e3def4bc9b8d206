/* SPDX-License-Identifier: Apache-2.0 */
/* trainyard/feature_plugin.h - operators of your own for custom_feature.
 *
 * A plug-in is a shared library that exports
 *
 *     const struct ty_feature_operator *ty_feature_operator(const char *name);
 *
 * which returns the operator of that name, or NULL. The config names both:
 *
 *     custom_feature {
 *       feature_name: "price_per_gram"
 *       operator_name: "Ratio"
 *       operator_lib_file: "libratio.so"
 *       operator_params { scale: 1000 }
 *       expression: ["item:price", "item:weight"]
 *     }
 *
 * The operator is called once per row, or per step of a sequence, with the values of each
 * input. A missing input yields default_value without a call. What it adds to the sink is
 * normalised and becomes an id or a number as the config says. Each thread has its own
 * instance, so an operator needs no locks as long as it keeps no globals.
 *
 * The header depends on nothing else and does not change for a given TY_FEATURE_ABI.
 * Example: examples/custom-feature.
 */
#ifndef TRAINYARD_FEATURE_PLUGIN_H
#define TRAINYARD_FEATURE_PLUGIN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TY_FEATURE_ABI 1

/* What a library exports even when it hides the rest (-fvisibility=hidden). */
#if !defined(TY_EXPORT) && defined(__GNUC__)
#define TY_EXPORT __attribute__((visibility("default")))
#elif !defined(TY_EXPORT)
#define TY_EXPORT
#endif

/* Not NUL-terminated; valid during the call. */
struct ty_feature_text {
    const char *p;
    size_t n;
};

/* The values of one input; at least one. Numbers are there when the operator asked for
 * them, texts otherwise; the other pointer is NULL.
 */
struct ty_feature_input {
    size_t n;
    const struct ty_feature_text *texts;
    const double *numbers;
};

/* Where results go; several values are allowed where value_dim or ids allow them. */
struct ty_feature_sink {
    void *ctx;
    void (*number)(void *ctx, double value);
    void (*text)(void *ctx, const char *p, size_t n); /* copied */
};

struct ty_feature_operator {
    int abi;     /* TY_FEATURE_ABI */
    int numbers; /* not 0: inputs are wanted as numbers */
    /* `params` is operator_params as a JSON object, "{}" when there are none. NULL: it
     * cannot work; write why into `msg` (NUL-terminated, at most `msg_size` bytes).
     */
    void *(*create)(const char *params, size_t n_inputs, char *msg, size_t msg_size);
    /* 0, or not 0 with `msg` filled: the run ends with it. Nothing added: the default. */
    int (*step)(void *self, const struct ty_feature_input *inputs, size_t n_inputs,
                const struct ty_feature_sink *sink, char *msg, size_t msg_size);
    void (*destroy)(void *self);
};

TY_EXPORT const struct ty_feature_operator *ty_feature_operator(const char *name);

#ifdef __cplusplus
}
#endif

#endif
