/* SPDX-License-Identifier: Apache-2.0 */
/* backend/shim.h - the parent of one worker.
 *
 * A small process between the supervisor and the worker's program. It outlives a
 * supervisor that is killed: it goes on writing the log, and leaves a record of how the
 * worker ended. While it lives it holds the lock of its run file, so nobody ever has to
 * guess from a process number. The worker dies with it (parent-death signal), and what
 * the worker leaves behind is killed at its end (the shim adopts it).
 *
 *     run/0.1        "SHIM-PID WORKER-PID\n", locked while the shim lives
 *     run/0.1.exit   "CODE SIGNAL CPU-MICROSECONDS RSS-BYTES WALL-NS LOG-CUT TOLD\n"; on
 * a full disk in the room that the run file kept for it
 *
 * Signals to the shim: TERM stops the worker (TERM, then KILL after the grace time), INT
 * stops it at once, USR1 suspends, USR2 resumes. The grace time is that of all processes
 * the worker started: a shell that ends at once takes nothing from its children.
 *
 * A cluster that sends a signal sends it to all processes of a worker, so only those that
 * nobody minds can be for the shim (`requests`): URG says that the file has a request,
 * "NUMBER stop|kill|pause|resume\n", whose number is new; WINCH that the time is nearly
 * over, which is a stop. TOLD in the exit record says what first told it to stop: TERM,
 * WINCH, HUP for a request, 0: nothing.
 */
#ifndef BACKEND_SHIM_H
#define BACKEND_SHIM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "backend/jail.h"
#include "backend/view.h"
#include "base/err.h"

/* Everything borrowed; read by the child, which has a copy of our memory. */
struct backend_shim_spec {
    const char *run;  /* the run file */
    const char *log;  /* of this worker and attempt */
    int64_t log_most; /* bytes that it may take; 0: no limit */
    const char *const *argv, *const *env;
    const char *cwd;
    double grace_s;
    const char *const *secrets; /* to mask, NULL behind the last */
    const char *requests;       /* file of requests, see above; NULL: there are none */
    int64_t requests_ms;        /* between two looks for one without a signal; 0: 5 s */
    const char *cgroup;         /* to be in; NULL: in ours */
    const char *scratch;        /* for a private view; NULL: none wanted */
    const struct backend_view_mount *mounts;
    size_t n_mounts;
    const struct jail *jail; /* with `scratch`; NULL: the worker runs as we do */
};

struct backend_shim {
    pid_t pid;
    int pidfd;    /* readable when it has ended; -1: none */
    pid_t worker; /* its process group has the same number */
    bool child;   /* ours to reap */
};

/* Returns when the program has been executed. RC_NOTFOUND or RC_IO: it could not be; then
 * *status is 127 (not found) or 126, and nothing is left running. RC_CANCELED: the shim
 * was killed before it could say.
 */
enum rc backend_shim_start(const struct backend_shim_spec *spec, struct backend_shim *out,
                           int *status, struct err *err) MUST_CHECK;
/* This process itself becomes the shim, for a cluster that starts one process per worker;
 * its standard files stay as they are. Returns when the worker has ended and its exit is
 * recorded. A program that cannot be executed is recorded as one that ended with *status
 * 127 or 126, and told as above.
 */
enum rc backend_shim_become(const struct backend_shim_spec *spec, int *status,
                            struct err *err) MUST_CHECK;
/* Finds the shim of a run file again. False when none is alive. */
bool backend_shim_attach(const char *run, struct backend_shim *out);
void backend_shim_signal(const struct backend_shim *s, int signal);
/* Kills it and waits for its end: the kernel kills the worker with it, not sooner. */
void backend_shim_kill(const struct backend_shim *s);
bool backend_shim_ended(struct backend_shim *s); /* and reaps it */
void backend_shim_release(struct backend_shim *s);

struct backend_shim_exit {
    int code, signal; /* as struct proc_exit */
    double cpu_s;
    int64_t rss_bytes;
    int64_t ended; /* wall clock, ns */
    bool log_cut;  /* the log could not be written to its end */
    int told;      /* TERM, WINCH or HUP, see above; 0: nothing */
};
/* False when there is no record: nobody saw the end. */
bool backend_shim_exit_read(const char *run, struct backend_shim_exit *out);

/* Kills every process whose environment carries this job, an attempt up to `attempt` and
 * this worker (-1: any), and waits until none is left. Returns how many there were.
 */
int backend_shim_sweep(const char *job, int64_t attempt, int64_t worker);

#endif
