/* SPDX-License-Identifier: Apache-2.0 */
/* job/log_read.h - reading a log from which old output may have been dropped.
 *
 * A log that reaches its limit loses what lies between its beginning and its latest part;
 * that part of the file becomes a hole, so all offsets stay what they were.
 */
#ifndef JOB_LOG_READ_H
#define JOB_LOG_READ_H

#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

/* Like pread(), but never into a hole: *at moves behind one, and *gap is its length, else 0.
 */
ssize_t job_log_read(int fd, char *to, size_t n, int64_t *at, int64_t *gap);
/* Where what was written at or behind this moment (wall clock, ms) begins, as the index beside
 * the log tells; its size when there is nothing, 0 where no times are kept.
 */
int64_t job_log_moment(const char *path, int64_t ms);
/* The line that stands for what was dropped; nothing for 0. */
void job_log_gap(int64_t gap, struct buf *out);

#endif
