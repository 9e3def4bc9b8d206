/* SPDX-License-Identifier: Apache-2.0 */
/* job/space.h - room on the disk of a jobs directory: what is kept free, what jobs take.
 *
 *     DIR/min-free      bytes to keep free, written by a server at its start
 *     DIR/log-size      bytes that the log of a worker may take, likewise
 *     DIR/jobs/ID/size  bytes of a job that has ended, once somebody asked
 */
#ifndef JOB_SPACE_H
#define JOB_SPACE_H

#include <stdbool.h>

#include "base/str.h"
#include "job/place.h"

/* Where nobody said another number: so much, but of a small disk a twentieth. */
#define SPACE_MIN_FREE ((int64_t)512 << 20)
#define SPACE_MIN_SHARE 20

/* A file without contents takes one of the file system's files, of which there are so many. */
#define SPACE_FILE_LEAST 4096
/* Where fewer files than this part of all can still be made, the disk is full, too. */
#define SPACE_FILES_SHARE 100

struct job_space {
    int64_t total, free; /* bytes of the file system, and those we may still write */
    int64_t min_free;    /* below this no job starts and nothing is taken */
    int64_t files,
        free_files; /* that it can have, and that can still be made; 0: no limit */
};
enum rc job_space_read(const char *dir, struct job_space *out,
                       struct err *err) MUST_CHECK;
enum rc job_space_keep(const char *dir, int64_t min_free, struct err *err) MUST_CHECK;
/* The limit of a worker's log; 0: none. */
int64_t job_space_log(const char *dir);
enum rc job_space_keep_log(const char *dir, int64_t bytes, struct err *err) MUST_CHECK;
/* Whether `bytes` more would leave less than is to stay free; then `why` (may be NULL) says
 * so. A disk that cannot be asked is not full.
 */
bool job_space_short(const char *dir, int64_t bytes, struct buf *why);

/* Bytes on the disk of everything below the directory `fd`, which it takes; links are not
 * followed. *whole is false for a tree with so many deep directories that some were left out.
 */
int64_t job_space_below(int fd, bool *whole);
/* Bytes on the disk of everything below `path`; links are not followed. */
int64_t job_space_of(const char *path);
/* Of a job's directory; `ended`: it changes no more, and the answer is kept. */
int64_t job_space_of_job(const struct job_place *p, const char *id, bool ended);
/* "1.5 GiB". */
void job_space_words(int64_t bytes, char out[24]);

#endif
