/* SPDX-License-Identifier: Apache-2.0 */
/* job/model.h - outputs of a job under a name that outlives the job.
 *
 * A version of a model is a snapshot of an output channel, kept by content with its owner's
 * uploads; the store has its name and where it came from (store/models.h). Deleting the job
 * leaves the model, deleting the model leaves the job.
 */
#ifndef JOB_MODEL_H
#define JOB_MODEL_H

#include <sys/types.h>

#include "job/outputs.h"
#include "store/models.h"

/* In `extra` of a job, before the name of an input: the version that it was asked for as. */
#define MODEL_EXTRA "model."
#define MODEL_PREFIX "model:" /* NAME or NAME:VERSION, where an input could stand */

struct job_model_new {
    const char *name, *channel, *note;
    int64_t most; /* bytes that the owner may store; 0: no limit */
};
/* Takes the files of a job that has ended, for p->owner. RC_INVAL (E3014: it has not; E5501),
 * RC_NOTFOUND (E5502: the channel is empty), RC_INVAL (E3110: the name is somebody else's).
 */
enum rc job_model_register(const struct job_place *p, const struct store_job *j,
                           const struct job_model_new *n, int64_t *version,
                           struct err *err) MUST_CHECK;
/* Its files, as outputs of the channel that they came from. */
enum rc job_model_files(const struct job_place *p, const struct store_model *m,
                        struct job_outputs *out, struct err *err) MUST_CHECK;
/* Whether its contents lie in this directory. */
bool job_model_here(const struct job_place *p, const struct store_model *m);

/* "NAME" (*version is -1, the latest) or "NAME:VERSION"; *name in `a`. False: neither. */
bool job_model_parse(const char *text, struct arena *a, const char **name,
                     int64_t *version);

/* One file, to be read at any place. */
struct job_model_file;
enum rc job_model_file_open(const struct job_place *p, const struct store_model *m,
                            const char *path, struct job_model_file **out,
                            struct err *err) MUST_CHECK;
int64_t job_model_file_size(const struct job_model_file *f);
const char *job_model_file_sha256(const struct job_model_file *f);
/* Bytes read, 0 at the end, -1 on failure. */
ssize_t job_model_file_read(const struct job_model_file *f, int64_t at, char *to,
                            size_t n);
void job_model_file_close(struct job_model_file *f); /* NULL is fine */

#endif
