/* SPDX-License-Identifier: Apache-2.0 */
/* data/csv/scan.h - where the fields of CSV text end.
 *
 * A quote opens a quoted stretch only at the start of a field; inside it, delimiters and
 * line ends are text, and a doubled quote is one quote. Anywhere else a quote is text
 * (`5" pipe`). The scan only finds structure; whether a closing quote is followed by
 * rubbish is for the reader of the field to see.
 */
#ifndef DATA_CSV_SCAN_H
#define DATA_CSV_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that may be read past the end of the text, and entries of `out` that may be
 * written past the last one.
 */
#define CSV_SCAN_PAD 64

struct csv_scan {
    unsigned char delim;
    unsigned char quote;
    bool quoting;    /* false: quotes are text everywhere */
    bool in_quotes;  /* state before the first and after the last byte */
    bool may_open;   /* a quote here would open: start of a field, or after a quote */
    bool saw_quote;  /* set, never cleared, by the scan */
    bool saw_high;   /* bytes >= 0x80 */
    size_t n_fields; /* ends found */
    size_t n_lines;  /* of these, line ends */
    size_t n_breaks; /* line ends in quotes as well */
};

/* For text that starts at the start of a field. */
static inline struct csv_scan csv_scan_start(char delim, char quote, bool quoting)
{
    return (struct csv_scan){.delim = (unsigned char)delim,
                             .quote = (unsigned char)quote,
                             .quoting = quoting,
                             .may_open = true};
}

/* Writes the position after each delimiter and line end outside quotes to `out`, that is
 * where the next field starts. `out` has room for n + CSV_SCAN_PAD entries; n is below
 * 2^32 - 64.
 */
typedef void csv_scan_fn(struct csv_scan *s, const unsigned char *p, size_t n,
                         uint32_t *out);

csv_scan_fn csv_scan_ref; /* byte by byte: the definition */

struct csv_scan_kind {
    const char *name; /* "ref", "sse2", "avx2", "avx512" */
    csv_scan_fn *fn;
};
/* The ones this machine can run, slowest first; the last is the one to use. */
size_t csv_scan_kinds(struct csv_scan_kind out[4]);
csv_scan_fn *csv_scan_best(void);

#endif
