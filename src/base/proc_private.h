/* SPDX-License-Identifier: Apache-2.0 */
/* base/proc_private.h - for tests of the loop and of proc. */
#ifndef BASE_PROC_PRIVATE_H
#define BASE_PROC_PRIVATE_H

#include "base/proc.h"

/* As on a kernel without pidfds. */
void proc_drop_pidfd(struct proc *p);

#endif
