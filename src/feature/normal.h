/* SPDX-License-Identifier: Apache-2.0 */
/* feature/normal.h - the formula that a normalizer applies to a number.
 *
 * Numbers that were float32 are computed in float32, numbers that were parsed from text
 * in double; the parameters are float32 in both cases.
 */
#ifndef FEATURE_NORMAL_H
#define FEATURE_NORMAL_H

#include "base/err.h"
#include "feature/expr/expr.h"

enum normal_kind {
    NORMAL_NONE,
    NORMAL_LOG10,  /* x > a ? log10(x) : b */
    NORMAL_ZSCORE, /* (x - a) / b */
    NORMAL_MINMAX, /* (x - a) / (b - a) */
    NORMAL_EXPR,
};

#define NORMAL_WHOLE 2048

struct normal {
    enum normal_kind kind;
    float a, b;
    float *whole;      /* NORMAL_LOG10: of 0, 1 ... NORMAL_WHOLE - 1, owned */
    struct expr *expr; /* owned */
};

/* From "method=...,k=v". RC_INVAL. An empty text is NORMAL_NONE. */
enum rc normal_parse(const char *text, struct normal *out, struct err *err) MUST_CHECK;
void normal_release(struct normal *n);
/* `narrow`: v is a float32. The result is a float32. `stack` is an evaluator's, needed by
 * NORMAL_EXPR only.
 */
float normal_apply(const struct normal *n, double v, bool narrow,
                   struct expr_stack *stack);

/* n float32 at once, in place; not for NORMAL_EXPR. The same as normal_apply(). */
void normal_floats(const struct normal *n, float *v, int64_t count);
/* The same from whole numbers, as float32. */
void normal_whole(const struct normal *n, const int64_t *v, float *out, int64_t count);

#endif
