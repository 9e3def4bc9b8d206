/* SPDX-License-Identifier: Apache-2.0 */
/* backend/bubblewrap.h - the view of view.h by way of bubblewrap, for machines where only
 * that program (which may be setuid) can make a mount namespace.
 */
#ifndef BACKEND_BUBBLEWRAP_H
#define BACKEND_BUBBLEWRAP_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/view.h"
#include "base/arena.h"

/* Whether bwrap is there and works for this user. */
bool backend_bubblewrap_possible(void);
/* The command line around `argv`, in `a`, NULL behind the last. */
const char *const *backend_bubblewrap_argv(const struct backend_view_mount *mounts,
                                           size_t n, const char *cwd,
                                           const char *const *argv, struct arena *a);

#endif
