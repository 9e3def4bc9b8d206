/* SPDX-License-Identifier: Apache-2.0 */
/* base/clock.h - what time it is, and how times are written. Any thread may call. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"

#define CLOCK_TEXT_SIZE 32 /* room that every text below fits in */
#define CLOCK_SECOND INT64_C(1000000000)

/* Nanoseconds from some fixed moment; never goes back. For measuring. */
int64_t clock_mono_ns(void);
/* Nanoseconds since 1970-01-01 UTC; jumps when somebody sets the clock. For records. */
int64_t clock_wall_ns(void);

/* "2024-02-29T12:00:00.123Z", cut to the millisecond. */
void clock_rfc3339(int64_t wall_ns, char out[CLOCK_TEXT_SIZE]);
/* Reads what RFC 3339 allows: any fraction, 'Z' or an offset, 't' and ' ' for 'T'. False
 * for anything else and for moments outside 1678..2261; *wall_ns is not touched then.
 */
bool clock_from_rfc3339(struct str text, int64_t *wall_ns) MUST_CHECK;

/* For people: "850us", "12ms", "3.2s", "2m05s", "3h07m", "2d04h". */
void clock_duration(int64_t ns, char out[CLOCK_TEXT_SIZE]);

#endif
