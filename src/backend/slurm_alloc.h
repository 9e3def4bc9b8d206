/* SPDX-License-Identifier: Apache-2.0 */
/* backend/slurm_alloc.h - one job of Slurm's: its submission, and its cancellation.
 *
 * It has all workers of an attempt, or one that starts again alone. Its files lie in `run`
 * of the job's directory, BASE being `slurm.ATTEMPT` or `slurm.ATTEMPT.WORKER-LIFE`:
 *
 *     BASE.argv    the words of sbatch, each with a NUL behind it
 *     BASE.sh      the batch script
 *     BASE.list    handles of the workers, in the order of Slurm's tasks
 *     BASE.lock    held by sbatch as its standard input, so also when we are dead
 *     BASE.answer  what sbatch printed: the number
 *     BASE.error   its messages
 *     BASE.stop    we asked for its end: it must not begin any more
 *     BASE.owner   made by the script, once: number of the Slurm job that has the workers
 *     BASE.done    made by the script at its end
 *     BASE.out     output of script and srun
 *
 * Submitted once: before sbatch is run again after a failure, or by a supervisor that finds
 * neither an answer nor a refusal, squeue is asked whether Slurm has a job whose name ends
 * with the tag "JOB.ATTEMPT". Should a request arrive later than all that, the second script
 * finds BASE.owner, and ends.
 */
#ifndef BACKEND_SLURM_ALLOC_H
#define BACKEND_SLURM_ALLOC_H

#include "backend/backend.h"
#include "backend/slurm_news.h"

struct slurm_alloc {
    char *name;           /* owned: of the job in Slurm */
    char *base, *tag;     /* owned: path without ending; how it is found in squeue */
    int64_t number;       /* Slurm's; 0: not known */
    enum job_reason why;  /* it will never be submitted; None: it may */
    char text[400];       /* why not, or why not yet */
    struct proc *sbatch;  /* owned; NULL: none runs */
    struct proc *scancel; /* the same */
    bool stopped;         /* BASE.stop is there */
    const struct slurm_state *state; /* the last that squeue told; NULL: none */
    char reason[200], nodes[200];
    bool over;        /* Slurm has it no more, or as one that has ended */
    int64_t over_at;  /* monotonic ns when that was seen */
    int wanted;       /* what scancel has still to do; 0: nothing */
    int destroyed;    /* how often that was sent */
    int64_t again_at; /* monotonic ns: scancel failed, not before */
};

/* Writes the files for these workers, and submits; what comes of it is told by advance. */
enum rc slurm_alloc_create(const struct backend_job *j, struct backend_launch *at,
                           size_t n, struct slurm_alloc **out,
                           struct err *err) MUST_CHECK;
/* Finds the one that a handle names. */
enum rc slurm_alloc_open(const struct backend_job *j, const char *handle,
                         struct slurm_alloc **out, struct err *err) MUST_CHECK;
void slurm_alloc_destroy(struct slurm_alloc *a); /* Slurm's job goes on */

/* Goes on with a submission and with signals. `answer` of squeue, asked at `at` (wall clock,
 * ns), NULL: there is none.
 */
void slurm_alloc_advance(struct slurm_alloc *a, const char *answer, int64_t at);
/* A request lies beside the handle of a worker, whose program runs, or not; told by the
 * next advance, once for all workers.
 */
void slurm_alloc_signal(struct slurm_alloc *a, enum backend_signal s, bool runs);
/* BASE.ENDING, for mem_free(). */
char *slurm_alloc_file(const struct slurm_alloc *a, const char *ending) MUST_CHECK;

#endif
