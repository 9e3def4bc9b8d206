/* SPDX-License-Identifier: Apache-2.0 */
/* backend/view.h - a process's own /ml, without root and without touching the real one.
 *
 * backend_view_enter() gives the calling process (a child that is about to execute) a mount
 * namespace whose root looks like the machine's, with some directories put over it. The
 * machine's own tree is never changed: where a place does not exist, its parent is
 * rebuilt in memory from links to what it holds.
 */
#ifndef BACKEND_VIEW_H
#define BACKEND_VIEW_H

#include <stdbool.h>
#include <stddef.h>

struct backend_view_mount {
    const char *from, *to; /* absolute; `to` may lie below an earlier one */
    bool read_only;
};

#define VIEW_ERROR_SIZE 200

/* What is different for a job that may not see all. */
struct backend_view_rules {
    const char *const
        *skip;      /* directories of "/" that stay empty, NULL behind the last */
    bool read_only; /* all that is the machine's; no devices, no set-uid bits */
    bool owner;     /* the process owns its user namespace already */
    /* Called before the mounts are put, with the new root; 0 or an errno. */
    int (*furnish)(void *arg, const char *root, char what[VIEW_ERROR_SIZE]);
    /* Called for each mount: where it truly comes from, and, once it is there, its place in
     * the new root. */
    int (*may_mount)(void *arg, const char *from, char what[VIEW_ERROR_SIZE]);
    int (*mounted)(void *arg, const char *from, const char *place,
                   char what[VIEW_ERROR_SIZE]);
    void *arg;
};

/* 0, or an errno with the step that failed in `what`. `scratch` is an empty directory.
 * Single-threaded callers only; the process keeps its user id.
 */
int backend_view_enter(const char *scratch, const struct backend_view_mount *mounts,
                       size_t n, char what[VIEW_ERROR_SIZE]);
/* A user namespace, and those of `flags`, in which the process has all capabilities and
 * keeps its one user and group id.
 */
int backend_view_own_namespace(int flags, char what[VIEW_ERROR_SIZE]);
int backend_view_enter_with(const char *scratch, const struct backend_view_mount *mounts,
                            size_t n, const struct backend_view_rules *rules,
                            char what[VIEW_ERROR_SIZE]);
/* Tries it in a child. */
bool backend_view_possible(const char *scratch, char what[VIEW_ERROR_SIZE]);

#endif
