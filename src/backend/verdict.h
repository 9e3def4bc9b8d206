/* SPDX-License-Identifier: Apache-2.0 */
/* backend/verdict.h - how a worker ended, for the supervisors to come: the file
 * HANDLE.verdict, of a backend whose service forgets it.
 */
#ifndef BACKEND_VERDICT_H
#define BACKEND_VERDICT_H

#include "backend/backend.h"

/* A failure is not told: the next supervisor asks the service again. */
void backend_verdict_write(const char *handle, enum backend_state state,
                           const struct backend_exit *e);
/* False: there is none. */
bool backend_verdict_read(const char *handle, enum backend_state *state,
                          struct backend_exit *e) MUST_CHECK;

#endif
