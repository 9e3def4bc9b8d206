/* SPDX-License-Identifier: Apache-2.0 */
/* job/status.h - what a job's events amount to. The fold below is the only way to a
 * status, so a replay of the log always gives what was shown.
 */
#ifndef JOB_STATUS_H
#define JOB_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "job/state.h"
#include "store/store.h"
#include "text/job/job.h"
#include "text/node.h"

#define JOB_MESSAGE_SIZE 512

struct job_worker {
    char role[24];
    char node[64]; /* where it runs, as its backend calls it; "" for this machine */
    int64_t attempt, pid;
    bool running, exited;
    int code, signal; /* once exited; code -1 with a signal */
    double cpu_s;
    int64_t rss_bytes; /* the most it had at a time */
};

/* Zeroed is a job before its first event. */
struct job_status {
    enum job_state state;
    enum job_reason reason;
    char message[JOB_MESSAGE_SIZE];
    int64_t seq; /* events folded so far */
    int64_t attempt, restarts;
    int64_t created, queued, started, finished; /* wall clock, ns; 0 when not yet */
    int64_t changed;                            /* time of the last change of state */
    int64_t paused; /* ns since `started` in which it was suspended, up to `changed` */
    int64_t restart_at;                 /* of the next attempt, ns */
    bool stop, force, suspend, preempt; /* asked for */
    bool eligible;                      /* it waited for others, which have ended */
    bool has_exit;
    int code, signal;      /* of the job as a whole */
    double percent;        /* negative: never said */
    int64_t eta_s, step;   /* negative: never said */
    int64_t progress_line; /* where the log said so, in this attempt; -1: nowhere */
    int64_t port;          /* of the current attempt's rendezvous */
    char gpus[256];        /* indices given, "0,3" */
    char snapshot[65];     /* name of the copied code, "" for none */
    int64_t out_files, out_bytes;
    char preempt_by[16]; /* id of the job that needs its place */
    char *terms;         /* owned: JSON of what the queue has to know; NULL: nothing */
    struct job_worker *workers; /* owned, [n_workers] */
    int64_t n_workers;
};

void job_status_init(struct job_status *s);
void job_status_release(struct job_status *s);
/* Applies one event. RC_FORMAT (E3009): an event that cannot follow what was before (a
 * move that is not in the table, an unknown type); `s` is unchanged then.
 */
enum rc job_fold(struct job_status *s, const struct store_event *e,
                 struct err *err) MUST_CHECK;
/* The part that the index row keeps as JSON. */
void job_status_json(const struct job_status *s, struct buf *out);

/* Small JSON documents of our own making, such as the data of an event. NULL: not one.
 * The document is released by doc_release().
 */
const struct node *job_json_open(const char *text, struct doc *doc);

#endif
