/* SPDX-License-Identifier: Apache-2.0 */
/* backend/slurm_words.h - what Slurm's words mean here: states of jobs, reasons to wait,
 * messages of its commands.
 */
#ifndef BACKEND_SLURM_WORDS_H
#define BACKEND_SLURM_WORDS_H

#include "base/str.h"
#include "job/state.h"

enum slurm_phase { SLURM_PENDING, SLURM_STARTING, SLURM_RUNNING, SLURM_OVER };

struct slurm_state {
    const char *name;
    enum slurm_phase phase;
    enum job_reason why; /* of an end, or of a way back to the queue */
    const char *words;   /* "Slurm job 12 WORDS" */
};

/* By the first word of "CANCELLED by 1000"; one that is not known counts as running. */
const struct slurm_state *slurm_state_find(struct str name);

/* "Resources: nodes ... are not free yet". */
void slurm_reason_put(const char *reason, struct buf *out);
bool slurm_reason_never(const char *reason); /* waiting will not help */

enum slurm_failure {
    SLURM_REFUSED, /* for good */
    SLURM_AWAY,    /* may pass; whether the request arrived is not known */
    SLURM_UNSENT,  /* may pass; it did not arrive */
};
enum slurm_failure slurm_failure_of(const char *said);
/* The line of a command's messages that tells most, without "sbatch: error: ". */
void slurm_message_put(const char *said, struct buf *out);

#endif
