/* SPDX-License-Identifier: Apache-2.0 */
/* backend/keeper.h - for a process that stays: sees to it that an agent runs whenever a
 * job of this place is alive, also when the agent was killed.
 */
#ifndef BACKEND_KEEPER_H
#define BACKEND_KEEPER_H

#include "job/place.h"

struct keeper;

/* `p` and its store (used by the keeper's thread alone from here on) outlive it. */
enum rc keeper_create(const struct place *p, struct keeper **out,
                      struct err *err) MUST_CHECK;
/* The agent goes on by itself. NULL is fine. */
void keeper_destroy(struct keeper *k);
/* There is something to do. Any thread; never waits for the agent. NULL is fine. */
void keeper_poke(struct keeper *k);

#endif
