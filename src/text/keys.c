/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of a few entries, which is nearly all of them, are searched; larger ones get a
 * hash table of entry numbers, so that a file of one big map is not quadratic.
 */
#include "text/keys.h"

#include <xxhash.h>

#include "base/mem.h"

#define SEARCHED_MAX 8 /* entries of a map that needs no table */

void keys_release(struct keys *k)
{
    mem_free(k->slots);
    *k = (struct keys){0};
}

static uint32_t *slot_of(const struct keys *k, const struct node *map, struct str key)
{
    size_t mask = k->n_slots - 1;
    for (size_t i = XXH3_64bits(key.p, key.n) & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &k->slots[i];
        if (*slot == 0 || str_eq(map->map.at[*slot - 1].key, key))
            return slot;
    }
}

static void keys_rebuild(struct keys *k, const struct node *map, size_t n_slots)
{
    mem_free(k->slots);
    k->slots = mem_calloc(n_slots, sizeof(*k->slots));
    k->n_slots = n_slots;
    for (size_t i = 0; i < map->map.n; i++)
        *slot_of(k, map, map->map.at[i].key) = (uint32_t)(i + 1);
}

static struct node_entry *search(const struct node *map, struct str key)
{
    for (size_t i = 0; i < map->map.n; i++)
        if (str_eq(map->map.at[i].key, key))
            return &map->map.at[i];
    return NULL;
}

static uint32_t *table_slot(struct keys *k, const struct node *map, struct str key)
{
    if (map->map.n * 2 >= k->n_slots)
        keys_rebuild(k, map, k->n_slots ? k->n_slots * 2 : SEARCHED_MAX * 4);
    return slot_of(k, map, key);
}

struct node_entry *keys_find(struct keys *k, const struct node *map, struct str key)
{
    if (map->map.n < SEARCHED_MAX)
        return search(map, key);
    uint32_t *slot = table_slot(k, map, key);
    return *slot ? &map->map.at[*slot - 1] : NULL;
}

struct node_entry *keys_note(struct keys *k, const struct node *map, struct str key)
{
    if (map->map.n < SEARCHED_MAX)
        return search(map, key);
    uint32_t *slot = table_slot(k, map, key);
    if (*slot)
        return &map->map.at[*slot - 1];
    *slot = (uint32_t)(map->map.n + 1);
    return NULL;
}
