/* SPDX-License-Identifier: Apache-2.0 */
/* job/remove.h - the end of what jobs leave behind: deleted jobs, policies that delete them,
 * and the collection of contents that nothing refers to any more.
 */
#ifndef JOB_REMOVE_H
#define JOB_REMOVE_H

#include "job/place.h"

/* Removes a job that has ended: record and directory. RC_NOTFOUND (E3103), RC_INVAL (E3014:
 * it has not ended). Its use of the machine still counts; models made from it stay.
 */
enum rc job_delete(const struct job_place *p, const char *id, struct err *err) MUST_CHECK;

struct job_removed {
    int64_t jobs, job_bytes;               /* deleted by policies */
    int64_t objects, object_bytes;         /* contents that nothing needs */
    int64_t orphans;                       /* directories of jobs that are in no record */
    int64_t experiments, experiment_bytes; /* by policies; tune/retain.h */
};

/* Deletes what the policies of the store no longer keep, of the jobs of this place. Jobs with
 * the label `keep` stay. `dry`: only counts.
 */
enum rc job_retain(const struct job_place *p, int64_t now, bool dry,
                   struct job_removed *out, struct err *err) MUST_CHECK;

#define COLLECT_YOUNG_S (24 * 3600) /* contents of the last day may be on their way */
/* Removes contents that no job, schedule or model of this place needs and nobody asked for
 * within `young_s`, and counts anew what users store.
 */
enum rc job_collect(const struct job_place *p, int64_t young_s, bool dry,
                    struct job_removed *out, struct err *err) MUST_CHECK;
/* Removes what was sent of the snapshot `id` by p->owner at once, as far as no job, schedule or
 * model of theirs needs it: its upload was refused. Fine when there is none.
 */
enum rc job_collect_upload(const struct job_place *p, const char *id,
                           struct err *err) MUST_CHECK;
/* Removes at once what p->owner, a user of a server, stores and nothing of theirs needs: what a
 * deleted job, schedule or model left, and uploads that nobody asked for within `young_s`.
 */
enum rc job_collect_own(const struct job_place *p, int64_t young_s, bool dry,
                        struct job_removed *out, struct err *err) MUST_CHECK;
/* job_storage_count() that gives up first what job_collect_own() finds, when there is not room
 * for `bytes` more.
 */
enum rc job_collect_room(const struct job_place *p, int64_t bytes, int64_t most,
                         struct err *err) MUST_CHECK;
/* Somebody deleted what named these snapshots of `owner`'s: contents that nothing else needs
 * need not wait for a day to go. One snapshot ("ID" or "ID/PATH"), or those of a specification.
 */
void job_collect_let_go(const struct job_place *p, const char *owner,
                        const char *snapshot);
void job_collect_let_go_spec(const struct job_place *p, const char *owner,
                             const char *spec);

#endif
