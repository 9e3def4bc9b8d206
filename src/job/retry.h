/* SPDX-License-Identifier: Apache-2.0 */
/* job/retry.h - how an end is to be understood, and whether another attempt follows. */
#ifndef JOB_RETRY_H
#define JOB_RETRY_H

#include <stdbool.h>

#include "job/spec.h"
#include "job/state.h"

/* What one worker's end means. `code` -1 with a signal; `unseen`: nobody saw it end. */
enum job_reason job_retry_reason(int code, int signal, bool out_of_memory, bool unseen);
/* Exit status as a shell shows it: a signal is 128 and its number. */
int job_retry_status(int code, int signal);
/* `restarts` so far. */
bool job_retry_wanted(const struct job_spec *s, enum job_reason why, int code, int signal,
                      int64_t restarts);
/* Seconds before attempt number restarts + 2. */
double job_retry_delay(const struct job_spec *s, int64_t restarts);

#endif
