/* SPDX-License-Identifier: Apache-2.0 */
/* data/files.h - the files that an input path stands for. */
#ifndef DATA_FILES_H
#define DATA_FILES_H

#include "base/err.h"
#include "base/fs.h"

/* `input` is a file, a directory (every file below it; names that begin with '.' or '_'
 * are left out, unless a pattern's part begins so), a pattern (*, ?, [..] within a name,
 * ** for any number of directories),
 * or several of these with commas between them. Files come in the order of the parts,
 * within a part sorted by bytes, each once. *out is the caller's, to fs_names_release().
 * RC_NOTFOUND E1201 when a part stands for no file.
 */
enum rc files_expand(const char *input, struct fs_names *out, struct err *err) MUST_CHECK;

#endif
