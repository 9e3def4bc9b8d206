/* SPDX-License-Identifier: Apache-2.0 */
/* backend/verdict.h - how a worker ended, for the supervisors to come: the file
 * HANDLE.verdict, of a backend whose service forgets it.
 */
#ifndef BACKEND_VERDICT_H
#define BACKEND_VERDICT_H

#include "backend/backend.h"

/* Once it is known it stays the same. Begins as zeros. */
struct backend_verdict {
    bool known;
    enum backend_state state; /* ENDED or LOST */
    struct backend_exit exit;
};

/* Remembers it, and returns the state. */
enum backend_state backend_verdict_set(struct backend_verdict *v,
                                       enum backend_state state,
                                       const struct backend_exit *e);
/* As set(), and writes it down first. A failure to write is not told: the next supervisor asks
 * the service again.
 */
enum backend_state backend_verdict_keep(struct backend_verdict *v, const char *handle,
                                        enum backend_state state,
                                        const struct backend_exit *e);
/* Is it known, to us or by the file? */
bool backend_verdict_find(struct backend_verdict *v, const char *handle);

#endif
