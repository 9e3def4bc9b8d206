/* SPDX-License-Identifier: Apache-2.0 */
/* train/trace.h - what happened when, as a file that chrome://tracing and Perfetto open.
 */
#ifndef TRAIN_TRACE_H
#define TRAIN_TRACE_H

#include <stdint.h>

#include "base/err.h"

struct trace;

struct trace *trace_create(void);
void trace_destroy(struct trace *t); /* NULL is fine */

/* A row of the picture; both stay valid texts of the caller's. Times are clock_mono_ns().
 */
void trace_name(struct trace *t, int row, const char *name);
void trace_span(struct trace *t, int row, const char *name, int64_t from_ns,
                int64_t to_ns);
/* Puts the whole at `path`, in one step. */
enum rc trace_write(const struct trace *t, const char *path, struct err *err) MUST_CHECK;

#endif
