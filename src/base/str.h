/* SPDX-License-Identifier: Apache-2.0 */
/* base/str.h - borrowed slices, and a text buffer that grows up to a ceiling. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct str {
    const char *p; /* borrowed, not NUL-terminated */
    size_t n;
};

static inline struct str str_of(const char *p, size_t n)
{
    return (struct str){.p = p, .n = n};
}
struct str str_c(const char *s); /* of a NUL-terminated string */
bool str_eq(struct str a, struct str b);
bool str_is(struct str a, const char *b);
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
struct str str_trim(struct str s); /* blanks, tabs and line ends off both sides */
/* Cuts the part before `sep` off the front of *rest; false when *rest is used up. An
 * empty string yields one empty part.
 */
bool str_split(struct str *rest, char sep, struct str *part);
/* Whether a word is one of the parts; an empty list has none. */
bool str_lists(struct str list, char sep, struct str word);

/* Whole-string conversions: trailing characters, an empty string and values out of range
 * are false, and *out is not touched. Numbers are read in the C locale.
 */
bool str_to_i64(struct str s, int64_t *out) MUST_CHECK;
bool str_to_u64(struct str s, uint64_t *out) MUST_CHECK;
bool str_to_f64(struct str s, double *out) MUST_CHECK; /* also inf, nan in any case */

/* Shortest decimal that reads back as the same number (whole ones without an exponent
 * where it reads well); `out` holds at least 32 bytes.
 */
void str_from_f64(double v, char *out);
void str_from_f32(float v, char *out);

/* Number of single-character edits (insert, delete, replace, swap) from a to b. */
size_t str_distance(struct str a, struct str b);
/* The one of `n` names nearest to `s` if it is near enough to be meant, else NULL. */
const char *str_nearest(struct str s, const char *const *names, size_t n);

/* A text that grows. Growing past `max` bytes or out of memory makes it `failed`: further
 * additions do nothing, and buf_check() reports it once at the end.
 */
struct buf {
    char *p;       /* owned, NUL-terminated once anything was added */
    size_t n, cap; /* bytes without the NUL; room */
    size_t max;    /* ceiling for n */
    bool failed;
};

void buf_init(struct buf *b, size_t max);
void buf_release(struct buf *b);
void buf_clear(struct buf *b); /* keeps the memory, forgets the failure */
void buf_add(struct buf *b, const void *p, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* As a JSON string, quotes included; bytes that are not UTF-8 become U+FFFD. */
void buf_json_str(struct buf *b, const char *s, size_t n);
void buf_pad(struct buf *b, size_t n); /* with blanks */
/* The words of `text`, in lines of up to `width` columns; a line that begins anew does so
 * in column `indent`, where the first one stands already. Ends the last one.
 */
void buf_wrap(struct buf *b, struct str text, size_t indent, size_t width);
enum rc buf_check(const struct buf *b, struct err *err) MUST_CHECK;
const char *buf_str(const struct buf *b); /* "" when empty */
char *buf_take(struct buf *b);            /* the caller's, to mem_free(); "" when empty */

#endif
