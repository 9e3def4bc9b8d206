/* SPDX-License-Identifier: Apache-2.0 */
/* job/access.h - whose keys open the object stores and tables of a job.
 *
 * On the command line they are the submitter's. A job of a server's user brings its own
 * among its secrets (AWS_ACCESS_KEY_ID and the like), and these alone are used then.
 * Without them the server's keys fetch datasets that an administrator registered, send
 * outputs to those that are marked writable, and never reach the job: a table, whose rows
 * the job reads itself, always needs a key of the job's own.
 */
#ifndef JOB_ACCESS_H
#define JOB_ACCESS_H

#include "job/environ.h"
#include "job/inputs.h"

enum job_access { ACCESS_NONE, ACCESS_SUBMITTER, ACCESS_JOB, ACCESS_SERVER };

/* A registered user's job on a server, whose keys are not the user's. */
bool job_access_is_guest(const struct job_place *p);
/* `secrets` as in job_submit_with(). RC_INVAL (E3302): the server's keys would have to
 * open what no administrator named.
 */
enum rc job_access_choose(const struct job_place *p, const struct job_channels *c,
                          const char *const *secrets, enum job_access *out,
                          struct err *err) MUST_CHECK;
/* Writes what `a` allows to `path`, mode 0600. */
enum rc job_access_keep(enum job_access a, const char *path, const char *const *env,
                        const char *const *secrets, struct err *err) MUST_CHECK;
/* Datasets may have been registered anew since: asked again before a copy. E3302. */
enum rc job_access_check(const struct job_channels *c,
                         const struct job_environ_list *kept, struct err *err) MUST_CHECK;

#endif
