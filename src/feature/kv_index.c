/* SPDX-License-Identifier: Apache-2.0 */
/* Few pairs are searched from the end; more get a table of hashes, made once per row,
 * because a sequence asks for the same map again in each of its steps.
 */
#include "feature/kv_index.h"

#include <string.h>

#include "base/hash.h"

#define KV_FEW 12

void kv_index_release(struct kv_index *p)
{
    feature_mem_release(&p->slots);
}

void kv_index_forget(struct kv_index *p)
{
    p->row = -1;
}

static bool is_key(const struct fg_cells *c, int64_t i, struct str key)
{
    struct cell_buf buf;
    return str_eq(plane_text(&c->key, NULL, i, &buf), key);
}

static size_t slot_of(const struct kv_index *p, const struct fg_cells *c, struct str key)
{
    const uint32_t *slots = p->slots.p;
    size_t s = hash_xxh3(key.p, key.n) & (p->n_slots - 1);
    while (slots[s] && !is_key(c, p->at.begin + slots[s] - 1, key))
        s = (s + 1) & (p->n_slots - 1);
    return s;
}

static enum rc kv_index_build(struct fg_run *x, struct kv_index *p,
                              const struct fg_cells *c, struct fg_range r)
{
    size_t n = 32;
    struct cell_buf buf;
    while (n < (size_t)(r.end - r.begin) * 2)
        n *= 2;
    if (!feature_mem_room(&p->slots, n, sizeof(uint32_t)))
        return fg_nomem(x);
    memset(p->slots.p, 0, n * sizeof(uint32_t));
    p->n_slots = n;
    p->at = r;
    p->row = c->one ? 0 : x->row;
    for (int64_t i = r.begin; i < r.end; i++) {
        size_t s = slot_of(p, c, plane_text(&c->key, NULL, i, &buf));
        ((uint32_t *)p->slots.p)[s] = (uint32_t)(i - r.begin) + 1;
    }
    return RC_OK;
}

enum rc kv_index_find(struct fg_run *x, struct kv_index *p, const struct fg_cells *c,
                      struct fg_range r, struct str key, int64_t *found)
{
    *found = -1;
    if (r.end - r.begin <= KV_FEW) {
        for (int64_t i = r.end; i-- > r.begin && *found < 0;)
            if (is_key(c, i, key))
                *found = i;
        return RC_OK;
    }
    if (p->row != (c->one ? 0 : x->row) || p->at.begin != r.begin || p->at.end != r.end) {
        enum rc rc = kv_index_build(x, p, c, r);
        if (rc)
            return rc;
    }
    uint32_t at = ((const uint32_t *)p->slots.p)[slot_of(p, c, key)];
    *found = at ? r.begin + at - 1 : -1;
    return RC_OK;
}
