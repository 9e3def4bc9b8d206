/* SPDX-License-Identifier: Apache-2.0 */
/* backend/backend.h - where the workers of a job live: on this machine, in containers, in a
 * cluster. One `struct backend_ops` per kind, one file, and one line in
 * text/job/backends.def. Nothing outside a backend's file asks which backend a job has;
 * what differs is a method or a column below. docs/contributing/backend.md tells how to
 * add one.
 *
 * Who calls. The supervisor of a job, a process of its own with one thread, calls the
 * methods that take a `struct backend_job`; the agent calls probe() once at its start and
 * capacity(). No method is called from two threads or for one job from two processes: the
 * job's lock sees to that. Methods answer at once as a person understands it (seconds at
 * most): a backend that asks a remote service does so at its own pace, and answers poll()
 * from memory.
 *
 * Crashes. Supervisor, agent and server may be killed at any instruction. Workers must go
 * on, and whatever they write and however they end must still be there for the next
 * supervisor. It begins with open(), asks reattach() for every worker, and goes on from
 * the answers. State in memory (`own`) is gone then; only handles are left.
 *
 * Handles. A worker's handle is the file `run/WORKER.ATTEMPT[-LIFE]` of the job's
 * directory; what is in it is the backend's. start() stores it before the worker's program
 * can run: a worker without a handle does not exist, and a handle without a worker is one
 * that is lost. Only after that the record says WorkerStarted, and the job Running. A
 * backend that needs two steps (tell a cluster, learn its number) writes what it is about
 * to do first, under a name that finds it again (the job's id).
 *
 * Idempotent: reattach, poll, signal, clean, close may be called again, for workers that
 * have ended as well. start() is called once for a handle.
 *
 * Addresses. address() says under which name or number the other workers reach a worker,
 * port() which port to meet at. From them come MASTER_ADDR, MASTER_PORT, TF_CONFIG and
 * their kin. Both are asked before start(), and address() again when one worker starts
 * again alone: the answer must be the same throughout an attempt.
 *
 * Liveness is what poll() says, not a process number: the supervisor looks at nothing
 * else.
 *
 * Logs. Everybody reads `logs/worker-N.A.log` and its index in the job's directory. A
 * backend whose workers cannot write there themselves has logs(): it fetches what is new
 * and puts it through a backend_log, which masks secrets, writes times, and remembers how
 * far the source was read, so that nothing is lost or doubled over a crash.
 */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include "backend/backend_log.h"
#include "backend/queue.h"
#include "job/contract.h"
#include "job/isolation.h"
#include "job/place.h"
#include "job/state.h"

struct backend_ops;

/* A job as its backend sees it. Borrowed from the supervisor, for as long as that runs. */
struct backend_job {
    const struct backend_ops *ops;
    const struct job_place *p;
    const char *id, *dir, *ml; /* its directory, its tree in it */
    const struct job_spec *spec;
    int64_t attempt;
    const char *gpus; /* "0,3": of this machine, given to the job */
    const struct job_contract_mounts
        *mounts; /* what has to appear where, beside the tree */
    void (*warn)(struct backend_job *j, const char *text); /* a Warning event */
    /* Of a server's user: what its workers run under. NULL: they run as we do. A backend
     * that cannot keep to it fails in start().
     */
    const struct job_isolation_job *isolation;
    int network; /* namespace of such a job, opened by confine.c; -1: none */
    /* Set by prepare(): */
    const char *root; /* the tree as workers see it, "/ml"; no '/' behind */
    const char *view; /* one word for the record */
    bool links;       /* channels in the tree are links, not places to mount on */
    /* Set by a start() that failed: */
    int launch_status; /* as a shell has it: 127 not found, 126 not executable */
    void *own;         /* the backend's, from open() to close() */
};

/* One life of one worker. */
struct backend_worker {
    int64_t index, life;
    const struct job_spec_role *role; /* borrowed from the spec */
    const char *handle;               /* path of the file */
    const char *log;                  /* path */
    /* Set by start() and reattach(): */
    int fd;       /* readable when poll() has news; -1: it is asked every SUP_TICK_NS */
    int64_t pid;  /* for people; 0: no process of this machine */
    bool waiting; /* its program does not run yet; poll() tells when it does */
    bool
        limited; /* the backend holds it to its memory; else it is measured, by usage() */
    void *own;   /* the backend's, until release() */
};

/* What a worker is started with; valid during start(). */
struct backend_launch {
    struct backend_worker *w;
    const char *const *argv;
    struct job_contract_env *env;
    const char *cwd;            /* as the worker sees it */
    const char *gpus;           /* of this worker, NULL: none */
    const char *const *secrets; /* values to mask in the log, NULL behind the last */
    bool started;               /* set by start() */
};

enum backend_state {
    BACKEND_NONE,    /* there is no handle */
    BACKEND_WAITING, /* accepted; its program does not run yet */
    BACKEND_RUNNING,
    BACKEND_ENDED, /* nothing of it is left; how it ended is known */
    BACKEND_LOST,  /* there is a handle, but nobody saw the end */
};

struct backend_exit {
    int code, signal; /* code -1 with a signal */
    double cpu_s;
    int64_t rss_bytes;
    int64_t ended;      /* wall clock, ns; 0: unknown */
    bool out_of_memory; /* ended for its memory */
    bool log_cut;       /* the log could not be written to its end */
    /* Where the backend knows better than the exit status tells: */
    enum job_reason why; /* None: it does not */
    char text[400];
};

enum backend_signal {
    BACKEND_STOP,   /* TERM, and KILL after the job's grace time, by the backend itself */
    BACKEND_KILL,   /* at once */
    BACKEND_PAUSE,  /* STOP */
    BACKEND_RESUME, /* CONT */
    BACKEND_DESTROY, /* also what looks after it: it did not obey */
};

struct backend_usage {
    int64_t rss;
    double cpu_s;
};

#define BACKEND_ADDRESS_SIZE 256

/* How a program is run beside a worker's. */
struct backend_entry {
    int64_t worker;
    bool terminal;    /* its three files are one */
    const char *mark; /* NAME=value for its environment, by which it is found again */
};

struct backend_ops {
    const char *name;
    /* Workers run on this machine's files: variables of the submission (PATH and kin) are
     * theirs too, Python packages are installed here for them, `workdir` exists.
     */
    bool host_files;

    /* Can it be used from here? Notes that make jobs start faster may be left in `dir`.
     * RC_NOTFOUND, RC_IO: its jobs will fail, with the same words.
     */
    enum rc (*probe)(const char *dir, struct err *err) MUST_CHECK;
    /* What it has to give, for the queue; `slots` (see capacity.h) replaces what was
     * found. There is one queue per directory: the agent asks the first backend of the
     * table, and jobs of all backends take from that. NULL for the others.
     */
    enum rc (*capacity)(const char *slots, struct backend_queue_need *out,
                        struct err *err) MUST_CHECK;

    /* Optional: begins, in every supervisor of the job. */
    enum rc (*open)(struct backend_job *j, struct err *err) MUST_CHECK;
    /* Before each attempt, and again by a supervisor that takes one over: how workers see
     * their tree. Starts nothing and cannot fail: what is impossible, start() says. The
     * answers must be the same throughout an attempt.
     */
    void (*prepare)(struct backend_job *j);
    /* Optional, of a backend without host_files: the program that installs the Python
     * packages of `packages/requirements.txt` (in the job's directory) where its workers
     * will find them. It is run here, beside the supervisor; argv lies in `a`.
     */
    enum rc (*packages)(struct backend_job *j, struct arena *a, const char *const **argv,
                        struct job_contract_env *env, struct err *err) MUST_CHECK;
    void (*address)(const struct backend_job *j, int64_t worker,
                    char out[BACKEND_ADDRESS_SIZE]);
    /* A port that is free where worker 0 will be. */
    int64_t (*port)(const struct backend_job *j);
    /* All workers of an attempt, or one that starts again alone. Returns when they run,
     * or, if that may take time, when they are accepted: poll() says WAITING meanwhile.
     * RC_NOTFOUND, RC_IO: they cannot be started (launch_status); RC_CANCELED: somebody
     * killed one on the way, which may be tried again. Those that did start have
     * `started`, and are stopped by the caller.
     */
    enum rc (*start)(struct backend_job *j, struct backend_launch *at, size_t n,
                     struct err *err) MUST_CHECK;
    /* By its handle, after another supervisor started it. */
    enum backend_state (*reattach)(struct backend_job *j, struct backend_worker *w);
    /* `out` is filled at ENDED, with the same every time it is asked, by whichever
     * supervisor: what tells how a worker ended is written down before it is removed. At
     * LOST, `out` says what is known.
     */
    enum backend_state (*poll)(struct backend_job *j, struct backend_worker *w,
                               struct backend_exit *out);
    void (*signal)(struct backend_job *j, struct backend_worker *w,
                   enum backend_signal s);
    /* Optional: brings what is new, up to a few MiB; false when nothing was left. Called
     * every SUP_TICK_NS, and after ENDED until it returns false.
     */
    bool (*logs)(struct backend_job *j, struct backend_worker *w,
                 struct backend_log *log);
    /* Optional: what workers use now, [n] of them, added to out[n], which begins as zeros.
     * Of one that has ended, nothing. Without it nothing is measured: a worker that is not
     * `limited` is then held to no memory.
     */
    void (*usage)(struct backend_job *j, struct backend_worker *const *w, size_t n,
                  struct backend_usage *out);
    /* Optional: the program that runs another one beside a worker's (backend/exec.h), on its
     * own three files; argv lies in `a`. Without it the worker's process is entered.
     */
    enum rc (*enter)(struct backend_job *j, const struct backend_entry *e,
                     const char *const *argv, struct arena *a, const char *const **out,
                     struct job_contract_env *env, struct err *err) MUST_CHECK;
    /* Forgets `own` and closes `fd`; the worker goes on, and neither its handle nor what
     * poll() answers changes. Called once for a worker that was started or reattached, at
     * any state, also twice or where start() failed.
     */
    void (*release)(struct backend_job *j, struct backend_worker *w);
    /* Ends and removes what this attempt and earlier ones left, of one worker or (-1) of
     * all, and returns when it is gone. `lost`: somebody died, so there may be things that
     * nobody knows; else they ended badly, before everybody's eyes.
     */
    void (*clean)(struct backend_job *j, int64_t worker, bool lost);
    /* Optional: the supervisor ends. `ended`: so has the job; nothing of it may be left. */
    void (*close)(struct backend_job *j, bool ended);
};

/* NULL: there is none of this name. */
const struct backend_ops *backend_find(const char *name);
const struct backend_ops *backend_at(size_t i); /* NULL behind the last */

#define BACKEND(name, image) extern const struct backend_ops backend_##name;
#include "text/job/backends.def"
#undef BACKEND

#endif
