/* SPDX-License-Identifier: Apache-2.0 */
/* base/mem.h - two allocators.
 *
 * mem_alloc() and its kin are for small control structures: they never return NULL, the
 * process stops. mem_try_alloc() is for anything whose size comes from data: it checks
 * the product for overflow, may return NULL, and the caller turns that into RC_NOMEM.
 * Memory of both is given back with mem_free(). All functions may be called by any
 * thread.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

void *mem_alloc(size_t size) MUST_CHECK;
void *mem_calloc(size_t n, size_t size) MUST_CHECK; /* zeroed */
void *mem_realloc(void *p, size_t n, size_t size) MUST_CHECK;
char *mem_strdup(const char *s) MUST_CHECK;
char *mem_strndup(const char *s, size_t n) MUST_CHECK; /* exactly n bytes and a NUL */
char *mem_printf(const char *fmt, ...) PRINTF_LIKE(1, 2) MUST_CHECK;

/* NULL when n * size overflows, memory is short, or failure was injected. */
void *mem_try_alloc(size_t n, size_t size) MUST_CHECK;
void *mem_try_calloc(size_t n, size_t size) MUST_CHECK;
/* On NULL the old block is untouched. */
void *mem_try_realloc(void *p, size_t n, size_t size) MUST_CHECK;
/* Aligned to `align` (a power of two); freed with mem_free(). */
void *mem_try_aligned(size_t align, size_t n, size_t size) MUST_CHECK;
/* For arrays that are used throughout, aligned to a cache line: a large one gets pages of
 * 2 MiB where the system has them, for which it must begin on such a page. Freed with
 * mem_free().
 */
void *mem_try_large(size_t n, size_t size) MUST_CHECK;

void mem_free(void *p); /* NULL is fine */

/* For tests: let the n-th data allocation from now on fail (1 is the next); 0 turns it
 * off. */
void mem_fail_at(int64_t n);
/* Allocations so far and blocks now alive, of both kinds. */
int64_t mem_total(void);
int64_t mem_live(void);

#endif
