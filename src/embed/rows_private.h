/* SPDX-License-Identifier: Apache-2.0 */
/* embed/rows_private.h - the arithmetic of row updates, for loops that know the width of
 * a row: rows.c and plain.c.
 *
 * Sums are one multiplication and one addition per element in the order of the batch,
 * which the compiler may do for many elements at once but not otherwise: the same bytes
 * on every processor.
 */
#ifndef EMBED_ROWS_PRIVATE_H
#define EMBED_ROWS_PRIVATE_H

#include <math.h>

#include "base/compiler.h"
#include "embed/embed_private.h"

#define AHEAD 16 /* lookups that are prefetched ahead */
#define LINE 16  /* floats of a cache line */

static inline float embed_clamped(float v, float most)
{
    return v > most ? most : v < -most ? -most : v;
}

/* sum += what the gradient of one slot at one row says. */
static ALWAYS_INLINE void add_gradient(const struct embed_slot *s, int64_t row,
                                       float scale, int64_t dim, float *restrict sum)
{
    const float *restrict d = view_row(&s->grads, row);
    float most = s->conf.max_gradient;
    if (most > 0) {
        for (int64_t i = 0; i < dim; i++)
            sum[i] += scale * embed_clamped(d[i], most);
    } else if (dim == 16) {
        *(floats16 *)sum += scale * *(const floats16 *)d;
    } else if (dim == 32) {
        ((floats16 *)sum)[0] += scale * ((const floats16 *)d)[0];
        ((floats16 *)sum)[1] += scale * ((const floats16 *)d)[1];
    } else {
        for (int64_t i = 0; i < dim; i++)
            sum[i] += scale * d[i];
    }
}

static ALWAYS_INLINE void adagrad_row(float *restrict w, float *restrict s,
                                      const float *restrict g, float lr, float eps,
                                      int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        s[i] += g[i] * g[i];
        w[i] -= lr * g[i] / (sqrtf(s[i]) + eps);
    }
}

/* Weights in 16 bits: widened, updated, rounded. */
static inline void embed_apply_half(struct embed_table *t,
                                    const struct embed_row_rule *rule, int64_t row,
                                    float *sum)
{
    float w[EMBED_DIM_MAX];
    embed_table_load(t, row, w);
    embed_row_rule_apply(rule, w, embed_table_state(t, row), sum, t->conf.dim);
    embed_table_store_step(t, row, w, rule->step);
}

/* One row is updated by the sum of its gradients; `dim` is the table's. */
static ALWAYS_INLINE void apply(struct embed_table *t, const struct embed_row_rule *rule,
                                int64_t row, float *sum, int64_t dim)
{
    float *w = embed_table_row(t, row);
    if (t->conf.type != DT_F32)
        embed_apply_half(t, rule, row, sum);
    else if (t->conf.opt.kind == ROW_ADAGRAD) /* what most tables use */
        adagrad_row(w, w + dim, sum, (float)rule->lr, (float)t->conf.opt.eps, dim);
    else
        embed_row_rule_apply(rule, w, w + dim, sum, dim);
}

/* All of a row and its state, which will be written. */
static ALWAYS_INLINE void ask_for_row(const struct embed_table *t, int64_t row)
{
    const float *p = embed_table_row(t, row);
    for (int64_t i = 0; i < t->stride; i += LINE)
        __builtin_prefetch(p + i, 1);
}

#endif
