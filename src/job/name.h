/* SPDX-License-Identifier: Apache-2.0 */
/* job/name.h - names of files that a program chose, which may be any bytes but NUL.
 *
 * In JSON a path is text; one that holds control characters or is not UTF-8 has its bytes
 * beside it, as hexadecimal digits: {"path": "a\ufffd", "path_hex": "61ff"}. For people such
 * bytes are escaped: a\xff.
 */
#ifndef JOB_NAME_H
#define JOB_NAME_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"
#include "text/node.h"

/* UTF-8 without control characters. */
bool job_name_is_plain(const char *path);
/* The members "path" and, where it is not plain, "path_hex". */
void job_name_json(const char *path, struct buf *out);
/* What job_name_json() wrote, in `a`; "" when there is none, or one that cannot be. */
const char *job_name_read(const struct node *n, struct arena *a);
/* Of hexadecimal digits, in `a`; NULL: they are none, or hold a NUL. */
const char *job_name_of_hex(const char *hex, struct arena *a);
void job_name_hex(const char *path, struct buf *out);
/* For a terminal. */
void job_name_show(const char *path, struct buf *out);

#endif
