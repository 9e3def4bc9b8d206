/* SPDX-License-Identifier: Apache-2.0 */
/* job/storage.h - how much a server's user has stored: DIR/users/NAME/bytes counts what
 * lies below objects/, under a lock, so that a limit holds for requests at the same time.
 */
#ifndef JOB_STORAGE_H
#define JOB_STORAGE_H

#include "job/place.h"

/* Counts `bytes` more (or fewer) for p->owner. RC_INVAL (E5501): it would be more than
 * `most` (0: no limit); nothing is counted then.
 */
enum rc job_storage_count(const struct job_place *p, int64_t bytes, int64_t most,
                          struct err *err) MUST_CHECK;
/* What an object of `n` bytes counts: whole blocks, so that many small ones are not free. */
int64_t job_storage_charge(int64_t n);
/* What is counted so far. */
int64_t job_storage_counted(const struct job_place *p);

#endif
