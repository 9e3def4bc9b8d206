/* SPDX-License-Identifier: Apache-2.0 */
/* base/utf8.h - the few things that text code must know about UTF-8. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the valid sequence at `s` (1 to 4), 0 when there is none: cut short, overlong,
 * surrogate or beyond U+10FFFF. `n` is at least 1.
 */
size_t utf8_len(const char *s, size_t n);
/* Writes the sequence of `c` and returns its bytes; 0 when `c` is no character. */
size_t utf8_put(uint32_t c, char out[4]);
/* Characters in n bytes of valid UTF-8. */
size_t utf8_count(const char *s, size_t n);
/* For a terminal: every byte of a control character becomes '?', in place, also those of
 * eight bits. Line feeds and tabs stay; so do colours (ESC [ ... m) when `colours`.
 */
void utf8_hide_controls(char *s, size_t n, bool colours);

#endif
