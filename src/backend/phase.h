/* SPDX-License-Identifier: Apache-2.0 */
/* backend/phase.h - the phases of a supervisor and the moves between them: phases.def. */
#ifndef BACKEND_PHASE_H
#define BACKEND_PHASE_H

#include <stdbool.h>

enum phase {
#define PHASE(name, meaning) PHASE_##name,
#include "backend/phases.def"
    PHASE_COUNT
};

enum phase_event {
#define EVENT(name, meaning) PHASE_ON_##name,
#include "backend/phases.def"
    PHASE_EVENT_COUNT
};

/* What is done behind a move; the supervisor's functions of these names. */
enum phase_action {
    PHASE_DO_nothing,
    PHASE_DO_cancel_helper,
    PHASE_DO_stop_workers,
    PHASE_DO_stop_harder,
    PHASE_DO_stop_waiting,
    PHASE_DO_COUNT
};

/* False: there is no such move; nothing is changed then. */
bool phase_next(enum phase from, enum phase_event on, enum phase *to,
                enum phase_action *action);
const char *phase_name(enum phase p);
const char *phase_event_name(enum phase_event e);

#endif
