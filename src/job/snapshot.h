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
#include "base/str.h"

#define SNAPSHOT_FILES_MAX 20000
#define SNAPSHOT_BYTES_MAX ((int64_t)512 << 20)

struct job_snapshot {
    char id[SHA256_TEXT_SIZE];
    int64_t files, bytes;
};

/* RC_NOTFOUND, RC_INVAL (too large), RC_IO: E3004. */
enum rc job_snapshot_take(const char *objects, const char *source,
                          struct job_snapshot *out, struct err *err) MUST_CHECK;
/* What another machine sends: a list of files first (snapshot_accept), then the objects
 * that it names and that are not here yet. Nothing is believed: an object is what its
 * name says, paths stay below the copy and never lead through a link.
 */
#define SNAPSHOT_PREFIX "snapshot:"      /* before an id, where a directory could stand */
bool job_snapshot_id_ok(const char *id); /* 64 hexadecimal digits */
/* RC_INVAL (E3004) when `data` does not hash to `id`. */
enum rc job_snapshot_object_put(const char *objects, const char *id, const void *data,
                                size_t n, struct err *err) MUST_CHECK;
/* Checks the list `id`, which must be here, and adds the ids of missing objects to
 * `missing` (may be NULL) as JSON strings with commas between them; *n_missing of them.
 * RC_NOTFOUND when the list is not here, RC_FORMAT when it is no list: E3004.
 */
enum rc job_snapshot_look(const char *objects, const char *id, struct job_snapshot *out,
                          struct buf *missing, size_t *n_missing,
                          struct err *err) MUST_CHECK;
/* Reads an object, list or file. The caller's, to mem_free(). */
enum rc job_snapshot_object_get(const char *objects, const char *id, char **data,
                                size_t *n, struct err *err) MUST_CHECK;

/* Puts the files below `to`, which is made. RC_FORMAT when an object is not what its name
 * says.
 */
enum rc job_snapshot_restore(const char *objects, const char *id, const char *to,
                             struct err *err) MUST_CHECK;

#endif
