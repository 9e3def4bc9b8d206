/* SPDX-License-Identifier: Apache-2.0 */
/* base/cpu_share.h - the processors of one of several processes that share a machine.
 *
 * Shares are neighbours: processors of one core stay together where there are as many cores as
 * processes, cores of one socket as far as that goes.
 */
#ifndef BASE_CPU_SHARE_H
#define BASE_CPU_SHARE_H

/* A processor, as the system numbers it, and where it is. */
struct cpu_place {
    int cpu, package, core;
};

struct cpu_share {
    int first, n; /* n 0: there are fewer processors than parts */
};

/* Sorts at[n]; the share of part `part`, which is below `parts`, is a stretch of it. */
struct cpu_share cpu_share_of(struct cpu_place *at, int n, int part, int parts);

/* Binds this process, and threads that it starts from now on, to its share of the processors
 * that it may use so far. How many these are; 0: it may use all of them as before.
 */
int cpu_share_take(int part, int parts);

#endif
