/* SPDX-License-Identifier: Apache-2.0 */
/* backend/disk.h - how much a job has written to the disk, without waiting for the answer. */
#ifndef BACKEND_DISK_H
#define BACKEND_DISK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Zeroed: no look is under way. */
struct backend_disk_look {
    pid_t pid; /* of who looks; 0: nobody */
    int fd;
    int64_t at; /* monotonic, of the last look */
};

/* Bytes of what the job in `dir`, whose workers have the numbers `pids`, can write to, when a look has just ended, else -1. Starts
 * the next look in time.
 */
int64_t backend_disk_look(struct backend_disk_look *l, const char *dir,
                          const int64_t *pids, size_t n_pids);
void backend_disk_look_end(struct backend_disk_look *l); /* twice is fine */
/* What is said of a tree that nests too many directories too deep to be measured. */
#define DISK_BEYOND (INT64_MAX / 2)
/* Of files without a name that processes have open which are kept apart together with one
 * of these; on the disk of `dir`.
 */
int64_t backend_disk_unnamed(const char *dir, const int64_t *pids, size_t n);
/* The same at once, of those with a name. */
int64_t backend_disk_sum(const char *dir);

#endif
