/* SPDX-License-Identifier: Apache-2.0 */
/* backend/mpirun_hosts.h - a hostfile: a host per line, `slots=N` behind it for how many workers
 * it takes at a time (1 without; lines of one host add up), `#` before a comment.
 */
#ifndef BACKEND_MPIRUN_HOSTS_H
#define BACKEND_MPIRUN_HOSTS_H

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

#define MPIRUN_HOST_SIZE 128
#define MPIRUN_SLOTS_MAX 4096

struct mpirun_host {
    char name[MPIRUN_HOST_SIZE];
    int64_t slots;
};

struct mpirun_hosts {
    VEC(struct mpirun_host) at; /* in the order of the file */
};

/* RC_NOTFOUND, RC_IO; RC_INVAL naming file, line and word. To be released in any case. */
enum rc mpirun_hosts_read(const char *path, struct mpirun_hosts *out,
                          struct err *err) MUST_CHECK;
/* The same of a text; `name` is that of the file, for messages. */
enum rc mpirun_hosts_parse(struct str text, const char *name, struct mpirun_hosts *out,
                           struct err *err) MUST_CHECK;
int64_t mpirun_hosts_slots(const struct mpirun_hosts *h); /* of all */
void mpirun_hosts_release(struct mpirun_hosts *h);

#endif
