/* SPDX-License-Identifier: Apache-2.0 */
/* backend/sandbox.h - a program of somebody else's between two files, kept as a job is: it sees
 * the machine read-only, has a /tmp of its own and no network, and ends with us.
 */
#ifndef BACKEND_SANDBOX_H
#define BACKEND_SANDBOX_H

#include "backend/view.h"
#include "base/err.h"
#include "base/proc.h"

/* All borrowed. */
struct backend_sandbox {
    const char *const *argv, *const *env; /* NULL behind the last */
    const char *cwd;
    int in, out;         /* its stdin and stdout */
    const char *scratch; /* an empty directory of ours, for the view and its /tmp */
    const struct backend_view_mount
        *mounts; /* what it sees besides, such as below /tmp */
    size_t n_mounts;
    bool open; /* no sandbox: it runs as we do */
};

/* Waits for its end. *told: what it wrote to stderr, the end of it; the caller's to
 * mem_free(), on failure too (or NULL). RC_UNSUPPORTED: the kernel does not let us keep it so,
 * and why; RC_NOTFOUND, RC_IO: it cannot be started. For processes with one thread.
 */
enum rc backend_sandbox_run(const struct backend_sandbox *s, char **told,
                            struct proc_exit *exit, struct err *err) MUST_CHECK;

#endif
