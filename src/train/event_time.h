/* SPDX-License-Identifier: Apache-2.0 */
/* train/event_time.h - when the event time of the data asks for a checkpoint
 * (save_checkpoints_timestamp*). Times are Unix milliseconds; 0 means that there is none.
 */
#ifndef TRAIN_EVENT_TIME_H
#define TRAIN_EVENT_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pc_TrainConfig;

/* The latest time that at least `quorum` (a share, up to 1) of the n shards have reached;
 * a shard without a time has reached none. Sorts `ms`.
 */
int64_t train_event_quorum(int64_t *ms, size_t n, double quorum);

/* The config asks for checkpoints by event time. */
bool train_event_is_asked(const struct pc_TrainConfig *tc);

/* Between `last` and `now` the time has passed a multiple of the interval, or one of the
 * times that the config names. Without either of the two: no.
 */
bool train_event_is_due(const struct pc_TrainConfig *tc, int64_t last, int64_t now);

#endif
