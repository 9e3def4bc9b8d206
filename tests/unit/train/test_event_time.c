/* SPDX-License-Identifier: Apache-2.0 */
#include "train/event_time.h"

#include "tap.h"
#include "text/pipeline/pipeline.h"

#define T 1700000040000 /* a full minute */

static int64_t quorum(double share, int64_t a, int64_t b, int64_t c, int64_t d)
{
    int64_t ms[] = {a, b, c, d};
    return train_event_quorum(ms, 4, share);
}

static void the_quorum_is_a_share_of_all_shards(void)
{
    CHECK_INT(quorum(1, 4, 2, 3, 1), 1);
    CHECK_INT(quorum(0.5, 4, 2, 3, 1), 3);
    CHECK_INT(quorum(0.51, 4, 2, 3, 1), 2);
    CHECK_INT(quorum(0.01, 4, 2, 3, 1), 4);
    CHECK_INT(quorum(0.5, 4, 0, 0, 0), 0); /* three have no time */
    CHECK_INT(quorum(0.25, 4, 0, 0, 0), 4);
    int64_t ten[] = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
    CHECK_INT(train_event_quorum(ten, 10, 0.1), 10); /* 0.1 * 10 is not 2 */
    CHECK_INT(train_event_quorum(ten, 1, 0.5), 1);
}

static void an_interval_is_aligned_to_the_clock(void)
{
    const struct pc_TrainConfig tc = {.save_checkpoints_timestamp_interval = 60};
    CHECK(train_event_is_asked(&tc));
    CHECK(!train_event_is_due(&tc, 0, T + 60000)); /* nothing to compare with */
    CHECK(!train_event_is_due(&tc, T, T + 59999));
    CHECK(train_event_is_due(&tc, T + 59999, T + 60000));
    CHECK(train_event_is_due(&tc, T + 10000, T + 600000));
    CHECK(!train_event_is_due(&tc, T + 60000, T + 1)); /* time that goes back */
}

static void each_time_named_counts_once(void)
{
    uint64_t at[] = {T / 1000 + 5, UINT64_MAX, 7};
    const struct pc_TrainConfig tc = {.save_checkpoints_timestamps = at,
                                      .n_save_checkpoints_timestamps = 3};
    CHECK(train_event_is_asked(&tc));
    CHECK(!train_event_is_due(&tc, T, T + 4999));
    CHECK(train_event_is_due(&tc, T, T + 5000));
    CHECK(!train_event_is_due(&tc, T + 5000, T + 6000000));
}

static void without_a_setting_nothing_is_due(void)
{
    const struct pc_TrainConfig tc = {0};
    CHECK(!train_event_is_asked(&tc));
    CHECK(!train_event_is_due(&tc, T, T * 2));
}

static const struct tap_case cases[] = {
    TAP(the_quorum_is_a_share_of_all_shards),
    TAP(an_interval_is_aligned_to_the_clock),
    TAP(each_time_named_counts_once),
    TAP(without_a_setting_nothing_is_due),
};
TAP_MAIN(cases)
