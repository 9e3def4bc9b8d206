/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/download.h - files of a server onto this disk: resumed, checked, never half there. */
#ifndef CMD_DOWNLOAD_H
#define CMD_DOWNLOAD_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* Gives bytes behind `at`, as job_ops.output; none at the end. */
typedef enum rc download_part_fn(void *arg, int64_t at, char version[80], struct buf *out,
                                 struct err *err);

struct download {
    const char *dir;    /* where to; made when it is not there */
    const char *path;   /* below it; checked: it never leaves the directory */
    int64_t bytes;      /* announced */
    const char *sha256; /* announced; "": not known */
    download_part_fn *part;
    void *arg;
};
/* The file grows as PATH.part, where a later call goes on, and gets its name when its size
 * and digest are right. *kept: it was there already. RC_INVAL (E5503): it has another size
 * or digest; nothing is left then.
 */
enum rc download_file(const struct download *d, bool *kept, struct err *err) MUST_CHECK;

#endif
