/* SPDX-License-Identifier: Apache-2.0 */
/* text/keys.h - finds keys that are given twice while a map is being filled. */
#ifndef TEXT_KEYS_H
#define TEXT_KEYS_H

#include "text/node.h"

/* An index over the entries of one map. Zeroed is empty; small maps never allocate. */
struct keys {
    uint32_t *slots; /* owned: index of an entry plus one, 0 when free */
    size_t n_slots;  /* power of two */
};

void keys_release(struct keys *k);
/* The entry of `map` that has this key already, or NULL. After NULL the key counts as
 * present: the caller adds it to `map` next. Between two calls nothing else may be added
 * or removed.
 */
struct node_entry *keys_note(struct keys *k, const struct node *map, struct str key);

/* The entry of `map` that has this key, or NULL; nothing is noted. */
struct node_entry *keys_find(struct keys *k, const struct node *map, struct str key);

#endif
