/* SPDX-License-Identifier: Apache-2.0 */
/* job/state.h - the words of a job's life: states, moves between them, reasons, events.
 */
#ifndef JOB_STATE_H
#define JOB_STATE_H

#include <stdbool.h>

#include "base/compiler.h"

enum job_state {
#define STATE(name, terminal, text) JOB_##name,
#include "job/states.def"
#undef STATE
    JOB_STATES
};

enum job_reason {
#define REASON(name, retry, text) WHY_##name,
#include "job/reasons.def"
#undef REASON
    JOB_REASONS
};

enum job_event_type {
#define EVENT(name, request, text) EV_##name,
#include "job/events.def"
#undef EVENT
    JOB_EVENTS
};

const char *job_state_name(enum job_state s);
bool job_state_find(const char *name, enum job_state *out) MUST_CHECK;
bool job_state_ended(enum job_state s); /* terminal: it never changes again */
bool job_state_may(enum job_state from, enum job_state to);

const char *job_reason_name(enum job_reason r);
const char *job_reason_text(enum job_reason r);
bool job_reason_find(const char *name, enum job_reason *out) MUST_CHECK;
/* Does it pass by itself, so that another try makes sense? */
bool job_reason_retry(enum job_reason r);

const char *job_event_name(enum job_event_type t);
bool job_event_find(const char *name, enum job_event_type *out) MUST_CHECK;
bool job_event_request(enum job_event_type t);

/* "Creating,Queuing,...": every state that is not terminal, as store_filter wants them.
 */
const char *job_live_states(void);

#endif
