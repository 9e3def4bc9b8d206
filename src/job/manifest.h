/* SPDX-License-Identifier: Apache-2.0 */
/* job/manifest.h - what a job left in its output channels, with checksums. */
#ifndef JOB_MANIFEST_H
#define JOB_MANIFEST_H

#include "job/inputs.h"

struct job_manifest_total {
    int64_t files, bytes;
};

/* Writes `path`: {"channels": [{"name", "path", "uri", "files": [{"path", "bytes",
 * "sha256"}]}]}. `ml` is the job's tree. RC_IO when an output cannot be read or the list
 * not written.
 */
enum rc job_manifest_write(const char *ml, const struct job_channels *c, const char *path,
                           struct job_manifest_total *total, struct err *err) MUST_CHECK;

#endif
