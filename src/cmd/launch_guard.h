/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/launch_guard.h - ends mpirun when the launcher is killed in a way that it cannot see
 * coming (SIGKILL, want of memory): a process of its own that waits for that.
 *
 *     launch_guard_start(&g, proc_pidfd(p))
 *     ...                                    mpirun runs, and ends
 *     launch_guard_end(&g)
 */
#ifndef CMD_LAUNCH_GUARD_H
#define CMD_LAUNCH_GUARD_H

#include <sys/types.h>

struct launch_guard {
    int pipe; /* open as long as the launcher lives; -1: there is no guard */
    pid_t pid;
};

/* `pidfd`: of mpirun; -1: the kernel has none, and there is no guard. From a program of one
 * thread.
 */
void launch_guard_start(struct launch_guard *g, int pidfd);
void launch_guard_end(struct launch_guard *g);

#endif
