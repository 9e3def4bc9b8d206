/* SPDX-License-Identifier: Apache-2.0 */
/* http/range.h - a file as an answer: whole, or the part that `Range` asks for. */
#ifndef HTTP_RANGE_H
#define HTTP_RANGE_H

#include "http/call.h"

/* Answers with [0, size) of `fd`, which is taken over whatever happens. `tag` (without
 * quotes) tells versions apart: If-None-Match gives 304, a Range with another If-Range the
 * whole file. A range that begins behind the end is 416. Lists of ranges are answered with
 * the whole file, as RFC 9110 allows.
 */
enum rc http_range_answer(struct http_call *c, int fd, int64_t size, const char *tag,
                          struct err *err) MUST_CHECK;

/* The same decision without the file: status and headers; false: there is no body. Else the
 * part [*first, *first + *n) is to be sent.
 */
bool http_range_decide(struct http_call *c, int64_t size, const char *tag, int64_t *first,
                       int64_t *n);

/* "bytes=A-B", "bytes=A-" or "bytes=-N" of `size` bytes. RANGE_NONE: it is to be ignored;
 * RANGE_BAD: it lies outside.
 */
enum http_range { RANGE_NONE, RANGE_GOOD, RANGE_BAD };
enum http_range http_range_parse(const char *text, int64_t size, int64_t *first,
                                 int64_t *n);

#endif
