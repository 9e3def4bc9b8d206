/* SPDX-License-Identifier: Apache-2.0 */
/* backend/transfer.h - copies between a job's directory and object stores, made by a
 * process of their own: it has the submitter's keys in its environment, and a supervisor
 * that waits for it still hears requests.
 *
 *     PLAN        {"items": [{"name": "input 'train'", "from": "s3://b/k/", "to": "/dir",
 *                 "required": true}, ...]}; "from": "snapshot:ID" has "objects", the
 *                 directory where its contents lie
 *     PLAN.state  {"files": 1, "bytes": 2, "of_files": 3, "of_bytes": 4}, written again
 *                 and again; at the end with "done", or "error" and "kind"
 */
#ifndef BACKEND_TRANSFER_H
#define BACKEND_TRANSFER_H

#include "base/err.h"
#include "job/bucket.h"

#define TRANSFER_ERROR_SIZE 400

enum backend_transfer_kind {
    TRANSFER_MISSING, /* something is not there */
    TRANSFER_AWAY,    /* the store does not answer: another try may help */
    TRANSFER_FAILED,
};

/* Does it. A file as `from` is sent after everything else, so that its presence tells
 * that the rest is there.
 */
enum rc backend_transfer_run(const char *plan, struct err *err) MUST_CHECK;

struct backend_transfer_state {
    struct job_bucket_state count;
    enum backend_transfer_kind kind; /* when there is an error */
    char error[TRANSFER_ERROR_SIZE];
};
/* False: nothing was written yet. */
bool backend_transfer_state_read(const char *plan, struct backend_transfer_state *out);

#endif
