/* SPDX-License-Identifier: Apache-2.0 */
/* backend/handoff.h - what a worker is started with, on its way to a node: the file
 * HANDLE.launch (0600), read there by task.c. Words, each with a NUL behind it; the
 * first letter says which.
 */
#ifndef BACKEND_HANDOFF_H
#define BACKEND_HANDOFF_H

#include "backend/backend.h"

/* Everything in one arena. */
struct backend_handoff {
    struct arena arena;
    const char *run, *log, *cwd, *scratch; /* scratch NULL: no view of its own */
    int64_t worker, attempt, log_most;
    double grace_s;
    VEC(const char *) argv, env, secrets; /* each has NULL behind the last, counted */
    VEC(struct backend_view_mount) mounts;
};

enum rc backend_handoff_write(const struct backend_job *j, const struct backend_launch *l,
                              struct err *err) MUST_CHECK;
/* Of a handle; to be released in either case. */
enum rc backend_handoff_read(const char *handle, struct backend_handoff *out,
                             struct err *err) MUST_CHECK;
void backend_handoff_release(struct backend_handoff *l);

#endif
