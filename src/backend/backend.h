/* SPDX-License-Identifier: Apache-2.0 */
/* backend/backend.h - where the workers of a job live: on this machine, in containers, in a
 * cluster. One `struct backend_ops` per kind, one file, and one line in
 * text/job/backends.def. Nothing outside a backend's file asks which backend a job has;
 * what differs is a method or a column below. docs/contributing/backend.md tells how to
 * add one.
 *
 * Who calls. Nobody but a backend calls a method directly: backend/call.h does, and checks
 * each answer. A backend that is made from another calls that one's methods from its own.
 * The supervisor of a job, a process of its own with one thread, calls the methods that
 * take a `struct backend_job`, but enter(), which `job exec` calls in its own process; the
 * agent calls probe() and capacity(). No method is called from two threads, nor, enter()
 * apart, for one job from two processes: the job's lock sees to that. Methods answer at
 * once as a person understands it (seconds at most): a backend that asks a remote service
 * does so at its own pace, and answers poll() from memory.
 *
 * Methods. Required: probe, prepare, address, port, start, reattach, poll, signal, release
 * and clean; of the first backend of the table capacity, too. A table that lacks one is
 * refused when it is probed, with "backend NAME has no METHOD()". The others say that they
 * are optional, and are NULL then.
 *
 * Order. open() first; prepare() before start() and before packages(); address() and port()
 * before start(); for a worker start() or reattach() before all others, release() last;
 * close() last of all. clean() may come at any time behind open(). A tick of the supervisor,
 * of which refresh(), poll() and logs() speak, comes every 200 ms (SUP_TICK_NS).
 *
 * Failures. A method that fails says why in `err`; where it has no words, some are put
 * there. RC_CANCELED means that it may pass and can be tried again; any other code that it
 * will not. Answers outside of what stands here end the attempt with the reason
 * BackendFault, and a message that names backend, method and value.
 *
 * Crashes. Supervisor, agent and server may be killed at any instruction. Workers must go
 * on, and whatever they write and however they end must still be there for the next
 * supervisor. It begins with open(), asks reattach() for every worker, and goes on from
 * the answers. A method that crashes the supervisor is called again by the next ones; the
 * job ends when that does not help (backend/crash.h). State in memory (`own`) is gone then; only handles, and files that the
 * backend itself keeps beside them, are left.
 *
 * Handles. A worker's handle is the file `run/WORKER.ATTEMPT[-LIFE]` of the job's
 * directory; what is in it is the backend's. start() stores it before the worker's program
 * can run: a worker without a handle does not exist, and a handle without a worker is one
 * that is lost. Only after that the record says WorkerStarted, and the job Running. A
 * backend that needs two steps (tell a cluster, learn its number) writes what it is about
 * to do first, under a name that finds it again (the job's id).
 *
 * States. A worker is WAITING, then RUNNING, then ENDED or LOST. It may skip some, and
 * never goes back: one that a cluster puts back into its queue is LOST, with the reason
 * Preempted or Evicted.
 *
 * Addresses. address() says under which name or number the other workers reach a worker,
 * port() which port to meet at. From them come MASTER_ADDR, MASTER_PORT, TF_CONFIG and
 * their kin. Both are asked before start(), and address() again when one worker starts
 * again alone: the answer must be the same throughout an attempt. A backend that knows no
 * addresses before workers have their places answers with tokens, which it replaces there
 * (backend/address.h).
 *
 * Many jobs. Supervisors do not know each other. A backend that asks a service about its
 * jobs asks about all of them at once, by backend/shared.h, whoever is first; refresh()
 * takes the part of its own job from there.
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
struct backend_calling;

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
    bool opened;       /* call.c's */
    struct backend_calling *calling; /* call.c's: which method is called; may be NULL */
};

enum backend_state {
    BACKEND_NONE,    /* there is no handle; for reattach() alone */
    BACKEND_WAITING, /* accepted; its program does not run yet */
    BACKEND_RUNNING,
    BACKEND_ENDED, /* nothing of it is left; how it ended is known */
    BACKEND_LOST,  /* there is a handle, but nobody saw the end */
};

/* One life of one worker. */
struct backend_worker {
    int64_t index, life;
    const struct job_spec_role *role; /* borrowed from the spec */
    const char *handle;               /* path of the file */
    const char *log;                  /* path */
    /* Set by start() and reattach(): */
    /* Readable at its end: poll() is called at once then; -1: none. With one and without it
     * is polled at every tick.
     */
    int fd;
    int64_t pid;   /* for people; 0: no process of this machine */
    bool waiting;  /* its program does not run yet; poll() tells when it does */
    char node[64]; /* where it runs, for people, or ""; poll() may set it later */
    bool
        limited; /* the backend holds it to its memory; else it is measured, by usage() */
    void *own;   /* the backend's, until release() */
    /* call.c's: */
    enum backend_state state; /* the last that was told */
    bool held;                /* release() is due */
    bool told;                /* of a fault in its log */
    char fault[200];          /* what was wrong with the answer of reattach(), or "" */
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

struct backend_exit {
    int code;           /* 0 to 255; -1: none, with a signal or a reason */
    int signal;         /* 1 to 64; 0: none */
    double cpu_s;       /* 0: unknown, as below */
    int64_t rss_bytes;  /* the most it had */
    int64_t ended;      /* wall clock, ns */
    bool out_of_memory; /* ended for its memory */
    bool log_cut;       /* the log could not be written to its end */
    /* Where the backend knows better than the exit status tells. With a reason no end is a
     * success, whatever the code.
     */
    enum job_reason why; /* None: it does not */
    char text[400]; /* for people, in `job why` and the event of the end; may be "" */
};

enum backend_signal {
    BACKEND_STOP,   /* TERM, and KILL after the job's grace time, by the backend itself */
    BACKEND_KILL,   /* at once */
    BACKEND_PAUSE,  /* STOP */
    BACKEND_RESUME, /* CONT */
    BACKEND_DESTROY, /* also what looks after it: it did not obey */
};

/* What there is for a job, at the moment; the better the smaller. */
enum backend_room_has {
    BACKEND_ROOM_NOW,
    BACKEND_ROOM_UNKNOWN, /* its service alone knows */
    BACKEND_ROOM_LATER,   /* it would wait */
    BACKEND_ROOM_NEVER,
};

struct backend_room {
    enum backend_room_has has;
    char text[200]; /* for people: why */
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
    const char *name; /* as in text/job/backends.def */
    /* Workers run on this machine's files: variables of the submission (PATH and kin) are
     * theirs too, Python packages are installed here for them, `workdir` exists.
     */
    bool host_files;
    /* Workers are processes of this machine, by backend/process.h: `job exec` can look at
     * them and join them.
     */
    bool processes;
    /* It has a queue of its own, as a cluster does: jobs are handed over at once (quotas of
     * users and projects hold, priorities and shares are its own business), take nothing of
     * this machine, get none of its GPUs, and are WAITING meanwhile.
     */
    bool own_queue;

    /* Can it be used from here? By the agent, at its start and again while it failed, and
     * by `doctor`. Changes nothing but notes in `dir` that make jobs start faster. A failure
     * keeps jobs of this backend from starting: RC_CANCELED, they wait; else they fail, with
     * its words.
     */
    enum rc (*probe)(const char *dir, struct err *err) MUST_CHECK;
    /* What it has to give, for the queue, nothing negative; `slots` (see capacity.h)
     * replaces what was found. There is one queue per directory: the agent asks the first
     * backend of the table once, at its start, and jobs of all backends take from that.
     * NULL for the others, which are not asked.
     */
    enum rc (*capacity)(const char *slots, struct backend_queue_need *out,
                        struct err *err) MUST_CHECK;

    /* Optional: begins, in every supervisor of the job, also in one that comes late and
     * finds all workers ended. May set `own`. Called again after a failure: RC_CANCELED, in
     * a while, for two minutes, or an hour where workers may run; else the job fails
     * (BackendUnavailable).
     */
    enum rc (*open)(struct backend_job *j, struct err *err) MUST_CHECK;
    /* Before each attempt, and again by a supervisor that takes one over: how workers see
     * their tree. Sets `root`, an absolute path, `view` and `links`, to texts that live as
     * long as the job or longer. Starts nothing and cannot fail: what is impossible,
     * start() says. The answers must be the same throughout an attempt.
     */
    void (*prepare)(struct backend_job *j);
    /* Optional, of a backend without host_files: the program that installs the Python
     * packages of `packages/requirements.txt` (in the job's directory) where its workers
     * will find them. It is run here, beside the supervisor; argv lies in `a` and has one
     * word at least. Once for a job, again when the installation was interrupted.
     */
    enum rc (*packages)(struct backend_job *j, struct arena *a, const char *const **argv,
                        struct job_contract_env *env, struct err *err) MUST_CHECK;
    /* One word that ends within `out`, without spaces; not empty. */
    void (*address)(const struct backend_job *j, int64_t worker,
                    char out[BACKEND_ADDRESS_SIZE]);
    /* A port that is free where worker 0 will be, 1 to 65535. Once for an attempt. */
    int64_t (*port)(const struct backend_job *j);
    /* All workers of an attempt, or one that starts again alone; once for a handle. Returns
     * when they run, or, if that may take time, when they are accepted: such a worker is
     * `waiting`, and poll() says WAITING meanwhile. RC_OK: all are `started` and have
     * handles. RC_CANCELED: somebody killed one on the way (NodeFailure); else they cannot
     * be started (LaunchFailure, exit status launch_status). On a failure those that did
     * start have `started`, and are killed by the caller. A program that is not there, or
     * not executable, is a LaunchFailure however it is found out: start() fails, or the
     * worker ends with the status 127 or 126, as a shell does. A backend that learns it in
     * another way says `why` in poll().
     */
    enum rc (*start)(struct backend_job *j, struct backend_launch *at, size_t n,
                     struct err *err) MUST_CHECK;
    /* By its handle, after another supervisor started it; NONE where there is no such file,
     * LOST where there is one and nothing behind it. Any state. Idempotent.
     */
    enum backend_state (*reattach)(struct backend_job *j, struct backend_worker *w);
    /* Optional: once before each round of poll(), at every tick, and before the first
     * reattach() of a supervisor: brings what is new of all workers of the job, for poll()
     * to answer from; at its own pace, so that most calls do nothing. A failure is told as a
     * warning, once until it works again; meanwhile poll() answers as before.
     */
    enum rc (*refresh)(struct backend_job *j, struct err *err) MUST_CHECK;
    /* Any state but NONE. WAITING: `out->text` may say what for. Idempotent, also behind an end, until
     * release(). ENDED: `out` is filled, with the same
     * every time, by whichever supervisor asks: what tells how a worker ended is written
     * down before it is removed. LOST: `out` says what is known, if only in words.
     */
    enum backend_state (*poll)(struct backend_job *j, struct backend_worker *w,
                               struct backend_exit *out);
    /* Asks, and does not wait; poll() tells what came of it. Idempotent; nothing happens to
     * a worker that has ended. One that is WAITING and is told to stop, to be killed or
     * destroyed never starts: it is ENDED. PAUSE and RESUME come to running ones alone.
     */
    void (*signal)(struct backend_job *j, struct backend_worker *w,
                   enum backend_signal s);
    /* Optional: brings what is new, up to a few MiB; false when nothing was left, true only
     * when something was brought. Called at every tick, and behind an end until it
     * returns false, also by a supervisor that takes over.
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
     * own three files; argv lies in `a` and has one word at least. Without it the worker's
     * process is entered, where workers are `processes`; else nothing can be run beside
     * them. Called without open(): `own` is NULL. Fails where no such worker runs.
     */
    enum rc (*enter)(struct backend_job *j, const struct backend_entry *e,
                     const char *const *argv, struct arena *a, const char *const **out,
                     struct job_contract_env *env, struct err *err) MUST_CHECK;
    /* Forgets `own` and closes `fd`. The worker goes on where it runs, and neither its
     * handle nor what reattach() and poll() will answer changes. Called once behind each
     * start() and each reattach(), whatever they answered, so `own` may be NULL; no other
     * method is called for this life of the worker then.
     */
    void (*release)(struct backend_job *j, struct backend_worker *w);
    /* Ends and removes what this attempt and earlier ones left, of one worker or (-1) of
     * all, and returns when it is gone, after 30 s at most for all of them together. `lost`:
     * somebody died, so there may be things that nobody knows; else they ended badly, before
     * everybody's eyes. Idempotent; handles stay.
     */
    void (*clean)(struct backend_job *j, int64_t worker, bool lost);
    /* Optional: the supervisor ends; once, behind an open() that succeeded. `ended`: so has
     * the job; nothing of it may be left. Not called in a supervisor that is killed.
     */
    void (*close)(struct backend_job *j, bool ended);
    /* Optional, of a backend with own_queue: what it has for this job, for `backend: auto`.
     * In the process that submits, from any thread; without open(); within ten seconds. Without it auto never
     * chooses the backend.
     */
    void (*room)(const struct job_place *p, const struct job_spec *s,
                 struct backend_room *out);
    /* Optional: what it has to be allowed there (`backend role`), as text that an
     * administrator can apply; `ns` is a name of a-z, 0-9, - and '.'.
     */
    void (*role)(const char *ns, struct buf *out);
};

/* NULL: there is none of this name. */
const struct backend_ops *backend_find(const char *name);
const struct backend_ops *backend_at(size_t i); /* NULL behind the last */

#define BACKEND(name, image) extern const struct backend_ops backend_##name;
#include "text/job/backends.def"
#undef BACKEND

#endif
