/* SPDX-License-Identifier: Apache-2.0 */
#include "job/state.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    bool flag;
    const char *text;
} states[] =
    {
#define STATE(name, terminal, text) {#name, terminal, text},
#include "job/states.def"
#undef STATE
},
  reasons[] =
      {
#define REASON(name, retry, text) {#name, retry, text},
#include "job/reasons.def"
#undef REASON
},
  events[] = {
#define EVENT(name, request, text) {#name, request, text},
#include "job/events.def"
#undef EVENT
};

static const struct {
    enum job_state from, to;
} moves[] = {
#define MOVE(from, to) {JOB_##from, JOB_##to},
#include "job/moves.def"
#undef MOVE
};

const char *job_state_name(enum job_state s)
{
    return states[s].name;
}

bool job_state_find(const char *name, enum job_state *out)
{
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        if (strcmp(states[i].name, name) == 0) {
            *out = (enum job_state)i;
            return true;
        }
    return false;
}

bool job_state_ended(enum job_state s)
{
    return states[s].flag;
}

bool job_state_may(enum job_state from, enum job_state to)
{
    for (size_t i = 0; i < ARRAY_LEN(moves); i++)
        if (moves[i].from == from && moves[i].to == to)
            return true;
    return false;
}

const char *job_reason_name(enum job_reason r)
{
    return r == WHY_None ? "" : reasons[r].name;
}

const char *job_reason_text(enum job_reason r)
{
    return reasons[r].text;
}

bool job_reason_find(const char *name, enum job_reason *out)
{
    if (!*name) {
        *out = WHY_None;
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (strcmp(reasons[i].name, name) == 0) {
            *out = (enum job_reason)i;
            return true;
        }
    return false;
}

bool job_reason_retry(enum job_reason r)
{
    return reasons[r].flag;
}

const char *job_event_name(enum job_event_type t)
{
    return events[t].name;
}

bool job_event_find(const char *name, enum job_event_type *out)
{
    for (size_t i = 0; i < ARRAY_LEN(events); i++)
        if (strcmp(events[i].name, name) == 0) {
            *out = (enum job_event_type)i;
            return true;
        }
    return false;
}

bool job_event_request(enum job_event_type t)
{
    return events[t].flag;
}

const char *job_live_states(void)
{
    return "Creating,Queuing,EnvPreparing,Running,Restarting,Suspended,Stopping,Unknown";
}
