/* SPDX-License-Identifier: Apache-2.0 */
/* team/ticker.h - a thread that does something every now and then until it is told to end. */
#ifndef TEAM_TICKER_H
#define TEAM_TICKER_H

#include <stdint.h>

#include "base/err.h"

struct team_ticker;

/* Does it once; returns how many ns to wait for the next time. */
typedef int64_t team_tick_fn(void *arg);
/* The first time after `first_ns`. */
enum rc team_ticker_create(int64_t first_ns, team_tick_fn *tick, void *arg,
                           struct team_ticker **out, struct err *err) MUST_CHECK;
void team_ticker_destroy(struct team_ticker *t); /* waits for its end; NULL is fine */

#endif
