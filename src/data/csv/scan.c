/* SPDX-License-Identifier: Apache-2.0 */
/* Without quotes the structure is the bytes themselves, and a block of 64 costs two
 * comparisons. With quotes, the parity of quotes seen so far says what is inside
 * (prefix xor); that is right as long as every quote that opens stands where it may,
 * which is checked with shifts. A block where one does not (a quote within bare text) is
 * walked byte by byte. The state between blocks is three-valued: in quotes, a quote
 * would open, plain text.
 */
#include "base/cpu.h"
#include "data/csv/scan_private.h"

static inline bool scan_byte(struct csv_scan *s, unsigned char c)
{
    bool quote = s->quoting && c == s->quote;
    if (s->in_quotes) {
        if (quote) {
            s->in_quotes = false;
            s->may_open = true;
        }
        return false;
    }
    if (quote && s->may_open) {
        s->in_quotes = true;
        s->may_open = false;
        return false;
    }
    s->may_open = c == s->delim || c == '\n';
    return s->may_open;
}

void csv_scan_ref(struct csv_scan *s, const unsigned char *p, size_t n, uint32_t *out)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        s->saw_quote |= s->quoting && p[i] == s->quote;
        s->saw_high |= p[i] >= 0x80;
        s->n_breaks += p[i] == '\n';
        if (scan_byte(s, p[i])) {
            out[k++] = (uint32_t)i + 1;
            s->n_lines += p[i] == '\n';
        }
    }
    s->n_fields += k;
}

static inline uint64_t prefix_xor(uint64_t x)
{
    for (unsigned shift = 1; shift < 64; shift *= 2)
        x ^= x << shift;
    return x;
}

uint64_t csv_scan_quoted(struct csv_scan *s, const unsigned char *p, unsigned n,
                         const struct masks *m)
{
    uint64_t inside = prefix_xor(m->quote) ^ (s->in_quotes ? ~(uint64_t)0 : 0);
    uint64_t sep = m->sep & ~inside;
    uint64_t closing = m->quote & ~inside, opening = m->quote & inside;
    uint64_t edge = sep | closing;
    s->saw_quote = true;
    if (UNLIKELY(opening & ~(edge << 1 | (s->may_open ? 1 : 0)))) {
        sep = 0;
        for (unsigned i = 0; i < n; i++)
            sep |= (uint64_t)scan_byte(s, p[i]) << i;
        return sep;
    }
    s->in_quotes = inside >> (n - 1) & 1;
    s->may_open = edge >> (n - 1) & 1;
    return sep;
}

size_t csv_scan_kinds(struct csv_scan_kind out[4])
{
    size_t n = 0;
    out[n++] = (struct csv_scan_kind){"ref", csv_scan_ref};
#ifdef CSV_SCAN_X86
    out[n++] = (struct csv_scan_kind){"sse2", csv_scan_sse2};
    if (cpu_has(CPU_AVX2) && cpu_has(CPU_BMI2))
        out[n++] = (struct csv_scan_kind){"avx2", csv_scan_avx2};
    if (cpu_level() >= CPU_LEVEL_AVX512 && cpu_has(CPU_AVX512VBMI) &&
        cpu_has(CPU_AVX512_VBMI2))
        out[n++] = (struct csv_scan_kind){"avx512", csv_scan_avx512};
#endif
    return n;
}

csv_scan_fn *csv_scan_best(void)
{
    struct csv_scan_kind kinds[4];
    return kinds[csv_scan_kinds(kinds) - 1].fn;
}
