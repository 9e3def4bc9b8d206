/* SPDX-License-Identifier: Apache-2.0 */
/* feature/expr/expr_private.h - a formula is a list of steps for a machine with a stack.
 */
#ifndef FEATURE_EXPR_EXPR_PRIVATE_H
#define FEATURE_EXPR_EXPR_PRIVATE_H

#include "base/vec.h"
#include "feature/expr/expr.h"

enum expr_op {
    EXPR_NUMBER,
    EXPR_NAME,
    EXPR_NEG,
    EXPR_OR,
    EXPR_AND,
    EXPR_BIT_OR,
    EXPR_BIT_AND,
    EXPR_LE,
    EXPR_GE,
    EXPR_NE,
    EXPR_EQ,
    EXPR_GT,
    EXPR_LT,
    EXPR_ADD,
    EXPR_SUB,
    EXPR_MUL,
    EXPR_DIV,
    EXPR_POW,
    EXPR_CHOOSE, /* c ? a : b */
    EXPR_CALL,
};

enum expr_fn_kind { EXPR_EACH, EXPR_MANY, EXPR_OVER };

struct expr_rng {
    uint64_t count;
};

struct expr_fn {
    const char *name;
    enum expr_fn_kind kind;
    int n_args; /* -1: 1 or more */
    double (*each)(const double *args, struct expr_rng *rng);
    double (*many)(double a, double b); /* folded from the left */
    double (*over)(const double *a, const double *b, int64_t n);
};

struct expr_code {
    enum expr_op op;
    int32_t arg; /* EXPR_NAME: which; EXPR_CALL: how many arguments */
    double number;
    const struct expr_fn *fn;
};

struct expr {
    VEC(struct expr_code) code;
    bool *used; /* [n_names] */
    size_t n_names;
};

const struct expr_fn *expr_fn_find(struct str name);
/* The nearest name of a function, or NULL. */
const char *expr_fn_near(struct str name);

#endif
