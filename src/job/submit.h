/* SPDX-License-Identifier: Apache-2.0 */
/* job/submit.h - what others than the supervisor do to a job: make it, ask something of
 * it. */
#ifndef JOB_SUBMIT_H
#define JOB_SUBMIT_H

#include "job/place.h"
#include "job/snapshot.h"
#include "job/spec.h"
#include "job/state.h"

struct job_submit_result {
    char id[JOB_ID_SIZE];
    bool existed; /* the token was known: it is the older job */
    bool copied;
    struct job_snapshot snapshot; /* when the code was copied */
};

/* Checks everything that can be checked now, copies the code, records the job. `env`
 * (NULL behind the last) and `cwd` are the submitter's. Fills in what the spec leaves
 * open. The job is complete in the store or not there at all, whenever the caller dies.
 */
enum rc job_submit(const struct job_place *p, struct job_spec *s, const char *const *env,
                   const char *cwd, struct job_submit_result *out,
                   struct err *err) MUST_CHECK;
/* The same with values of secrets that are in no environment: somebody sent them. Nothing
 * but the job's own process ever has them as variables.
 */
enum rc job_submit_with(const struct job_place *p, struct job_spec *s,
                        const char *const *env, const char *const *secrets,
                        const char *cwd, struct job_submit_result *out,
                        struct err *err) MUST_CHECK;

/* Each returns the state that follows, if it is known already. *alone is true when nobody
 * looks after the job, so that an agent has to be started.
 */
struct job_request_result {
    enum job_state state;
    bool alone;
    bool ended; /* it had ended before */
};
/* A job that has ended stays as it is: RC_OK. */
enum rc job_request_stop(const struct job_place *p, const char *id, bool force,
                         struct job_request_result *out, struct err *err) MUST_CHECK;
/* RC_INVAL (E3014, E3011). */
enum rc job_request_suspend(const struct job_place *p, const char *id,
                            struct job_request_result *out, struct err *err) MUST_CHECK;
enum rc job_request_resume(const struct job_place *p, const char *id,
                           struct job_request_result *out, struct err *err) MUST_CHECK;
/* It shall make room for job `by`, and wait again. */
enum rc job_request_preempt(const struct job_place *p, const char *id, const char *by,
                            struct job_request_result *out, struct err *err) MUST_CHECK;

#endif
