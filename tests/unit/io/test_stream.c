/* SPDX-License-Identifier: Apache-2.0 */
#include "io/stream.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/str.h"
#include "tap.h"

#define BIG ((size_t)5 << 20)

static char *big_text(void)
{
    char *p = mem_alloc(BIG);
    uint64_t x = 42;
    for (size_t i = 0; i < BIG; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        p[i] = (char)('a' + (x >> 60));
    }
    return p;
}

static size_t gzip_add(unsigned char *to, size_t cap, const void *p, size_t n)
{
    z_stream z = {0};
    CHECK(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)p;
    z.avail_in = (uInt)n;
    z.next_out = to;
    z.avail_out = (uInt)cap;
    CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
    deflateEnd(&z);
    return z.total_out;
}

static void check_all(struct stream *s, const char *want, size_t n, size_t step)
{
    char *got = mem_alloc(n + step);
    size_t at = 0, k = 0;
    do {
        CHECK(stream_read(s, got + at, step, &k, NULL) == RC_OK);
        at += k;
    } while (k == step && at < n + 1);
    CHECK_INT(at, n);
    CHECK(memcmp(got, want, n) == 0);
    CHECK_INT(stream_tell(s), n);
    mem_free(got);
}

static void write_file(char *path, const void *p, size_t n)
{
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, p, n) == (ssize_t)n);
    close(fd);
}

static void plain_gzip_and_zstd_are_told_by_their_bytes(void)
{
    int64_t live = mem_live();
    char *text = big_text();
    unsigned char *z = mem_alloc(BIG * 2);
    size_t n = gzip_add(z, BIG * 2, text, BIG / 2);
    n += gzip_add(z + n, BIG * 2 - n, text + BIG / 2, BIG - BIG / 2); /* two members */
    static const size_t steps[] = {BIG + 5, 1000003, 4096};
    for (size_t i = 0; i < 3; i++) {
        struct stream *s = NULL;
        CHECK(stream_open_memory("m", z, n, &s, NULL) == RC_OK);
        CHECK(stream_kind(s) == STREAM_GZIP);
        check_all(s, text, BIG, steps[i]);
        stream_close(s);
        CHECK(stream_open_memory("m", text, BIG, &s, NULL) == RC_OK);
        CHECK(stream_kind(s) == STREAM_PLAIN);
        check_all(s, text, BIG, steps[i]);
        stream_close(s);
    }
    n = ZSTD_compress(z, BIG * 2, text, BIG / 2, 1);
    n += ZSTD_compress(z + n, BIG * 2 - n, text + BIG / 2, BIG - BIG / 2, 1);
    struct stream *s = NULL;
    CHECK(stream_open_memory("m", z, n, &s, NULL) == RC_OK);
    CHECK(stream_kind(s) == STREAM_ZSTD);
    check_all(s, text, BIG, 65537);
    stream_close(s);
    mem_free(z);
    mem_free(text);
    CHECK_INT(mem_live(), live);
}

static void reading_ahead_gives_the_same_bytes(void)
{
    char path[] = "/tmp/ty-stream-XXXXXX";
    char *text = big_text();
    unsigned char *z = mem_alloc(BIG * 2);
    write_file(path, z, gzip_add(z, BIG * 2, text, BIG));
    for (int ahead = 0; ahead <= 3; ahead++) {
        struct stream *s = NULL;
        CHECK(stream_open(path, ahead, &s, NULL) == RC_OK);
        check_all(s, text, BIG, 70001);
        CHECK(stream_seek(s, 3000000, NULL) == RC_OK); /* behind: starts again */
        char some[100];
        size_t got = 0;
        CHECK(stream_read(s, some, 100, &got, NULL) == RC_OK && got == 100);
        CHECK(memcmp(some, text + 3000000, 100) == 0);
        CHECK(stream_seek(s, 5000000, NULL) == RC_OK);
        CHECK(stream_read(s, some, 100, &got, NULL) == RC_OK && got == 100);
        CHECK(memcmp(some, text + 5000000, 100) == 0);
        stream_close(s); /* with chunks still full */
    }
    unlink(path);
    mem_free(z);
    mem_free(text);
}

static void plain_files_seek_and_say_their_size(void)
{
    char path[] = "/tmp/ty-stream-XXXXXX";
    char *text = big_text();
    struct stream *s = NULL;
    struct err err = {0};
    write_file(path, text, BIG);
    CHECK(stream_open(path, 4, &s, NULL) == RC_OK);
    CHECK_INT(stream_raw_size(s), BIG);
    check_all(s, text, BIG, 1 << 20);
    static const int64_t at[] = {0, 4711, BIG - 50, 17};
    for (size_t i = 0; i < 4; i++) {
        char some[50];
        size_t got = 0;
        CHECK(stream_seek(s, at[i], NULL) == RC_OK);
        CHECK(stream_read(s, some, 50, &got, NULL) == RC_OK && got == 50);
        CHECK(memcmp(some, text + at[i], 50) == 0);
        CHECK_INT(stream_tell(s), at[i] + 50);
    }
    CHECK(stream_seek(s, BIG + 1, &err) == RC_INVAL);
    char want[200];
    snprintf(want, sizeof(want), "'%s': position %zu is outside its %zu bytes", path,
             BIG + 1, BIG);
    CHECK_STR(err.msg, want);
    stream_close(s);
    unlink(path);
    mem_free(text);
}

static void empty_input_is_plain_and_empty(void)
{
    struct stream *s = NULL;
    char c;
    size_t got = 1;
    CHECK(stream_open_memory("m", "", 0, &s, NULL) == RC_OK);
    CHECK(stream_kind(s) == STREAM_PLAIN);
    CHECK(stream_read(s, &c, 1, &got, NULL) == RC_OK && got == 0);
    stream_close(s);
}

static void missing_files_and_directories_are_named(void)
{
    struct stream *s = NULL;
    struct err err = {0};
    CHECK(stream_open("/no/such/file.gz", 0, &s, &err) == RC_NOTFOUND);
    CHECK_STR(err.msg, "cannot open '/no/such/file.gz': No such file or directory");
    CHECK(stream_open("/tmp", 0, &s, &err) == RC_IO);
    CHECK_STR(err.msg, "cannot open '/tmp': Is a directory");
    CHECK(s == NULL);
}

static enum rc drain(const void *p, size_t n, int ahead, struct err *err)
{
    char path[] = "/tmp/ty-stream-XXXXXX", some[4096];
    struct stream *s = NULL;
    write_file(path, p, n);
    size_t got = sizeof(some);
    enum rc rc = stream_open(path, ahead, &s, err);
    while (rc == RC_OK && got == sizeof(some))
        rc = stream_read(s, some, sizeof(some), &got, err);
    stream_close(s);
    unlink(path);
    return rc;
}

static void cut_and_damaged_input_is_an_error_at_every_length(void)
{
    char text[20000];
    unsigned char z[40000];
    struct err err = {0};
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)('a' + i * i % 23);
    size_t n = gzip_add(z, sizeof(z), text, sizeof(text));
    for (size_t cut = 3; cut < n; cut += n / 20 + 1)
        for (int ahead = 0; ahead < 2; ahead++) {
            err = (struct err){0};
            CHECK(drain(z, cut, ahead, &err) == RC_FORMAT);
            CHECK(err.code == E1141);
            CHECK_HAS(err.msg, "the gzip data ends in the middle, at byte");
        }
    z[n / 2] ^= 0x55;
    CHECK(drain(z, n, 0, &err) == RC_FORMAT);
    CHECK(err.code == E1140);
    CHECK_HAS(err.msg, "damaged gzip data near byte");

    n = ZSTD_compress(z, sizeof(z), text, sizeof(text), 1);
    for (size_t cut = 5; cut < n; cut += n / 20 + 1) {
        CHECK(drain(z, cut, 1, &err) == RC_FORMAT);
        CHECK_HAS(err.msg, "the zstd data ends in the middle, at byte");
    }
    z[4] = 0xff;
    z[5] = 0xff;
    CHECK(drain(z, n, 0, &err) == RC_FORMAT);
    CHECK_HAS(err.msg, "damaged zstd data near byte");
}

static void padding_behind_gzip_is_ignored(void)
{
    unsigned char z[1000] = {0};
    struct stream *s = NULL;
    size_t n = gzip_add(z, sizeof(z), "hello", 5);
    CHECK(stream_open_memory("m", z, n + 100, &s, NULL) == RC_OK);
    check_all(s, "hello", 5, 3);
    stream_close(s);
}

static void no_memory_is_reported_and_nothing_leaks(void)
{
    char path[] = "/tmp/ty-stream-XXXXXX";
    unsigned char z[1000];
    write_file(path, z, gzip_add(z, sizeof(z), "hello", 5));
    int64_t live = mem_live();
    enum rc rc = RC_NOMEM;
    int tries = 0;
    while (rc == RC_NOMEM && tries++ < 50) {
        struct stream *s = NULL;
        struct err err = {0};
        mem_fail_at(tries);
        rc = stream_open(path, 2, &s, &err);
        if (rc == RC_OK)
            rc = stream_seek(s, 5, &err);
        mem_fail_at(0);
        CHECK(rc == RC_OK || err.msg[0]);
        stream_close(s);
        CHECK_INT(mem_live(), live);
    }
    CHECK(rc == RC_OK && tries > 3);
    unlink(path);
}

static const struct tap_case cases[] = {
    TAP(plain_gzip_and_zstd_are_told_by_their_bytes),
    TAP(reading_ahead_gives_the_same_bytes),
    TAP(plain_files_seek_and_say_their_size),
    TAP(empty_input_is_plain_and_empty),
    TAP(missing_files_and_directories_are_named),
    TAP(cut_and_damaged_input_is_an_error_at_every_length),
    TAP(padding_behind_gzip_is_ignored),
    TAP(no_memory_is_reported_and_nothing_leaks),
};
TAP_MAIN(cases)
