/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/preempt.h"

#include <string.h>

#include "tap.h"

#define CPU(n)                \
    {                         \
        .cpu_milli = (n)*1000 \
    }

static struct backend_queue_job running(const char *id, int64_t priority, int64_t since,
                                        int64_t cpu)
{
    return (struct backend_queue_job){.id = id,
                                      .owner = "",
                                      .priority = priority,
                                      .since = since,
                                      .preemptible = true,
                                      .need = {.cpu_milli = cpu * 1000}};
}

/* "b c": who goes. */
static void room_is_made_by(struct backend_queue_job *r, size_t n, int64_t cpu,
                            int64_t priority, const char *want)
{
    struct backend_queue_world w = {.total = CPU(4), .running = r, .n_running = n};
    struct backend_queue_job head = running("head", priority, 0, cpu);
    bool victims[8];
    char got[64] = "";
    size_t count = backend_preempt_plan(&w, &head, victims), listed = 0;
    for (size_t i = 0; i < n; i++)
        if (victims[i]) {
            strcat(got, got[0] ? " " : "");
            strcat(got, r[i].id);
            listed++;
        }
    CHECK_STR(got, want);
    CHECK(count == listed);
}

static void the_lowest_priority_goes_first_and_then_who_started_last(void)
{
    struct backend_queue_job r[] = {running("a", 3, 1, 1), running("b", 2, 1, 1),
                                    running("c", 2, 5, 1), running("d", 3, 9, 1)};
    room_is_made_by(r, 4, 1, 9, "c");
    room_is_made_by(r, 4, 2, 9, "b c");
    room_is_made_by(r, 4, 3, 9, "b c d");
}

static void equal_and_higher_priorities_stay(void)
{
    struct backend_queue_job r[] = {running("a", 5, 1, 2), running("b", 4, 1, 2)};
    room_is_made_by(r, 2, 2, 5, "b");
    room_is_made_by(r, 2, 2, 4, "");
    room_is_made_by(r, 2, 4, 5, ""); /* it would be in vain */
}

static void only_who_agreed_to_it_goes(void)
{
    struct backend_queue_job r[] = {running("a", 1, 1, 2), running("b", 2, 1, 2)};
    r[0].preemptible = false;
    room_is_made_by(r, 2, 2, 9, "b");
    r[1].preemptible = false;
    room_is_made_by(r, 2, 2, 9, "");
}

static void nobody_goes_whose_place_is_not_needed(void)
{
    struct backend_queue_job r[] = {running("small", 1, 9, 1), running("large", 2, 1, 3)};
    room_is_made_by(r, 2, 3, 9, "large");
}

static void those_that_are_going_count_as_gone(void)
{
    struct backend_queue_job r[] = {running("a", 1, 1, 2), running("b", 1, 2, 2)};
    r[1].leaving = true;
    room_is_made_by(r, 2, 2, 9, "");
    room_is_made_by(r, 2, 3, 9, "a");
}

static const struct tap_case cases[] = {
    TAP(the_lowest_priority_goes_first_and_then_who_started_last),
    TAP(equal_and_higher_priorities_stay),
    TAP(only_who_agreed_to_it_goes),
    TAP(nobody_goes_whose_place_is_not_needed),
    TAP(those_that_are_going_count_as_gone),
};

int main(int argc, char **argv)
{
    return tap_run(cases, ARRAY_LEN(cases), argc, argv);
}
