/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/cpu/move_body.h - rows of tables, 16-bit floats and random bits; included after
 * map_body.h.
 */

#define AHEAD 16 /* rows asked for before their turn */

static ALWAYS_INLINE void ask_for(const float *row, int64_t width)
{
    for (int64_t i = 0; i < width; i += 16)
        _mm_prefetch((const char *)(row + i), _MM_HINT_T0);
}

static void k_gather(float *y, int64_t ld_y, const float *table, int64_t ld,
                     const int64_t *at, int64_t n_rows, int64_t width)
{
    for (int64_t r = 0; r < n_rows; r++) {
        if (r + AHEAD < n_rows)
            ask_for(table + at[r + AHEAD] * ld, width);
        const float *from = table + at[r] * ld;
        float *to = y + r * ld_y;
        EACH(width, PUT(to, GET(from)));
    }
}

static void k_scatter_add(float *table, int64_t ld, const int64_t *at, const float *x,
                          int64_t ld_x, int64_t n_rows, int64_t width)
{
    for (int64_t r = 0; r < n_rows; r++) {
        if (r + AHEAD < n_rows)
            ask_for(table + at[r + AHEAD] * ld, width);
        k_add(table + at[r] * ld, x + r * ld_x, width);
    }
}

static void k_to_bf16(uint16_t *y, const float *x, int64_t n)
{
    EACH(n, v_put_bf16(y + i, GET(x), m));
}

static void k_from_bf16(float *y, const uint16_t *x, int64_t n)
{
    EACH(n, PUT(y, v_get_bf16(x + i, m)));
}

static void k_round_bf16(float *y, const float *x, int64_t n)
{
    EACH(n, PUT(y, v_round_bf16(GET(x))));
}

static void k_to_f16(uint16_t *y, const float *x, int64_t n)
{
    EACH(n, v_put_f16(y + i, GET(x), m));
}

static void k_from_f16(float *y, const uint16_t *x, int64_t n)
{
    EACH(n, PUT(y, v_get_f16(x + i, m)));
}

/* VL blocks of Philox, as rng_block() of base/rng.h, with numbers from `number` on. Lane
 * e works on block e / 4 + e % 4 * (VL / 4): so the words come out in order when the four
 * vectors are woven together.
 */
static ALWAYS_INLINE void philox(const struct rng *r, uint64_t number, uint32_t *out)
{
    uint32_t lanes[VL];
    UNROLLED
    for (uint32_t e = 0; e < VL; e++)
        lanes[e] = e / 4 + e % 4 * (VL / 4);
    VI c0 = VI_ADD(VI_LOAD(lanes), VI_SET1((uint32_t)number));
    VI c1 = VI_SET1((uint32_t)(number >> 32));
    VI c2 = VI_SET1((uint32_t)r->row), c3 = VI_SET1((uint32_t)(r->row >> 32));
    uint32_t k0 = r->key[0], k1 = r->key[1];
    for (int i = 0; i < 10; i++) {
        VI a_low, a_high, b_low, b_high;
        vi_mul(c0, VI_SET1(0xd2511f53u), &a_low, &a_high);
        vi_mul(c2, VI_SET1(0xcd9e8d57u), &b_low, &b_high);
        c0 = VI_XOR(VI_XOR(b_high, c1), VI_SET1(k0));
        c2 = VI_XOR(VI_XOR(a_high, c3), VI_SET1(k1));
        c1 = b_low;
        c3 = a_low;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    VI low01 = VI_ZIP_LOW32(c0, c1), high01 = VI_ZIP_HIGH32(c0, c1);
    VI low23 = VI_ZIP_LOW32(c2, c3), high23 = VI_ZIP_HIGH32(c2, c3);
    VI_STORE(out, VI_ZIP_LOW64(low01, low23));
    VI_STORE(out + VL, VI_ZIP_HIGH64(low01, low23));
    VI_STORE(out + 2 * VL, VI_ZIP_LOW64(high01, high23));
    VI_STORE(out + 3 * VL, VI_ZIP_HIGH64(high01, high23));
}

static void k_random_bits(struct rng *r, uint32_t *out, int64_t n)
{
    int64_t i = 0;
    while (i < n && r->word % 4 != 0)
        out[i++] = rng_u32(r);
    for (; n - i >= 4 * VL; i += 4 * VL, r->word += 4 * VL) {
        uint64_t number = r->word / 4;
        if ((uint32_t)number > UINT32_MAX - VL) /* the lower half would wrap around */
            rng_fill_u32(&(struct rng){.key = {r->key[0], r->key[1]},
                                       .row = r->row,
                                       .word = r->word},
                         out + i, 4 * VL);
        else
            philox(r, number, out + i);
    }
    rng_fill_u32(r, out + i, (size_t)(n - i));
}

#define DROP_BLOCK 256

static ALWAYS_INLINE void drop(float *y, const float *x, const struct rng *r, float p,
                               bool add, int64_t n)
{
    struct rng at = *r;
    uint32_t bits[DROP_BLOCK];
    VI least = VI_SET1((uint32_t)((double)p * 0x1p32));
    VF scale = V_SET1(1.0f / (1.0f - p));
    for (int64_t from = 0; from < n;
         from += DROP_BLOCK, y += DROP_BLOCK, x += DROP_BLOCK) {
        int64_t part = n - from < DROP_BLOCK ? n - from : DROP_BLOCK;
        k_random_bits(&at, bits, part);
        EACH(part, VM kept = VI_GE(VI_LOAD(bits + i), least);
             VF v = V_SEL(kept, V_MUL(GET(x), scale), V_ZERO);
             PUT(y, add ? V_ADD(GET(y), v) : v));
    }
}

static void k_dropout(float *y, const float *x, const struct rng *r, float p, int64_t n)
{
    drop(y, x, r, p, false, n);
}

static void k_dropout_add(float *y, const float *x, const struct rng *r, float p,
                          int64_t n)
{
    drop(y, x, r, p, true, n);
}
