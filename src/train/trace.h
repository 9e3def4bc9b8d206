/* SPDX-License-Identifier: Apache-2.0 */
/* train/trace.h - what happened when, as a file that chrome://tracing and Perfetto open.
 */
#ifndef TRAIN_TRACE_H
#define TRAIN_TRACE_H

#include <stdint.h>

#include "base/err.h"

struct train_trace;

struct train_trace *train_trace_create(void);
void train_trace_destroy(struct train_trace *t); /* NULL is fine */

/* A row of the picture; both stay valid texts of the caller's. Times are clock_mono_ns().
 */
void train_trace_name(struct train_trace *t, int row, const char *name);
void train_trace_span(struct train_trace *t, int row, const char *name, int64_t from_ns,
                      int64_t to_ns);
/* Puts the whole at `path`, in one step. */
enum rc train_trace_write(const struct train_trace *t, const char *path,
                          struct err *err) MUST_CHECK;

#endif
