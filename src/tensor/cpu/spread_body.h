/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/cpu/spread_body.h - rows of words dealt out to panels; included by gemm_*.c
 * after a vec_*.h, with MR, NR, PER_WORD and WORDS(x, y, m): m words from rows x and y.
 */

static ALWAYS_INLINE VF spread_get(const float *x, const float *y, int m)
{
    return WORDS(x, y, m);
}

/* `width` columns, of which `have` are there, over all rows. */
static ALWAYS_INLINE void spread_by(const int width, const struct gemm_rows *r, int have,
                                    const float *x, float *to)
{
    for (int64_t k = 0; k < r->n; k += PER_WORD, x += PER_WORD * r->ld, to += width) {
        const float *y = k + 1 < r->n ? x + r->ld : NULL;
        UNROLLED
        for (int j = 0; j < width; j += VL) {
            int m = width - j < VL ? width - j : VL;
            _mm_prefetch((const char *)(x + j + r->ahead), _MM_HINT_T0);
            if (have == width) {
                v_put(to + j, spread_get(x + j, y ? y + j : NULL, m), m);
                continue;
            }
            int part = have - j < m ? have - j : m;
            VF v = part > 0 ? spread_get(x + j, y ? y + j : NULL, part) : V_ZERO;
            v_put(to + j, v, m);
        }
    }
}

static void spread(const struct gemm_rows *r, int64_t n, int width, int64_t size,
                   float *to)
{
    for (int64_t i = 0; i < n; i += width, to += size) {
        int have = n - i < width ? (int)(n - i) : width;
        if (width == NR && have == NR)
            spread_by(NR, r, NR, r->at + i, to);
        else if (width == NR)
            spread_by(NR, r, have, r->at + i, to);
        else if (have == MR)
            spread_by(MR, r, MR, r->at + i, to);
        else
            spread_by(MR, r, have, r->at + i, to);
    }
}
