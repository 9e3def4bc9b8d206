/* SPDX-License-Identifier: Apache-2.0 */
#include "data/csv/num.h"

#include <float.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/str.h"
#include "tap.h"

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x * 0x2545f4914f6cdd1du;
}

/* From memory of exactly that size, so that a sanitizer sees a read past the end. */
static enum num f64_of(const char *text, double *out)
{
    size_t n = strlen(text);
    char *p = mem_alloc(n);
    memcpy(p, text, n);
    enum num r = num_f64(p, n, out);
    mem_free(p);
    return r;
}

static void check_like_strtod(const char *text)
{
    double want = strtod(text, NULL), got = 0;
    float want_f = strtof(text, NULL), got_f = 0;
    enum num r = f64_of(text, &got), r_f = num_f32(text, strlen(text), &got_f);
    bool ok = isinf(want) ? r == NUM_RANGE
                          : r == NUM_OK && memcmp(&got, &want, sizeof(got)) == 0;
    ok = ok &&
         (isinf(want_f) ? r_f == NUM_RANGE
                        : r_f == NUM_OK && memcmp(&got_f, &want_f, sizeof(got_f)) == 0);
    if (!ok)
        printf("# '%s': got %a %a, want %a %a\n", text, got, (double)got_f, want,
               (double)want_f);
    CHECK(ok);
}

static void hard_decimals_round_as_strtod(void)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "0.0",
        "00000000000000000000000000000000",
        "0e400",
        "1",
        "-1",
        ".5",
        "5.",
        "1e22",
        "1e23",
        "9007199254740993",
        "9007199254740992.5",
        "9007199254740991e22",
        "8.5e-5",
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "1e309",
        "-1e400",
        "1e-400",
        "0.000000000000000000000000000000000000001",
        "123456789012345678",
        "1234567890123456789",
        "12345678901234567890",
        "123456789012345678901234567890",
        "18446744073709551615",
        "18446744073709551616",
        "0.1",
        "0.2",
        "0.3",
        "3.14159265358979323846264338327950288",
        "0.00000000123456789012345678",
        "6.02214076e23",
        "1.00000005960464477539062499",
        "1.000000059604644775390625",
        "1.00000005960464477539062501",
        "16777217",
        "16777219",
        "16777216.999999999",
        "3.4028235677973366e38",
        "3.4028235e38",
        "3.4028236e38",
        "1.1754943508222875e-38",
        "1.4012984643248171e-45",
        "7.0064923216240853e-46",
        "7.0064923216240854e-46",
        "1e-46",
        "123e+5",
        "123E-5",
        "1e0000000000005",
        "1e99999999999999999999",
        "0.1e-99999999999999999999",
        "9223372036854775807",
        "1.5e27",
        "1234567890123456789e27",
        "1234567890123456789e-27",
        "1000000000000000000000000000000000000000e-39",
        "7.3177701707893310e+15",
        "5.0e-324",
        "0.500000000000000166533453693773481063544750213623046875"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        check_like_strtod(texts[i]);
}

static void random_decimals_round_as_strtod(void)
{
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 200000 && tap_failed == 0; i++) {
        char text[64];
        uint64_t bits = next_random(&x);
        double v;
        float f;
        memcpy(&v, &bits, sizeof(v));
        memcpy(&f, &bits, sizeof(f));
        switch (i % 8) {
        case 0:
            snprintf(text, sizeof(text), "%.17g", isfinite(v) ? v : 1.0);
            break;
        case 1:
            snprintf(text, sizeof(text), "%.9g", isfinite(f) ? (double)f : 1.0);
            break;
        case 2:
            snprintf(text, sizeof(text), "%.17g", (double)(int64_t)bits * 0x1p-64);
            break;
        case 3:
            snprintf(text, sizeof(text), "%" PRIu64 "e%d", bits, (int)(bits % 60) - 30);
            break;
        case 4:
            snprintf(text, sizeof(text), "%.6f", (double)(int64_t)(bits >> 40) / 1000.0);
            break;
        case 5: /* beside the middle of two floats */
            snprintf(text, sizeof(text), "%.*f", (int)(bits >> 60) + 20,
                     ((double)f == (double)f && fabsf(f) < 1e9f)
                         ? (double)f * (1 + 0x1p-24)
                         : 0.5);
            break;
        case 6:
            snprintf(text, sizeof(text), "%" PRIu64 ".%09" PRIu64, bits >> 44,
                     bits % 1000000000);
            break;
        default:
            snprintf(text, sizeof(text), "%de%d", (int)(bits % 2000) - 1000,
                     (int)(bits >> 32) % 700 - 350);
        }
        check_like_strtod(text);
    }
}

static void words_are_numbers_and_rubbish_is_not(void)
{
    double d = 7;
    CHECK(f64_of("inf", &d) == NUM_OK && isinf(d) && d > 0);
    CHECK(f64_of("-Infinity", &d) == NUM_OK && isinf(d) && d < 0);
    CHECK(f64_of("NaN", &d) == NUM_OK && isnan(d));
    CHECK(f64_of("+1.5", &d) == NUM_OK && d == 1.5);
    static const char *const bad[] = {"",    "-",       "+",    ".",    "e5",  "1e",
                                      "1e+", "1.5x",    " 1",   "1 ",   "0x1", "1..2",
                                      "--1", "1e5.0",   "in",   "nanx", "-.",  ".e1",
                                      "1,5", "infinit", "1_000"};
    d = 7;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        float f = 7;
        CHECK(f64_of(bad[i], &d) == NUM_BAD && d == 7);
        CHECK(num_f32(bad[i], strlen(bad[i]), &f) == NUM_BAD && f == 7);
    }
}

static void very_long_numbers_are_refused_or_right(void)
{
    char text[3001];
    double d = 7;
    memset(text, '0', 3000);
    text[3000] = '\0';
    CHECK(num_f64(text, 3000, &d) == NUM_OK && d == 0);
    memset(text, '9', 3000);
    CHECK(num_f64(text, 3000, &d) == NUM_BAD);
    CHECK(num_f64(text, 300, &d) == NUM_OK && d == 1e300);
    text[1] = '.';
    CHECK(num_f64(text, 1000, &d) == NUM_OK && d == 10);
}

static void integers_of_every_length(void)
{
    uint64_t x = 4711;
    for (int i = 0; i < 100000; i++) {
        char text[32];
        int64_t v = (int64_t)next_random(&x) >> (i % 64), got = 0;
        int n = snprintf(text, sizeof(text), "%" PRId64, v);
        CHECK(num_i64(text, (size_t)n, &got) == NUM_OK && got == v);
        int32_t small = 7;
        bool fits = v >= INT32_MIN && v <= INT32_MAX;
        CHECK(num_i32(text, (size_t)n, &small) == (fits ? NUM_OK : NUM_RANGE));
        CHECK(small == (fits ? (int32_t)v : 7));
    }
    int64_t v = 7;
    CHECK(num_i64("9223372036854775807", 19, &v) == NUM_OK && v == INT64_MAX);
    CHECK(num_i64("-9223372036854775808", 20, &v) == NUM_OK && v == INT64_MIN);
    CHECK(num_i64("+00000000000000000000012", 24, &v) == NUM_OK && v == 12);
    v = 7;
    CHECK(num_i64("9223372036854775808", 19, &v) == NUM_RANGE);
    CHECK(num_i64("-9223372036854775809", 20, &v) == NUM_RANGE);
    CHECK(num_i64("99999999999999999999", 20, &v) == NUM_RANGE);
    static const char *const bad[] = {"",          "-",   "+",       "1x",  "x1",
                                      " 1",        "1 ",  "1.0",     "--1", "-+1",
                                      "12345678x", "1e3", "\xb2\xb3"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(num_i64(bad[i], strlen(bad[i]), &v) == NUM_BAD);
    CHECK(v == 7);
}

static const struct tap_case cases[] = {
    TAP(hard_decimals_round_as_strtod),
    TAP(random_decimals_round_as_strtod),
    TAP(words_are_numbers_and_rubbish_is_not),
    TAP(very_long_numbers_are_refused_or_right),
    TAP(integers_of_every_length),
};
TAP_MAIN(cases)
