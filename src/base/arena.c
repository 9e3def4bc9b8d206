/* SPDX-License-Identifier: Apache-2.0 */
/* A list of chunks, each at least twice the one before up to CHUNK_MAX; a block that does
 * not fit the newest chunk opens another.
 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define CHUNK_MIN ((size_t)4096)
#define CHUNK_MAX ((size_t)1 << 20)
#define ALIGN ((size_t)16)

struct arena_chunk {
    struct arena_chunk *older;
    size_t size;
    _Alignas(16) unsigned char data[];
};

static size_t chunk_size(const struct arena *a, size_t need)
{
    size_t size = a->chunk ? a->chunk->size * 2 : CHUNK_MIN;
    if (size > CHUNK_MAX)
        size = CHUNK_MAX;
    return size < need ? need : size;
}

static void *arena_take(struct arena *a, size_t size)
{
    if (!a->chunk || size > a->chunk->size - a->used)
        return NULL;
    void *p = a->chunk->data + a->used;
    a->used += size;
    memset(p, 0, size);
    return p;
}

static void arena_adopt(struct arena *a, struct arena_chunk *c, size_t size)
{
    c->older = a->chunk;
    c->size = size;
    a->chunk = c;
    a->used = 0;
    a->total += size;
}

static bool arena_rounded(size_t n, size_t size, size_t *bytes)
{
    if (size && n > ((size_t)PTRDIFF_MAX - CHUNK_MAX) / size)
        return false;
    *bytes = (n * size + ALIGN - 1) / ALIGN * ALIGN;
    if (*bytes == 0)
        *bytes = ALIGN;
    return true;
}

void *arena_try_alloc(struct arena *a, size_t n, size_t size)
{
    size_t bytes;
    if (!arena_rounded(n, size, &bytes))
        return NULL;
    void *p = arena_take(a, bytes);
    if (p)
        return p;
    size_t room = chunk_size(a, bytes);
    struct arena_chunk *c = mem_try_alloc(1, sizeof(*c) + room);
    if (!c)
        return NULL;
    arena_adopt(a, c, room);
    return arena_take(a, bytes);
}

void *arena_alloc(struct arena *a, size_t size)
{
    size_t bytes = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (bytes == 0)
        bytes = ALIGN;
    void *p = arena_take(a, bytes);
    if (p)
        return p;
    size_t room = chunk_size(a, bytes);
    struct arena_chunk *c = mem_alloc(sizeof(*c) + room);
    arena_adopt(a, c, room);
    return arena_take(a, bytes);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *copy = arena_alloc(a, n + 1);
    if (n)
        memcpy(copy, s, n);
    return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *text = arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
    if (n >= 0)
        vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    return text;
}

static void free_chunks(struct arena_chunk *c)
{
    while (c) {
        struct arena_chunk *older = c->older;
        mem_free(c);
        c = older;
    }
}

void arena_reset(struct arena *a)
{
    if (!a->chunk)
        return;
    free_chunks(a->chunk->older);
    a->chunk->older = NULL;
    a->used = 0;
    a->total = a->chunk->size;
}

void arena_release(struct arena *a)
{
    free_chunks(a->chunk);
    *a = (struct arena){0};
}
