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
    enum backend_phase from;
    enum backend_phase_event on;
    enum backend_phase to;
    enum backend_phase_action action;
} moves[] = {
#define MOVE(from, event, to, action) \
    {PHASE_##from, PHASE_ON_##event, PHASE_##to, PHASE_DO_##action},
#include "backend/phases.def"
};

bool backend_phase_next(enum backend_phase from, enum backend_phase_event on,
                        enum backend_phase *to, enum backend_phase_action *action)
{
    for (size_t i = 0; i < ARRAY_LEN(moves); i++)
        if (moves[i].from == from && moves[i].on == on) {
            *to = moves[i].to;
            *action = moves[i].action;
            return true;
        }
    return false;
}

const char *backend_phase_name(enum backend_phase p)
{
    return phases[p];
}

const char *backend_phase_event_name(enum backend_phase_event e)
{
    return events[e];
}
