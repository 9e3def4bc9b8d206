/* SPDX-License-Identifier: Apache-2.0 */
/* job/environ.h - variables of the submission's environment that a job needs later, kept
 * in files of mode 0600 below its directory.
 */
#ifndef JOB_ENVIRON_H
#define JOB_ENVIRON_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

typedef bool job_environ_wanted_fn(const char *variable); /* of "NAME=value" */
/* PATH, HOME and the like: nothing that usually holds a secret. */
bool job_environ_is_plain(const char *variable);
/* What says where object stores and MaxCompute are and who we are there. */
bool job_environ_is_access(const char *variable);

/* `env` has NULL behind the last; `wanted` NULL: all of it. */
enum rc job_environ_write(const char *path, const char *const *env,
                          job_environ_wanted_fn *wanted, struct err *err) MUST_CHECK;

struct job_environ_list {
    struct arena arena;
    VEC(const char *) list; /* "NAME=value"; NULL behind the last, not counted */
};
/* Empty when there is no such file. */
void job_environ_read(const char *path, struct job_environ_list *out);
const char *job_environ_get(const struct job_environ_list *l, const char *name);
void job_environ_release(struct job_environ_list *l); /* wipes the values */

#endif
