/* SPDX-License-Identifier: Apache-2.0 */
/* job/file.h - small files and signs between processes of one job directory. */
#ifndef JOB_FILE_H
#define JOB_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* Whole or absent, like fs_write(), but not synced: for what can be made again. */
enum rc job_file_put(const char *path, const void *data, size_t n, mode_t mode,
                     struct err *err) MUST_CHECK;

/* A lock that ends with the process that holds it, and with nothing else: the file is
 * opened close-on-exec, and children that are not executed must close it. -1: somebody
 * else holds it (or with errno another failure).
 */
int job_lock_take(const char *path);
bool job_lock_held(const char *path); /* by a living process */

/* A named pipe that one process reads; writing to it says "look at the store". */
int job_wake_open(const char *path, struct err *err); /* the reader's end, or -1 */
bool job_wake_send(const char *path);                 /* false when nobody reads */
void job_wake_drain(int fd);

#endif
