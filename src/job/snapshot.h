/* SPDX-License-Identifier: Apache-2.0 */
/* job/snapshot.h - a copy of a program directory, kept by content.
 *
 * Each file lies once under DIR/objects, named by its SHA-256; the list of files is an
 * object too, and its name is the snapshot's. Two submissions of the same code share all.
 * `.trainyardignore` in the directory leaves files out: one pattern per line as in
 * .gitignore (#, !, leading and trailing '/', * and ?); .git and __pycache__ always are.
 */
#ifndef JOB_SNAPSHOT_H
#define JOB_SNAPSHOT_H

#include "base/err.h"
#include "base/sha256.h"

#define SNAPSHOT_FILES_MAX 20000
#define SNAPSHOT_BYTES_MAX ((int64_t)512 << 20)

struct snapshot {
    char id[SHA256_TEXT_SIZE];
    int64_t files, bytes;
};

/* RC_NOTFOUND, RC_INVAL (too large), RC_IO: E3004. */
enum rc snapshot_take(const char *objects, const char *source, struct snapshot *out,
                      struct err *err) MUST_CHECK;
/* Puts the files below `to`, which is made. RC_FORMAT when an object is not what its name
 * says.
 */
enum rc snapshot_restore(const char *objects, const char *id, const char *to,
                         struct err *err) MUST_CHECK;

#endif
