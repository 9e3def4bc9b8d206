/* SPDX-License-Identifier: Apache-2.0 */
#include "train/skew.h"

#include <string.h>

#include "base/mem.h"

void train_skew_reset(struct train_skew *k)
{
    if (k->sums)
        memset(k->sums, 0, (size_t)k->world * sizeof(*k->sums));
    k->skip = 2;
}

void train_skew_add(struct train_skew *k, const struct train_pace *paces, int world)
{
    if (!paces)
        return;
    if (!k->sums) {
        k->world = world;
        k->sums = mem_calloc((size_t)world, sizeof(*k->sums));
    }
    for (int r = 0; r < world && !k->skip; r++) {
        k->sums[r].busy_ns += paces[r].busy_ns;
        k->sums[r].comm_ns += paces[r].comm_ns;
    }
    k->skip -= k->skip > 0;
}

struct train_skew_words train_skew_read(const struct train_skew *k)
{
    struct train_skew_words w = {0};
    double busy = 0, comm = 0;
    for (int r = 0; k->sums && r < k->world; r++) {
        busy += (double)k->sums[r].busy_ns;
        comm += (double)k->sums[r].comm_ns;
        if (k->sums[r].busy_ns > k->sums[w.slowest].busy_ns)
            w.slowest = r;
    }
    if (busy <= 0)
        return (struct train_skew_words){0};
    w.ranks = k->world;
    w.skew = (double)k->sums[w.slowest].busy_ns / (busy / k->world) - 1;
    w.comm = comm / (busy + comm);
    return w;
}

void train_skew_release(struct train_skew *k)
{
    mem_free(k->sums);
    *k = (struct train_skew){0};
}
