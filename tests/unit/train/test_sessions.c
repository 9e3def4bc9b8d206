/* SPDX-License-Identifier: Apache-2.0 */
#include "train/sessions.h"

#include "base/mem.h"
#include "tap.h"

static void sessions_are_numbered_by_first_appearance(void)
{
    struct train_sessions s = {0};
    float out[6];
    const int64_t ids[] = {7, 9, 7, INT64_MAX, 0, 9};
    const float want[] = {0, 1, 0, 2, 3, 1};
    struct feature_out single = {.rows = 6, .ids = ids, .single = true};
    struct view v = {.data = out, .rows = 6, .width = 1, .ld = 1};
    CHECK(train_sessions_number(&s, &single, v.rows, NULL, v, NULL) == RC_OK);
    for (int k = 0; k < 6; k++)
        CHECK_INT(out[k], want[k]);
    /* the first id counts; rows without one are alone */
    const int64_t offsets[] = {0, 2, 2, 3, 3, 4, 6};
    const float lists[] = {0, 1, 0, 2, 3, 4};
    struct feature_out several = {.rows = 6, .ids = ids, .offsets = offsets};
    CHECK(train_sessions_number(&s, &several, v.rows, NULL, v, NULL) == RC_OK);
    for (int k = 0; k < 6; k++)
        CHECK_INT(out[k], lists[k]);
    train_sessions_release(&s);
}

static void many_sessions_fit(void)
{
    enum { N = 5000 };
    static int64_t ids[N];
    static float out[N];
    struct train_sessions s = {0};
    for (int64_t k = 0; k < N; k++)
        ids[k] = (k % 1700) * 4096;
    struct feature_out single = {.rows = N, .ids = ids, .single = true};
    struct view v = {.data = out, .rows = N, .width = 1, .ld = 1};
    CHECK(train_sessions_number(&s, &single, v.rows, NULL, v, NULL) == RC_OK);
    for (int64_t k = 0; k < N; k++)
        CHECK_INT(out[k], k % 1700);
    train_sessions_release(&s);
}

static void lack_of_memory_is_said(void)
{
    struct train_sessions s = {0};
    struct err err = {0};
    float out = 0;
    const int64_t id = 3;
    struct feature_out single = {.rows = 1, .ids = &id, .single = true};
    struct view v = {.data = &out, .rows = 1, .width = 1, .ld = 1};
    for (int64_t n = 1; n <= 2; n++) {
        mem_fail_at(n);
        CHECK(train_sessions_number(&s, &single, v.rows, NULL, v, &err) == RC_NOMEM);
        CHECK_STR(err.msg, "no memory for the sessions of 1 rows");
    }
    mem_fail_at(0);
    CHECK(train_sessions_number(&s, &single, v.rows, NULL, v, &err) == RC_OK);
    train_sessions_release(&s);
}

static const struct tap_case cases[] = {
    TAP(sessions_are_numbered_by_first_appearance),
    TAP(many_sessions_fit),
    TAP(lack_of_memory_is_said),
};
TAP_MAIN(cases)
