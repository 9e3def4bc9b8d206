/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets: the shortcuts give what the definition gives. */
#include <math.h>

#include "base/cpu.h"
#include "base/hash.h"
#include "feature/bucket.h"
#include "feature/normal.h"
#include "feature/number.h"
#include "tap.h"

static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Of every size. */
static uint64_t any(void)
{
    return next() >> next() % 64;
}

static void modulo_is_exact(void)
{
    static const uint64_t sizes[] = {1,         2,         3,          7,
                                     8,         100,       1 << 20,    (1u << 31) + 1,
                                     INT64_MAX, INT64_MAX, UINT64_MAX, (uint64_t)1 << 63};
    for (int i = 0; i < 20000; i++) {
        struct fg_bucket b = {0};
        uint64_t n = i < 12 ? sizes[i] : any() | (i & 1);
        char text[32];
        n = n ? n : 1;
        int len = snprintf(text, sizeof(text), "%ju", (uintmax_t)any());
        int64_t id;
        bucket_set_hash(&b, n);
        CHECK(bucket_text(&b, str_of(text, (size_t)len), &id));
        CHECK((uint64_t)id == hash_std(text, (size_t)len) % n);
    }
}

/* Any number of texts, any size of table, from any address, and nothing behind the end.
 */
static void eights_are_hashed_alike(void)
{
    for (int i = 0; i < 3000; i++) {
        char text[8 * 40 + 7];
        int64_t ids[42], n = (int64_t)(next() % 41), start = (int64_t)(next() % 7);
        struct fg_bucket b = {0};
        uint64_t size = i % 5 == 0 ? 1 + next() % 3 : any() >> 1;
        bucket_set_hash(&b, size ? size : 1);
        for (size_t k = 0; k < sizeof(text); k++)
            text[k] = (char)next();
        ids[n] = ids[n + 1] = -7;
        cpu_limit(i & 1 ? CPU_LEVEL_BASE : CPU_LEVEL_AMX);
        bucket_eights(&b, text + start, n, ids);
        for (int64_t k = 0; k < n; k++)
            CHECK_INT(ids[k], hash_std(text + start + 8 * k, 8) % b.n);
        CHECK(ids[n] == -7 && ids[n + 1] == -7);
    }
    cpu_limit(CPU_LEVEL_AMX);
}

/* The table of whole numbers is a short cut, no other function. */
static void logarithms_of_counts_are_those_of_log10f(void)
{
    static const char *const texts[] = {"method=log10",
                                        "method=log10,threshold=0,default=-3",
                                        "method=zscore,mean=3,standard_deviation=7"};
    for (int t = 0; t < 3; t++) {
        struct normal n;
        CHECK_INT(normal_parse(texts[t], &n, NULL), RC_OK);
        for (int i = 0; i < 5000; i++) {
            int64_t v = i < 2100 ? i : i < 4000 ? (int64_t)any() : -(int64_t)(any() >> 1);
            float of_whole, of_float = (float)v, half = (float)(i % 2100) + 0.5f,
                            got = half;
            float want = normal_apply(&n, (double)of_float, true, NULL);
            normal_whole(&n, &v, &of_whole, 1);
            normal_floats(&n, &of_float, 1);
            normal_floats(&n, &got, 1);
            CHECK(of_whole == want && of_float == want);
            CHECK(got == normal_apply(&n, (double)half, true, NULL));
        }
        float odd[] = {NAN, INFINITY, -INFINITY, -0.0f, 1e-40f};
        for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
            float want = normal_apply(&n, (double)odd[i], true, NULL);
            normal_floats(&n, &odd[i], 1);
            CHECK(memcmp(&want, &odd[i], sizeof(want)) == 0);
        }
        normal_release(&n);
    }
}

static void integers_hash_as_their_digits(void)
{
    struct fg_bucket b = {0};
    bucket_set_hash(&b, INT64_MAX);
    for (int i = 0; i < 100000; i++) {
        uint64_t ten = 1;
        for (int k = i % 20; k > 0; k--)
            ten *= 10;
        int64_t v = i < 100 ? (int64_t)(ten - (uint64_t)(i % 3)) : (int64_t)any();
        char text[32], digits[24];
        int len = snprintf(text, sizeof(text), "%jd", (intmax_t)v);
        CHECK_INT(bucket_i64(&b, v), hash_std(text, (size_t)len) % INT64_MAX);
        CHECK_INT(bucket_digits(v, digits), len);
        CHECK(memcmp(digits, text, (size_t)len) == 0);
    }
    char least[24];
    CHECK_INT(bucket_digits(INT64_MIN, least), 20);
    CHECK(memcmp(least, "-9223372036854775808", 20) == 0);
}

static void short_numbers_parse_exactly(void)
{
    for (int i = 0; i < 100000; i++) {
        char text[64];
        double a = 0, b = 0;
        int64_t m = (int64_t)any();
        snprintf(text, sizeof(text), i & 1 ? "%jd.%06d" : "%jde%d", (intmax_t)m,
                 (int)(next() % 1000000) / (i & 1 ? 1 : 100000));
        struct str s = str_c(text);
        CHECK(number_parse(s, &a) && str_to_f64(s, &b) && a == b);
    }
    static const char *const bad[] = {"",   ".",   "-",  "+",  "1.2.3",
                                      "1e", "0x1", " 1", "1 ", "--1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        double v;
        CHECK(!number_parse(str_c(bad[i]), &v));
    }
}

static void many_bounds_are_searched(void)
{
    float bounds[100];
    struct fg_bucket b = {.kind = BUCKET_BOUNDS, .bounds = bounds, .n_bounds = 100};
    for (int i = 0; i < 100; i++)
        bounds[i] = (float)i;
    for (int i = -2; i < 103; i++) {
        int want = i < 0 ? 0 : i > 99 ? 100 : i + 1;
        CHECK_INT(bucket_f64(&b, i), want);
        CHECK_INT(bucket_f64(&b, i + 0.5), i < 0 ? (i + 0.5 >= 0) : want);
    }
}

static void large_vocabularies_find_their_words(void)
{
    struct vocab v = {0};
    static char words[5000][16];
    for (int i = 0; i < 5000; i++) {
        int n = snprintf(words[i], sizeof(words[i]), "w%d", i * 7);
        CHECK_INT(vocab_put(&v, str_of(words[i], (size_t)n), i, NULL, NULL), RC_OK);
    }
    for (int i = 0; i < 5000; i++)
        CHECK_INT(vocab_find(&v, str_c(words[i])), i);
    CHECK_INT(vocab_find(&v, str_c("w1")), -1);
    CHECK_INT(v.max_id, 4999);
    vocab_release(&v);
}

static const struct tap_case cases[] = {
    TAP(modulo_is_exact),
    TAP(eights_are_hashed_alike),
    TAP(logarithms_of_counts_are_those_of_log10f),
    TAP(integers_hash_as_their_digits),
    TAP(short_numbers_parse_exactly),
    TAP(many_bounds_are_searched),
    TAP(large_vocabularies_find_their_words),
};
TAP_MAIN(cases)
