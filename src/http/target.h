/* SPDX-License-Identifier: Apache-2.0 */
/* http/target.h - the path and query of a request, as they came over the wire.
 *
 * Every part is decoded once, after it was cut at '/', '&' and '=': an escaped '/' never
 * makes a new part. Anything doubtful is refused: NUL and control characters, escapes
 * that are none, bytes that are not UTF-8, empty parts, "." and "..".
 */
#ifndef HTTP_TARGET_H
#define HTTP_TARGET_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define TARGET_PARTS_MAX 10
#define TARGET_QUERY_MAX 32
#define TARGET_BYTES_MAX 8192

struct http_target_pair {
    const char *name, *value;
};

struct http_target {
    const char *parts[TARGET_PARTS_MAX]; /* "api", "v1", "jobs" */
    size_t n_parts;
    struct http_target_pair query[TARGET_QUERY_MAX];
    size_t n_query;
};

/* Texts lie in `a`. RC_INVAL (E5003). */
enum rc http_target_parse(const char *uri, struct arena *a, struct http_target *out,
                          struct err *err) MUST_CHECK;

#endif
