/* SPDX-License-Identifier: Apache-2.0 */
/* job/place.h - where a job's files lie.
 *
 *     DIR/jobs.db             the store, unless it has a URL
 *     DIR/objects/ab/cdef...  contents of snapshots, named by their SHA-256
 *     DIR/users/NAME/objects/ the same of a server's user, for nobody else
 *     DIR/agent.lock, agent.fifo, agent.log
 *     DIR/accounts            user ids of a server's users
 *     DIR/schedules/          values of secrets of schedules (0600)
 *     DIR/jobs/ID/            0700, one per job:
 *         lock, control       held and read by the supervisor
 *         ml/                 what the job sees as /ml
 *         logs/worker-0.1.log of worker 0, attempt 1; and .idx with times
 *         logs/prepare.1.log  of what was done before workers started
 *         run/0.1             of a worker that runs: pid; its lock means alive
 *         run/0.1.exit        how it ended
 *         env.json, secrets.json, access.json, isolation.json (0600), outputs.json
 *         remote/             copies of inputs that lie in object stores
 *         archived            outputs were moved to the server's store of artifacts
 */
#ifndef JOB_PLACE_H
#define JOB_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/store.h"

struct job_isolation;
struct job_spec;
struct job_place;

/* Chooses where a job whose backend is `auto` runs: puts it into the spec, and why into
 * `text`.
 */
#define JOB_CHOSEN_SIZE 1000
typedef enum rc job_choose_fn(const struct job_place *p, struct job_spec *s,
                              char text[JOB_CHOSEN_SIZE], struct err *err);
struct job_gate;

/* What every operation on jobs needs; all borrowed. */
struct job_place {
    struct store *store;
    const char *dir;   /* absolute */
    const char *where; /* of the store, for processes that are started */
    const char *owner; /* who asks */
    const char
        *account;     /* of this process: its name as the owner of jobs; NULL: nobody's */
    const char *node; /* this machine and directory */
    const struct job_isolation *isolation; /* for jobs of a server's users; NULL: none */
    const struct job_gate *gate; /* asked about jobs of a server's users; NULL: none */
    bool served;           /* a server's: its keys are not its users' (job/access.h) */
    const char *artifacts; /* s3://bucket/prefix of a server; NULL: all lies in `dir` */
    int64_t most_jobs;     /* of a server's user that wait or run; 0: no limit */
    job_choose_fn *choose; /* NULL: `auto` is the first that fits */
    const char *view; /* the one to use for jobs (see backend/local.c); NULL: the best */
};

/* The caller's, to mem_free(). */
char *job_place_dir(const struct job_place *p, const char *id);
char *job_place_file(const struct job_place *p, const char *id, const char *name);
char *job_place_log(const struct job_place *p, const char *id, int64_t worker,
                    int64_t attempt);
/* In the place of a worker's number: what happened before workers started, such as the
 * installation of packages.
 */
#define JOB_LOG_PREPARE (-2)

/* Where contents that `owner` sends are kept; the caller's. */
char *job_place_objects(const struct job_place *p);
/* Where the snapshot `id` of `owner` lies: with the owner's own, or, unless the place is a
 * server's, with those of this directory. The caller's.
 */
char *job_place_snapshot(const struct job_place *p, const char *owner, const char *id);

/* True for "jb-" and twelve of [a-z0-9]: the only ids that ever become a path. */
bool job_id_ok(const char *id);
#define JOB_ID_SIZE 16
enum rc job_id_new(char out[JOB_ID_SIZE], struct err *err) MUST_CHECK;

#endif
