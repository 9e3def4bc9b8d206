/* SPDX-License-Identifier: Apache-2.0 */
/* backend/slurm_room.h - what Slurm's nodes have for a job, by sinfo. */
#ifndef BACKEND_SLURM_ROOM_H
#define BACKEND_SLURM_ROOM_H

#include "backend/backend.h"

/* room() of backend.h. */
void slurm_room(const struct job_place *p, const struct job_spec *s,
                struct backend_room *out);
/* Of the answer of sinfo -N -o "%N %C %m %G": a line per node and partition. */
void slurm_room_judge(const char *answer, const struct job_spec *s,
                      struct backend_room *out);

#endif
