/* SPDX-License-Identifier: Apache-2.0 */
/* backend/phase.h - the phases of a supervisor and the moves between them: phases.def. */
#ifndef BACKEND_PHASE_H
#define BACKEND_PHASE_H

#include <stdbool.h>

enum backend_phase {
#define PHASE(name, meaning) PHASE_##name,
#include "backend/phases.def"
    PHASE_COUNT
};

enum backend_phase_event {
#define EVENT(name, meaning) PHASE_ON_##name,
#include "backend/phases.def"
    PHASE_EVENT_COUNT
};

/* What is done behind a move; the supervisor's functions of these names. */
enum backend_phase_action {
    PHASE_DO_nothing,
    PHASE_DO_cancel_helper,
    PHASE_DO_stop_workers,
    PHASE_DO_stop_harder,
    PHASE_DO_stop_waiting,
    PHASE_DO_COUNT
};

/* False: there is no such move; nothing is changed then. */
bool backend_phase_next(enum backend_phase from, enum backend_phase_event on,
                        enum backend_phase *to, enum backend_phase_action *action);
const char *backend_phase_name(enum backend_phase p);
const char *backend_phase_event_name(enum backend_phase_event e);

#endif
