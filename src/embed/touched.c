/* SPDX-License-Identifier: Apache-2.0 */
/* Ids lie in a table with open addressing that is at most half full; sorting them is left
 * to whoever lists them.
 */
#include "embed/touched.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"

#define FIRST_ROOM 1024
#define NONE (-1)

static size_t words_of(const struct embed_touched *t)
{
    return t->bits ? (size_t)(t->rows + 63) / 64 : 0;
}

static enum rc no_memory(size_t n, struct err *err)
{
    return err_coded(err, RC_NOMEM, E2304, "no memory to note %zu ids that were used", n);
}

enum rc embed_touched_create(int64_t rows, struct embed_touched **out, struct err *err)
{
    struct embed_touched *t = mem_calloc(1, sizeof(*t));
    t->rows = rows;
    if (rows > 0) {
        t->bits = mem_try_calloc((size_t)(rows + 63) / 64, sizeof(*t->bits));
        if (!t->bits) {
            mem_free(t);
            return no_memory((size_t)rows, err);
        }
    }
    *out = t;
    return RC_OK;
}

void embed_touched_destroy(struct embed_touched *t)
{
    if (!t)
        return;
    mem_free(t->bits);
    mem_free(t->slots);
    mem_free(t);
}

/* Where an id is, or would be. */
static int64_t *slot_of(int64_t *slots, size_t room, int64_t id)
{
    size_t at = (size_t)(((uint64_t)id * 0x9e3779b97f4a7c15u) >> 20) & (room - 1);
    while (slots[at] != NONE && slots[at] != id)
        at = (at + 1) & (room - 1);
    return &slots[at];
}

static enum rc grow(struct embed_touched *t, struct err *err)
{
    size_t room = t->room ? 2 * t->room : FIRST_ROOM;
    int64_t *slots = mem_try_alloc(room, sizeof(*slots));
    if (!slots)
        return no_memory(t->n + 1, err);
    memset(slots, 0xff, room * sizeof(*slots));
    for (size_t i = 0; i < t->room; i++)
        if (t->slots[i] != NONE)
            *slot_of(slots, room, t->slots[i]) = t->slots[i];
    mem_free(t->slots);
    t->slots = slots;
    t->room = room;
    return RC_OK;
}

enum rc embed_touched_add(struct embed_touched *t, int64_t id, struct err *err)
{
    if (t->bits) {
        embed_touched_mark(t, id);
        return RC_OK;
    }
    enum rc rc = 2 * (t->n + 1) > t->room ? grow(t, err) : RC_OK;
    if (rc)
        return rc;
    int64_t *slot = slot_of(t->slots, t->room, id);
    t->n += *slot == NONE;
    *slot = id;
    return RC_OK;
}

static size_t count(const struct embed_touched *t)
{
    size_t n = t->n;
    for (size_t i = 0; i < words_of(t); i++)
        n += (size_t)POPCOUNT64(t->bits[i]);
    return n;
}

static int by_id(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

enum rc embed_touched_list(const struct embed_touched *t, int64_t **ids, int64_t *n,
                           struct err *err)
{
    size_t all = count(t), at = 0;
    int64_t *list = mem_try_alloc(all + 1, sizeof(*list));
    if (!list)
        return no_memory(all, err);
    for (size_t i = 0; i < words_of(t); i++)
        for (uint64_t bits = t->bits[i]; bits; bits &= bits - 1)
            list[at++] = (int64_t)i * 64 + CTZ64(bits);
    for (size_t i = 0; i < t->room; i++)
        if (t->slots[i] != NONE)
            list[at++] = t->slots[i];
    if (!t->bits)
        qsort(list, all, sizeof(*list), by_id);
    *ids = list;
    *n = (int64_t)all;
    return RC_OK;
}

/* Words that are zeros already are not written, so that memory nobody used stays so. */
void embed_touched_clear(struct embed_touched *t)
{
    for (size_t i = 0; i < words_of(t); i++)
        if (t->bits[i])
            t->bits[i] = 0;
    mem_free(t->slots);
    t->slots = NULL;
    t->room = t->n = 0;
}
