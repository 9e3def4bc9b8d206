/* SPDX-License-Identifier: Apache-2.0 */
#include "data/parquet/ahead.h"

#include <stdlib.h>

#include "base/mem.h"

#define GAP ((uint64_t)64 << 10)       /* cheaper to read than to ask around */
#define WHOLE_MAX ((uint64_t)24 << 20) /* of a group; two of them fit in IO_KEPT_MAX */

struct range {
    uint64_t at, end;
};

static int by_place(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* Metadata may say anything: what lies outside of the data is left to the reader, which
 * reports it.
 */
static bool place_of(const struct pq_source *s, const struct pq_chunk *c,
                     struct range *out)
{
    int64_t at = c->dict_at > 0 && c->dict_at < c->data_at ? c->dict_at : c->data_at;
    if (at < 0 || c->compressed <= 0 || (uint64_t)at > s->data_end ||
        (uint64_t)c->compressed > s->data_end - (uint64_t)at)
        return false;
    *out = (struct range){(uint64_t)at, (uint64_t)at + (uint64_t)c->compressed};
    return true;
}

void pq_ahead(const struct pq_source *s, const struct pq_row_group *g,
              const size_t *chunks, size_t n, bool whole)
{
    struct range *r = mem_calloc(n ? n : 1, sizeof(*r));
    uint64_t total = 0;
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (!place_of(s, &g->chunks[chunks[i]], &r[k]))
            continue;
        total += r[k].end - r[k].at;
        k++;
    }
    whole = whole && total <= WHOLE_MAX;
    for (size_t i = 0; !whole && i < k; i++)
        if (r[i].end - r[i].at > PQ_WINDOW_FIRST)
            r[i].end = r[i].at + PQ_WINDOW_FIRST;
    if (k)
        qsort(r, k, sizeof(*r), by_place);
    for (size_t i = 0; i < k;) {
        struct range one = r[i++];
        while (i < k && r[i].at <= one.end + GAP && r[i].end - one.at <= IO_REQUEST_MAX) {
            one.end = r[i].end > one.end ? r[i].end : one.end;
            i++;
        }
        io_want(s->file, one.at, (size_t)(one.end - one.at));
    }
    mem_free(r);
}
