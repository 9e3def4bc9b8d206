/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"
#include "tap.h"
#include "text/job/job.h"

static void reads_as(const char *text, const char *want, int64_t limit)
{
    struct jobspec_array a;
    struct buf b;
    buf_init(&b, 1000);
    CHECK(jobspec_array_read(str_c(text), &a));
    for (size_t i = 0; i < a.n; i++)
        buf_printf(&b, "%s%jd", i ? " " : "", (intmax_t)a.at[i]);
    CHECK_STR(buf_str(&b), want);
    CHECK(a.limit == limit);
    buf_release(&b);
    mem_free(a.at);
}

static void indexes_are_a_count_ranges_or_a_list(void)
{
    reads_as("3", "0 1 2", 0);
    reads_as("2-4", "2 3 4", 0);
    reads_as("1-9:3", "1 4 7", 0);
    reads_as("7,1,4-5", "7 1 4 5", 0);
    reads_as("3%2", "0 1 2", 2);
    reads_as("5-6%1", "5 6", 1);
}

static void anything_else_is_refused(void)
{
    static const char *const wrong[] = {
        "",    "0",   "x",    "-1",    "4-2",     "1-",    "1:2:", "1-3:0",       "3%",
        "3%0", "3%x", "1,,2", "10001", "0-10000", "1-2-3", "+3",   "1-9999999999"};
    struct jobspec_array a;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        if (jobspec_array_read(str_c(wrong[i]), &a)) {
            CHECK_STR(wrong[i], "refused");
            mem_free(a.at);
        }
}

static void an_element_names_its_array(void)
{
    struct jobspec_array_element e;
    CHECK(jobspec_array_element_read(str_c("ja-0123456789ab,7,10,2"), &e));
    CHECK_STR(e.id, "ja-0123456789ab");
    CHECK(e.index == 7 && e.count == 10 && e.limit == 2);
    CHECK(!jobspec_array_element_read(str_c("jb-0123456789ab,7,10,2"), &e));
    CHECK(!jobspec_array_element_read(str_c("ja-0123456789a\",7,10,2"), &e));
    CHECK(!jobspec_array_element_read(str_c("ja-0123456789ab,7,10"), &e));
}

static const struct tap_case cases[] = {
    TAP(indexes_are_a_count_ranges_or_a_list),
    TAP(anything_else_is_refused),
    TAP(an_element_names_its_array),
};

int main(int argc, char **argv)
{
    return tap_run(cases, ARRAY_LEN(cases), argc, argv);
}
