/* SPDX-License-Identifier: Apache-2.0 */
/* backend/watchdog.h - for a process that stays: sees to it that an agent runs whenever a
 * job of this place is alive, also when the agent was killed.
 */
#ifndef BACKEND_WATCHDOG_H
#define BACKEND_WATCHDOG_H

#include "job/place.h"

struct backend_watchdog;

/* `p` and its store (used by the watchdog's thread alone from here on) outlive it. */
enum rc backend_watchdog_create(const struct job_place *p, struct backend_watchdog **out,
                                struct err *err) MUST_CHECK;
/* The agent goes on by itself. NULL is fine. */
void backend_watchdog_destroy(struct backend_watchdog *k);
/* There is something to do. Any thread; never waits for the agent. NULL is fine. */
void backend_watchdog_poke(struct backend_watchdog *k);

#endif
