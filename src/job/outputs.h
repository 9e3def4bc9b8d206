/* SPDX-License-Identifier: Apache-2.0 */
/* job/outputs.h - what a job has written to its output channels so far, to be listed and
 * fetched. Once the job has succeeded, its own list (job/manifest.h) gives the digests. Outputs
 * that a server moved to its store of artifacts (job/archive.h) are listed all the same.
 */
#ifndef JOB_OUTPUTS_H
#define JOB_OUTPUTS_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/sha256.h"
#include "base/vec.h"
#include "job/place.h"

#define OUTPUTS_FILES_MAX 200000

struct job_output {
    const char *channel, *path; /* below the channel */
    int64_t bytes;
    int64_t changed;    /* wall clock, ns; 0: not known */
    const char *sha256; /* "": not known, the file may still change */
    const char *where; /* "": in the job's directory; else where it was sent or written */
};
struct job_outputs {
    struct arena arena;
    VEC(struct job_output) list;
};
/* Of a job that runs or ended. Nothing there: an empty list. RC_INVAL: too many files. */
enum rc job_outputs_read(const struct job_place *p, const char *id,
                         struct job_outputs *out, struct err *err) MUST_CHECK;
const struct job_output *job_outputs_find(const struct job_outputs *l,
                                          const char *channel, const char *path);
/* From the text of a list (job/manifest.h) of a job whose tree is `ml`, with a '/' at its end;
 * "": every channel that was not sent elsewhere counts as the job's own.
 */
enum rc job_outputs_parse(const char *text, const char *ml, struct job_outputs *out,
                          struct err *err) MUST_CHECK;
void job_outputs_release(struct job_outputs *l);

/* Opens one for reading; RC_NOTFOUND (E5502) for anything but a regular file of the job's
 * own that no link leads to.
 */
enum rc job_output_open(const struct job_place *p, const char *id, const char *channel,
                        const char *path, int *fd, struct stat *st,
                        struct err *err) MUST_CHECK;

#endif
