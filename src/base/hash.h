/* SPDX-License-Identifier: Apache-2.0 */
/* base/hash.h - hashes of bytes.
 *
 * hash_std() and hash_farm() decide which bucket a feature value falls into, so their
 * values are part of every trained model and never change. All are functions of their
 * bytes alone (NUL included), on every machine; p may be NULL when n is 0.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* What std::hash<std::string> gives with GNU libstdc++ on 64-bit machines. */
uint64_t hash_std(const void *p, size_t n);
/* The same for up to 16 bytes that are in registers: byte i is bits 8i.. of `a`, from the
 * eighth on of `b`; bits beyond n bytes are 0.
 */
static inline uint64_t hash_std_words(uint64_t a, uint64_t b, size_t n)
{
    const uint64_t mul = 0xc6a4a7935bd1e995;
    uint64_t h = 0xc70f6907 ^ n * mul, w;
    if (n >= 8) {
        w = a * mul;
        h = (h ^ (w ^ w >> 47) * mul) * mul;
        a = b;
        n -= 8;
    }
    if (n == 8) {
        w = a * mul;
        h = (h ^ (w ^ w >> 47) * mul) * mul;
    } else if (n) {
        h = (h ^ a) * mul;
    }
    h = (h ^ h >> 47) * mul;
    return h ^ h >> 47;
}
/* FarmHash Fingerprint64, TensorFlow's string_to_hash_bucket_fast before the modulo. */
uint64_t hash_farm(const void *p, size_t n);
/* XXH3, 64 bits: for our own tables and files. */
uint64_t hash_xxh3(const void *p, size_t n);
uint64_t hash_xxh3_seeded(const void *p, size_t n, uint64_t seed);

/* Checksums. Start with crc = 0; pass the result on to continue with more bytes. */
uint32_t hash_crc32(uint32_t crc, const void *p, size_t n);  /* zip, gzip, PNG */
uint32_t hash_crc32c(uint32_t crc, const void *p, size_t n); /* TFRecord, Kafka, iSCSI */
/* hash_crc32c() of two stretches of bytes together, from that of each; `n`: bytes of the second. */
uint32_t hash_crc32c_join(uint32_t first, uint32_t second, uint64_t n);
/* The plain definition of hash_crc32c(), without the instruction made for it. */
uint32_t hash_crc32c_plain(uint32_t crc, const void *p, size_t n);

#endif
