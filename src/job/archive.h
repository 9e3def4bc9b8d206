/* SPDX-License-Identifier: Apache-2.0 */
/* job/archive.h - outputs of ended jobs in a server's store of artifacts (job/artifacts.h).
 *
 *     ROOT/jobs/ID/output/CHANNEL/PATH   the files
 *     ROOT/jobs/ID/outputs.json          the list of all, written last
 *
 * Here the job keeps outputs.json and gets the file `archived`: where the files went, and their
 * bytes. Channels that the submitter sent elsewhere stay as they are.
 */
#ifndef JOB_ARCHIVE_H
#define JOB_ARCHIVE_H

#include "io/file.h"
#include "job/outputs.h"

/* Moves the outputs of a job of this place that has ended; nothing happens when that was done.
 * Local files go when the store has all of them. RC_IO E5510.
 */
enum rc job_archive_send(const struct job_place *p, const char *id,
                         struct err *err) MUST_CHECK;
/* Bytes of the job in the store; 0 when there are none. */
int64_t job_archive_bytes(const struct job_place *p, const char *id);
/* "" or where the outputs of a job of this place went. The caller's. */
char *job_archive_where(const struct job_place *p, const char *id);

/* Whether the store has the outputs of the job, whichever server ran it. False as well when the
 * store does not answer.
 */
bool job_archive_has(const struct job_place *p, const char *id);
/* The list in the store. RC_NOTFOUND E5502. */
enum rc job_archive_list(const struct job_place *p, const char *id,
                         struct job_outputs *out, struct err *err) MUST_CHECK;
/* One file, to io_close(). RC_NOTFOUND E5502, RC_IO E5510. */
enum rc job_archive_open(const struct job_place *p, const char *id, const char *channel,
                         const char *path, struct io_file **out,
                         struct err *err) MUST_CHECK;
/* Copies a channel into the directory `to`, which is made. */
enum rc job_archive_restore(const struct job_place *p, const char *id,
                            const char *channel, const char *to,
                            struct err *err) MUST_CHECK;
/* With everything of the job in the store. */
enum rc job_archive_remove(const struct job_place *p, const char *id,
                           struct err *err) MUST_CHECK;

/* Held while local outputs are read as a whole (shared) or removed: the file to close(). -1:
 * there is no directory of the job here.
 */
int job_archive_lock(const struct job_place *p, const char *id, bool shared);

#endif
