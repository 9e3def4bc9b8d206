/* SPDX-License-Identifier: Apache-2.0 */
/* backend/disk.h - how much a job has written to the disk, without waiting for the answer. */
#ifndef BACKEND_DISK_H
#define BACKEND_DISK_H

#include <stdint.h>
#include <sys/types.h>

/* Zeroed: no look is under way. */
struct backend_disk_look {
    pid_t pid; /* of who looks; 0: nobody */
    int fd;
    int64_t at; /* monotonic, of the last look */
};

/* Bytes of what the job in `dir` can write to, when a look has just ended, else -1. Starts
 * the next look in time.
 */
int64_t backend_disk_look(struct backend_disk_look *l, const char *dir);
void backend_disk_look_end(struct backend_disk_look *l); /* twice is fine */
/* The same at once. */
int64_t backend_disk_sum(const char *dir);

#endif
