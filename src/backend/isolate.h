/* SPDX-License-Identifier: Apache-2.0 */
/* backend/isolate.h - how this machine can keep jobs of a server apart.
 *
 *     accounts    the server is root: every user's jobs have a user id of their own, and
 *                 each worker its own view of files and processes (backend/jail.h)
 *     namespaces  the server is an ordinary user, and the kernel lets it make user
 *                 namespaces: workers have the server's id, but such a view
 *     containers  the server is an ordinary user with podman or docker: jobs need an image
 *     none        neither: jobs run as the server
 */
#ifndef BACKEND_ISOLATE_H
#define BACKEND_ISOLATE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

enum isolate_mode {
    ISOLATE_NONE,
    ISOLATE_CONTAINERS,
    ISOLATE_NAMESPACES,
    ISOLATE_ACCOUNTS
};

struct isolate_found {
    enum isolate_mode mode;
    bool seccomp;
    bool cpu, memory, pids; /* limited by control groups */
    char why_not[256];      /* what keeps from the next better mode */
};
/* Tries it, in children. `scratch` is a directory that may be made and used. */
void isolate_find(const char *scratch, struct isolate_found *out);
/* A line for people. */
void isolate_words(const struct isolate_found *f, struct buf *out);

/* Gives the directories `names` below `dir` (NULL behind the last; those that are not there
 * are passed over) with all in them to a job. Follows no links.
 */
enum rc isolate_own(const char *dir, const char *const *names, uid_t uid, gid_t gid,
                    struct err *err) MUST_CHECK;

#endif
