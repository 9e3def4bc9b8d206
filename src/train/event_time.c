/* SPDX-License-Identifier: Apache-2.0 */
#include "train/event_time.h"

#include <math.h>
#include <stdlib.h>

#include "text/pipeline/pipeline.h"

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t train_event_quorum(int64_t *ms, size_t n, double quorum)
{
    double share = ceil(quorum * (double)n - 1e-9); /* 0.1 of 10 is 1 */
    size_t k = share < 1 ? 1 : share > (double)n ? n : (size_t)share;
    qsort(ms, n, sizeof(*ms), by_time);
    return ms[n - k];
}

bool train_event_is_asked(const struct pc_TrainConfig *tc)
{
    return tc->save_checkpoints_timestamp_interval || tc->n_save_checkpoints_timestamps;
}

/* Compared by division: a time of the config may be any number. */
static bool reached(int64_t ms, uint64_t seconds)
{
    return (uint64_t)ms / 1000 >= seconds;
}

bool train_event_is_due(const struct pc_TrainConfig *tc, int64_t last, int64_t now)
{
    int64_t every = (int64_t)tc->save_checkpoints_timestamp_interval * 1000;
    if (last <= 0 || now <= last)
        return false;
    if (every && now / every > last / every)
        return true;
    for (int64_t i = 0; i < tc->n_save_checkpoints_timestamps; i++) {
        uint64_t at = tc->save_checkpoints_timestamps[i];
        if (!reached(last, at) && reached(now, at))
            return true;
    }
    return false;
}
