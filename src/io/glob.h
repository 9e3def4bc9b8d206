/* SPDX-License-Identifier: Apache-2.0 */
/* io/glob.h - the objects that a path with patterns stands for. */
#ifndef IO_GLOB_H
#define IO_GLOB_H

#include <stdbool.h>

#include "base/fs.h"

/* URLs of the objects that `url` means, sorted: the object itself; else, for a name
 * without a pattern, everything below it as a directory; else every match of *, ?, [..]
 * (within one part between slashes) and ** (any number of parts). Hidden parts, which
 * begin with '.' or '_', are left out unless the pattern spells that character. None:
 * RC_OK and out->n == 0. Errors as in io/object.h; `out` to fs_names_release().
 */
enum rc io_glob(const char *url, struct fs_names *out, struct err *err) MUST_CHECK;
/* Whether `key` is such a match; for tests. */
bool io_glob_matches(const char *pattern, const char *key);

#endif
