/* SPDX-License-Identifier: Apache-2.0 */
/* job/spec.h - the specification of a job in memory: from a file, from flags, from the
 * store; checked once, then only read.
 */
#ifndef JOB_SPEC_H
#define JOB_SPEC_H

#include "base/err.h"
#include "base/opt.h"
#include "text/conf.h"
#include "text/job/job.h"

/* One hyper-parameter, as a program sees it: everything is text. */
struct job_spec_hp {
    const char *name, *value;
};

/* Workers of one kind. */
struct job_spec_role {
    const char *name; /* "worker" when none is named */
    int64_t count;
    int64_t cpu_milli, memory, gpu, nproc; /* of one; memory 0: not counted */
    bool serves; /* runs until the others have ended; its own end counts only if bad */
};

struct job_spec {
    struct conf conf;                /* owned: tree and bound struct */
    const struct jobspec_JobSpec *s; /* borrowed from conf */
    struct arena arena;
    struct job_spec_hp *hp; /* in the order given */
    size_t n_hp;
    const char *shell;           /* the command as a text, or NULL */
    const char *const *argv;     /* or its words, NULL behind the last */
    const char *backend;         /* never NULL */
    int64_t cpu_milli, memory;   /* of one worker, unless its role says otherwise */
    struct job_spec_role *roles; /* in the order of ranks */
    size_t n_roles;
    int64_t workers;                         /* of all roles together, */
    int64_t total_cpu, total_mem, total_gpu; /* and what they need */
    double timeout_s, queue_timeout_s, grace_s, hang_s, backoff_s, backoff_max_s;
};

/* Flags that make or change a specification: `name` of a field of the job file, and its
 * value; fields that are maps take NAME=VALUE, lists one element.
 */
struct job_spec_flag {
    const char *name, *value;
};
struct job_spec_flags {
    const struct job_spec_flag *at;
    size_t n;
    const char *const *command; /* words behind `--`; one word is a text for the shell */
    size_t n_command;
};

/* `path` NULL: from the flags alone. Problems of the file or of values go to `diags`
 * (then RC_INVAL or RC_FORMAT with an empty message); what is wrong with a flag itself to
 * `err` (E3003). The spec must be released in either case, after the diags were shown.
 */
enum rc job_spec_load(const char *path, const struct job_spec_flags *flags,
                      struct job_spec *out, struct diags *diags,
                      struct err *err) MUST_CHECK;
/* JSON that somebody sent; problems as for job_spec_load(). */
enum rc job_spec_parse(const char *text, size_t n, struct job_spec *out,
                       struct diags *diags, struct err *err) MUST_CHECK;
/* Reads it again after its tree was changed. On failure it is released. */
enum rc job_spec_again(struct job_spec *s, struct err *err) MUST_CHECK;
/* Is the backend still to be chosen? Until then `backend` is the first that fits. */
bool job_spec_auto(const struct job_spec *s);
/* What job_spec_print() wrote. */
enum rc job_spec_from_json(const char *text, struct job_spec *out,
                           struct err *err) MUST_CHECK;
void job_spec_release(struct job_spec *s);

/* The role of a worker (0 <= worker < s->workers); *index, unless NULL, counts in it. */
const struct job_spec_role *job_spec_role_of(const struct job_spec *s, int64_t worker,
                                             int64_t *index);
/* The worker that is "master-0" or "worker-2"; -1: none. */
int64_t job_spec_worker_find(const struct job_spec *s, const char *name);
/* Do they ask for different resources? */
bool job_spec_roles_differ(const struct job_spec *s);

/* One line of JSON that job_spec_from_json() reads back. */
void job_spec_print(const struct job_spec *s, struct buf *out);
/* Changes a field before it is printed; for what is filled in at submission. */
void job_spec_put(struct job_spec *s, const char *field, const char *value);
/* The command line that submits the same job again, one flag per line. */
void job_spec_script(const struct job_spec *s, struct buf *out);

#endif
