/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/phase.h"

#include "base/compiler.h"
#include "tap.h"

static bool may(enum backend_phase from, enum backend_phase_event on,
                enum backend_phase *to)
{
    enum backend_phase_action action;
    return backend_phase_next(from, on, to, &action);
}

static void moves_that_are_not_listed_are_refused(void)
{
    static const struct {
        enum backend_phase from;
        enum backend_phase_event on;
    } never[] = {
        {PHASE_CLOSING, PHASE_ON_PREPARE}, /* an end is an end */
        {PHASE_CLOSING, PHASE_ON_STARTED},   {PHASE_CLOSING, PHASE_ON_RETRY},
        {PHASE_CLOSING, PHASE_ON_SEND},      {PHASE_CLOSING, PHASE_ON_FINISH},
        {PHASE_RUNNING, PHASE_ON_PREPARE}, /* never two attempts at a time */
        {PHASE_STARTING, PHASE_ON_PREPARE},  {PHASE_ENDING, PHASE_ON_PREPARE},
        {PHASE_ENDING, PHASE_ON_STARTED}, /* told to stop, it does not run again */
        {PHASE_ENDING, PHASE_ON_ACCEPTED},   {PHASE_SENDING, PHASE_ON_RETRY},
        {PHASE_SENDING, PHASE_ON_STARTED},   {PHASE_WAITING, PHASE_ON_STARTED},
        {PHASE_WAITING, PHASE_ON_ACCEPTED},  {PHASE_WAITING, PHASE_ON_SEND},
        {PHASE_PREPARING, PHASE_ON_PREPARE}, {PHASE_PREPARING, PHASE_ON_SEND},
        {PHASE_OPENING, PHASE_ON_SEND},
    };
    for (size_t i = 0; i < ARRAY_LEN(never); i++) {
        enum backend_phase to = PHASE_COUNT;
        CHECK(!may(never[i].from, never[i].on, &to));
        CHECK_INT(to, PHASE_COUNT);
    }
}

static void a_stop_is_heard_in_every_phase_and_moves_none_by_itself(void)
{
    for (int p = PHASE_OPENING + 1; p < PHASE_COUNT; p++) {
        enum backend_phase to = PHASE_COUNT;
        CHECK(may((enum backend_phase)p, PHASE_ON_STOP, &to));
        CHECK_INT(to, p);
    }
}

static void the_end_is_reached_from_every_phase_and_is_final(void)
{
    for (int p = 0; p < PHASE_COUNT; p++) {
        bool seen[PHASE_COUNT] = {false};
        seen[p] = true;
        for (int round = 0; round < PHASE_COUNT; round++)
            for (int from = 0; from < PHASE_COUNT; from++)
                for (int on = 0; seen[from] && on < PHASE_EVENT_COUNT; on++) {
                    enum backend_phase to;
                    if (may((enum backend_phase)from, (enum backend_phase_event)on, &to))
                        seen[to] = true;
                }
        CHECK(seen[PHASE_CLOSING]);
    }
    for (int on = 0; on < PHASE_EVENT_COUNT; on++) {
        enum backend_phase to = PHASE_CLOSING;
        may(PHASE_CLOSING, (enum backend_phase_event)on, &to);
        CHECK_INT(to, PHASE_CLOSING);
    }
}

static void each_event_has_one_answer_in_a_phase(void)
{
    static const struct {
        enum backend_phase from;
        enum backend_phase_event on;
    } rows[] = {
#define MOVE(from, event, to, action) {PHASE_##from, PHASE_ON_##event},
#include "backend/phases.def"
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t k = 0; k < i; k++)
            CHECK(rows[i].from != rows[k].from || rows[i].on != rows[k].on);
    CHECK_STR(backend_phase_name(PHASE_SENDING), "SENDING");
    CHECK_STR(backend_phase_event_name(PHASE_ON_RETRY), "RETRY");
}

static const struct tap_case cases[] = {
    TAP(moves_that_are_not_listed_are_refused),
    TAP(a_stop_is_heard_in_every_phase_and_moves_none_by_itself),
    TAP(the_end_is_reached_from_every_phase_and_is_final),
    TAP(each_event_has_one_answer_in_a_phase),
};
TAP_MAIN(cases)
