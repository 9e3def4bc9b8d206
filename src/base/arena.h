/* SPDX-License-Identifier: Apache-2.0 */
/* base/arena.h - memory for things that die together (a parse, a step, a request).
 *
 * A zeroed struct arena is an empty one. Blocks are aligned to 16 bytes and zeroed. Not
 * for use by two threads at once.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

#include "base/compiler.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *chunk; /* newest; older ones follow it */
    size_t used;               /* bytes taken of the newest */
    size_t total;              /* bytes of all chunks */
};

/* Never NULL: the process stops when memory is short (as mem_alloc). */
void *arena_alloc(struct arena *a, size_t size) MUST_CHECK;
/* For sizes that come from data: NULL on overflow or shortage (as mem_try_alloc). */
void *arena_try_alloc(struct arena *a, size_t n, size_t size) MUST_CHECK;
char *arena_strndup(struct arena *a, const char *s, size_t n) MUST_CHECK;
char *arena_strdup(struct arena *a, const char *s) MUST_CHECK;
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3) MUST_CHECK;

void arena_reset(struct arena *a);   /* empties it, keeps the largest chunk */
void arena_release(struct arena *a); /* empties it and gives all memory back */

#endif
