/* SPDX-License-Identifier: Apache-2.0 */
/* The values of hash_std() and hash_farm() were recorded from the systems whose models we
 * must reproduce.
 */
#include "base/hash.h"

#include "base/compiler.h"
#include "tap.h"

struct known {
    const char *text;
    uint64_t hash;
};

static char xs[1024]; /* "xxx..." */

static uint64_t of_text(uint64_t (*hash)(const void *, size_t), const char *text)
{
    return hash(text, strlen(text));
}

static void std_hash_is_that_of_libstdcxx(void)
{
    static const struct known full[] = {
        {"", 6142509188972423790u},           {"0", 2297668033614959926u},
        {"1", 10159970873491820195u},         {"2", 4551451650890805270u},
        {"3", 8248777770799913213u},          {"4", 16215888864653804456u},
        {"5", 7995238595416485409u},          {"ua_ia", 9932522932754164137u},
        {"12345678", 10113836418918046885u},  {"0123456789abcdef", 10613591747391057286u},
        {"abc", 3663726644998027833u},        {"efg", 9943231452169811944u},
        {"hij", 15584319437520404866u},       {"xyz", 10512747046380093913u},
        {"x", 13272411544345499535u},         {"y", 15160494916537613830u},
        {"z", 17970277606898470454u},         {"match_feat_1", 10801117929797616171u},
        {"123456789", 12315982496267331008u}, {"中文", 9854956157463167294u},
    };
    for (size_t i = 0; i < ARRAY_LEN(full); i++)
        CHECK(of_text(hash_std, full[i].text) == full[i].hash);
    memset(xs, 'x', sizeof(xs));
    CHECK(hash_std(xs, 64) == 17227032668344394020u);
    CHECK(hash_std(xs, 129) == 2456472744944919005u);
    CHECK(hash_std(NULL, 0) == full[0].hash);
}

static void std_hash_fills_the_recorded_buckets(void)
{
    static const struct known mod_100[] = {
        {"abc", 33},    {"efg", 44},
        {"hij", 66},    {"xyz", 13},
        {"0", 26},      {"1", 95},
        {"2", 70},      {"3", 13},
        {"4", 56},      {"x", 35},
        {"y", 30},      {"z", 54},
        {"ua_ia", 37},  {"ua_ib", 90},
        {"ub_ia", 5},   {"ub_ib", 97},
        {"uc_ic", 60},  {"ud_ic", 56},
        {"ug_id", 40},  {"ug_ie", 57},
        {"uh_if", 55},  {"ua_abc", 2},
        {"ua_efg", 42}, {"ua_hij", 3},
        {"ub_hij", 23}, {"match_feat_1", 71},
        {"10_1", 93},   {"11_1", 23},
        {"12_1", 25},   {"13_2", 38},
        {"0_3", 12},
    };
    static const struct known mod_10[] = {{"1", 5}, {"3", 3}, {"5", 9}};
    for (size_t i = 0; i < ARRAY_LEN(mod_100); i++)
        CHECK_INT(of_text(hash_std, mod_100[i].text) % 100, mod_100[i].hash);
    for (size_t i = 0; i < ARRAY_LEN(mod_10); i++)
        CHECK_INT(of_text(hash_std, mod_10[i].text) % 10, mod_10[i].hash);
}

/* The definition, byte by byte. */
static uint64_t plain_std(const unsigned char *s, size_t n)
{
    const uint64_t mul = 0xc6a4a7935bd1e995;
    uint64_t h = 0xc70f6907 ^ n * mul, word = 0;
    for (size_t i = 0; i < n; i++) {
        word |= (uint64_t)s[i] << 8 * (i % 8);
        if (i % 8 == 7) {
            word *= mul;
            h = (h ^ (word ^ word >> 47) * mul) * mul;
            word = 0;
        }
    }
    if (n % 8)
        h = (h ^ word) * mul;
    h = (h ^ h >> 47) * mul;
    return h ^ h >> 47;
}

static void std_hash_follows_its_definition_at_every_length(void)
{
    unsigned char bytes[64];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 73 + 129);
    for (size_t n = 0; n <= 40; n++)
        for (size_t start = 0; start < 8; start++)
            CHECK(hash_std(bytes + start, n) == plain_std(bytes + start, n));
}

static void farm_hash_fills_the_recorded_buckets(void)
{
    static const struct known mod_100[] = {
        {"1", 49},
        {"2", 59},
        {"3", 21},
        {"4", 43},
        {"abc", 85},
        {"efg", 59},
        {"hij", 95},
        {"xyz", 20},
        {"Action", 40},
        {"Adventure", 46},
        {"unknown", 55},
        {"Comedy", 39},
        {"0", 35},
        {"-1", 30},
        {"99", 2},
        {"100", 55},
        {"2147483647", 57},
        {"-2147483648", 69},
        {"-9223372036854775808", 12},
        {"9223372036854775807", 19},
        {"+01", 6},
        {"00099", 2},
        {"9223372036854775808", 96},
        {"-9223372036854775809", 59},
    };
    for (size_t i = 0; i < ARRAY_LEN(mod_100); i++)
        CHECK_INT(of_text(hash_farm, mod_100[i].text) % 100, mod_100[i].hash);
}

static void farm_hash_is_right_in_every_class_of_length(void)
{
    static const struct {
        const char *text;
        size_t n;
        uint64_t hash;
    } texts[] = {
        {"中文", 6, 6104483040626166955},    {"\xf0\x9f\x99\x82", 4, 4883054489446160629},
        {"\xc3\xa9", 2, 693143013273849025}, {"e\xcc\x81", 3, 3027947468494914332},
        {"a\0b", 3, 7026922943720236280},    {"\0", 1, 4494688008148699989},
    };
    static const struct {
        size_t n;
        uint64_t hash;
    } lengths[] = {
        {1, 4719488438812764163},   {3, 3091163115821544028},
        {4, 6331921437150725295},   {7, 5839026154326413872},
        {8, 5028140862496344703},   {15, 1773838639343418510},
        {16, 3320895591121647644},  {17, 2082709914559524774},
        {31, 5265493245336272416},  {32, 3678204687145032710},
        {33, 3046993373088323128},  {63, 3985643400710983581},
        {64, 6916188127298655160},  {65, 4935023790501551929},
        {127, 2902271982432757929}, {128, 5868382771906808855},
        {129, 8569775344161521335}, {1024, 2262854945609631523},
    };
    const uint64_t mod = INT64_MAX;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        CHECK_INT(hash_farm(texts[i].text, texts[i].n) % mod, texts[i].hash);
    memset(xs, 'x', sizeof(xs));
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++)
        CHECK_INT(hash_farm(xs, lengths[i].n) % mod, lengths[i].hash);
    CHECK(hash_farm(NULL, 0) == 0x9ae16a3b2f90404f);
}

static void xxh3_is_the_published_one(void)
{
    CHECK(hash_xxh3("", 0) == 0x2d06800538d394c2);
    CHECK(hash_xxh3_seeded("", 0, 0) == hash_xxh3("", 0));
    CHECK(hash_xxh3_seeded("a", 1, 1) != hash_xxh3("a", 1));
}

static void checksums_have_their_check_values(void)
{
    CHECK_INT(hash_crc32(0, "123456789", 9), 0xcbf43926);
    CHECK_INT(hash_crc32c(0, "123456789", 9), 0xe3069283);
    CHECK_INT(hash_crc32c_plain(0, "123456789", 9), 0xe3069283);
    unsigned char bytes[32] = {0};
    CHECK_INT(hash_crc32c(0, bytes, 32), 0x8a9136aa); /* RFC 3720, B.4 */
    memset(bytes, 0xff, 32);
    CHECK_INT(hash_crc32c(0, bytes, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    CHECK_INT(hash_crc32c(0, bytes, 32), 0x46dd794e);
    CHECK_INT(hash_crc32(0, NULL, 0), 0);
    CHECK_INT(hash_crc32c(0, NULL, 0), 0);
}

static void checksums_continue_and_agree(void)
{
    unsigned char bytes[300];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 37 + i / 7);
    for (size_t start = 0; start < 9; start++) {
        for (size_t n = 0; start + n <= sizeof(bytes); n += 13) {
            uint32_t whole = hash_crc32c(0, bytes + start, n);
            CHECK_INT(whole, hash_crc32c_plain(0, bytes + start, n));
            uint32_t part = hash_crc32c(0, bytes + start, n / 3);
            CHECK_INT(whole, hash_crc32c(part, bytes + start + n / 3, n - n / 3));
            CHECK_INT(whole, hash_crc32c_join(
                                 part, hash_crc32c(0, bytes + start + n / 3, n - n / 3),
                                 n - n / 3));
            part = hash_crc32(0, bytes + start, n / 3);
            CHECK_INT(hash_crc32(0, bytes + start, n),
                      hash_crc32(part, bytes + start + n / 3, n - n / 3));
        }
    }
}

static const struct tap_case cases[] = {
    TAP(std_hash_is_that_of_libstdcxx),
    TAP(std_hash_fills_the_recorded_buckets),
    TAP(std_hash_follows_its_definition_at_every_length),
    TAP(farm_hash_fills_the_recorded_buckets),
    TAP(farm_hash_is_right_in_every_class_of_length),
    TAP(xxh3_is_the_published_one),
    TAP(checksums_have_their_check_values),
    TAP(checksums_continue_and_agree),
};
TAP_MAIN(cases)
