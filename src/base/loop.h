/* SPDX-License-Identifier: Apache-2.0 */
/* base/loop.h - one thread that waits for everything at once.
 *
 * Files, timers, signals, ends of children, results of work on other threads: each
 * arrives as a call on the thread inside loop_run(), one after the other, so what these
 * functions touch needs no lock. They must not block; what blocks is a work item.
 *
 * Watchers are structs of the caller, zeroed before their first use. A started one must
 * stay where it is until it is stopped; any may be stopped, started again or freed from
 * within any callback, its own included. Only loop_post() and loop_stop() may be called
 * by other threads. Stop all watchers before loop_destroy().
 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/proc.h"

struct loop;
typedef void loop_fn(void *arg);

/* `n_workers` threads at most, started when there is work for them; 1..64. */
enum rc loop_create(int n_workers, struct loop **out, struct err *err) MUST_CHECK;
/* Waits for work that runs, calls every work item's done() (canceled if it had not begun)
 * and every posted function. NULL is fine.
 */
void loop_destroy(struct loop *l);

/* Until loop_stop(). RC_IO when waiting itself fails. */
enum rc loop_run(struct loop *l, struct err *err) MUST_CHECK;
/* Waits at most `ns` (negative: as long as it takes) for something to happen, and handles
 * what did.
 */
enum rc loop_step(struct loop *l, int64_t ns, struct err *err) MUST_CHECK;
/* Lets loop_run() return after the current callback; before loop_run(): at once. */
void loop_stop(struct loop *l);
/* Runs fn(arg) on the loop's thread, in the order of the calls. */
void loop_post(struct loop *l, loop_fn *fn, void *arg);

/* A file, as long as it is ready (level-triggered). */
enum { LOOP_READ = 1, LOOP_WRITE = 2, LOOP_HANGUP = 4 /* reported, never asked for */ };
typedef void loop_fd_fn(void *arg, int fd, unsigned events);
struct loop_fd {
    struct loop *loop; /* NULL when stopped */
    int fd;            /* borrowed: stop before closing it */
    unsigned events;
    loop_fd_fn *fn;
    void *arg;
};
/* RC_INVAL for a file that cannot be waited for (a regular one), RC_IO. */
enum rc loop_fd_start(struct loop *l, struct loop_fd *w, int fd, unsigned events,
                      loop_fd_fn *fn, void *arg, struct err *err) MUST_CHECK;
void loop_fd_change(struct loop_fd *w, unsigned events);
void loop_fd_stop(struct loop_fd *w); /* fine when stopped */

/* Once after `delay_ns`, then every `repeat_ns` when that is above 0; a beat that was
 * missed is not made up for. Starting it again moves it.
 */
struct loop_timer {
    struct loop *loop; /* NULL when stopped */
    int64_t due, repeat;
    uint64_t order; /* among those due at the same time */
    size_t at;      /* in the heap */
    loop_fn *fn;
    void *arg;
};
void loop_timer_start(struct loop *l, struct loop_timer *t, int64_t delay_ns,
                      int64_t repeat_ns, loop_fn *fn, void *arg);
void loop_timer_stop(struct loop_timer *t); /* fine when stopped */

/* The signal is blocked in the calling thread from here on, also after the stop; start it
 * before other threads, which inherit that.
 */
typedef void loop_signal_fn(void *arg, int signal);
struct loop_signal {
    struct loop *loop; /* NULL when stopped */
    struct loop_signal *next;
    int number;
    loop_signal_fn *fn;
    void *arg;
};
enum rc loop_signal_start(struct loop *l, struct loop_signal *s, int signal,
                          loop_signal_fn *fn, void *arg, struct err *err) MUST_CHECK;
void loop_signal_stop(struct loop_signal *s); /* fine when stopped */

/* Once, when the child has ended; it is reaped and the watcher stopped by then. `p` is
 * borrowed until then. Kernels without pidfds: SIGCHLD is used and stays blocked.
 */
typedef void loop_child_fn(void *arg, struct proc_exit exit);
struct loop_child {
    struct loop *loop; /* NULL when stopped */
    struct loop_child *next;
    struct proc *proc;
    struct loop_fd watch;
    loop_child_fn *fn;
    void *arg;
};
enum rc loop_child_start(struct loop *l, struct loop_child *c, struct proc *p,
                         loop_child_fn *fn, void *arg, struct err *err) MUST_CHECK;
void loop_child_stop(struct loop_child *c); /* fine when stopped */

/* work(arg) on another thread, then done(arg, false) on the loop's. With `canceled` the
 * work was never begun. There is no stop: the struct is busy until done() is called.
 */
typedef void loop_done_fn(void *arg, bool canceled);
struct loop_work {
    struct loop *loop;
    struct loop_work *next;
    loop_fn *work;
    loop_done_fn *done;
    void *arg;
    bool canceled;
};
void loop_work_start(struct loop *l, struct loop_work *w, loop_fn *work,
                     loop_done_fn *done, void *arg);

#endif
