/* SPDX-License-Identifier: Apache-2.0 */
/* backend/mpirun_slots.h - who has the slots of hosts: mpirun has no queue, so jobs of one
 * directory share theirs here.
 *
 * DIR/mpi/slots has a file per job, locked while its runner lives: `wait-QUEUE-WHEN-TAG`,
 * then `have-WHEN-TAG` with a line "HOST COUNT" per host. A hostfile is a queue: first come,
 * first served. All hostfiles share the hosts: a name is the same host everywhere. Whoever
 * reads or changes holds DIR/mpi/lock meanwhile.
 */
#ifndef BACKEND_MPIRUN_SLOTS_H
#define BACKEND_MPIRUN_SLOTS_H

#include "backend/mpirun_hosts.h"

#define MPIRUN_TEXT_SIZE 400

struct mpirun_slots;

struct mpirun_slots_want {
    const char *dir;      /* of jobs */
    const char *hostfile; /* names the queue */
    const struct mpirun_hosts *hosts;
    const char *tag; /* "JOB.ATTEMPT": a word without '-' at its begin and '/' */
    int64_t workers;
    int64_t per_host; /* workers on one host at most; 0: as many as it has slots */
};

/* How many workers there could be at all. */
int64_t mpirun_slots_most(const struct mpirun_hosts *h, int64_t per_host);
/* Slots of these hosts that jobs of the directory have. */
int64_t mpirun_slots_taken(const char *dir, const struct mpirun_hosts *h);
/* Gets in line. What `want` points to is borrowed until close. */
enum rc mpirun_slots_open(const struct mpirun_slots_want *want, struct mpirun_slots **out,
                          struct err *err) MUST_CHECK;
/* True: they are ours, and counts[i] of them are on hosts->at.at[i]. False: `text` says
 * what they are waited for.
 */
bool mpirun_slots_take(struct mpirun_slots *s, int64_t *counts,
                       char text[MPIRUN_TEXT_SIZE]);
/* Gives back what it has. NULL is fine. */
void mpirun_slots_close(struct mpirun_slots *s);

#endif
