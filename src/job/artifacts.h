/* SPDX-License-Identifier: Apache-2.0 */
/* job/artifacts.h - an object store as the lasting place of what a server keeps.
 *
 *     ROOT/trainyard.json                  whose it is: one store of jobs
 *     ROOT/users/NAME/objects/ab/cdef...   contents that users sent, and models
 *     ROOT/jobs/ID/outputs.json            what a job that ended has written, see job/archive.h
 *
 * The server's directory then is a cache: contents are sent to the store before an upload is
 * confirmed, and fetched when something needs them that is not here. A file of contents that is
 * read-only (0400) is in the store. Only a server's process comes here, with the keys of its
 * environment (io/account.h); agents, supervisors and jobs never do. Where `p->artifacts` is
 * NULL every function does nothing and succeeds.
 *
 * A store that is away: RC_IO E5510, whose message begins with what the store said.
 */
#ifndef JOB_ARTIFACTS_H
#define JOB_ARTIFACTS_H

#include "io/object.h"
#include "job/place.h"

/* At the start: whether `root` can be written, and is not another store's. RC_INVAL E5511. */
enum rc job_artifacts_claim(const struct job_place *p, struct err *err) MUST_CHECK;

/* One object of `owner` that lies here goes to the store, unless it is there. */
enum rc job_artifacts_send(const struct job_place *p, const char *owner, const char *id,
                           struct err *err) MUST_CHECK;
/* One object, from the store if it is not here. Neither here nor there is no failure. */
enum rc job_artifacts_fetch(const struct job_place *p, const char *owner, const char *id,
                            struct err *err) MUST_CHECK;
/* A snapshot's list and objects: what one side has and the other has not goes there. What
 * neither has stays missing.
 */
enum rc job_artifacts_settle(const struct job_place *p, const char *owner, const char *id,
                             struct err *err) MUST_CHECK;
/* job_snapshot_share() between two owners. */
enum rc job_artifacts_share(const struct job_place *p, const char *from, const char *to,
                            const char *id, struct err *err) MUST_CHECK;

/* A whole object of up to `most` bytes and a NUL, to mem_free(), whatever comes back. */
enum rc job_artifacts_read(const char *url, size_t most, char **data, size_t *n,
                           struct err *err) MUST_CHECK;
/* "ROOT/REST", the caller's. */
char *job_artifacts_url(const struct job_place *p, const char *rest);
/* Says that the store of artifacts failed, once, in `err`; returns rc. */
enum rc job_artifacts_failed(enum rc rc, struct err *err);
/* Deletes every object below ROOT/`rest`, which ends in '/'. */
enum rc job_artifacts_remove(const struct job_place *p, const char *rest,
                             struct err *err) MUST_CHECK;

/* Calls for what lies below ROOT/`rest`; see object_entries(). */
enum rc job_artifacts_each(const struct job_place *p, const char *rest, bool folded,
                           object_entry_fn *each, void *arg, struct err *err) MUST_CHECK;
/* Deletes an object of this key unless it is younger than `oldest` (s) by now; *gone says. */
enum rc job_artifacts_delete_old(const struct job_place *p, const char *key,
                                 int64_t oldest, bool *gone, struct err *err) MUST_CHECK;

#endif
