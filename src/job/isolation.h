/* SPDX-License-Identifier: Apache-2.0 */
/* job/isolation.h - under which identity and limits a server runs somebody's jobs.
 *
 * Every user gets a number of the server's range the first time, and keeps it at all servers
 * of the store. What a job runs under is decided when it is
 * submitted and lies beside it, in isolation.json, where only the server can write.
 */
#ifndef JOB_ISOLATION_H
#define JOB_ISOLATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "job/place.h"

#define ISOLATION_FIRST 1879100000 /* beyond what distributions and systemd give out */
#define ISOLATION_COUNT 65536
#define ISOLATION_PROCESSES 4096
#define ISOLATION_HIDE_SIZE 4096

/* What control groups limit on this machine: a worker does not start without. */
struct job_isolation_held {
    bool cpu, memory, processes;
};

/* What a server asks for its jobs. */
struct job_isolation {
    int64_t first, count; /* user ids; 0: the server's own, for containers alone */
    bool own;             /* all have the server's own id, `first`, in user namespaces */
    const char *hide;     /* what such a job must not see; as in backend/jail.h */
    int64_t processes;    /* of one worker; 0: no limit */
    int64_t file_bytes;   /* of one file; 0: no limit */
    int64_t disk_bytes;   /* of all that a job writes; 0: no limit */
    bool no_network;      /* jobs see nothing but each its own loopback */
    struct job_isolation_held held;
};

/* The account of `name` is never given out again; fine when there is none. */
enum rc job_isolation_retire(const struct job_place *p, const char *name,
                             struct err *err) MUST_CHECK;
/* The number of `name`. RC_INVAL (E3206): none is left; RC_IO. */
enum rc job_isolation_account(const struct job_place *p, const struct job_isolation *x,
                              const char *name, int64_t *uid, struct err *err) MUST_CHECK;
/* For the job in `job`, which is p->owner's. */
enum rc job_isolation_write(const struct job_place *p, const struct job_isolation *x,
                            const char *job, struct err *err) MUST_CHECK;

/* What one job runs under. */
struct job_isolation_job {
    int64_t uid; /* 0: the server's own, in containers */
    int64_t processes, file_bytes, disk_bytes;
    bool no_network, own;
    char hide[ISOLATION_HIDE_SIZE];
    struct job_isolation_held held;
};
/* *found is false when the job has none; a file that cannot be read is RC_IO, because the
 * job must not run without it then.
 */
enum rc job_isolation_read(const char *job, struct job_isolation_job *out, bool *found,
                           struct err *err) MUST_CHECK;

#endif
