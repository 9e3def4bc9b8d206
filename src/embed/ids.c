/* SPDX-License-Identifier: Apache-2.0 */
/* The index holds places only and compares through `keys`: 8 to 16 bytes per id. It
 * doubles when it is half full. An entry is removed by moving up those behind it that
 * want its place, so there are no tombstones.
 */
#include "embed/ids.h"

#include <string.h>

#include "base/mem.h"
#include "embed/pages.h"

#define INDEX_MIN 64

static uint64_t hash_of(int64_t key)
{
    uint64_t v = (uint64_t)key;
    v = (v ^ v >> 32) * 0xd6e8feb86659fd93;
    v = (v ^ v >> 32) * 0xd6e8feb86659fd93;
    return v ^ v >> 32;
}

int64_t embed_idset_buckets(int64_t capacity, int64_t bucket)
{
    return bucket > 0 && bucket < capacity ? capacity / bucket : 1;
}

/* By the upper half: the lower half says where in the index. */
int64_t embed_id_class(int64_t key, int64_t classes)
{
    return (int64_t)((hash_of(key) >> 32) % (uint64_t)classes);
}

static int64_t bucket_of(const struct embed_idset *s, int64_t key)
{
    return embed_id_class(key, s->n_buckets);
}

/* Places of a bucket: together exactly `capacity`. */
static int64_t bucket_size(const struct embed_idset *s, int64_t b)
{
    int64_t q = s->capacity / s->n_buckets, r = s->capacity % s->n_buckets;
    return q + (b < r ? 1 : 0);
}

enum rc embed_idset_init(struct embed_idset *s, const char *what, int64_t capacity,
                         int64_t bucket, struct err *err)
{
    size_t n = (size_t)capacity;
    *s = (struct embed_idset){.capacity = capacity};
    s->n_buckets = embed_idset_buckets(capacity, bucket);
    struct {
        void **at;
        size_t bytes;
    } parts[] = {{(void **)&s->keys, n * 8},
                 {(void **)&s->counts, n * 8},
                 {(void **)&s->last, n * 8},
                 {(void **)&s->next, n * 4},
                 {(void **)&s->heads, (size_t)s->n_buckets * 4},
                 {(void **)&s->fills, (size_t)s->n_buckets * 4}};
    enum rc rc = RC_OK;
    for (size_t i = 0; i < ARRAY_LEN(parts) && !rc; i++)
        rc = embed_pages_map(what, NULL, parts[i].bytes, parts[i].at, err);
    for (size_t i = 0; i < ARRAY_LEN(parts) && !rc; i++)
        embed_pages_enlarge(*parts[i].at, parts[i].bytes); /* filled from the front */
    s->index = rc ? NULL : mem_try_calloc(INDEX_MIN, sizeof(*s->index));
    s->mask = INDEX_MIN - 1;
    if (!rc && !s->index)
        rc = err_coded(err, RC_NOMEM, E2304, "%s: no memory for its ids", what);
    if (rc)
        embed_idset_release(s);
    return rc;
}

void embed_idset_release(struct embed_idset *s)
{
    size_t n = (size_t)s->capacity;
    embed_pages_unmap(s->keys, n * 8);
    embed_pages_unmap(s->counts, n * 8);
    embed_pages_unmap(s->last, n * 8);
    embed_pages_unmap(s->next, n * 4);
    embed_pages_unmap(s->heads, (size_t)s->n_buckets * 4);
    embed_pages_unmap(s->fills, (size_t)s->n_buckets * 4);
    mem_free(s->index);
    *s = (struct embed_idset){0};
}

size_t embed_idset_bytes(const struct embed_idset *s)
{
    return (size_t)s->n * (3 * 8 + 4) + (size_t)s->n_buckets * 8 +
           (size_t)(s->mask + 1) * 4;
}

void embed_idset_clear(struct embed_idset *s)
{
    size_t n = (size_t)s->n;
    memset(s->keys, 0, n * 8);
    memset(s->counts, 0, n * 8);
    memset(s->last, 0, n * 8);
    memset(s->next, 0, n * 4);
    memset(s->heads, 0, (size_t)s->n_buckets * 4);
    memset(s->fills, 0, (size_t)s->n_buckets * 4);
    memset(s->index, 0, (size_t)(s->mask + 1) * 4);
    s->n = 0;
}

static uint64_t seat_of(const struct embed_idset *s, int64_t key)
{
    uint64_t h = hash_of(key) & s->mask;
    while (s->index[h] && s->keys[s->index[h] - 1] != key)
        h = (h + 1) & s->mask;
    return h;
}

int64_t embed_idset_find(const struct embed_idset *s, int64_t key)
{
    return (int64_t)s->index[seat_of(s, key)] - 1;
}

bool embed_idset_has_room(const struct embed_idset *s, int64_t key)
{
    int64_t b = bucket_of(s, key);
    return s->fills[b] < bucket_size(s, b);
}

static enum rc grow(struct embed_idset *s, struct err *err)
{
    uint64_t size = s->mask + 1;
    if ((uint64_t)s->n * 2 < size)
        return RC_OK;
    uint32_t *index = mem_try_calloc(size * 2, sizeof(*index));
    if (!index)
        return err_coded(err, RC_NOMEM, E2304, "no memory for an index of %ju ids",
                         (uintmax_t)s->n);
    mem_free(s->index);
    s->index = index;
    s->mask = size * 2 - 1;
    for (int64_t i = 0; i < s->n; i++)
        s->index[seat_of(s, s->keys[i])] = (uint32_t)(i + 1);
    return RC_OK;
}

static void link_in(struct embed_idset *s, int64_t place, int64_t key)
{
    s->index[seat_of(s, key)] = (uint32_t)(place + 1);
    s->keys[place] = key;
}

enum rc embed_idset_add(struct embed_idset *s, int64_t key, int64_t *place,
                        struct err *err)
{
    enum rc rc = grow(s, err);
    if (rc)
        return rc;
    int64_t at = s->n, b = bucket_of(s, key);
    link_in(s, at, key);
    s->n++;
    s->next[at] = s->heads[b];
    s->heads[b] = (uint32_t)(at + 1);
    s->fills[b]++;
    *place = at;
    return RC_OK;
}

static void unlink_key(struct embed_idset *s, int64_t key)
{
    uint64_t hole = seat_of(s, key);
    for (uint64_t h = (hole + 1) & s->mask; s->index[h]; h = (h + 1) & s->mask) {
        uint64_t home = hash_of(s->keys[s->index[h] - 1]) & s->mask;
        if (((h - home) & s->mask) < ((h - hole) & s->mask))
            continue; /* its own seat lies behind the hole */
        s->index[hole] = s->index[h];
        hole = h;
    }
    s->index[hole] = 0;
}

void embed_idset_replace(struct embed_idset *s, int64_t place, int64_t key)
{
    unlink_key(s, s->keys[place]);
    link_in(s, place, key);
    s->counts[place] = s->last[place] = 0;
}

int64_t embed_idset_first(const struct embed_idset *s, int64_t key)
{
    return (int64_t)s->heads[bucket_of(s, key)] - 1;
}

int64_t embed_idset_next(const struct embed_idset *s, int64_t place)
{
    return (int64_t)s->next[place] - 1;
}
