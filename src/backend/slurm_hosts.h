/* SPDX-License-Identifier: Apache-2.0 */
/* backend/slurm_hosts.h - lists of nodes as Slurm writes them. */
#ifndef BACKEND_SLURM_HOSTS_H
#define BACKEND_SLURM_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

#define SLURM_HOST_SIZE 256

/* Name number `index` of a list such as "login,n[1-3,07],r[1-2]c[1-4]". False: there is
 * none, or the list is not one.
 */
bool slurm_host_at(const char *list, int64_t index, char out[SLURM_HOST_SIZE]) MUST_CHECK;
/* On which node of the list task number `task` is, when tasks fill one node after the
 * other: `layout` is "2(x3),1". -1: it is on none.
 */
int64_t slurm_node_of_task(const char *layout, int64_t task);

#endif
