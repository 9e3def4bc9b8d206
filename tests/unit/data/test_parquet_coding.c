/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings against plain references, over all widths and odd sizes. */
#include <stdlib.h>

#include "base/cpu.h"
#include "data/parquet/delta.h"
#include "data/parquet/encode.h"
#include "data/parquet/rle.h"
#include "data/parquet/values.h"
#include "tap.h"

#define MAX 3000

static uint64_t state = 88172645463325252ull;
static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static size_t tables(const struct pq_kernels *out[3])
{
    size_t n = 0;
    out[n++] = &pq_kernels_plain;
#ifdef PQ_X86
    if (cpu_level() >= CPU_LEVEL_AVX2)
        out[n++] = &pq_kernels_avx2;
    if (pq_kernels_pick() == &pq_kernels_avx512)
        out[n++] = &pq_kernels_avx512;
#endif
    return n;
}

static uint32_t masked(unsigned width)
{
    return width ? (uint32_t)(draw() >> (64 - width)) : 0;
}

/* Packs without any cleverness: bit by bit. */
static void pack(const uint32_t *v, size_t n, unsigned width, uint8_t *out)
{
    for (size_t i = 0; i < n; i++)
        for (unsigned b = 0; b < width; b++) {
            size_t at = i * width + b;
            out[at >> 3] |= (uint8_t)((v[i] >> b & 1u) << (at & 7));
        }
}

static void every_kernel_unpacks_every_width(void)
{
    const struct pq_kernels *k[3];
    size_t n_tables = tables(k);
    static uint32_t v[MAX], got[MAX + PQ_PAD];
    static uint8_t packed[MAX * 4 + PQ_PAD];
    for (unsigned width = 0; width <= 32; width++)
        for (size_t n = 0; n < 200; n += 1 + n / 7) {
            memset(packed, 0, sizeof(packed));
            for (size_t i = 0; i < n; i++)
                v[i] = masked(width);
            pack(v, n, width, packed);
            for (size_t t = 0; t < n_tables; t++) {
                memset(got, 0xee, sizeof(got));
                k[t]->unpack(packed, width, got, n);
                CHECK(memcmp(got, v, n * sizeof(*v)) == 0);
                uint32_t max = pq_kernels_plain.max(v, n);
                CHECK_INT(k[t]->max(v, n), max);
            }
        }
}

static void every_kernel_gathers_and_expands(void)
{
    const struct pq_kernels *k[3];
    size_t n_tables = tables(k);
    static uint32_t from32[100], codes[MAX], a32[MAX + 16], b32[MAX + 16];
    static uint64_t from64[100], a64[MAX + 16], b64[MAX + 16];
    static uint8_t bits[MAX / 8 + 16];
    for (size_t i = 0; i < 100; i++) {
        from32[i] = (uint32_t)draw();
        from64[i] = draw();
    }
    for (size_t n = 0; n < 300; n++) {
        size_t set = 0;
        memset(bits, 0, sizeof(bits));
        for (size_t i = 0; i < n; i++) {
            codes[i] = (uint32_t)(draw() % 100);
            if (draw() % 8 < n % 9) {
                bits[i >> 3] |= (uint8_t)(1u << (i & 7));
                set++;
            }
        }
        CHECK_INT(bits_count(bits, n), set);
        for (size_t t = 1; t < n_tables; t++) {
            k[0]->gather32(from32, codes, a32, n);
            k[t]->gather32(from32, codes, b32, n);
            CHECK(memcmp(a32, b32, n * 4) == 0);
            k[0]->expand32(a32, bits, n, set);
            k[t]->expand32(b32, bits, n, set);
            CHECK(memcmp(a32, b32, n * 4) == 0);
            k[0]->gather64(from64, codes, a64, n);
            k[t]->gather64(from64, codes, b64, n);
            CHECK(memcmp(a64, b64, n * 8) == 0);
            k[0]->expand64(a64, bits, n, set);
            k[t]->expand64(b64, bits, n, set);
            CHECK(memcmp(a64, b64, n * 8) == 0);
        }
    }
}

/* Runs and noise in random proportions. */
static void draw_runs(uint32_t *v, size_t n, unsigned width)
{
    for (size_t i = 0; i < n;) {
        uint32_t x = masked(width);
        size_t run = draw() % 3 ? 1 : draw() % 40;
        for (; run-- && i < n; i++)
            v[i] = x;
    }
}

static void runs_read_back(void)
{
    static uint32_t v[MAX], got[MAX + PQ_PAD];
    static uint8_t coded[MAX * 8 + 2000], bytes[MAX];
    for (unsigned width = 0; width <= 32; width++)
        for (size_t n = 0; n < MAX; n = n * 2 + 1) {
            struct rle r;
            draw_runs(v, n, width);
            memset(coded, 0, sizeof(coded));
            size_t size = pq_rle_encode(v, n, width, coded);
            CHECK(size <= pq_rle_bound(n, width));
            rle_init(&r, pq_kernels_pick(), coded, size, width);
            for (size_t done = 0; done < n;) { /* in odd pieces, some passed over */
                size_t k = 1 + draw() % 50;
                k = k < n - done ? k : n - done;
                if (draw() % 4 == 0) {
                    CHECK_INT(rle_skip(&r, k), k);
                } else {
                    CHECK_INT(rle_u32(&r, got, k), k);
                    CHECK(memcmp(got, v + done, k * 4) == 0);
                }
                done += k;
            }
            if (width && width <= 8) {
                rle_init(&r, &pq_kernels_plain, coded, size, width);
                CHECK_INT(rle_u8(&r, bytes, n), n);
                for (size_t i = 0; i < n; i++)
                    CHECK(bytes[i] == v[i]);
            }
        }
}

static void bits_read_back_at_any_place(void)
{
    static uint32_t v[MAX];
    static uint8_t coded[MAX * 8], bits[MAX / 8 + 80];
    for (size_t n = 1; n < 400; n += 13) {
        struct rle r;
        size_t set = 0, want = 0, at = draw() % 9;
        draw_runs(v, n, 1);
        size_t size = pq_rle_encode(v, n, 1, coded);
        memset(bits, 0, sizeof(bits));
        rle_init(&r, pq_kernels_pick(), coded, size, 1);
        for (size_t done = 0; done < n;) {
            size_t k = 1 + draw() % 130;
            k = k < n - done ? k : n - done;
            CHECK_INT(rle_bits(&r, bits, at + done, k, &set), k);
            done += k;
        }
        for (size_t i = 0; i < n; i++) {
            CHECK(pq_bit(bits, at + i) == v[i]);
            want += v[i];
        }
        CHECK_INT(set, want);
        CHECK_INT(bits_count(bits, at + n), want);
    }
}

static void cut_runs_stop_early(void)
{
    static uint32_t v[100], got[100 + PQ_PAD];
    static uint8_t coded[1000 + PQ_PAD];
    for (size_t i = 0; i < 100; i++)
        v[i] = (uint32_t)i;
    size_t size = pq_rle_encode(v, 100, 7, coded);
    for (size_t n = 0; n < size; n++) {
        struct rle r;
        rle_init(&r, pq_kernels_pick(), coded, n, 7);
        CHECK(rle_u32(&r, got, 101) <= n * 8 / 7 + 1);
    }
    struct rle r;
    static const uint8_t endless[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    rle_init(&r, pq_kernels_pick(), endless, sizeof(endless), 3);
    CHECK_INT(rle_u32(&r, got, 1), 0);
}

static uint8_t *put_varint(uint8_t *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

static uint64_t zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

/* Blocks of 128 in 4 miniblocks, the textbook way. */
static size_t delta_encode(const int64_t *v, size_t n, uint8_t *out)
{
    uint8_t *p = put_varint(out, 128);
    p = put_varint(p, 4);
    p = put_varint(p, n);
    p = put_varint(p, n ? zigzag(v[0]) : 0);
    for (size_t at = 1; at < n; at += 128) {
        uint64_t d[128] = {0}, all[4] = {0};
        int64_t min = INT64_MAX;
        size_t k = n - at < 128 ? n - at : 128;
        for (size_t i = 0; i < k; i++) {
            d[i] = (uint64_t)v[at + i] - (uint64_t)v[at + i - 1];
            min = (int64_t)d[i] < min ? (int64_t)d[i] : min;
        }
        p = put_varint(p, zigzag(min));
        for (size_t i = 0; i < k; i++) {
            d[i] -= (uint64_t)min;
            all[i / 32] |= d[i];
        }
        uint8_t *widths = p;
        p += 4;
        for (size_t m = 0; m < 4; m++) {
            unsigned width = 0;
            for (uint64_t x = all[m]; x; x >>= 1)
                width++;
            widths[m] = (uint8_t)width;
            if (m * 32 >= k)
                continue; /* no data for miniblocks without values */
            memset(p, 0, 4 * width);
            for (size_t b = 0; b < 32 * width; b++)
                p[b >> 3] |=
                    (uint8_t)((d[m * 32 + b / width] >> b % width & 1) << (b & 7));
            p += 4 * width;
        }
    }
    return (size_t)(p - out);
}

static void deltas_read_back(void)
{
    static int64_t v[MAX], got[MAX];
    static uint8_t coded[MAX * 12 + PQ_PAD];
    for (unsigned width = 0; width <= 64; width++)
        for (size_t n = 0; n < MAX; n = n * 3 + 1) {
            struct delta d;
            for (size_t i = 0; i < n; i++)
                v[i] = (int64_t)(width ? draw() >> (64 - width) : 5);
            size_t size = delta_encode(v, n, coded);
            CHECK(delta_init(&d, pq_kernels_pick(), coded, size));
            CHECK(delta_end(&d) == coded + size);
            for (size_t done = 0; done < n;) {
                size_t k = 1 + draw() % 100;
                k = k < n - done ? k : n - done;
                CHECK_INT(delta_i64(&d, got, k), k);
                CHECK(memcmp(got, v + done, k * 8) == 0);
                done += k;
            }
            CHECK_INT(delta_i64(&d, got, 1), 0);
            if (n > 1 && width) {
                CHECK(delta_init(&d, pq_kernels_pick(), coded, size - 1));
                CHECK(delta_end(&d) == NULL);
            }
        }
}

static void malformed_deltas_are_refused(void)
{
    static const uint8_t bad[][8] = {
        {0x80, 1, 0, 5, 0}, /* no miniblocks */
        {0x80, 1, 3, 5, 0}, /* 128 values in 3 miniblocks */
        {0x10, 1, 5, 0},    /* miniblocks of 16 */
        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
    };
    struct delta d;
    uint8_t bytes[8 + PQ_PAD] = {0};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        memcpy(bytes, bad[i], 8);
        CHECK(!delta_init(&d, &pq_kernels_plain, bytes, 8));
    }
    static const uint8_t wide[] = {0x80, 1, 4, 10, 0, 0, 65, 65, 65, 65};
    uint8_t more[sizeof(wide) + PQ_PAD] = {0};
    int64_t got[10];
    memcpy(more, wide, sizeof(wide));
    CHECK(delta_init(&d, &pq_kernels_plain, more, sizeof(wide)));
    CHECK(delta_end(&d) == NULL);
    CHECK_INT(delta_i64(&d, got, 10), 1);
}

/* Pages without bytes, one behind a good one: nothing of that one shows. */
static void an_empty_page_has_no_values(void)
{
    static const struct {
        enum pq_physical physical;
        enum pq_encoding encoding;
    } kinds[] = {{PQ_INT64, PQ_PLAIN},
                 {PQ_INT64, PQ_DELTA_BINARY_PACKED},
                 {PQ_INT64, PQ_RLE_DICTIONARY},
                 {PQ_INT64, PQ_BYTE_STREAM_SPLIT},
                 {PQ_BOOLEAN, PQ_PLAIN},
                 {PQ_BYTE_ARRAY, PQ_PLAIN},
                 {PQ_BYTE_ARRAY, PQ_DELTA_LENGTH_BYTE_ARRAY},
                 {PQ_BYTE_ARRAY, PQ_DELTA_BYTE_ARRAY}};
    static uint8_t coded[2000 + PQ_PAD];
    static const int64_t lengths[4] = {0, 0, 0, 0};
    struct type t = type_of(TYPE_STR, false);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct pq_leaf leaf = {.physical = kinds[i].physical};
        struct pq_values v = {0};
        struct column text;
        uint32_t codes[8 + PQ_PAD];
        int64_t out[8];
        size_t n = delta_encode(lengths, 4, coded);
        n += delta_encode(lengths, 4, coded + n);
        column_init(&text, &t);
        CHECK_INT(column_reserve(&text, 8, NULL), RC_OK);
        for (int empty = 0; empty < 2; empty++)
            CHECK_INT(pq_values_begin(&v, pq_kernels_pick(), &leaf,
                                      (int32_t)kinds[i].encoding, 5, coded, empty ? 0 : n,
                                      NULL) == RC_OK ||
                          !empty,
                      true);
        enum rc rc = pq_values_are_codes(&v) ? pq_values_codes(&v, 1, codes, NULL)
                     : pq_values_are_text(&v)
                         ? pq_values_text(&v, 1, &text, 0, 1000, NULL)
                         : pq_values_fixed(&v, 1, out, NULL);
        CHECK_INT(rc, RC_FORMAT);
        CHECK_INT(pq_values_skip(&v, 1, NULL), RC_FORMAT);
        pq_values_release(&v);
        column_release(&text);
    }
}

/* A dictionary of one entry needs no bits. Writers store runs all the same, of either
 * kind; some store nothing.
 */
static void codes_of_no_bits_are_counted(void)
{
    static const struct {
        uint8_t bytes[4];
        size_t n, values;
    } cases[] = {{{0}, 0, 100},                /* nothing at all */
                 {{0xc8, 0x01}, 2, 100},       /* one run of 100 */
                 {{0x03}, 1, 8},               /* one packed group */
                 {{0x06, 0x05, 0x02}, 3, 20}}; /* 3, two groups, 1 */
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t in[4 + PQ_PAD] = {0};
        uint32_t got[100 + PQ_PAD];
        struct rle r;
        memset(got, 0xff, sizeof(got));
        memcpy(in, cases[i].bytes, 4);
        rle_init(&r, pq_kernels_pick(), in, cases[i].n, 0);
        CHECK_INT(rle_u32(&r, got, 100), cases[i].values);
        for (size_t k = 0; k < cases[i].values; k++)
            CHECK_INT(got[k], 0);
        rle_init(&r, pq_kernels_pick(), in, cases[i].n, 0);
        CHECK_INT(rle_skip(&r, 100), cases[i].values);
    }
}

static const struct tap_case cases[] = {
    TAP(codes_of_no_bits_are_counted),
    TAP(an_empty_page_has_no_values),
    TAP(every_kernel_unpacks_every_width),
    TAP(every_kernel_gathers_and_expands),
    TAP(runs_read_back),
    TAP(bits_read_back_at_any_place),
    TAP(cut_runs_stop_early),
    TAP(deltas_read_back),
    TAP(malformed_deltas_are_refused),
};
TAP_MAIN(cases)
