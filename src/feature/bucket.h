/* SPDX-License-Identifier: Apache-2.0 */
/* feature/bucket.h - from a value to an id. Built once, then only read. */
#ifndef FEATURE_BUCKET_H
#define FEATURE_BUCKET_H

#include "base/compiler.h"
#include "feature/vocab.h"

enum bucket_kind {
    BUCKET_NONE,
    BUCKET_HASH,   /* hash of the text modulo n */
    BUCKET_NUM,    /* the integer itself; outside [0, n): BUCKET_OUTSIDE */
    BUCKET_VOCAB,  /* the id of a known text, else `unknown` */
    BUCKET_BOUNDS, /* how many bounds are at or below the number, in float32 */
};

/* In place of an id that is outside; whoever ends a feature counts it and makes it 0. */
#define BUCKET_OUTSIDE INT64_C(-1)

struct fg_bucket {
    enum bucket_kind kind;
    uint64_t n;
    uint64_t magic; /* BUCKET_HASH: division by n as multiplication; bucket_set_hash() */
    unsigned shift;
    bool farm; /* BUCKET_HASH: FarmHash */
    struct vocab vocab;
    int64_t unknown;
    float *bounds; /* [n_bounds], owned */
    int64_t n_bounds;
};

void bucket_release(struct fg_bucket *b);
/* Makes it a BUCKET_HASH of n > 0. */
void bucket_set_hash(struct fg_bucket *b, uint64_t n);

/* False when the text is not what the bucket needs: an integer, a number. */
bool bucket_text(const struct fg_bucket *b, struct str s, int64_t *id);
int64_t bucket_i64(const struct fg_bucket *b, int64_t v);
int64_t bucket_f64(const struct fg_bucket *b, double v);
/* As decimal digits; the number of bytes. `out` holds 24. */
size_t bucket_digits(int64_t v, char *out);
/* Decimal int64 with an optional sign; too large ones are *over. False: no integer. */
bool bucket_parse(struct str s, int64_t *v, bool *over);

/* BUCKET_HASH: h modulo n, without a division. */
static inline int64_t bucket_modulo(const struct fg_bucket *b, uint64_t h)
{
    uint64_t t = MULHI64(b->magic, h);
    uint64_t q = (((h - t) >> 1) + t) >> b->shift;
    return UNLIKELY(b->n < 2) ? 0 : (int64_t)(h - q * b->n);
}

/* BUCKET_HASH, not FarmHash: the ids of n texts of eight bytes that stand one behind the
 * other at `text`.
 */
void bucket_eights(const struct fg_bucket *b, const char *text, int64_t n, int64_t *ids);
/* The same, one by one, and with vectors; both are checked against each other. */
typedef void bucket_eights_fn(const struct fg_bucket *b, const char *text, int64_t n,
                              int64_t *ids);
bucket_eights_fn bucket_eights_ref;
#ifdef __x86_64__
bucket_eights_fn bucket_eights_avx512;
#endif

#endif
