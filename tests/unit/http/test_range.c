/* SPDX-License-Identifier: Apache-2.0 */
#include "http/range.h"
#include "tap.h"

static void ranges_are_read_as_rfc_9110_says(void)
{
    static const struct {
        const char *text;
        int64_t size;
        enum http_range want;
        int64_t first, n;
    } all[] = {
        {"bytes=0-0", 10, RANGE_GOOD, 0, 1},
        {"bytes=2-4", 10, RANGE_GOOD, 2, 3},
        {"bytes=7-", 10, RANGE_GOOD, 7, 3},
        {"bytes=7-99", 10, RANGE_GOOD, 7, 3},
        {"bytes=-3", 10, RANGE_GOOD, 7, 3},
        {"bytes=-30", 10, RANGE_GOOD, 0, 10},
        {"bytes=10-", 10, RANGE_BAD, 0, 0},
        {"bytes=-0", 10, RANGE_BAD, 0, 0},
        {"bytes=0-", 0, RANGE_BAD, 0, 0},
        {"bytes=4-2", 10, RANGE_NONE, 0, 0},
        {"bytes=", 10, RANGE_NONE, 0, 0},
        {"bytes=-", 10, RANGE_NONE, 0, 0},
        {"bytes=1-2,4-5", 10, RANGE_NONE, 0, 0},
        {"bytes=a-b", 10, RANGE_NONE, 0, 0},
        {"lines=1-2", 10, RANGE_NONE, 0, 0},
        {"bytes=5", 10, RANGE_NONE, 0, 0},
        {"bytes=1-99999999999999999999", 10, RANGE_NONE, 0, 0},
        {NULL, 10, RANGE_NONE, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        int64_t first = 0, n = 0;
        CHECK_INT(http_range_parse(all[i].text, all[i].size, &first, &n), all[i].want);
        if (all[i].want == RANGE_GOOD) {
            CHECK_INT(first, all[i].first);
            CHECK_INT(n, all[i].n);
        }
    }
}

static const struct tap_case cases[] = {
    TAP(ranges_are_read_as_rfc_9110_says),
};

int main(int argc, char **argv)
{
    return tap_run(cases, ARRAY_LEN(cases), argc, argv);
}
