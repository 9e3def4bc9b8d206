/* SPDX-License-Identifier: Apache-2.0 */
/* embed/ids.h - a bounded set of ids; each has a place, a count and the time it was last
 * seen.
 *
 * Places are given out from 0 on and stay: an id that comes in for another takes over its
 * place. Ids are dealt into buckets by their hash, and an id only ever replaces one of
 * its own bucket, so that making room costs the same however large the set is. Finding is
 * for any number of threads at once; everything else for one.
 */
#ifndef EMBED_IDS_H
#define EMBED_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "embed/conf.h"

struct embed_idset {
    int64_t capacity, n_buckets;
    int64_t n;              /* places taken: [0, n) */
    int64_t *keys;          /* [capacity], as the two below */
    int64_t *counts, *last; /* the caller's to fill; 0 at first */
    uint32_t *next;         /* of the same bucket: place + 1, or 0 */
    uint32_t *heads;        /* [n_buckets]: place + 1, or 0 */
    uint32_t *fills;        /* [n_buckets]: places taken */
    uint32_t *index;        /* [mask + 1], open addressing: place + 1, or 0 */
    uint64_t mask;
};

/* At most `capacity` ids (up to EMBED_IDS_MAX), `bucket` or a few more in each bucket. `what`
 * is for messages. RC_NOMEM.
 */
enum rc embed_idset_init(struct embed_idset *s, const char *what, int64_t capacity,
                         int64_t bucket, struct err *err) MUST_CHECK;
void embed_idset_release(struct embed_idset *s);

/* How many buckets a set has. Ids of one bucket are of one class, wherever the number of classes
 * divides that of buckets.
 */
int64_t embed_idset_buckets(int64_t capacity, int64_t bucket);
int64_t embed_id_class(int64_t key, int64_t classes);

/* Its place, or -1. */
int64_t embed_idset_find(const struct embed_idset *s, int64_t key);
/* Whether a new id of that hash finds a place without taking one over. */
bool embed_idset_has_room(const struct embed_idset *s, int64_t key);
/* A new id at the next place; embed_idset_has_room(). RC_NOMEM: nothing has changed. */
enum rc embed_idset_add(struct embed_idset *s, int64_t key, int64_t *place,
                        struct err *err) MUST_CHECK;
/* A new id takes over a place; both are of one bucket. */
void embed_idset_replace(struct embed_idset *s, int64_t place, int64_t key);
/* The places of a new id's bucket: the first, and the one behind `place`; -1 at the end.
 */
int64_t embed_idset_first(const struct embed_idset *s, int64_t key);
int64_t embed_idset_next(const struct embed_idset *s, int64_t place);
/* Address space aside: what `n` ids of a full index take. */
size_t embed_idset_bytes(const struct embed_idset *s);
/* No ids; what they left behind is zeros again. */
void embed_idset_clear(struct embed_idset *s);

#endif
