/* SPDX-License-Identifier: Apache-2.0 */
/* base/pool.h - loops over many rows on several threads, with the same result on any
 * number of them.
 *
 * Work is cut into chunks of `grain` elements, never by the number of threads; which
 * thread runs a chunk is left open, so a chunk must depend on nothing but its range.
 * Reductions combine the chunks' results in the order of their index.
 *
 * Calls allocate nothing. The caller works along. A call from within a chunk, or while
 * another thread uses the pool, runs on the calling thread alone, with the same chunks.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct pool;

/* `n_threads` counts the caller: 1 starts none. 1..POOL_THREADS_MAX. RC_INVAL, RC_IO. */
#define POOL_THREADS_MAX 1024
enum rc pool_create(int n_threads, struct pool **out, struct err *err) MUST_CHECK;
void pool_destroy(struct pool *p);      /* NULL is fine; nobody may be using it */
int pool_threads(const struct pool *p); /* 1 for NULL */

/* Chunk number `chunk` is [begin, end), never empty. May run on any thread. */
typedef void pool_fn(void *arg, int64_t begin, int64_t end, int64_t chunk);

/* Returns when all chunks of [0, n) are done; what they wrote is visible to the caller.
 * n <= 0 does nothing; grain > 0; p may be NULL for this thread alone.
 */
void pool_for(struct pool *p, int64_t n, int64_t grain, pool_fn *fn, void *arg);

/* How many chunks there are: room that `parts` below needs. */
int64_t pool_chunks(int64_t n, int64_t grain);

/* Each chunk fills its part of `size` bytes (part number `chunk` of `parts`); then
 * join(arg, part) is called for each on this thread, in order.
 */
typedef void pool_part_fn(void *arg, int64_t begin, int64_t end, void *part);
typedef void pool_join_fn(void *arg, const void *part);
void pool_reduce(struct pool *p, int64_t n, int64_t grain, pool_part_fn *fn,
                 pool_join_fn *join, void *arg, void *parts, size_t size);

/* The sum of what fn returns for each chunk, added in order. */
typedef double pool_sum_fn(void *arg, int64_t begin, int64_t end);
double pool_sum(struct pool *p, int64_t n, int64_t grain, pool_sum_fn *fn, void *arg,
                double *parts);

#endif
