/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/owner.h"

#include "embed/conf.h"

#define LARGE ((int64_t)64 << 20) /* bytes of a table whose memory counts */
#define BLOCK ((int64_t)4 << 20)  /* of a block of it: several large pages */
#define SMALL_SHIFT 6

struct dist_owner dist_owner_of(const struct embed_table_conf *t, int table, int world)
{
    struct dist_owner o = {.world = world, .start = table % world, .shift = SMALL_SHIFT};
    int64_t bytes = embed_table_stride(t) * (int64_t)sizeof(float);
    if (t->keyed.kind != KEYED_NONE)
        o.shift = -1;
    else if (t->rows > LARGE / bytes)
        while ((bytes << o.shift) < BLOCK)
            o.shift++;
    return o;
}
