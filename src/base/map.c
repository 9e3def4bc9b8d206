/* SPDX-License-Identifier: Apache-2.0 */
/* Linear probing over indices; entries lie densely in `at`. There is no removal: nobody
 * who keeps a map of names has needed it.
 */
#include "base/map.h"

#include <string.h>

#include <xxhash.h>

#include "base/mem.h"

void map_release(struct map *m)
{
    for (size_t i = 0; i < m->n; i++)
        mem_free((void *)(uintptr_t)m->at[i].key);
    mem_free(m->at);
    mem_free(m->slots);
    *m = (struct map){0};
}

static uint32_t *slot_of(const struct map *m, struct str key, uint64_t hash)
{
    size_t mask = m->n_slots - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &m->slots[i];
        if (*slot == 0)
            return slot;
        const struct map_entry *e = &m->at[*slot - 1];
        if (e->hash == hash && str_eq(str_of(e->key, e->key_len), key))
            return slot;
    }
}

struct map_entry *map_find(const struct map *m, struct str key)
{
    if (m->n == 0)
        return NULL;
    uint32_t *slot = slot_of(m, key, XXH3_64bits(key.p, key.n));
    return *slot ? &m->at[*slot - 1] : NULL;
}

void *map_get(const struct map *m, const char *key)
{
    struct map_entry *e = map_find(m, str_c(key));
    return e ? e->value : NULL;
}

static void map_rebuild(struct map *m, size_t n_slots)
{
    mem_free(m->slots);
    m->slots = mem_calloc(n_slots, sizeof(*m->slots));
    m->n_slots = n_slots;
    for (size_t i = 0; i < m->n; i++) {
        struct str key = str_of(m->at[i].key, m->at[i].key_len);
        *slot_of(m, key, m->at[i].hash) = (uint32_t)(i + 1);
    }
}

struct map_entry *map_put(struct map *m, struct str key)
{
    if (m->n * 2 >= m->n_slots)
        map_rebuild(m, m->n_slots ? m->n_slots * 2 : 16);
    uint64_t hash = XXH3_64bits(key.p, key.n);
    uint32_t *slot = slot_of(m, key, hash);
    if (*slot)
        return &m->at[*slot - 1];
    if (m->n == m->cap) {
        m->cap = m->cap ? m->cap * 2 : 8;
        m->at = mem_realloc(m->at, m->cap, sizeof(*m->at));
    }
    *slot = (uint32_t)(m->n + 1);
    m->at[m->n] = (struct map_entry){
        .key = mem_strndup(key.p ? key.p : "", key.n), .key_len = key.n, .hash = hash};
    return &m->at[m->n++];
}
