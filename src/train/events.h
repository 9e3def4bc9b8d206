/* SPDX-License-Identifier: Apache-2.0 */
/* train/events.h - event files that TensorBoard shows.
 *
 * A file is a row of records (length, checksum, bytes, checksum), each a protobuf message
 * Event; see docs/training.md. Events collect in memory until train_events_flush(). When the
 * disk refuses them, the file is given up and the run goes on.
 */
#ifndef TRAIN_EVENTS_H
#define TRAIN_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct train_events;

/* Makes `dir` and a new file events.out.tfevents.<time>.<host>.<process> in it. On
 * success *out is the caller's, to close.
 */
enum rc train_events_open(const char *dir, struct train_events **out,
                          struct err *err) MUST_CHECK;
void train_events_close(struct train_events *e); /* flushes; NULL is fine */

/* Everything of `step` and later in older files of the directory no longer counts. */
void train_events_restart(struct train_events *e, int64_t step);
void train_events_scalar(struct train_events *e, int64_t step, const char *tag,
                         double value);
/* Of the n finite ones among the values. */
void train_events_histogram(struct train_events *e, int64_t step, const char *tag,
                            const float *v, int64_t n);
/* Shown as Markdown. */
void train_events_text(struct train_events *e, int64_t step, const char *tag,
                       const char *text);
/* Writes what has collected. After a failure nothing is written any more; the failure is
 * returned once.
 */
enum rc train_events_flush(struct train_events *e, struct err *err) MUST_CHECK;
const char *train_events_path(const struct train_events *e);

#endif
