/* SPDX-License-Identifier: Apache-2.0 */
/* backend/jail.h - what a worker of a server's job is put into before it runs.
 *
 * Between the shim and the worker stands a first process of a process namespace of their
 * own: it builds the worker's view of the machine, starts it under an identity of its own,
 * and ends with it, whereupon the kernel ends whatever the worker has left. After a request
 * to stop it stays for as long as any process of the worker's does.
 *
 *     shim --jail_unshare, fork--> first process --jail_build--> fork --jail_drop--> exec
 *
 * An ordinary user cannot change identities. There the first process and the worker have a
 * user namespace in common: the worker has no capabilities in it, and the first process
 * lets nobody look at it.
 *
 * The view is the machine's, read-only, with /proc, /dev, /tmp and /run of its own, without
 * the directory of jobs, and with the job's own tree, packages and home in it.
 */
#ifndef BACKEND_JAIL_H
#define BACKEND_JAIL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "backend/view.h"

/* Everything borrowed. */
struct jail {
    uid_t uid;
    gid_t gid;
    bool own;           /* the same user as we are: without root, in a user namespace */
    const char *hide;   /* the directory of jobs */
    const char *job;    /* the job's own in it, of which it may see parts; NULL: none */
    const char *also;   /* further files and directories that it must not see, each on a
                           line of its own; NULL: none */
    const char *tmp;    /* of this job: seen as /tmp and /var/tmp */
    int64_t shm;        /* bytes of /dev/shm; 0: a quarter of the machine's memory */
    int64_t processes;  /* at a time, where no control group counts them; 0: no limit */
    int64_t file_bytes; /* of one file; 0: no limit */
    bool gpus;          /* their device files are there */
    int network;        /* a network namespace to be in, also at JAIL_NETWORK; -1: none */
    bool alone;         /* in one of its own, with a loopback: needs `own` */
};
#define JAIL_NETWORK 5

/* The next child of ours is the first process of a new process namespace. 0, or an errno. */
int jail_unshare(const struct jail *j);
/* In the child: namespaces and view. 0, or an errno with the step in `what`. */
int jail_build(const struct jail *j, const char *scratch,
               const struct backend_view_mount *mounts, size_t n,
               char what[VIEW_ERROR_SIZE]);
/* When memory runs out this process, and what it starts, go before the server does. To be
 * called in the machine's own view: the file has to be the kernel's. jail_build() does.
 */
void jail_offer_to_oom(void);
/* In its own child, right before exec: identity, limits, system calls. */
int jail_drop(const struct jail *j, char what[VIEW_ERROR_SIZE]);
/* Before that fork with true, in the child with false: from then on jail_wait() knows
 * whether the worker was told to stop.
 */
void jail_hear(bool on);
/* The first process's life: waits for `worker`, writes its status (as waitpid() has it) to
 * `ends`, and exits; when the worker was told to stop, after the last of what it started.
 * Never returns.
 */
_Noreturn void jail_wait(pid_t worker, int ends);
/* A network namespace with nothing but a loopback; an fd, or -1 with errno. */
int jail_network(void);

#endif
