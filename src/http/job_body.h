/* SPDX-License-Identifier: Apache-2.0 */
/* http/job_body.h - a job's specification in the body of a request.
 *
 * A job that came over the network names no files of this machine: its code is a snapshot
 * that was sent, its inputs are datasets, its secrets come with the request.
 */
#ifndef HTTP_JOB_BODY_H
#define HTTP_JOB_BODY_H

#include "http/call.h"
#include "job/spec.h"

/* Checks `job` (a map) and makes a specification of it, with a directory of its own when
 * it brings no code. All that is wrong with it goes to the answer: http_job_body_end() must
 * follow in any case. `secrets` (may be NULL) has the values of what it names.
 */
enum rc http_job_body_read(struct http_call *c, const struct node *job,
                           const struct node *secrets, struct job_spec *out,
                           struct err *err) MUST_CHECK;
/* Takes secret_values out of `job`: *secrets as they came (NULL: none), *values as NAME=value
 * in the call's arena, NULL behind the last.
 */
enum rc http_job_body_secrets(struct http_call *c, struct node *job,
                              const struct node **secrets, const char *const **values,
                              struct err *err) MUST_CHECK;
/* The same rules for a specification of the store, which it may be submitted again with.
 */
enum rc http_job_body_check(struct http_call *c, struct job_spec *spec,
                            const struct node *secrets, struct err *err) MUST_CHECK;
/* Writes the error while the specification is there, then releases it. Returns RC_OK: the
 * answer is complete.
 */
enum rc http_job_body_end(struct http_call *c, struct job_spec *spec, enum rc rc,
                          struct err *err);
/* A stored specification as others see it: without paths of the server. To mem_free(). */
char *http_job_body_shown(const char *spec) MUST_CHECK;

#endif
