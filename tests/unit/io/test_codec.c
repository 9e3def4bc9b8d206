/* SPDX-License-Identifier: Apache-2.0 */
#include "io/codec.h"

#include <snappy-c.h>

#include "base/mem.h"
#include "io/snappy.h"
#include "tap.h"

#define SIZE 70000

static uint64_t state = 1;
static uint32_t draw(void)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33);
}

/* Text with repetitions near and far, patterns that overlap themselves, and noise. */
static void make_data(char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t k = 1 + draw() % 90, kind = draw() % 4, back = 1 + draw() % (i + 1);
        if (kind == 0)
            back = 1 + draw() % 20;
        for (; k-- && i < n; i++)
            p[i] = (char)(kind < 3 && back <= i ? p[i - back] : (char)draw());
    }
}

static void every_codec_reads_what_it_writes(void)
{
    static char data[SIZE], packed[SIZE * 2], back[SIZE];
    static const size_t sizes[] = {0, 1, 2, 15, 16, 17, 60, 61, 62, 300, 4095, SIZE};
    struct codec *c = codec_create();
    struct err err = {0};
    make_data(data, SIZE);
    for (int id = 0; id < CODEC_COUNT; id++)
        for (size_t i = 0; codec_can_encode((enum codec_id)id) && i < 12; i++) {
            size_t n = sizes[i], size = 0;
            CHECK(codec_bound((enum codec_id)id, n) <= sizeof(packed));
            CHECK_INT(codec_encode(c, (enum codec_id)id, 0, data, n, packed,
                                   sizeof(packed), &size, &err),
                      RC_OK);
            CHECK(codec_plausible((enum codec_id)id, size, n));
            CHECK_INT(codec_decode(c, (enum codec_id)id, packed, size, back, n, &err),
                      RC_OK);
            CHECK(memcmp(data, back, n) == 0);
            if (n > 1 && id != CODEC_NONE) {
                CHECK_INT(
                    codec_decode(c, (enum codec_id)id, packed, size, back, n - 1, &err),
                    RC_FORMAT);
                CHECK_INT(
                    codec_decode(c, (enum codec_id)id, packed, size - 1, back, n, &err),
                    RC_FORMAT);
                CHECK(err.code == E1010);
            }
        }
    codec_destroy(c);
}

static void names_are_known(void)
{
    enum codec_id id;
    CHECK(codec_find("zstd", &id));
    CHECK_INT(id, CODEC_ZSTD);
    CHECK(!codec_find("rar", &id));
    CHECK_STR(codec_name(CODEC_LZ4_RAW), "lz4");
    CHECK(!codec_can_encode(CODEC_BROTLI));
    CHECK(!codec_plausible(CODEC_SNAPPY, 10, 1 << 20));
    struct err err = {0};
    struct codec *c = codec_create();
    char out[4];
    CHECK_INT(codec_decode(c, CODEC_SNAPPY, "\x04\xff", 2, out, 4, &err), RC_FORMAT);
    CHECK_STR(err.msg, "2 bytes of snappy data do not decompress to 4 bytes");
    codec_destroy(c);
}

static void lz4_in_hadoop_frames_reads(void)
{
    static const char text[] = "abcabcabcabcabcabcabcabcabcabc";
    struct codec *c = codec_create();
    struct err err = {0};
    char framed[200] = {0}, back[60];
    size_t n = sizeof(text) - 1, size = 0, at = 0;
    for (int block = 0; block < 2; block++) {
        CHECK_INT(
            codec_encode(c, CODEC_LZ4_RAW, 0, text, n, framed + at + 8, 90, &size, &err),
            RC_OK);
        framed[at + 3] = (char)n;
        framed[at + 7] = (char)size;
        at += 8 + size;
    }
    CHECK_INT(codec_decode(c, CODEC_LZ4_HADOOP, framed, at, back, 2 * n, &err), RC_OK);
    CHECK(memcmp(back, text, n) == 0 && memcmp(back + n, text, n) == 0);
    CHECK_INT(codec_decode(c, CODEC_LZ4_HADOOP, framed + 8, size, back, n, &err), RC_OK);
    CHECK_INT(codec_decode(c, CODEC_LZ4_HADOOP, framed, at - 1, back, 2 * n, &err),
              RC_FORMAT);
    codec_destroy(c);
}

/* Damaged in one byte, the library and ours agree on what is still a block and on its
 * bytes. */
static void snappy_agrees_with_the_library(void)
{
    static char data[5000], packed[6000], want[5000];
    static uint8_t got[5000 + 64];
    for (int round = 0; round < 3000; round++) {
        size_t n = draw() % (round % 10 ? 300 : sizeof(data)), size = sizeof(packed);
        make_data(data, n);
        CHECK_INT(snappy_compress(data, n, packed, &size), SNAPPY_OK);
        if (round % 2 && size)
            packed[draw() % size] ^= (char)(1 + draw() % 255);
        memset(got, 0xa5, sizeof(got));
        size_t want_n = n;
        bool lib = snappy_uncompressed_length(packed, size, &want_n) == SNAPPY_OK &&
                   want_n == n &&
                   snappy_uncompress(packed, size, want, &want_n) == SNAPPY_OK;
        bool us = snappy_block((const uint8_t *)packed, size, got, n);
        CHECK(us == lib);
        CHECK(!us || memcmp(got, want, n) == 0);
        for (size_t i = 0; i < 64; i++)
            CHECK(got[n + i] == 0xa5);
    }
}

static const struct tap_case cases[] = {
    TAP(every_codec_reads_what_it_writes),
    TAP(names_are_known),
    TAP(lz4_in_hadoop_frames_reads),
    TAP(snappy_agrees_with_the_library),
};
TAP_MAIN(cases)
