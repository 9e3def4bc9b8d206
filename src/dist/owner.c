/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/owner.h"

#include "embed/keyed.h"

#define BLOCK ((int64_t)2 << 20) /* bytes of a block of a large table: a large page */
#define BLOCKS 2                 /* that each rank has at least */
#define SMALL_SHIFT 6

struct dist_owner dist_owner_of(const struct embed_table_conf *t, int table, int world,
                                const struct dist_place *place)
{
    struct dist_owner o = {
        .world = world, .n = world, .start = table % world, .shift = SMALL_SHIFT};
    int64_t bytes = embed_table_stride(t) * (int64_t)sizeof(float);
    if (t->keyed.kind != KEYED_NONE) {
        int64_t classes = embed_keyed_classes(&t->keyed);
        o.classes = classes > 1 ? classes : 0;
        o.shift = -1;
        return o;
    }
    o.copies = place && place->copies;
    if (place && place->n > 0) {
        o.first = place->first;
        o.n = place->n;
        o.start = table % o.n;
    }
    if (t->rows >= BLOCK * BLOCKS * o.n / bytes)
        while ((bytes << o.shift) < BLOCK)
            o.shift++;
    return o;
}

int dist_owner_share(const struct dist_owner *o, int rank)
{
    if (o->copies)
        return 1;
    if (o->shift < 0 && !o->classes)
        return o->start == rank;
    return rank >= o->first && rank < o->first + o->n ? o->n : 0;
}
