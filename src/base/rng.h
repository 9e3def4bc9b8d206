/* SPDX-License-Identifier: Apache-2.0 */
/* base/rng.h - random numbers that are a function of where they are used.
 *
 * A counter-based generator (Philox 4x32 with ten rounds): the i-th number at (seed,
 * stream, step, row) is the same whoever asks first, on any machine and with any number
 * of threads. `stream` tells uses apart (a table, dropout of a layer, the sampler);
 * nothing needs to be stored to resume. Not for secrets.
 *
 * The normal distribution is computed with our own logarithm and sine: those of the C
 * library differ in the last bit between processors.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One block: 128 bits that follow from key and counter. */
void rng_block(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

/* A position in one sequence of 32-bit words. Copy it freely. */
struct rng {
    uint32_t key[2];
    uint64_t row;
    uint64_t word; /* the next one */
    uint32_t block[4];
    bool filled; /* `block` holds the block of `word` */
    bool has_spare;
    double spare; /* second half of the last pair of rng_normal() */
};

void rng_init(struct rng *r, uint64_t seed, uint64_t stream, uint64_t step, uint64_t row);
/* To the word-th word of the sequence. */
void rng_seek(struct rng *r, uint64_t word);

uint32_t rng_u32(struct rng *r);
uint64_t rng_u64(struct rng *r); /* two words */
float rng_f32(struct rng *r);    /* [0, 1), 24 bits, one word */
double rng_f64(struct rng *r);   /* [0, 1), 53 bits, two words */
/* [0, n) without bias, n > 0; uses as many words as it takes. */
uint64_t rng_below(struct rng *r, uint64_t n);
/* Mean 0, deviation 1, within +-6.7; two words for every second call. */
double rng_normal(struct rng *r);

/* As n calls in a row would do, from a position with an even word on for the normal. */
void rng_fill_u32(struct rng *r, uint32_t *out, size_t n);
void rng_fill_uniform(struct rng *r, float lo, float hi, float *out, size_t n);
void rng_fill_normal(struct rng *r, float mean, float deviation, float *out, size_t n);
/* Every order equally likely. */
void rng_shuffle(struct rng *r, int64_t *at, size_t n);

#endif
