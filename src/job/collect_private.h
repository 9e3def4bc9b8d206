/* SPDX-License-Identifier: Apache-2.0 */
/* job/collect_private.h - one collection, shared by collect.c and collect_store.c. */
#ifndef JOB_COLLECT_PRIVATE_H
#define JOB_COLLECT_PRIVATE_H

#include "base/map.h"
#include "job/remove.h"

#define COLLECT_ID 64 /* characters of an id at the front of a root */

struct job_collecting {
    const struct job_place *p;
    const char *owner; /* of the jobs to look at; NULL: all */
    struct map roots;  /* ID/OWNER: snapshots that are named anywhere */
    struct map busy;   /* the same of jobs that have not ended */
    struct map jobs;   /* ids: of this place, or of all where a store is shared */
    int64_t oldest;    /* time, s: what is younger stays */
    bool dry;
    bool in_use; /* the job that is looked at has not ended */
    struct job_removed *out;
};

/* Time (s) of contents whose last job, schedule or model was deleted: older than all. */
#define COLLECT_RELEASED 1

/* The snapshots that a text ("ID" or "ID/PATH"), a specification or a job names; or everything
 * of this place that names any, of the jobs of c->owner alone where it is set.
 */
void job_collect_add_root(struct job_collecting *c, const char *owner, const char *text);
void job_collect_add_spec(struct job_collecting *c, const char *owner, const char *text);
enum rc job_collect_add_job(struct job_collecting *c, const struct store_job *j,
                            struct err *err) MUST_CHECK;
enum rc job_collect_add_all(struct job_collecting *c, struct err *err) MUST_CHECK;
/* Sets the time of what all roots reach to COLLECT_RELEASED. */
void job_collect_let_go_roots(const struct job_collecting *c);
void job_collect_release(struct job_collecting *c);

/* Sweeps the contents of one user of a server, and counts them anew. */
void job_collect_user(struct job_collecting *c, const char *name);
/* The same where a server keeps them in a store of artifacts. */
enum rc job_collect_store_user(struct job_collecting *c, const char *name,
                               struct err *err) MUST_CHECK;

/* Adds the objects below `objects` that the roots of its owner reach; NULL: of anybody. */
void job_collect_mark(const struct map *roots, const char *owner, const char *objects,
                      struct map *live);
/* Users' contents where a server keeps them in a store of artifacts: there and here, and
 * outputs of jobs that are in no record.
 */
enum rc job_collect_store(struct job_collecting *c, struct err *err) MUST_CHECK;

#endif
