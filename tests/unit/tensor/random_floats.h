/* SPDX-License-Identifier: Apache-2.0 */
/* unit/tensor/random_floats.h - arrays of random floats between guards. */
#ifndef UNIT_TENSOR_RANDOM_FLOATS_H
#define UNIT_TENSOR_RANDOM_FLOATS_H

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

#define GUARD 40        /* floats before and behind the array */
#define GUARD_BITS 0x4b /* of each byte there; as a float it is about 1.3e7 */

/* n floats that start `shift` floats off a 64-byte border. */
struct guarded {
    float *at;
    int64_t n, shift;
    float *block;
};

static inline struct guarded guarded_create(int64_t n, int64_t shift)
{
    struct guarded g = {.n = n, .shift = shift};
    size_t total = (size_t)(n + shift + 2 * GUARD);
    g.block = mem_try_aligned(64, total, sizeof(float));
    memset(g.block, GUARD_BITS, total * sizeof(float));
    g.at = g.block + GUARD / 16 * 16 + shift;
    return g;
}

static inline struct guarded guarded_random(struct rng *r, int64_t n, int64_t shift,
                                            float low, float high)
{
    struct guarded g = guarded_create(n, shift);
    rng_fill_uniform(r, low, high, g.at, (size_t)n);
    return g;
}

/* Whether nobody wrote before or behind it. */
static inline bool guarded_intact(const struct guarded *g)
{
    const unsigned char *p = (const unsigned char *)g->block,
                        *from = (const unsigned char *)g->at,
                        *to = (const unsigned char *)(g->at + g->n),
                        *end = p + (g->n + g->shift + 2 * GUARD) * 4;
    for (; p < end; p++)
        if ((p < from || p >= to) && *p != GUARD_BITS)
            return false;
    return true;
}

static inline void guarded_release(struct guarded *g)
{
    mem_free(g->block);
    *g = (struct guarded){0};
}

#endif
