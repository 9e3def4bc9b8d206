/* SPDX-License-Identifier: Apache-2.0 */
/* backend/seccomp.h - the system calls that a job of a server may not make. */
#ifndef BACKEND_SECCOMP_H
#define BACKEND_SECCOMP_H

#include <stdbool.h>

/* For the calling process and all it will start; needs no privilege, but that
 * PR_SET_NO_NEW_PRIVS was set. 0, or an errno. Allocates nothing.
 */
int seccomp_enter(void);
/* Whether this kernel and processor have it. */
bool seccomp_possible(void);

#endif
