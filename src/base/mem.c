/* SPDX-License-Identifier: Apache-2.0 */
/* Two allocators over malloc. mem_alloc() and its kin stop the process when memory runs
 * out; the mem_try ones return NULL, check the product of sizes, and can be told to fail
 * at their n-th call so that tests reach every way out. Live blocks are counted; the
 * counters are relaxed atomics, because tests read them when all threads are idle.
 */
#include "base/mem.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_int_fast64_t total, live, fail_countdown;

static void *counted(void *p)
{
    if (p) {
        atomic_fetch_add_explicit(&total, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    }
    return p;
}

static NO_RETURN void stop(void)
{
    static const char msg[] = "trainyard: out of memory for a control structure\n";
    ssize_t n = write(STDERR_FILENO, msg, sizeof(msg) - 1);
    (void)n;
    abort();
}

static void *or_stop(void *p)
{
    if (!p)
        stop();
    return p;
}

static bool mem_product(size_t n, size_t size, size_t *bytes)
{
    if (size && n > (size_t)PTRDIFF_MAX / size)
        return false;
    *bytes = n * size;
    if (*bytes == 0)
        *bytes = 1;
    return true;
}

static bool injected(void)
{
    if (LIKELY(atomic_load_explicit(&fail_countdown, memory_order_relaxed) == 0))
        return false;
    return atomic_fetch_sub(&fail_countdown, 1) == 1;
}

void *mem_alloc(size_t size)
{
    return or_stop(counted(malloc(size ? size : 1)));
}

void *mem_calloc(size_t n, size_t size)
{
    size_t bytes;
    if (!mem_product(n, size, &bytes))
        stop();
    return or_stop(counted(calloc(1, bytes)));
}

void *mem_realloc(void *p, size_t n, size_t size)
{
    size_t bytes;
    if (!mem_product(n, size, &bytes))
        stop();
    void *q = or_stop(realloc(p, bytes));
    if (!p)
        counted(q);
    return q;
}

char *mem_strndup(const char *s, size_t n)
{
    char *copy = mem_alloc(n + 1);
    memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

char *mem_strdup(const char *s)
{
    return mem_strndup(s, strlen(s));
}

char *mem_printf(const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *text = mem_alloc((size_t)(n < 0 ? 0 : n) + 1);
    text[0] = '\0';
    if (n >= 0)
        vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    return text;
}

void *mem_try_alloc(size_t n, size_t size)
{
    size_t bytes;
    if (!mem_product(n, size, &bytes) || injected())
        return NULL;
    return counted(malloc(bytes));
}

void *mem_try_calloc(size_t n, size_t size)
{
    size_t bytes;
    if (!mem_product(n, size, &bytes) || injected())
        return NULL;
    return counted(calloc(1, bytes));
}

void *mem_try_realloc(void *p, size_t n, size_t size)
{
    size_t bytes;
    if (!mem_product(n, size, &bytes) || injected())
        return NULL;
    void *q = realloc(p, bytes);
    if (!p)
        counted(q);
    return q;
}

void *mem_try_aligned(size_t align, size_t n, size_t size)
{
    size_t bytes;
    if (!mem_product(n, size, &bytes) || injected())
        return NULL;
    if (bytes > (size_t)PTRDIFF_MAX - align)
        return NULL;
    return counted(aligned_alloc(align, (bytes + align - 1) / align * align));
}

void *mem_try_large(size_t n, size_t size)
{
    enum { LINE = 64, LARGE = 2 << 20 };
    size_t bytes;
    bool large = mem_product(n, size, &bytes) && bytes >= 2 * (size_t)LARGE;
    void *p = mem_try_aligned(large ? LARGE : LINE, n, size);
    if (p && large)
        madvise(p, bytes, MADV_HUGEPAGE); /* a hint only */
    return p;
}

void mem_free(void *p)
{
    if (!p)
        return;
    atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    free(p);
}

void mem_fail_at(int64_t n)
{
    atomic_store(&fail_countdown, n);
}

int64_t mem_total(void)
{
    return atomic_load(&total);
}

int64_t mem_live(void)
{
    return atomic_load(&live);
}
