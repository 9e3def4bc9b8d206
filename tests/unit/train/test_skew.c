/* SPDX-License-Identifier: Apache-2.0 */
#include "train/skew.h"

#include "tap.h"

static void the_slowest_rank_and_the_share_of_waiting_are_told(void)
{
    static const struct train_pace first[] = {{900, 100}, {900, 100}, {900, 100}};
    static const struct train_pace steps[] = {{100, 100}, {160, 40}, {100, 100}};
    struct train_skew k = {0};
    CHECK_INT(train_skew_read(&k).ranks, 0);
    train_skew_reset(&k);
    train_skew_add(&k, first, 3); /* told before the reset */
    train_skew_add(&k, first, 3); /* holds what was before it */
    CHECK_INT(train_skew_read(&k).ranks, 0);
    train_skew_add(&k, steps, 3);
    train_skew_add(&k, steps, 3);
    struct train_skew_words w = train_skew_read(&k);
    CHECK_INT(w.ranks, 3);
    CHECK_INT(w.slowest, 1);
    CHECK_NEAR(w.skew, 160.0 / 120 - 1, 1e-12);
    CHECK_NEAR(w.comm, 240.0 / 600, 1e-12);
    train_skew_reset(&k);
    CHECK_INT(train_skew_read(&k).ranks, 0);
    train_skew_add(&k, NULL, 1);
    train_skew_release(&k);
}

static const struct tap_case cases[] = {
    TAP(the_slowest_rank_and_the_share_of_waiting_are_told),
};
TAP_MAIN(cases)
