/* SPDX-License-Identifier: Apache-2.0 */
/* feature/kv_index.h - finding keys among the pairs of one step. */
#ifndef FEATURE_KV_INDEX_H
#define FEATURE_KV_INDEX_H

#include "feature/feature_private.h"

/* Remembers where the keys of one range are; one per thread and feature. */
struct kv_index {
    struct fg_range at; /* of the cells that are indexed */
    int64_t row;        /* ... in this row */
    struct feature_mem slots;
    size_t n_slots;
};

void kv_index_release(struct kv_index *p);
/* Before the first kv_index_find() of a batch. */
void kv_index_forget(struct kv_index *p);
/* The last of the pairs `r` of `c` whose key reads `key`, or -1. */
enum rc kv_index_find(struct fg_run *x, struct kv_index *p, const struct fg_cells *c,
                      struct fg_range r, struct str key, int64_t *found);

#endif
