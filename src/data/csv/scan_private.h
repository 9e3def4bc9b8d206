/* SPDX-License-Identifier: Apache-2.0 */
/* data/csv/scan_private.h - the scan in blocks of 64 bytes, one body for every width.
 *
 * Who includes it has defined masks_of() (four bit masks of 64 bytes) and emit() (the
 * positions of the set bits, plus one) and writes SCAN_BODY(name).
 */
#ifndef DATA_CSV_SCAN_PRIVATE_H
#define DATA_CSV_SCAN_PRIVATE_H

#include <string.h>

#include "base/compiler.h"
#include "data/csv/scan.h"

struct masks {
    uint64_t line;  /* line ends */
    uint64_t sep;   /* line ends and delimiters */
    uint64_t quote; /* also when quoting is off */
    uint64_t high;  /* bytes >= 0x80 */
};

#ifdef CSV_SCAN_X86
csv_scan_fn csv_scan_sse2, csv_scan_avx2, csv_scan_avx512;
#endif

/* The separators outside quotes among n <= 64 bytes that hold a quote or start inside
 * quotes; moves the state over them.
 */
uint64_t csv_scan_quoted(struct csv_scan *s, const unsigned char *p, unsigned n,
                         const struct masks *m);

#define SCAN_BODY(name)                                                                \
    static inline size_t scan_block(struct csv_scan *s, const unsigned char *p,        \
                                    unsigned n, struct masks m, size_t at,             \
                                    uint32_t *out)                                     \
    {                                                                                  \
        uint64_t sep = m.sep;                                                          \
        s->saw_high |= m.high != 0;                                                    \
        if (s->quoting && UNLIKELY(m.quote != 0 || s->in_quotes))                      \
            sep = csv_scan_quoted(s, p, n, &m);                                        \
        else                                                                           \
            s->may_open = sep >> (n - 1) & 1;                                          \
        s->n_lines += (size_t)POPCOUNT64(sep & m.line);                                \
        s->n_breaks += (size_t)POPCOUNT64(m.line);                                     \
        return emit(out, (uint32_t)at, sep);                                           \
    }                                                                                  \
    void name(struct csv_scan *scan, const unsigned char *p, size_t n, uint32_t *out)  \
    {                                                                                  \
        struct csv_scan s = *scan;                                                     \
        uint32_t *to = out;                                                            \
        size_t i = 0;                                                                  \
        for (; i + 64 <= n; i += 64)                                                   \
            to += scan_block(&s, p + i, 64, masks_of(p + i, s.delim, s.quote), i, to); \
        if (i < n) {                                                                   \
            unsigned char last[64] = {0};                                              \
            unsigned rest = (unsigned)(n - i);                                         \
            memcpy(last, p + i, rest);                                                 \
            struct masks m = masks_of(last, s.delim, s.quote);                         \
            uint64_t real = ((uint64_t)1 << rest) - 1;                                 \
            m.sep &= real;                                                             \
            m.line &= real;                                                            \
            m.quote &= real;                                                           \
            to += scan_block(&s, last, rest, m, i, to);                                \
        }                                                                              \
        s.n_fields += (size_t)(to - out);                                              \
        *scan = s;                                                                     \
    }

/* Eight at a time: most blocks hold few separators, so the later rounds are skipped. */
static inline size_t csv_emit_scalar(uint32_t *out, uint32_t at, uint64_t mask)
{
    size_t n = (size_t)POPCOUNT64(mask);
    for (size_t k = 0; k < n; k += 8) {
        for (size_t i = 0; i < 8; i++) {
            out[k + i] = at + 1 + (uint32_t)CTZ64(mask | (uint64_t)1 << 63);
            mask &= mask - 1;
        }
    }
    return n;
}

#endif
