/* SPDX-License-Identifier: Apache-2.0 */
/* The fast integer kernels against the plain one, and that against num_i64(). */
#include "base/cpu.h"
#include "data/csv/csv_private.h"
#include "data/csv/num.h"
#include "tap.h"

#define ROWS 200

static uint64_t next_random(uint64_t *x)
{
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return *x >> 33;
}

static size_t random_field(char *to, uint64_t *x)
{
    static const char *const odd[] = {"-",     "--1",       "1-",        "x",
                                      "+5",    " 1",        "1x",        "NA",
                                      "\"1\"", "123456789", "-12345678", ":"};
    uint64_t r = next_random(x);
    switch (r % 10) {
    case 0:
        return 0;
    case 1:
        return (size_t)snprintf(to, 32, "%s", odd[next_random(x) % 12]);
    case 2:
        return (size_t)snprintf(to, 32, "-%u", (unsigned)(r % 10000000));
    default:
        return (size_t)snprintf(to, 32, "%u", (unsigned)(r % 100000000) >> r % 27);
    }
}

struct kernel {
    const char *name;
    csv_ints_fn *i32, *i64;
};

static void check_kernel(const struct kernel *k, const struct csv_rows *rows)
{
    int32_t small[ROWS + 1];
    int64_t big[ROWS + 1];
    uint64_t valid[2][CSV_SLICE / 64];
    uint32_t slow[2][CSV_SLICE + 1];
    small[rows->n] = 77;
    big[rows->n] = 77;
    size_t n = k->i64(rows, big, valid[0], slow[0]), at = 0;
    CHECK_INT(k->i32(rows, small, valid[1], slow[1]), n);
    CHECK(small[rows->n] == 77 && big[rows->n] == 77);
    CHECK(memcmp(slow[0], slow[1], n * sizeof(uint32_t)) == 0);
    for (size_t i = 0; i < rows->n; i++) {
        const uint32_t *t = rows->table + i * rows->stride;
        const char *p = (const char *)rows->text + t[0];
        size_t len = t[1] - t[0] - 1;
        int64_t want = 0;
        bool bit = valid[0][i / 64] >> i % 64 & 1;
        CHECK(bit == (valid[1][i / 64] >> i % 64 & 1));
        if (at < n && slow[0][at] == i) {
            CHECK(bit == (len != 0));
            CHECK(len > 7 || num_i64(p, len, &want) != NUM_OK || p[0] == '+');
            at++;
            continue;
        }
        CHECK(bit == (len != 0));
        CHECK(len == 0 || num_i64(p, len, &want) == NUM_OK);
        CHECK_INT(big[i], want);
        CHECK_INT(small[i], want);
    }
    CHECK_INT(at, n);
    for (size_t i = rows->n; i % 64; i++)
        CHECK(!(valid[0][i / 64] >> i % 64 & 1));
}

static void kernels_agree_with_the_plain_parser(void)
{
    static const struct kernel kernels[] = {
        {"ref", csv_ints_i32_ref, csv_ints_i64_ref},
#ifdef CSV_SCAN_X86
        {"avx512", csv_ints_i32_avx512, csv_ints_i64_avx512},
#endif
    };
    static char text[ROWS * 64 + CSV_SCAN_PAD];
    uint32_t table[ROWS * 3 + 1];
    uint64_t x = 9;
    size_t n_kernels = cpu_level() >= CPU_LEVEL_AVX512 ? ARRAY_LEN(kernels) : 1;
    for (int round = 0; round < 2000 && !tap_failed; round++) {
        size_t n = next_random(&x) % ROWS, at = 0, stride = 1 + next_random(&x) % 3;
        char delim = round % 7 ? ',' : '-';
        table[0] = 0;
        for (size_t i = 0; i < n * stride; i++) {
            at += random_field(text + at, &x);
            text[at++] = delim;
            table[i + 1] = (uint32_t)at;
        }
        memset(text + at, '7', CSV_SCAN_PAD);
        struct csv_rows rows = {.text = (unsigned char *)text,
                                .table = table,
                                .stride = stride,
                                .n = n,
                                .quote = '"'};
        for (size_t k = 0; k < n_kernels; k++)
            check_kernel(&kernels[k], &rows);
    }
}

#ifdef CSV_SCAN_X86
static size_t eight_or_other(char *to, uint64_t *x, unsigned odd)
{
    size_t n = next_random(x) % odd == 0 ? next_random(x) % 20
               : next_random(x) % 5      ? 8
                                         : 0;
    for (size_t i = 0; i < n; i++)
        to[i] = (char)('a' + next_random(x) % 26);
    return n;
}

/* Whole groups of eight up to the first odd one; what is behind them stays. */
static void check_eights(const struct csv_rows *rows)
{
    static char to[ROWS * 20 + 16];
    int32_t offsets[ROWS + 2], at = 3;
    memset(to, '#', sizeof(to));
    memset(offsets, -1, sizeof(offsets));
    offsets[0] = at;
    size_t done = csv_eights_avx512(rows, to, offsets);
    CHECK(done % 8 == 0 && done <= rows->n);
    for (size_t i = 0; i < rows->n; i++) {
        const uint32_t *t = rows->table + i * rows->stride;
        int32_t len = (int32_t)(t[1] - t[0] - 1);
        if (i < done) {
            CHECK(len == 0 || len == 8);
            CHECK(memcmp(to + at, rows->text + t[0], (size_t)len) == 0);
            at += len;
            CHECK_INT(offsets[i + 1], at);
        }
    }
    CHECK(to[at] == '#' && to[2] == '#' && offsets[done + 1] == -1);
    bool stopped = done + 8 > rows->n;
    for (size_t i = done; i < done + 8 && i < rows->n; i++) {
        const uint32_t *t = rows->table + i * rows->stride;
        stopped = stopped || (t[1] - t[0] != 1 && t[1] - t[0] != 9);
    }
    CHECK(stopped);
}

static void texts_of_eight_bytes_are_gathered(void)
{
    static char text[ROWS * 3 * 32 + CSV_SCAN_PAD];
    uint32_t table[ROWS * 3 + 1];
    uint64_t x = 4;
    if (cpu_level() < CPU_LEVEL_AVX512) {
        tap_skip("no AVX-512");
        return;
    }
    for (int round = 0; round < 2000 && !tap_failed; round++) {
        size_t n = next_random(&x) % ROWS, at = 0, stride = 1 + next_random(&x) % 3;
        table[0] = 0;
        for (size_t i = 0; i < n * stride; i++) {
            at += eight_or_other(text + at, &x, round % 3 ? 1000 : 20);
            text[at++] = ',';
            table[i + 1] = (uint32_t)at;
        }
        struct csv_rows rows = {.text = (unsigned char *)text,
                                .table = table,
                                .stride = stride,
                                .n = n,
                                .quote = '"'};
        check_eights(&rows);
    }
}
#endif

static const struct tap_case cases[] = {
#ifdef CSV_SCAN_X86
    TAP(texts_of_eight_bytes_are_gathered),
#endif
    TAP(kernels_agree_with_the_plain_parser),
};
TAP_MAIN(cases)
