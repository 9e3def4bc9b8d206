/* SPDX-License-Identifier: Apache-2.0 */
/* job/inputs.h - channels and datasets of a job, resolved to paths of this machine. */
#ifndef JOB_INPUTS_H
#define JOB_INPUTS_H

#include <stdbool.h>

#include "base/vec.h"
#include "job/place.h"
#include "job/spec.h"

enum channel_kind { CHANNEL_INPUT, CHANNEL_OUTPUT, CHANNEL_DATASET };

struct channel {
    enum channel_kind kind;
    const char *name;
    const char
        *path; /* on this machine, absolute; NULL: an output kept in the job's tree */
    const char *mount; /* where the job sees it: "input/data/train" below the tree, or an
                          absolute path for a dataset */
    bool is_file;      /* then `mount` is the directory, and the file lies in it */
};

struct channels {
    struct arena arena;
    VEC(struct channel) list;
};

/* Looks at the disk and the store: RC_NOTFOUND E3005 (a path), E3107 (a dataset);
 * RC_UNSUPPORTED E3006; RC_INVAL E3003 for a name that is none. `cwd` makes relative
 * paths absolute.
 */
enum rc channels_resolve(const struct place *p, const struct spec *s, const char *cwd,
                         struct channels *out, struct err *err) MUST_CHECK;
void channels_release(struct channels *c);

#endif
