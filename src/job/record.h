/* SPDX-License-Identifier: Apache-2.0 */
/* job/record.h - a job as its writer sees it: the events so far, folded, and those that
 * are still to be written.
 *
 * Many may read a job and add requests; one process at a time (the supervisor, or whoever
 * holds the job's lock) decides its state. job_record_flush() meets requests that came in
 * between: they are folded first, then ours behind them.
 */
#ifndef JOB_RECORD_H
#define JOB_RECORD_H

#include "base/arena.h"
#include "base/vec.h"
#include "job/status.h"
#include "store/store.h"

struct job_record {
    struct store *store;     /* borrowed */
    struct arena arena;      /* of the row's texts */
    struct store_job row;    /* as last read or written */
    struct job_status known; /* events in the store */
    struct job_status now;   /* and the pending ones */
    struct arena pending_arena;
    VEC(struct store_event) pending;
};

/* Reads the job and all its events. RC_NOTFOUND, RC_IO, RC_FORMAT (a log that does not
 * fold).
 */
enum rc job_record_open(struct store *s, const char *id, struct job_record *out,
                        struct err *err) MUST_CHECK;
void job_record_release(struct job_record *r);

struct job_record_note {
    enum job_reason reason;
    int64_t worker; /* -1: the job */
    const char *message;
    const char *data; /* JSON or NULL */
};
/* Puts an event behind the pending ones. RC_FORMAT when it cannot follow. `note` may be
 * NULL.
 */
enum rc job_record_add(struct job_record *r, enum job_event_type type,
                       const struct job_record_note *note, struct err *err) MUST_CHECK;
/* A change of state; `code` below 0: without an exit status. */
enum rc job_record_move(struct job_record *r, enum job_state to, enum job_reason why,
                        int code, int signal, const char *message,
                        struct err *err) MUST_CHECK;
/* Writes what is pending. RC_CANCELED: the job took a turn that our events cannot follow
 * (it ended); nothing was written and nothing is pending. RC_IO: kept for the next try.
 */
enum rc job_record_flush(struct job_record *r, struct err *err) MUST_CHECK;
/* Reads what others added. */
enum rc job_record_refresh(struct job_record *r, struct err *err) MUST_CHECK;
void job_record_drop(struct job_record *r); /* forgets what is pending */

#endif
