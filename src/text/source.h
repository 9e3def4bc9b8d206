/* SPDX-License-Identifier: Apache-2.0 */
/* text/source.h - the text that a tree was read from, kept for messages that point into
 * it. */
#ifndef TEXT_SOURCE_H
#define TEXT_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define SOURCE_MAX ((size_t)64 << 20) /* bytes of one configuration file */

struct source {
    char *name; /* owned: a path, or what else a person knows it by, such as "--set" */
    char *text; /* owned, NUL-terminated */
    size_t n;
    uint32_t *lines; /* owned: offset of each line's first byte */
    size_t n_lines;
};

/* A stretch of a source. A zeroed one points nowhere. */
struct span {
    const struct source *src; /* borrowed, may be NULL */
    uint32_t off, len;
};

/* Reads a file. RC_NOTFOUND, RC_IO, RC_FORMAT (not UTF-8, a NUL byte, more than
 * SOURCE_MAX). */
enum rc source_open(const char *path, struct source **out, struct err *err) MUST_CHECK;
/* Copies `text`; the same checks. */
enum rc source_from(const char *name, const char *text, size_t n, struct source **out,
                    struct err *err) MUST_CHECK;
void source_close(struct source *s); /* NULL is fine */

/* Line and column, both from 1; the column counts characters, not bytes. */
void source_locate(const struct source *s, uint32_t off, uint32_t *line, uint32_t *col);
/* Line `line` (from 1) without its end; empty when there is none. Borrowed. */
struct str source_line(const struct source *s, uint32_t line);

#endif
