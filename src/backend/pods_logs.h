/* SPDX-License-Identifier: Apache-2.0 */
/* backend/pods_logs.h - the output of a pod, by the API server's log endpoint: followed while it
 * runs, and gone on with from the time of the last line when the stream breaks. A line has
 * the time at which its node read it; that time is the position of the log.
 */
#ifndef BACKEND_PODS_LOGS_H
#define BACKEND_PODS_LOGS_H

#include "backend/backend_log.h"
#include "kube/client.h"

struct pods_logs {
    struct io_http_stream *stream;
    int64_t again; /* monotonic ns: not before */
    bool whole;    /* the pod has ended, and all of it was read */
    bool ended;    /* the pod had when the stream was opened */
    int64_t from;  /* the position then: what is not behind it comes a second time */
};

/* Whose output. */
struct pods_logs_at {
    const char *pod, *container;
};

/* Adds what came; true: something did. `ended`: the pod has. */
bool pods_logs_read(struct pods_logs *l, struct kube_client *c,
                    struct io_http_streams *set, const struct pods_logs_at *of,
                    bool ended, struct backend_log *log);
void pods_logs_release(struct pods_logs *l);

/* "2026-01-02T03:04:05.678901234Z text" -> its time; *text: what is behind it. 0: no time. */
int64_t pods_logs_time(struct str line, struct str *text);

#endif
