/* SPDX-License-Identifier: Apache-2.0 */
/* backend/mpirun_runner.h - the process that has one mpirun: it waits for slots of the hosts,
 * starts mpirun, and waits for its end. It outlives a supervisor that is killed. One for all
 * workers of an attempt, or for one that starts again alone; its files lie in `run` of the
 * job's directory, BASE being `mpi.ATTEMPT` or `mpi.ATTEMPT.WORKER-LIFE`:
 *
 *     BASE.conf    what it is to do, "NAME VALUE" a line
 *     BASE.hosts   the hostfile as it was when the attempt began
 *     BASE.list    handles of the workers, in the order of ranks
 *     BASE.lock    held by the runner as its standard input
 *     BASE.wait    what it waits for, for people
 *     BASE.seats   the host of each rank, a line each; there before mpirun is
 *     BASE.stop    its end was asked for: nothing begins any more
 *     BASE.kill    mpirun is to end at once
 *     BASE.out     output of mpirun
 *     BASE.done    exit status of mpirun; the runner's last file
 */
#ifndef BACKEND_MPIRUN_RUNNER_H
#define BACKEND_MPIRUN_RUNNER_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/* Texts without line ends. */
struct mpirun_runner_conf {
    const char *job, *tag;
    const char *dir;      /* of jobs */
    const char *hostfile; /* names the queue */
    const char *mpirun, *program;
    int64_t workers, per_host;
    int64_t world;  /* 1: workers are ranks of mpirun's for their programs, too */
    int64_t seated; /* 1: the only worker has its slot already, on the only host */
};

enum rc mpirun_runner_write(const struct mpirun_runner_conf *c, const char *base,
                            struct err *err) MUST_CHECK;
/* Of a BASE; texts are in `a`. */
enum rc mpirun_runner_read(const char *base, struct mpirun_runner_conf *out,
                           struct arena *a, struct err *err) MUST_CHECK;
/* The runner's whole life. */
enum rc mpirun_runner_run(const char *base, struct err *err) MUST_CHECK;
/* Ends what killed tasks left on the hosts, 15 s at most; nothing where none were started. */
void mpirun_runner_sweep(const struct mpirun_runner_conf *c, const char *base);

/* On a host: the worker of this rank of mpirun's. */
enum rc mpirun_task_run(const char *list, struct err *err) MUST_CHECK;

#endif
