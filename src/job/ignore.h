/* SPDX-License-Identifier: Apache-2.0 */
/* job/ignore.h - which files of a directory are left out of a snapshot. */
#ifndef JOB_IGNORE_H
#define JOB_IGNORE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

struct job_ignore_rule {
    const char *pattern;
    bool negate, dir_only, anchored; /* anchored: compared with the whole path */
};

struct job_ignore {
    struct arena arena;
    VEC(struct job_ignore_rule) rules;
};

/* Reads `dir`/.trainyardignore, if there is one, behind the rules that always hold. */
enum rc job_ignore_open(const char *dir, struct job_ignore *out,
                        struct err *err) MUST_CHECK;
void job_ignore_release(struct job_ignore *g);
/* `rel` is the path below the directory. The last rule that fits decides. */
bool job_ignore_match(const struct job_ignore *g, const char *rel, bool is_dir);

#endif
