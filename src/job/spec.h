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
struct spec_hp {
    const char *name, *value;
};

/* Workers of one kind. */
struct spec_role {
    const char *name; /* "worker" when none is named */
    int64_t count;
    int64_t cpu_milli, memory, gpu, nproc; /* of one; memory 0: not counted */
    bool serves; /* runs until the others have ended; its own end counts only if bad */
};

struct spec {
    struct conf conf;                /* owned: tree and bound struct */
    const struct jobspec_JobSpec *s; /* borrowed from conf */
    struct arena arena;
    struct spec_hp *hp; /* in the order given */
    size_t n_hp;
    const char *shell;         /* the command as a text, or NULL */
    const char *const *argv;   /* or its words, NULL behind the last */
    const char *backend;       /* never NULL */
    int64_t cpu_milli, memory; /* of one worker, unless its role says otherwise */
    struct spec_role *roles;   /* in the order of ranks */
    size_t n_roles;
    int64_t workers;                         /* of all roles together, */
    int64_t total_cpu, total_mem, total_gpu; /* and what they need */
    double timeout_s, queue_timeout_s, grace_s, hang_s, backoff_s, backoff_max_s;
};

/* Flags that make or change a specification: `name` of a field of the job file, and its
 * value; fields that are maps take NAME=VALUE, lists one element.
 */
struct spec_flag {
    const char *name, *value;
};
struct spec_flags {
    const struct spec_flag *at;
    size_t n;
    const char *const *command; /* words behind `--`; one word is a text for the shell */
    size_t n_command;
};

/* `path` NULL: from the flags alone. Problems of the file or of values go to `diags`
 * (then RC_INVAL or RC_FORMAT with an empty message); what is wrong with a flag itself to
 * `err` (E3003). The spec must be released in either case, after the diags were shown.
 */
enum rc spec_load(const char *path, const struct spec_flags *flags, struct spec *out,
                  struct diags *diags, struct err *err) MUST_CHECK;
/* JSON that somebody sent; problems as for spec_load(). */
enum rc spec_parse(const char *text, size_t n, struct spec *out, struct diags *diags,
                   struct err *err) MUST_CHECK;
/* Reads it again after its tree was changed. On failure it is released. */
enum rc spec_again(struct spec *s, struct err *err) MUST_CHECK;
/* What spec_print() wrote. */
enum rc spec_from_json(const char *text, struct spec *out, struct err *err) MUST_CHECK;
void spec_release(struct spec *s);

/* The role of a worker (0 <= worker < s->workers); *index, unless NULL, counts in it. */
const struct spec_role *spec_role_of(const struct spec *s, int64_t worker,
                                     int64_t *index);
/* The worker that is "master-0" or "worker-2"; -1: none. */
int64_t spec_worker_find(const struct spec *s, const char *name);

/* One line of JSON that spec_from_json() reads back. */
void spec_print(const struct spec *s, struct buf *out);
/* Changes a field before it is printed; for what is filled in at submission. */
void spec_put(struct spec *s, const char *field, const char *value);
/* The command line that submits the same job again, one flag per line. */
void spec_script(const struct spec *s, struct buf *out);

#endif
