/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"

#include "base/compiler.h"
#include "tap.h"

static void blocks_are_the_published_ones(void)
{
    /* Random123, kat_vectors: philox4x32 with 10 rounds. */
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        uint32_t out[4];
        rng_block(known[i].key, known[i].counter, out);
        CHECK(memcmp(out, known[i].out, sizeof(out)) == 0);
    }
}

static void the_sequence_of_a_place_never_changes(void)
{
    struct rng r;
    rng_init(&r, 1, 2, 3, 4);
    CHECK_INT(rng_u32(&r), 0x10e7393f);
    CHECK_INT(rng_u32(&r), 0x054e595a);
    CHECK_INT(rng_u64(&r), 0x2d546e968b662393);
    rng_seek(&r, 0);
    CHECK(rng_normal(&r) == 0x1.27e3da279fd84p+1);
    CHECK(rng_normal(&r) == 0x1.360661a9fac7cp-2);
}

static void places_have_sequences_of_their_own(void)
{
    static const uint64_t places[][4] = {{1, 2, 3, 4}, {2, 2, 3, 4}, {1, 3, 3, 4},
                                         {1, 2, 4, 4}, {1, 2, 3, 5}, {2, 1, 3, 4},
                                         {1, 3, 2, 4}, {0, 0, 0, 0}};
    uint64_t first[ARRAY_LEN(places)];
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        struct rng r;
        rng_init(&r, places[i][0], places[i][1], places[i][2], places[i][3]);
        first[i] = rng_u64(&r);
        for (size_t k = 0; k < i; k++)
            CHECK(first[i] != first[k]);
    }
}

static void any_word_can_be_reached_at_once(void)
{
    struct rng r, other;
    uint32_t words[100], filled[100];
    rng_init(&r, 7, 0, 0, 9);
    for (size_t i = 0; i < 100; i++)
        words[i] = rng_u32(&r);
    for (size_t i = 0; i < 100; i += 7) {
        rng_init(&other, 7, 0, 0, 9);
        rng_seek(&other, i);
        CHECK_INT(rng_u32(&other), words[i]);
        rng_seek(&other, i);
        rng_fill_u32(&other, filled, 100 - i);
        CHECK(memcmp(filled, words + i, (100 - i) * sizeof(*words)) == 0);
        CHECK_INT(other.word, 100);
        rng_seek(&other, 1);
        CHECK_INT(rng_u32(&other), words[1]);
    }
    rng_seek(&other, 3);
    rng_fill_u32(&other, filled, 5); /* ends inside a block */
    CHECK_INT(rng_u32(&other), words[8]);
    CHECK_INT(rng_u32(&other), words[9]);
}

static void fills_equal_single_calls(void)
{
    struct rng a, b;
    float out[301];
    rng_init(&a, 5, 1, 0, 0);
    rng_init(&b, 5, 1, 0, 0);
    rng_fill_uniform(&a, -2, 3, out, 301);
    for (size_t i = 0; i < 301; i++)
        CHECK(out[i] == -2 + 5 * rng_f32(&b));
    rng_seek(&a, 0);
    rng_seek(&b, 0);
    rng_fill_normal(&a, 1, 0.5f, out, 301);
    for (size_t i = 0; i < 301; i++)
        CHECK(out[i] == (float)(1 + 0.5 * rng_normal(&b)));
}

static void uniform_numbers_are_in_range_and_even(void)
{
    enum { N = 200000 };
    struct rng r;
    rng_init(&r, 11, 0, 0, 0);
    double sum = 0, sum_f = 0;
    for (int i = 0; i < N; i++) {
        double d = rng_f64(&r);
        float f = rng_f32(&r);
        CHECK(d >= 0 && d < 1 && f >= 0 && f < 1);
        sum += d;
        sum_f += (double)f;
    }
    CHECK_NEAR(sum / N, 0.5, 0.003); /* over four deviations */
    CHECK_NEAR(sum_f / N, 0.5, 0.003);
}

static void bounded_numbers_have_no_bias(void)
{
    enum { N = 120000 };
    struct rng r;
    int counts[6] = {0};
    rng_init(&r, 12, 0, 0, 0);
    for (int i = 0; i < N; i++)
        counts[rng_below(&r, 6)]++;
    for (int i = 0; i < 6; i++)
        CHECK_NEAR(counts[i], N / 6.0, 600);
    CHECK_INT(rng_below(&r, 1), 0);
    const uint64_t big = ((uint64_t)3 << 62) - 1;
    int upper = 0;
    for (int i = 0; i < 30000; i++) {
        uint64_t v = rng_below(&r, big);
        CHECK(v < big);
        upper += v >= (uint64_t)1 << 63;
    }
    CHECK_NEAR(upper, 10000, 400); /* a plain modulo would give 7500 */
    /* With 32 bits, a scaled word alone would favour one half by a half. */
    upper = 0;
    for (int i = 0; i < 30000; i++)
        upper += rng_below(&r, 3u << 30) >= 1u << 31;
    CHECK_NEAR(upper, 10000, 400);
}

static void normal_numbers_have_the_right_moments(void)
{
    enum { N = 200000 };
    struct rng r;
    rng_init(&r, 13, 0, 0, 0);
    double sum = 0, squares = 0, fourth = 0;
    int within = 0;
    for (int i = 0; i < N; i++) {
        double z = rng_normal(&r);
        CHECK(fabs(z) < 6.8);
        sum += z;
        squares += z * z;
        fourth += z * z * z * z;
        within += fabs(z) < 1;
    }
    CHECK_NEAR(sum / N, 0, 0.01);
    CHECK_NEAR(squares / N, 1, 0.015);
    CHECK_NEAR(fourth / N, 3, 0.15);
    CHECK_NEAR((double)within / N, 0.682689, 0.005);
}

static void normal_numbers_follow_the_formula(void)
{
    struct rng r, words;
    rng_init(&r, 14, 0, 0, 0);
    words = r;
    for (int i = 0; i < 1000; i++) {
        double u = ((double)rng_u32(&words) + 0.5) / 4294967296.0;
        double v = (double)rng_u32(&words) / 4294967296.0;
        double radius = sqrt(-2 * log(u)), angle = 2 * 3.14159265358979323846 * v;
        CHECK_NEAR(rng_normal(&r), radius * cos(angle), 1e-13);
        CHECK_NEAR(rng_normal(&r), radius * sin(angle), 1e-13);
    }
}

static void shuffling_permutes(void)
{
    int64_t at[50], firsts[50] = {0};
    struct rng r;
    for (uint64_t round = 0; round < 5000; round++) {
        bool seen[50] = {false};
        for (int64_t i = 0; i < 50; i++)
            at[i] = i;
        rng_init(&r, 15, 0, round, 0);
        rng_shuffle(&r, at, 50);
        for (size_t i = 0; i < 50; i++) {
            CHECK(at[i] >= 0 && at[i] < 50 && !seen[at[i]]);
            seen[at[i]] = true;
        }
        firsts[at[0]]++;
    }
    for (size_t i = 0; i < 50; i++)
        CHECK_NEAR(firsts[i], 100, 50); /* five deviations */
    rng_shuffle(&r, NULL, 0);
}

static const struct tap_case cases[] = {
    TAP(blocks_are_the_published_ones),      TAP(the_sequence_of_a_place_never_changes),
    TAP(places_have_sequences_of_their_own), TAP(any_word_can_be_reached_at_once),
    TAP(fills_equal_single_calls),           TAP(uniform_numbers_are_in_range_and_even),
    TAP(bounded_numbers_have_no_bias),       TAP(normal_numbers_have_the_right_moments),
    TAP(normal_numbers_follow_the_formula),  TAP(shuffling_permutes),
};
TAP_MAIN(cases)
