/* SPDX-License-Identifier: Apache-2.0 */
/* From a value to its id, the innermost loop of features. Hashing takes the modulus by
 * multiplication (the magic number is worked out once), and whole numbers are hashed as
 * the decimal text that they stand for, which is made in registers. Texts of eight bytes
 * have a loop of their own that AVX-512 takes eight at a time; bucket_eights_ref() is
 * what it is compared with. Boundaries are counted while they are few and searched for
 * when they are many.
 */
#include "feature/bucket.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/cpu.h"
#include "base/hash.h"
#include "base/mem.h"

void bucket_release(struct fg_bucket *b)
{
    vocab_release(&b->vocab);
    mem_free(b->bounds);
    *b = (struct fg_bucket){0};
}

/* Granlund and Montgomery, "Division by invariant integers using multiplication", for all
 * dividends: magic is floor(2^64 * (2^l - n) / n) + 1 with l = ceil(log2 n).
 */
void bucket_set_hash(struct fg_bucket *b, uint64_t n)
{
    unsigned l = n > 1 ? 64 - (unsigned)CLZ64(n - 1) : 0;
    uint64_t rest = (l < 64 ? (uint64_t)1 << l : 0) - n, q = 0;
    b->kind = BUCKET_HASH;
    b->n = n;
    b->shift = l ? l - 1 : 0;
    for (int i = 0; i < 64; i++) {
        bool carry = rest >> 63;
        rest <<= 1;
        q <<= 1;
        if (carry || rest >= n) {
            rest -= n;
            q |= 1;
        }
    }
    b->magic = n > 1 ? q + 1 : 0;
}

static int64_t hashed(const struct fg_bucket *b, struct str s)
{
    return bucket_modulo(b, LIKELY(!b->farm) ? hash_std(s.p, s.n) : hash_farm(s.p, s.n));
}

void bucket_eights_ref(const struct fg_bucket *b, const char *text, int64_t n,
                       int64_t *ids)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t word;
        memcpy(&word, text + 8 * i, sizeof(word));
        ids[i] = bucket_modulo(b, hash_std_words(word, 0, 8));
    }
}

void bucket_eights(const struct fg_bucket *b, const char *text, int64_t n, int64_t *ids)
{
#ifdef __x86_64__
    if (cpu_level() >= CPU_LEVEL_AVX512) {
        bucket_eights_avx512(b, text, n, ids);
        return;
    }
#endif
    bucket_eights_ref(b, text, n, ids);
}

static int64_t known(const struct fg_bucket *b, struct str s)
{
    int64_t id = vocab_find(&b->vocab, s);
    return id < 0 ? b->unknown : id;
}

/* Few bounds are the rule: counting beats searching until there are some dozens. */
static int64_t bounded(const struct fg_bucket *b, float v)
{
    int64_t lo = 0, hi = b->n_bounds;
    if (isnan(v))
        return 0;
    while (hi - lo > 16) {
        int64_t mid = lo + (hi - lo) / 2;
        if (b->bounds[mid] <= v)
            lo = mid + 1;
        else
            hi = mid;
    }
    int64_t n = lo;
    for (int64_t i = lo; i < hi; i++)
        n += b->bounds[i] <= v;
    return n;
}

bool bucket_parse(struct str s, int64_t *v, bool *over)
{
    size_t i = s.n && (*s.p == '-' || *s.p == '+');
    bool neg = s.n && *s.p == '-';
    uint64_t n = 0;
    *over = false;
    if (i == s.n)
        return false;
    for (; i < s.n; i++) {
        unsigned d = (unsigned)(unsigned char)s.p[i] - '0';
        if (d > 9)
            return false;
        *over = *over || n > (UINT64_MAX - d) / 10;
        n = n * 10 + d;
    }
    *over = *over || n > (uint64_t)INT64_MAX + neg;
    *v = neg ? (int64_t)(0 - n) : (int64_t)n;
    return true;
}

bool bucket_text(const struct fg_bucket *b, struct str s, int64_t *id)
{
    double number;
    bool over;
    switch (b->kind) {
    case BUCKET_HASH:
        *id = hashed(b, s);
        return true;
    case BUCKET_VOCAB:
        *id = known(b, s);
        return true;
    case BUCKET_BOUNDS:
        if (!str_to_f64(s, &number))
            return false;
        *id = bounded(b, (float)number);
        return true;
    case BUCKET_NUM:
        if (!bucket_parse(s, id, &over))
            return false;
        if (over || *id < 0 || (uint64_t)*id >= b->n)
            *id = BUCKET_OUTSIDE;
        return true;
    case BUCKET_NONE:
        break;
    }
    return false;
}

static size_t digits_of(uint64_t u)
{
    static const uint64_t tens[] = {0,
                                    10,
                                    100,
                                    1000,
                                    10000,
                                    100000,
                                    1000000,
                                    10000000,
                                    100000000,
                                    1000000000,
                                    10000000000,
                                    100000000000,
                                    1000000000000,
                                    10000000000000,
                                    100000000000000,
                                    1000000000000000,
                                    10000000000000000,
                                    100000000000000000,
                                    1000000000000000000,
                                    10000000000000000000u};
    unsigned bits = 64 - (unsigned)CLZ64(u | 1);
    unsigned guess = bits * 1233 >> 12; /* bits * log10(2) */
    return guess + (u >= tens[guess]);
}

size_t bucket_digits(int64_t v, char *out)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    size_t n = digits_of(u) + (v < 0);
    char *at = out + n;
    for (; u >= 100; u /= 100) {
        at -= 2;
        memcpy(at, pairs + u % 100 * 2, 2);
    }
    if (u >= 10)
        memcpy(at - 2, pairs + u * 2, 2);
    else
        at[-1] = (char)('0' + u);
    if (v < 0)
        out[0] = '-';
    return n;
}

/* Eight decimal digits of u < 10^8 as bytes 0 to 9, the first one lowest. */
static uint64_t eight_digits(uint64_t u)
{
    uint64_t fours = u / 10000 | (u % 10000) << 32;
    uint64_t twos = fours * 10486 >> 20 & 0x0000007f0000007f;
    twos |= (fours - 100 * twos) << 16;
    uint64_t ones = twos * 103 >> 10 & 0x000f000f000f000f;
    return ones | (twos - 10 * ones) << 8;
}

/* hash_std() of the decimal digits of u < 10^16, which never leave the registers. */
static uint64_t hash_digits(uint64_t u)
{
    const uint64_t ascii = 0x3030303030303030;
    unsigned n = (unsigned)digits_of(u);
    if (n <= 8)
        return hash_std_words((eight_digits(u) | ascii) >> (64 - 8 * n), 0, n);
    unsigned first = 8 * (n - 8);
    uint64_t a = (eight_digits(u / 100000000) | ascii) >> (64 - first);
    uint64_t b = eight_digits(u % 100000000) | ascii;
    return first == 64 ? hash_std_words(a, b, n)
                       : hash_std_words(a | b << first, b >> (64 - first), n);
}

int64_t bucket_i64(const struct fg_bucket *b, int64_t v)
{
    char text[24];
    switch (b->kind) {
    case BUCKET_NUM:
        return v < 0 || (uint64_t)v >= b->n ? BUCKET_OUTSIDE : v;
    case BUCKET_BOUNDS:
        return bounded(b, (float)v);
    case BUCKET_HASH:
        if (LIKELY((uint64_t)v < 10000000000000000 && !b->farm))
            return bucket_modulo(b, hash_digits((uint64_t)v));
        return hashed(b, str_of(text, bucket_digits(v, text)));
    case BUCKET_VOCAB:
        return known(b, str_of(text, bucket_digits(v, text)));
    case BUCKET_NONE:
        break;
    }
    return v;
}

int64_t bucket_f64(const struct fg_bucket *b, double v)
{
    char text[32];
    switch (b->kind) {
    case BUCKET_BOUNDS:
        return bounded(b, (float)v);
    case BUCKET_NUM: /* a NaN is outside */
        return v > -1.0 && v < (double)b->n && v < 9223372036854775807.0 ? (int64_t)v
                                                                         : BUCKET_OUTSIDE;
    case BUCKET_HASH:
        str_from_f64(v, text);
        return hashed(b, str_c(text));
    case BUCKET_VOCAB:
        str_from_f64(v, text);
        return known(b, str_c(text));
    case BUCKET_NONE:
        break;
    }
    return 0;
}
