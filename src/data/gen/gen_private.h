/* SPDX-License-Identifier: Apache-2.0 */
/* data/gen/gen_private.h - how a kind of log is described.
 *
 * Powers and logarithms are computed here from sums and products alone: those of the C
 * library may differ in the last bit between machines, and one bit is another file.
 */
#ifndef DATA_GEN_GEN_PRIVATE_H
#define DATA_GEN_GEN_PRIVATE_H

#include <stdbool.h>
#include <string.h>

#include "base/rng.h"
#include "data/gen/gen.h"

#define GEN_FIELDS_MAX 64
#define GEN_DIM 4 /* of hidden vectors */

enum gen_value {
    GEN_ID,    /* int64, log-uniform in [0, card) */
    GEN_COUNT, /* int64, 2^(0..log2 card) - 1: as counts look */
    GEN_PRICE, /* float with two decimals, like a count */
    GEN_WORD,  /* string: one of words[card], evenly */
    GEN_OWN,   /* what else: the kind's own hooks add it */
    GEN_LABEL, /* int64, 0 or 1 */
};

enum gen_side { GEN_NO_SIDE, GEN_USER, GEN_ITEM };

struct gen_field {
    const char *name;
    enum gen_value value;
    enum type_id type; /* GEN_OWN */
    uint32_t card;
    uint8_t of;         /* number (from 1) of the field that decides it; 0: the row */
    enum gen_side side; /* with a hidden vector, of that side */
    float effect;       /* deviation of the linear effect on the log odds */
    float nulls;        /* share of rows without a value */
    const char *const *words;
};

struct gen_row {
    uint64_t seed;
    int64_t number;
    int64_t *v;      /* [n_fields]: ids, counts; -1: null */
    struct batch *b; /* GEN_OWN columns get their value there */
    struct rng rng;  /* for the hooks */
    int y[GEN_LABELS_MAX];
};

struct gen_kind {
    const char *name, *summary;
    const struct gen_field *fields;
    size_t n_fields;
    /* Of the first label; a second one is drawn only where the first is 1. */
    double bias[GEN_LABELS_MAX];
    double taste; /* factor of the inner product of the two sides */
    /* Before the effects are looked up: may change values. May be NULL. */
    void (*adjust)(struct gen_row *row);
    /* Adds to the log odds. May be NULL. */
    enum rc (*score)(struct gen_row *row, double *z, struct err *err);
    /* The labels are drawn. May be NULL. */
    enum rc (*finish)(struct gen_row *row, struct err *err);
};

static inline uint64_t gen_mix(uint64_t a, uint64_t b)
{
    uint64_t v = a ^ (b + 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93;
    v = (v ^ v >> 32) * 0xd6e8feb86659fd93;
    v = (v ^ v >> 29) * 0xff51afd7ed558ccd;
    return v ^ v >> 32;
}

/* 2^x for |x| < 1000, to about 2e-7. */
static inline double gen_exp2(double x)
{
    int64_t whole = (int64_t)x - (x < 0);
    double f = x - (double)whole, f2 = f * f;
    double sum = (0.9999999 + 0.6931530 * f) + f2 * (0.2401536 + 0.0558263 * f) +
                 f2 * f2 * (0.0089893 + 0.0018776 * f);
    uint64_t bits = (uint64_t)(whole + 1023) << 52;
    double scale;
    memcpy(&scale, &bits, sizeof(scale));
    return sum * scale;
}

/* Near log2(v + 1) for v >= 0: exponent and mantissa of the number, exact at powers. */
static inline double gen_log_like(int64_t v)
{
    double x = (double)(v + 1);
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return (double)bits * 0x1p-52 - 1023.0;
}

static inline double gen_sigmoid(double z)
{
    return 1.0 / (1.0 + gen_exp2(-z * 1.44269504088896340736));
}

double gen_log2(double x); /* x > 0 */

/* Log-uniform in [0, card): `lg` is gen_log2(card + 1). */
static inline int64_t gen_zipf(uint32_t word, uint32_t card, double lg)
{
    int64_t r = (int64_t)gen_exp2(((double)word + 0.5) * 0x1p-32 * lg) - 1;
    return r < 0 ? 0 : r < (int64_t)card ? r : (int64_t)card - 1;
}

#endif
