/* SPDX-License-Identifier: Apache-2.0 */
/* job/secret.h - values that a job needs and nobody else may see.
 *
 * The specification holds names only. Values from the environment of the submission lie
 * in a file of mode 0600 below the job's directory (0700) until the job ends; values from
 * files are read when a worker starts and kept nowhere.
 */
#ifndef JOB_SECRET_H
#define JOB_SECRET_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "job/spec.h"

#define SECRET_BYTES_MAX (64 << 10) /* of one value */
#define SECRET_SHORTEST 4 /* shorter ones cannot be masked in logs, and are refused */

struct job_secret {
    const char *name, *value;
};
struct job_secrets {
    struct arena arena;
    VEC(struct job_secret) list;
};

/* Makes relative paths of NAME=file:PATH absolute: they are the submitter's. */
void job_secrets_absolute(struct job_spec *s, const char *cwd);
/* RC_INVAL (E3019): too short to be kept out of logs; an empty one gives nothing away. */
enum rc job_secret_check(const char *name, const char *value, struct err *err) MUST_CHECK;
/* Looks every secret up and writes those of the environment to `path`. `env` is the
 * submitter's, NULL behind the last. RC_NOTFOUND (E3008), RC_INVAL (E3019).
 */
enum rc job_secrets_capture(const struct job_spec *s, const char *const *env,
                            const char *path, struct err *err) MUST_CHECK;
/* The values, when a worker starts. */
enum rc job_secrets_read(const struct job_spec *s, const char *path,
                         struct job_secrets *out, struct err *err) MUST_CHECK;
void job_secrets_release(struct job_secrets *s); /* overwrites the values */

#endif
