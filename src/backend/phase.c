/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/phase.h"

#include <stddef.h>

#include "base/compiler.h"

static const char *const phases[] = {
#define PHASE(name, meaning) #name,
#include "backend/phases.def"
};

static const char *const events[] = {
#define EVENT(name, meaning) #name,
#include "backend/phases.def"
};

static const struct {
    enum phase from;
    enum phase_event on;
    enum phase to;
    enum phase_action action;
} moves[] = {
#define MOVE(from, event, to, action) \
    {PHASE_##from, PHASE_ON_##event, PHASE_##to, PHASE_DO_##action},
#include "backend/phases.def"
};

bool phase_next(enum phase from, enum phase_event on, enum phase *to,
                enum phase_action *action)
{
    for (size_t i = 0; i < ARRAY_LEN(moves); i++)
        if (moves[i].from == from && moves[i].on == on) {
            *to = moves[i].to;
            *action = moves[i].action;
            return true;
        }
    return false;
}

const char *phase_name(enum phase p)
{
    return phases[p];
}

const char *phase_event_name(enum phase_event e)
{
    return events[e];
}
