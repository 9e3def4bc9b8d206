/* SPDX-License-Identifier: Apache-2.0 */
/* job/inputs.h - channels and datasets of a job, resolved to paths of this machine. */
#ifndef JOB_INPUTS_H
#define JOB_INPUTS_H

#include <stdbool.h>

#include "base/vec.h"
#include "job/place.h"
#include "job/spec.h"

enum job_channel_kind { CHANNEL_INPUT, CHANNEL_OUTPUT, CHANNEL_DATASET };

struct job_channel {
    enum job_channel_kind kind;
    const char *name;
    const char
        *path; /* on this machine, absolute; NULL: an output kept in the job's tree */
    const char *mount; /* where the job sees it: "input/data/train" below the tree, or an
                          absolute path for a dataset */
    const char *uri;   /* in an object store: an input's `path` is where its copy comes to
                          lie, an output is sent there at the end; NULL: on this machine */
    bool is_file;      /* then `mount` is the directory, and the file lies in it */
    bool is_upload;    /* `uri` is snapshot:ID: sent by the submitter, kept by content */
    bool is_table;  /* of MaxCompute, at `uri`: the job gets its address, not its rows */
    bool guarded;   /* a dataset that a user registered who is no administrator */
    bool writable;  /* a dataset whose place users may send outputs to */
    bool read_only; /* a dataset that this job may not write to: one of a server's user,
                       not marked writable */
};

struct job_channels {
    struct arena arena;
    VEC(struct job_channel) list;
};

/* Looks at the disk and the store: RC_NOTFOUND E3005 (a path), E3107 (a dataset);
 * RC_UNSUPPORTED E3006; RC_INVAL E3003 for a name that is none, E3303 for an output to
 * what the owner of the job may only read. `cwd` makes relative paths absolute. `dir` is the job's directory, where copies of what lies in an object
 * store go; NULL before there is one. No store of objects is asked.
 */
enum rc job_channels_resolve(const struct job_place *p, const char *owner,
                             const struct job_spec *s, const char *cwd, const char *dir,
                             struct job_channels *out, struct err *err) MUST_CHECK;
/* Whether anything has to be copied from (or to) an object store. */
bool job_channels_remote(const struct job_channels *c, enum job_channel_kind kind);
bool job_channels_tables(const struct job_channels *c);
/* Whether a dataset may appear there: an absolute path, no "..", and nothing that a
 * container engine gives a meaning of its own.
 */
bool job_inputs_place_ok(const char *mount);
#define JOB_PLACE_RULE                                  \
    "it is absolute, without '..', ':', ',' and '\"', " \
    "and not in /proc, /sys, /dev or /run"
/* Whether a dataset of a type other than local and nas may lie there: its type is the scheme. */
bool job_dataset_uri_ok(const char *type, const char *uri);
void job_channels_release(struct job_channels *c);

#endif
