/* SPDX-License-Identifier: Apache-2.0 */
/* io/guard.h - the one rule for outputs, asked before any work is done.
 *
 * An output is never one of the inputs, under whatever name or link: that is refused even
 * when the user asks to overwrite. Anything else that exists is refused unless the user
 * said --overwrite. "-" (stdout), pipes and devices are written to as they are.
 */
#ifndef IO_GUARD_H
#define IO_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/fs.h"

#define IO_STDOUT "-"

/* Stdout, a pipe, a terminal or another device: what is written there is gone at once and
 * replaces nothing.
 */
bool io_is_direct(const char *path);

/* For people: "stdout" for "-". */
const char *io_output_name(const char *path);

/* `path` may be written; what a writer that was killed left beside it is removed. `inputs` (NULL: none) are the files that are read, expanded.
 * RC_INVAL E0008 (it exists), E0009 (it is an input); what io/object.h lists.
 */
enum rc io_guard_file(const char *path, const struct fs_names *inputs, bool overwrite,
                      struct err *err) MUST_CHECK;
/* Files with these names may be written into `dir`, which may be absent. The list ends
 * with NULL.
 */
enum rc io_guard_files(const char *dir, const char *const *names,
                       const struct fs_names *inputs, bool overwrite,
                       struct err *err) MUST_CHECK;
/* `path` does not lie in one of the directories of `input`, a list as data/files.h reads
 * it: there it would be an input the next time. RC_INVAL E0009.
 */
enum rc io_guard_outside(const char *path, const char *input, struct err *err) MUST_CHECK;
/* No input lies in `dir`, however deep. RC_INVAL E0009. */
enum rc io_guard_dir(const char *dir, const struct fs_names *inputs,
                     struct err *err) MUST_CHECK;

#endif
