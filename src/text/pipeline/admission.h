/* SPDX-License-Identifier: Apache-2.0 */
/* text/pipeline/admission.h - threshold_filtering_func as a formula: "lambda x: (x > 2 *
 * x.float().mean(), 0)". x are the counts of ids since the last round, the first part of
 * the pair says which of them take part, the second is not used.
 *
 * Understood are numbers, x, + - * / // % **, comparisons, & | ^ ~, brackets; mean, sum, max,
 * min, std, numel, size(0) and len over any of these; float, long, abs, log, sqrt, exp, floor
 * and ceil of a value, as methods or as functions of torch; torch.rand_like(x).
 */
#ifndef TEXT_PIPELINE_ADMISSION_H
#define TEXT_PIPELINE_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>

#define PC_ADMISSION_OPS 96
#define PC_ADMISSION_SUMS 8

enum pc_admission_kind {
    ADMIT_NUMBER,
    ADMIT_X,
    ADMIT_CHANCE, /* a random number in [0, 1) of the id */
    ADMIT_SKIP,   /* as many operations: they are of the sum that follows them */
    ADMIT_SUM,    /* its number */
    ADMIT_NEGATE,
    ADMIT_NOT,
    ADMIT_ABS,
    ADMIT_LOG,
    ADMIT_SQRT,
    ADMIT_EXP,
    ADMIT_FLOOR,
    ADMIT_CEIL,
    ADMIT_TRUNC,
    /* of two: */
    ADMIT_ADD,
    ADMIT_SUB,
    ADMIT_MUL,
    ADMIT_DIV,
    ADMIT_FLOOR_DIV,
    ADMIT_MOD,
    ADMIT_POW,
    ADMIT_AND,
    ADMIT_OR,
    ADMIT_XOR,
    ADMIT_GT,
    ADMIT_GE,
    ADMIT_LT,
    ADMIT_LE,
    ADMIT_EQ,
    ADMIT_NE,
};

struct pc_admission_op {
    enum pc_admission_kind kind;
    double at;
};

enum pc_admission_over {
    ADMIT_MEAN,
    ADMIT_TOTAL,
    ADMIT_MOST,
    ADMIT_LEAST,
    ADMIT_COUNT,
    ADMIT_STD
};

/* A value over all ids: of operations [from, to). */
struct pc_admission_sum {
    enum pc_admission_over over;
    int from, to;
};

/* Operations on a stack; sums come in an order in which each needs earlier ones only. */
struct pc_admission {
    struct pc_admission_op ops[PC_ADMISSION_OPS];
    struct pc_admission_sum sums[PC_ADMISSION_SUMS];
    int n, n_sums;
    bool random;
};

/* False when the text is no such formula. */
bool pc_admission_parse(const char *text, struct pc_admission *out);

/* Operations [from, to) for an id with this count; sums[n_sums] as far as they need them. */
double pc_admission_run(const struct pc_admission *a, int from, int to, double x,
                        double chance, const double *sums);

#endif
