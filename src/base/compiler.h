/* SPDX-License-Identifier: Apache-2.0 */
/* base/compiler.h - the only place where compiler extensions are named. */
#ifndef BASE_COMPILER_H
#define BASE_COMPILER_H

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define NO_RETURN __attribute__((noreturn))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define CTZ64(x) __builtin_ctzll(x) /* x != 0 */
#define CLZ64(x) __builtin_clzll(x) /* x != 0 */
#define POPCOUNT64(x) __builtin_popcountll(x)
/* The upper half of the product of two uint64_t. */
#define MULHI64(a, b) ((uint64_t)((unsigned __int128)(a) * (uint64_t)(b) >> 64))
/* In a loop that waits for another thread: leaves the core to its neighbour. */
#ifdef __x86_64__
#define SPIN_PAUSE() __builtin_ia32_pause()
#else
#define SPIN_PAUSE() ((void)0)
#endif
/* Before a loop of a constant few turns whose body must stand in registers. */
#define UNROLLED _Pragma("GCC unroll 16")
#define ALWAYS_INLINE inline __attribute__((always_inline))
/* A loop compiled for several processors; the loader picks. Only for code whose results
 * are the same on all of them (no sums that vectors would reorder).
 */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__) && defined(__GNUC__) && !defined(__clang__)
#define CLONED \
    __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#else
#define CLONED
#endif
/* Sixteen floats for + - * of all of them, wherever they lie; a loop over an array of
 * constant size may be unrolled before it is found to be one.
 */
typedef float floats16 __attribute__((vector_size(64), aligned(4), may_alias));
#define TYPEOF(x) __typeof__(x)
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
