/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers compare by value, unsigned ones as such, text by bytes. NaN is left out, and a
 * zero counts as both zeros, as the format asks. A text that is too long to be kept makes
 * the statistics unknown rather than inexact.
 */
#include "data/parquet/stats.h"

#include <string.h>

#define COMPARE(T)                 \
    do {                           \
        T x, y;                    \
        memcpy(&x, a, sizeof(x));  \
        memcpy(&y, b, sizeof(y));  \
        return x < y ? -1 : x > y; \
    } while (0)

static int pq_stats_compare(const struct type *t, const void *a, size_t an, const void *b,
                            size_t bn)
{
    switch (t->id) {
    case TYPE_BOOL:
        COMPARE(uint8_t);
    case TYPE_I32:
        COMPARE(int32_t);
    case TYPE_I64:
        COMPARE(int64_t);
    case TYPE_U32:
        COMPARE(uint32_t);
    case TYPE_U64:
        COMPARE(uint64_t);
    case TYPE_F32:
        COMPARE(float);
    case TYPE_F64:
        COMPARE(double);
    default:
        break;
    }
    int d = memcmp(a, b, an < bn ? an : bn);
    return d ? d : (an > bn) - (an < bn);
}

static bool is_nan(const struct type *t, const void *p)
{
    float f;
    double d;
    if (t->id == TYPE_F32) {
        memcpy(&f, p, sizeof(f));
        return f != f;
    }
    if (t->id != TYPE_F64)
        return false;
    memcpy(&d, p, sizeof(d));
    return d != d;
}

/* Sets the sign of a zero: the sign bit is the last one. */
static void sign_zero(const struct type *t, uint8_t *p, size_t n, bool negative)
{
    if (t->id != TYPE_F32 && t->id != TYPE_F64)
        return;
    for (size_t i = 0; i + 1 < n; i++)
        if (p[i])
            return;
    if ((p[n - 1] & 0x7f) == 0)
        p[n - 1] = negative ? 0x80 : 0;
}

void pq_stats_add(struct pq_stats *s, const struct type *t, const void *p, size_t n)
{
    if (is_nan(t, p) || s->lost)
        return;
    if (n > PQ_STAT_MAX) {
        s->lost = true;
        s->has = false;
        return;
    }
    if (!s->has || pq_stats_compare(t, p, n, s->min, s->min_n) < 0) {
        memcpy(s->min, p, n);
        s->min_n = n;
        sign_zero(t, s->min, n, true);
    }
    if (!s->has || pq_stats_compare(t, p, n, s->max, s->max_n) > 0) {
        memcpy(s->max, p, n);
        s->max_n = n;
        sign_zero(t, s->max, n, false);
    }
    s->has = true;
}

void pq_stats_merge(struct pq_stats *s, const struct type *t, const struct pq_stats *from)
{
    s->n_values += from->n_values;
    s->n_nulls += from->n_nulls;
    if (from->lost) {
        s->lost = true;
        s->has = false;
    }
    if (from->has) {
        pq_stats_add(s, t, from->min, from->min_n);
        pq_stats_add(s, t, from->max, from->max_n);
    }
}
