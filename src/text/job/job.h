/* SPDX-License-Identifier: Apache-2.0 */
/* text/job/job.h - the typed form of a job file (YAML or JSON).
 *
 * conf_open() binds `struct jobspec_JobSpec` for the kind "job". Values are checked for
 * form here; whether paths and datasets exist is the business of job/.
 */
#ifndef TEXT_JOB_JOB_H
#define TEXT_JOB_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "text/schema.h"

/* "2", "0.5", "500m": thousandths of a processor. */
bool jobspec_cpu_milli(struct str text, int64_t *milli) MUST_CHECK;
/* "4Gi", "512m", plain bytes. */
bool jobspec_bytes(struct str text, int64_t *bytes) MUST_CHECK;
/* "90s", "1h30m", "2d"; a plain number is seconds. */
bool jobspec_seconds(struct str text, double *seconds) MUST_CHECK;
/* Is `code` (0..255) in "75,128-255"? */
bool jobspec_codes_have(const char *list, int code);

/* Workers of one kind: "3" or "3,cpu=2,memory=4Gi,gpu=1". */
struct jobspec_role {
    int64_t count;
    int64_t cpu_milli, memory, gpu; /* of one; -1: as the job says */
};
bool jobspec_role_read(struct str text, struct jobspec_role *out) MUST_CHECK;
/* Its place in the order of ranks: whoever leads comes first; -1: no such kind. */
int jobspec_role_order(const char *name);
bool jobspec_role_serves(
    const char *name); /* runs until the others have ended: ps and kin */
#define JOB_WORKERS_MAX 1024

/* Indexes of an array: "10", "1-8", "1-9:2", "1,4,7-9", each with "%4" behind it. */
#define JOB_ARRAY_MAX 10000
struct jobspec_array {
    int64_t *at; /* the caller's, to mem_free() */
    size_t n;
    int64_t limit; /* at a time; 0: no limit */
};
bool jobspec_array_read(struct str text, struct jobspec_array *out) MUST_CHECK;
/* One job of an array, "ja-0123456789ab,3,10,0". */
struct jobspec_array_element {
    char id[16];
    int64_t index, count, limit;
};
bool jobspec_array_element_read(struct str text,
                                struct jobspec_array_element *out) MUST_CHECK;

/* Where jobs can run: one line of backends.def each. */
enum jobspec_image { JOB_IMAGE_NEVER, JOB_IMAGE_MUST };
struct jobspec_backend {
    const char *name;
    enum jobspec_image image;
};
const struct jobspec_backend *jobspec_backend_find(const char *name); /* NULL: none */
/* The one of a job that names none. */
const struct jobspec_backend *jobspec_backend_for(bool image);
bool jobspec_backend_runs_images(const char *name); /* false also when there is none */
extern const char jobspec_backend_list[];           /* "|local|container" */
extern const char jobspec_backend_help[];        /* of the field: what each one takes */
extern const char jobspec_backend_option_help[]; /* all settings that there are */
#define JOB_BACKEND_WORDS (jobspec_backend_list + 1) /* for field tables */

/* Settings that one backend alone has: one line of backend_options.def each. */
typedef const char *jobspec_check_fn(struct str value);
struct jobspec_option {
    const char *backend, *name;
    jobspec_check_fn *check; /* NULL: any text */
    const char *help;
};
const struct jobspec_option *jobspec_option_at(size_t i); /* NULL behind the last */

/* For field tables: NULL, or what is wrong. */
const char *jobspec_check_name(struct str value);
const char *jobspec_check_cpu(struct str value);
const char *jobspec_check_size(struct str value);
const char *jobspec_check_duration(struct str value);
const char *jobspec_check_codes(struct str value);
const char *jobspec_check_token(struct str value);
const char *jobspec_check_array(struct str value);
const char *jobspec_check_array_element(struct str value);
/* A reference by the grammar of docker and podman; what passes is no option. */
const char *jobspec_check_image(struct str value);
/* [A-Za-z_][A-Za-z0-9_]* */
const char *jobspec_check_variable(struct str name);
const char *jobspec_check_pull(struct str value); /* of images */
/* Of Slurm: a value that is one word and no option. */
const char *jobspec_check_slurm(struct str value);
const char *jobspec_check_slurm_time(struct str value);
const char *jobspec_check_slurm_poll(struct str value);
const char *jobspec_check_kube_text(struct str value);
const char *jobspec_check_kube_kind(struct str value);
const char *jobspec_check_kube_name(struct str value);
const char *jobspec_check_kube_wait(struct str value);
const char *jobspec_check_run_as(struct str value);
const char *jobspec_check_count(struct str value); /* 1 to 1024 */
const char *jobspec_check_view(struct str value);  /* mount or plain */
const char *jobspec_check_yes(struct str value);
const char *jobspec_check_path(struct str value); /* absolute */

#define SCHEMA_P(n) jobspec_##n
#define SCHEMA_DEF(n) jobspec_##n##_def
#define SCHEMA_WORD(e, w) jobspec_##e##_##w

/* The order of these matters. */
/* clang-format off */
#include "text/schema_as_struct.h"
#include "text/job/job.def"
#include "text/schema_end.h"

#include "text/schema_as_decl.h"
#include "text/job/job.def"
#include "text/schema_end.h"
/* clang-format on */

#undef SCHEMA_P
#undef SCHEMA_DEF
#undef SCHEMA_WORD

extern const struct schema_family schema_family_job;

/* The value of a setting of its backend; NULL: it has none. */
const char *jobspec_backend_option(const struct jobspec_JobSpec *s, const char *name);

#endif
