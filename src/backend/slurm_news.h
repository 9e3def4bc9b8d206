/* SPDX-License-Identifier: Apache-2.0 */
/* backend/slurm_news.h - how our jobs are in Slurm: one squeue for all of them. */
#ifndef BACKEND_SLURM_NEWS_H
#define BACKEND_SLURM_NEWS_H

#include "backend/slurm_words.h"
#include "base/proc.h"
#include "job/contract.h"

/* One line of squeue. Borrowed from the answer. */
struct slurm_news {
    int64_t number;
    const struct slurm_state *state;
    struct str reason, nodes;
    struct str name; /* ends with ".TAG", see slurm_alloc.h */
};

/* The environment of Slurm's commands, and so of its jobs: nothing but where things are.
 * Variables that would change what a command does (SBATCH_*, SLURM_JWT) are not in it.
 */
void slurm_env_fill(struct job_contract_env *out);
/* Runs one of Slurm's commands. RC_CANCELED: it failed in a way that may pass; RC_NOTFOUND:
 * it is not installed; RC_INVAL else. `err` has its message.
 */
enum rc slurm_run(const char *const *argv, double seconds, struct proc_output *out,
                  struct err *err) MUST_CHECK;
/* All jobs of this user that Slurm still knows, for mem_free(); a backend_shared_fn. */
enum rc slurm_news_ask(void *arg, char **out, struct err *err) MUST_CHECK;
/* The next line of an answer; false behind the last. */
bool slurm_news_next(struct str *answer, struct slurm_news *out) MUST_CHECK;
/* The job whose name ends with this tag and that has this number (0: any, the oldest). A
 * controller that lost its state gives numbers a second time.
 */
bool slurm_news_find(const char *answer, int64_t number, const char *tag,
                     struct slurm_news *out) MUST_CHECK;
/* The state of a job that squeue does not know any more, from the accounts. NULL: they do
 * not know it either, or there are none.
 */
const struct slurm_state *slurm_news_account(int64_t number, const char *tag);
/* Whether it was preempted: one that ended in the time it was given then is not in that
 * state, but completed or failed.
 */
bool slurm_news_preempted(int64_t number);

#endif
