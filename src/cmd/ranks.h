/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/ranks.h - processes that mpirun or srun started to do one command together.
 *
 *     struct cmd_ranks ranks;
 *     enum rc rc = cmd_ranks_open(&ranks, err);
 *     // with ranks.comm, what they do together
 *     rc = cmd_ranks_close(&ranks, rc, err);
 *
 * Rank 0 alone prints: stdout and stderr of the others are closed, or go to a file where
 * TRAINYARD_LOG_DIR names a directory. What fails on one of them is told to all, and rank 0
 * says so; if it does not, the rank does.
 */
#ifndef CMD_RANKS_H
#define CMD_RANKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct comm;

struct cmd_ranks {
    struct comm *comm; /* NULL: this process is alone */
    int rank, world;
    int here;      /* ranks on this machine */
    int place;     /* among them; -1: not known */
    int share;     /* processors for each of them */
    int said;      /* where ranks but 0 would print: a copy of stderr; -1: none */
    bool logs;     /* this rank prints to a file of its own */
    int shards;    /* where neither the checkpoint nor the user says; 0: one per rank */
    bool told;     /* the others know that this rank has failed */
    bool launched; /* by `launch`, which asks for a stop by SIGUSR1 */
    _Atomic int64_t *step; /* for `launch`, mapped; NULL: none */
};

/* As the launcher's environment says. RC_NOTFOUND E2504: there is no MPI. */
enum rc cmd_ranks_open(struct cmd_ranks *r, struct err *err) MUST_CHECK;
/* Other ranks hear of a failure now, which ends calls under way; `err` gets the message that
 * cmd_ranks_close() would give it. Once.
 */
void cmd_ranks_fail(struct cmd_ranks *r, enum rc rc, struct err *err);
/* `rc` and `err` are how the command ended here; other ranks hear of a failure. Returns
 * rc, with the message that is to be printed in `err`.
 */
enum rc cmd_ranks_close(struct cmd_ranks *r, enum rc rc, struct err *err);
/* True on a rank but the first of a command that one process does: it has nothing to do. */
bool cmd_ranks_idle(void);
/* Threads of this rank when the user does not say: its share of the processors. */
int cmd_ranks_threads(const struct cmd_ranks *r, int64_t asked);

#endif
