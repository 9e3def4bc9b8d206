/* SPDX-License-Identifier: Apache-2.0 */
#include "io/glob.h"

#include "tap.h"

static void patterns_match_part_by_part(void)
{
    static const struct {
        const char *pattern, *key;
        bool yes;
    } at[] = {
        {"a/b.csv", "a/b.csv", true},
        {"a/*.csv", "a/b.csv", true},
        {"a/*.csv", "a/b/c.csv", false},
        {"*", "a/b", false},
        {"a/?", "a/b", true},
        {"a/[bc]x", "a/cx", true},
        {"a/[!bc]x", "a/cx", false},
        {"**", "a/b/c", true},
        {"**/c", "a/b/c", true},
        {"**/c", "c", true},
        {"a/**/c", "a/c", true},
        {"a/**/c", "a/x/y/c", true},
        {"a/**/c", "b/x/c", false},
        {"a/**/b/**/c", "a/1/b/2/3/c", true},
        {"a/**", "a/_tmp/c", false},
        {"a/*", "a/_SUCCESS", false},
        {"a/_*", "a/_SUCCESS", true},
        {"a/.*", "a/.x", true},
        {"a/*/c", "a/.x/c", false},
        {"**/c", "a/.x/c", false},
        {"a", "a/b", false},
        {"a/b", "a", false},
        {"", "", true},
    };
    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        bool got = io_glob_matches(at[i].pattern, at[i].key);
        CHECK(got == at[i].yes);
        if (got != at[i].yes)
            printf("# '%s' and '%s'\n", at[i].pattern, at[i].key);
    }
}

static const struct tap_case cases[] = {TAP(patterns_match_part_by_part)};
TAP_MAIN(cases)
