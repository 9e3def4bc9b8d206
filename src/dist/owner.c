/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/owner.h"

#include "embed/conf.h"

#define LARGE ((int64_t)64 << 20) /* bytes of a table whose memory counts */
#define BLOCK ((int64_t)4 << 20)  /* of a block of it: several large pages */
#define SMALL_SHIFT 6

struct dist_owner dist_owner_of(const struct embed_table_conf *t, int table, int world,
                                const struct dist_place *place)
{
    struct dist_owner o = {
        .world = world, .n = world, .start = table % world, .shift = SMALL_SHIFT};
    int64_t bytes = embed_table_stride(t) * (int64_t)sizeof(float);
    if (t->keyed.kind != KEYED_NONE) {
        o.shift = -1;
        return o;
    }
    if (place && place->n > 0) {
        o.first = place->first;
        o.n = place->n;
        o.start = table % o.n;
    }
    if (t->rows > LARGE / bytes)
        while ((bytes << o.shift) < BLOCK)
            o.shift++;
    return o;
}

int dist_owner_share(const struct dist_owner *o, int rank)
{
    if (o->shift < 0)
        return o->start == rank;
    return rank >= o->first && rank < o->first + o->n ? o->n : 0;
}
