/* SPDX-License-Identifier: Apache-2.0 */
/* base/map.h - from strings to pointers, remembering the order of insertion.
 *
 * A zeroed struct map is an empty one. Keys are copied; values are the caller's. For
 * control structures: growing never fails.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct map_entry {
    const char *key; /* owned by the map */
    size_t key_len;
    uint64_t hash;
    void *value;
};

struct map {
    struct map_entry *at; /* [n], in order of insertion; walk it freely */
    size_t n, cap;
    uint32_t *slots; /* index into `at` plus one, 0 when free */
    size_t n_slots;  /* power of two */
};

void map_release(struct map *m); /* frees the keys, not the values */
/* NULL when absent. */
struct map_entry *map_find(const struct map *m, struct str key);
void *map_get(const struct map *m, const char *key); /* its value, or NULL */
/* The entry of `key`, made with a NULL value when it was absent. */
struct map_entry *map_put(struct map *m, struct str key);

#endif
