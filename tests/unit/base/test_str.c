/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tap.h"

static void integers_are_whole_and_in_range(void)
{
    int64_t i = 7;
    uint64_t u = 7;
    CHECK(str_to_i64(str_c("-9223372036854775808"), &i) && i == INT64_MIN);
    CHECK(str_to_i64(str_c("9223372036854775807"), &i) && i == INT64_MAX);
    CHECK(str_to_u64(str_c("18446744073709551615"), &u) && u == UINT64_MAX);
    CHECK(str_to_i64(str_c("+5"), &i) && i == 5);
    static const char *const bad[] = {
        "", "-", "+", "--1", "-+1", "1x", " 1", "9223372036854775808", "0x10", "1.0"};
    for (size_t k = 0; k < ARRAY_LEN(bad); k++) {
        i = 7;
        CHECK(!str_to_i64(str_c(bad[k]), &i));
        CHECK_INT(i, 7);
    }
    CHECK(!str_to_u64(str_c("18446744073709551616"), &u));
    CHECK(!str_to_u64(str_c("-1"), &u));
}

static void numbers_are_whole_and_decimal(void)
{
    double d = 0;
    CHECK(str_to_f64(str_c("1e-3"), &d) && d == 1e-3);
    CHECK(str_to_f64(str_c("-.5"), &d) && d == -.5);
    CHECK(str_to_f64(str_c("inf"), &d) && isinf(d));
    CHECK(str_to_f64(str_c("NaN"), &d) && isnan(d));
    CHECK(str_to_f64(str_of("12345", 3), &d) && d == 123);
    static const char *const bad[] = {"",   "1e",    "0x1p3",  " 1",
                                      "1 ", "1e999", "nan(1)", "1,5"};
    for (size_t k = 0; k < ARRAY_LEN(bad); k++)
        CHECK(!str_to_f64(str_c(bad[k]), &d));
}

static void shortest_decimals_read_back(void)
{
    static const double values[] = {0.1,     1e-3,  1.0 / 3.0, DBL_MAX,
                                    DBL_MIN, 65536, -2.5,      0};
    char text[32];
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        str_from_f64(values[i], text);
        CHECK(strtod(text, NULL) == values[i]);
    }
    str_from_f64(0.1, text);
    CHECK_STR(text, "0.1");
    str_from_f32(0.1f, text);
    CHECK_STR(text, "0.1");
    str_from_f64(90, text);
    CHECK_STR(text, "90");
    str_from_f64(-1e14, text);
    CHECK_STR(text, "-100000000000000");
    str_from_f64(1e15, text);
    CHECK_STR(text, "1e+15");
    str_from_f32(86400, text);
    CHECK_STR(text, "86400");
    str_from_f32(3e38f, text);
    CHECK_STR(text, "3e+38");
    str_from_f64(-INFINITY, text);
    CHECK_STR(text, "-inf");
}

/* The first of six to nine digits that reads back, as printf writes it. */
static void slow_f32(float v, char *out)
{
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(out, 32, "%.*g", digits, (double)v);
        if (strtof(out, NULL) == v)
            return;
    }
}

static void floats_of_all_sizes_are_the_shortest(void)
{
    char text[32], slow[32];
    uint64_t x = 1;
    for (int i = 0; i < 300000; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        uint32_t bits = (uint32_t)(x >> 32);
        float v;
        if (i % 2) /* of about the size of scores */
            bits = (bits & 0x807fffffu) | (100 + (bits >> 23) % 50) << 23;
        if (i % 16 == 3) /* short ones */
            bits &= 0xfffff000u;
        memcpy(&v, &bits, sizeof(v));
        if (!isfinite(v) || v == rintf(v) || fabsf(v) < FLT_MIN)
            continue;
        str_from_f32(v, text);
        slow_f32(v, slow);
        CHECK_STR(text, slow);
        float next = nextafterf(0.0625f * (float)(i + 1), 1);
        str_from_f32(next, text);
        slow_f32(next, slow);
        CHECK_STR(text, slow);
    }
}

static void distance_counts_edits(void)
{
    CHECK_INT(str_distance(str_c("kitten"), str_c("sitting")), 3);
    CHECK_INT(str_distance(str_c("ab"), str_c("ba")), 1);
    CHECK_INT(str_distance(str_c(""), str_c("abc")), 3);
    CHECK_INT(str_distance(str_c("same"), str_c("same")), 0);
}

static void nearest_suggests_only_what_is_near(void)
{
    static const char *const names[] = {"embedding_dim", "embedding_name", "pooling"};
    CHECK_STR(str_nearest(str_c("embeding_dim"), names, 3), "embedding_dim");
    CHECK_STR(str_nearest(str_c("embeddingDim"), names, 3), "embedding_dim");
    CHECK(str_nearest(str_c("hash_bucket_size"), names, 3) == NULL);
    CHECK(str_nearest(str_c("x"), names, 3) == NULL);
}

static void split_yields_every_part(void)
{
    struct str rest = str_c("a,,b,"), part;
    static const char *const want[] = {"a", "", "b", ""};
    size_t n = 0;
    while (str_split(&rest, ',', &part)) {
        CHECK(n < 4 && str_is(part, want[n]));
        n++;
    }
    CHECK_INT(n, 4);
    CHECK(str_lists(str_c("a|bc"), '|', str_c("bc")));
    CHECK(str_lists(str_c("a|"), '|', str_c("")) &&
          !str_lists(str_c(""), '|', str_c("")));
    CHECK(!str_lists(str_c("a|bc"), '|', str_c("b")));
    CHECK(str_is(str_trim(str_c(" \t x y\r\n")), "x y"));
    CHECK(str_starts("abc", "ab") && !str_starts("a", "ab"));
    CHECK(str_ends("x.json", ".json") && !str_ends("n", ".json"));
}

static void buffers_respect_their_ceiling(void)
{
    struct buf b;
    struct err err = {0};
    buf_init(&b, 10);
    buf_puts(&b, "12345");
    buf_printf(&b, "%d", 678);
    CHECK(buf_check(&b, &err) == RC_OK);
    buf_puts(&b, "too long");
    CHECK(buf_check(&b, &err) == RC_NOMEM);
    CHECK_STR(buf_str(&b), "12345678");
    buf_clear(&b);
    CHECK_STR(buf_str(&b), "");
    buf_putc(&b, 'x');
    char *s = buf_take(&b);
    CHECK_STR(s, "x");
    mem_free(s);
    buf_release(&b);
}

static void json_strings_are_escaped_and_valid_utf8(void)
{
    struct buf b;
    buf_init(&b, 1000);
    buf_json_str(&b,
                 "a\"\\\n\x01\xff"
                 "é\xed\xa0\x80",
                 11);
    CHECK_STR(buf_str(&b), "\"a\\\"\\\\\\n\\u0001\xef\xbf\xbd"
                           "é\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    buf_release(&b);
}

static void controls_are_hidden_from_terminals(void)
{
    static const struct {
        const char *in, *plain, *coloured;
    } texts[] = {
        {"a\tb\n", "a\tb\n", "a\tb\n"},
        {"\033]0;owned\007x", "?]0;owned?x", "?]0;owned?x"},
        {"\033[31mred\033[0m", "?[31mred?[0m", "\033[31mred\033[0m"},
        {"\033[2J\033[31", "?[2J?[31", "?[2J?[31"},
        {"\xc2\x9b"
         "1mé\x9b\x7f\r",
         "??1mé???", "??1mé???"},
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        for (int colours = 0; colours < 2; colours++) {
            char *text = mem_strdup(texts[i].in);
            utf8_hide_controls(text, strlen(text), colours);
            CHECK_STR(text, colours ? texts[i].coloured : texts[i].plain);
            mem_free(text);
        }
}

static const struct tap_case cases[] = {
    TAP(controls_are_hidden_from_terminals),
    TAP(integers_are_whole_and_in_range),
    TAP(numbers_are_whole_and_decimal),
    TAP(shortest_decimals_read_back),
    TAP(floats_of_all_sizes_are_the_shortest),
    TAP(distance_counts_edits),
    TAP(nearest_suggests_only_what_is_near),
    TAP(split_yields_every_part),
    TAP(buffers_respect_their_ceiling),
    TAP(json_strings_are_escaped_and_valid_utf8),
};
TAP_MAIN(cases)
