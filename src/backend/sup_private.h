/* SPDX-License-Identifier: Apache-2.0 */
/* backend/sup_private.h - the state of one supervisor, shared by its files:
 * supervisor.c (life), opening.c (its first step), giveup.c (the last one), prepare.c (tree and packages), copies.c (object stores), launch.c
 * (variables), attempt.c (workers), watch.c (logs). Workers are reached through
 * backend.h alone.
 */
#ifndef BACKEND_SUP_PRIVATE_H
#define BACKEND_SUP_PRIVATE_H

#include "backend/backend.h"
#include "backend/crash.h"
#include "backend/disk.h"
#include "backend/gpu.h"
#include "backend/phase.h"
#include "backend/shim.h"
#include "backend/thin.h"
#include "base/loop.h"
#include "job/contract.h"
#include "job/inputs.h"
#include "job/metric.h"
#include "job/record.h"
#include "job/secret.h"

#define SUP_TICK_NS (200 * INT64_C(1000000))

struct sup_worker {
    struct sup *sup;
    struct backend_worker b;
    char *handle, *log; /* owned: paths */
    struct loop_fd watch;
    bool known;       /* there is a handle */
    bool alive, over; /* over: its end is recorded */
    bool waiting;     /* alive: its backend has it, its program does not run yet */
    struct backend_exit exit; /* once over */
    bool unseen;              /* nobody saw its end */
    bool first;               /* failed while all the others still ran */
    int64_t destroyed;        /* how often it was told so */
    int64_t again_at;         /* monotonic ns of its next start, alone; 0: none */
    struct backend_log sink;  /* where the backend brings the log */
    int64_t log_size;         /* bytes that the watcher has seen */
    struct buf line;          /* a line whose end has not come yet */
    int64_t line_at;          /* where it begins */
    int64_t rss;              /* last sample */
};

struct sup {
    const struct job_place *p; /* borrowed */
    const char *id;
    char *dir, *ml; /* owned: the job's directory, its tree */
    int lock, control;
    struct loop *loop;
    struct job_record rec;
    struct job_spec spec;
    struct job_channels channels;
    struct job_contract_mounts mounts;
    struct job_secrets secrets;
    VEC(const char *) masks; /* their values; NULL behind the last */
    struct job_metric_set *metrics;
    struct job_isolation_job isolation;
    struct backend_job job;
    struct sup_worker *workers; /* [spec.workers] */
    int64_t n_workers;
    bool away;                      /* its backend does not answer refresh() */
    int64_t open_tries, open_since; /* of its backend; monotonic ns of the first */
    enum backend_phase phase;       /* changed by sup_on() alone */
    enum job_reason ending; /* why workers were told to stop; None: they were not */
    char ending_text[256];
    int64_t kill_at; /* monotonic ns: workers that are still there are destroyed; 0: no */
    bool suspended;  /* workers have been paused */
    struct proc *helper; /* of the preparation */
    struct loop_child helper_watch;
    int helper_step;
    struct backend_shim helper_shim; /* of one that is isolated */
    struct loop_fd helper_fd;
    loop_child_fn *helper_end;
    struct backend_disk_look disk;
    bool sending;      /* copies go out, not in */
    int64_t copies_at; /* monotonic ns of the last word about them; 0: none are made */
    struct loop_fd control_watch;
    struct loop_timer tick, later;
    int64_t ticks;
    int64_t last_sign; /* monotonic ns of the last output or step */
    int64_t last_step;
    int64_t progress_at;       /* monotonic ns of the last Progress event */
    struct backend_gpus *gpus; /* NULL: not asked yet, or none */
    bool gpus_asked;
    VEC(struct store_point) points; /* to be written */
    struct arena points_arena;
    struct backend_thin thin; /* of the values that come, which are kept */
};

/* supervisor.c */
/* Something happened: moves to the next phase and does what belongs to the move. False
 * (and a line in the log of the supervisor): it cannot happen now.
 */
bool sup_on(struct sup *s, enum backend_phase_event e);
void sup_flush(struct sup *s); /* what cannot be written stays for the next tick */
void sup_warn(struct sup *s, const char *text);
/* The job waits for something that `text` tells; said when it changes. */
void sup_waits(struct sup *s, const char *text);
void sup_finish(struct sup *s, enum job_state to, enum job_reason why, int code,
                int signal, const char *text);
/* The attempt is over without workers: decides between restart and end. */
void sup_attempt_failed(struct sup *s, enum job_reason why, int code, int signal,
                        const char *text);
void sup_attempt_over(struct sup *s); /* all workers have ended */
/* Values that no log may hold; read once. NULL behind the last. */
const char *const *sup_masks(struct sup *s);

/* confine_helper.c: as sup_helper(), for one that runs what a job brings, such as pip:
 * isolated like the job's workers.
 */
enum rc confine_helper(struct sup *s, const char *const *argv, const char *const *env,
                       loop_child_fn *done, struct err *err) MUST_CHECK;
void confine_helper_cancel(struct sup *s);
void confine_helper_release(struct sup *s);

/* opening.c */
/* Which backend it is; E3209. */
enum rc opening_find(struct sup *s, struct err *err) MUST_CHECK;
/* Whether the backend can be used. False: the job has ended, or `again` is called later,
 * to call this again.
 */
bool opening_try(struct sup *s, loop_fn *again);
void opening_stop(struct sup *s); /* a stop while that is tried */
/* Ends a job that nobody can begin, before there is a loop. Not RC_OK: it is as it was. */
enum rc opening_refuse(struct sup *s, enum job_reason why, const char *text,
                       struct err *err) MUST_CHECK;

/* giveup.c: ends a job whose supervisors crash, with what is known of `c`. The record is
 * open; without `job.ops` the backend is not asked.
 */
enum rc giveup_run(struct sup *s, const struct backend_crash *c,
                   struct err *err) MUST_CHECK;

/* prepare.c: begins; attempt_start() or sup_attempt_failed() follows. */
void prepare_start(struct sup *s);
/* Reads what a start needs, in a supervisor that found workers running. */
enum rc prepare_again(struct sup *s, struct err *err) MUST_CHECK;
/* Starts a process beside the workers, in the job's program directory, with the log of
 * the preparation. `env` NULL: ours.
 */
enum rc sup_helper(struct sup *s, const char *const *argv, const char *const *env,
                   loop_child_fn *done, struct err *err) MUST_CHECK;
void sup_helper_cancel(struct sup *s); /* `done` is still called */

/* copies.c: inputs from and outputs to object stores. */
#define COPIES_LIST "_trainyard_outputs.json" /* beside outputs that were sent */
bool copies_wanted(const struct sup *s, bool send);
enum rc copies_start(struct sup *s, bool send, loop_child_fn *done,
                     struct err *err) MUST_CHECK;
void copies_tick(struct sup *s); /* tells how far they are */
/* What their end means, None when they are complete; `text` for people. */
enum job_reason copies_end(struct sup *s, bool good, char *text, size_t size);

/* attempt.c */
void attempt_create(struct sup *s);
void attempt_start(struct sup *s);
/* The backend has all workers: Running as soon as none waits. */
void attempt_started(struct sup *s);
/* Finds workers of the current attempt that run or have ended; their number. */
int64_t attempt_find(struct sup *s);
void attempt_watch(struct sup *s);   /* waits for the ends of those that are alive */
void attempt_refresh(struct sup *s); /* news of all workers, for the polls that follow */
/* TERM to all, KILL after the grace time; `why` is what the end will mean, whatever the
 * exit statuses are. None: it is up to those.
 */
void attempt_stop(struct sup *s, enum job_reason why, bool now, const char *text);
void attempt_pause(struct sup *s, bool pause);
void attempt_signal(struct sup *s, struct sup_worker *w, enum backend_signal what);
bool attempt_alive(const struct sup *s);
/* Why a worker that is over ended: what its backend says, or what its status means. */
enum job_reason attempt_reason(const struct sup_worker *w);
/* Have all ended well whose end counts? */
bool attempt_good(const struct sup *s);
/* Starts workers again whose time has come. */
void attempt_again(struct sup *s);
/* Whether a worker that failed starts again alone; it is arranged then. */
bool attempt_alone(struct sup *s, struct sup_worker *w);
void attempt_settle(struct sup *s, struct sup_worker *w); /* if it has ended */
/* Records the end of a worker that is known to be gone; nothing follows from it yet. */
void attempt_take_end(struct sup *s, struct sup_worker *w);
void attempt_release(struct sup *s);

/* launch.c: what one worker is started with. */
struct launch {
    struct arena arena;
    struct job_contract_env env;
    const char *shell[5];
    struct backend_launch at;
};
enum rc launch_fill(struct sup *s, struct sup_worker *w, int64_t port, struct launch *l,
                    struct err *err) MUST_CHECK; /* E3208 */
void launch_release(struct launch *l);
/* GPUs of one worker, "2,3", in `a`; NULL: it asked for none. */
const char *launch_gpus(const struct sup *s, int64_t index, struct arena *a);

/* watch.c */
void watch_logs(struct sup *s, bool end); /* reads what came; `end`: also a last line */
void watch_write(struct sup *s);          /* points that were found */
void watch_use(struct sup *s);            /* processor, memory, GPUs of the workers */
void watch_limits(struct sup *s);         /* time, memory, signs of life */

#endif
