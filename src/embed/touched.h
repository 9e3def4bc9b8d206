/* SPDX-License-Identifier: Apache-2.0 */
/* embed/touched.h - which ids of a table training has come across since somebody last
 * asked.
 *
 * Of a table whose rows have numbers a bit per row; else a set of ids that grows with
 * them. One thread at a time.
 */
#ifndef EMBED_TOUCHED_H
#define EMBED_TOUCHED_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct embed_touched {
    int64_t rows;   /* 0: any id that is not negative */
    uint64_t *bits; /* [(rows + 63) / 64]; NULL of ids */
    int64_t *slots; /* [room]: ids by their hash, -1 where there is none */
    size_t room, n; /* a power of two, or 0; ids in them */
};

/* RC_NOMEM (E2304). */
enum rc embed_touched_create(int64_t rows, struct embed_touched **out,
                             struct err *err) MUST_CHECK;
void embed_touched_destroy(struct embed_touched *t); /* NULL is fine */

/* 0 <= id (< rows, where rows have numbers). RC_NOMEM, which a bit per row never is. */
enum rc embed_touched_add(struct embed_touched *t, int64_t id,
                          struct err *err) MUST_CHECK;
static inline void embed_touched_mark(struct embed_touched *t, int64_t row)
{
    t->bits[row >> 6] |= (uint64_t)1 << (row & 63);
}
/* All of them, ascending; *ids is the caller's, to mem_free(). RC_NOMEM. */
enum rc embed_touched_list(const struct embed_touched *t, int64_t **ids, int64_t *n,
                           struct err *err) MUST_CHECK;
void embed_touched_clear(struct embed_touched *t);

#endif
