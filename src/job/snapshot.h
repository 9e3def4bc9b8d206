/* SPDX-License-Identifier: Apache-2.0 */
/* job/snapshot.h - a copy of a directory, kept by content.
 *
 * Each file lies once under an objects directory, named by its SHA-256; a file larger than
 * SNAPSHOT_PART is cut into parts, which are objects each. The list of files is an object
 * too, and its name is the snapshot's. Two submissions of the same files share all.
 * Of programs `.trainyardignore` in the directory leaves files out: one pattern per line as
 * in .gitignore (#, !, leading and trailing '/', * and ?); .git and __pycache__ always are.
 */
#ifndef JOB_SNAPSHOT_H
#define JOB_SNAPSHOT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/sha256.h"
#include "base/str.h"
#include "base/vec.h"

#define SNAPSHOT_FILES_MAX 20000
#define SNAPSHOT_BYTES_MAX ((int64_t)512 << 20) /* of a program */
#define SNAPSHOT_DATA_FILES_MAX 200000
#define SNAPSHOT_PART ((size_t)16 << 20) /* bytes of the largest object that is a file */
#define SNAPSHOT_LIST_MAX ((size_t)64 << 20)
#define SNAPSHOT_MISSING_MAX 20000 /* named by one answer */

/* A list can name one object very often, so what was sent says little about the room that the
 * files take. Data may be so many times what was sent, and that much in any case.
 */
#define SNAPSHOT_REPEAT_MOST 16
#define SNAPSHOT_REPEAT_FREE ((int64_t)1 << 30)

struct job_snapshot {
    char id[SHA256_TEXT_SIZE];
    int64_t files, bytes; /* as they are put down */
    int64_t sent; /* bytes of the objects, each once; of a directory that is read: 0 */
};

/* Where the content of an object can be read: a stretch of a file. */
struct job_snapshot_piece {
    const char *path;
    int64_t at;
    size_t n;
};
/* A snapshot before it is kept or sent anywhere. Zeroed: empty. */
struct job_snapshot_list {
    struct arena arena;
    struct job_snapshot is;
    struct buf text;   /* the list itself, which hashes to is.id */
    struct map pieces; /* id: struct job_snapshot_piece */
};
/* Walks `source`. As data, a file is fine, nothing is left out, links are followed and the
 * size has no limit. RC_NOTFOUND, RC_INVAL (too large), RC_IO: E3004. Release it in any case.
 */
enum rc job_snapshot_list_make(const char *source, bool data,
                               struct job_snapshot_list *out, struct err *err) MUST_CHECK;
void job_snapshot_list_release(struct job_snapshot_list *l);
/* RC_INVAL (E3004), always: a name that a list cannot hold. */
enum rc job_snapshot_bad_name(const char *rel, struct err *err);
/* The content of an object of the list, to mem_free(). RC_INVAL (E3004): the file is not
 * what it was when the list was made.
 */
enum rc job_snapshot_piece_read(const struct job_snapshot_list *l, const char *id,
                                char **data, size_t *n, struct err *err) MUST_CHECK;

/* Of a program directory: all of it is kept below `objects`. */
enum rc job_snapshot_take(const char *objects, const char *source,
                          struct job_snapshot *out, struct err *err) MUST_CHECK;
/* The same of any directory of files, as data. */
enum rc job_snapshot_take_data(const char *objects, const char *source,
                               struct job_snapshot *out, struct err *err) MUST_CHECK;
/* What another machine sends: a list of files first, then the objects that it names and
 * that are not here yet. Nothing is believed: an object is what its name says, paths stay
 * below the copy and never lead through a link.
 */
#define SNAPSHOT_PREFIX "snapshot:"      /* before an id, where a directory could stand */
bool job_snapshot_id_ok(const char *id); /* 64 hexadecimal digits */
/* The id of the directory with nothing in it, which is everywhere the same. */
#define SNAPSHOT_EMPTY_LIST "[]\n"
bool job_snapshot_is_empty(const char *id);
/* RC_INVAL (E3004) when `data` does not hash to `id`. *added (may be NULL): it was not
 * there before.
 */
enum rc job_snapshot_object_put(const char *objects, const char *id, const void *data,
                                size_t n, bool *added, struct err *err) MUST_CHECK;
/* Checks the list `id`, which must be here, and adds the ids of missing objects to
 * `missing` (may be NULL) as JSON strings with commas between them, SNAPSHOT_MISSING_MAX of
 * them at most; *n_missing counts all. RC_NOTFOUND when the list is not here, RC_FORMAT
 * when it is no list: E3004.
 */
enum rc job_snapshot_look(const char *objects, const char *id, struct job_snapshot *out,
                          struct buf *missing, size_t *n_missing,
                          struct err *err) MUST_CHECK;
/* The same for one that is to be used as a program, or as data: nothing may be missing, and
 * it may not be larger than a program, or grow beyond what was sent (RC_INVAL, E3004).
 */
enum rc job_snapshot_need(const char *objects, const char *id, bool data,
                          struct job_snapshot *out, struct err *err) MUST_CHECK;
/* Calls `each` for the list itself and every object that it names. */
typedef enum rc job_snapshot_each_fn(void *arg, const char *id, struct err *err);
enum rc job_snapshot_each(const char *objects, const char *id, job_snapshot_each_fn *each,
                          void *arg, struct err *err) MUST_CHECK;
/* Gives the snapshot to another owner's objects; no bytes are copied on one disk. */
enum rc job_snapshot_share(const char *from, const char *to, const char *id,
                           struct err *err) MUST_CHECK;
/* Reads an object, list or file. The caller's, to mem_free(). */
enum rc job_snapshot_object_get(const char *objects, const char *id, char **data,
                                size_t *n, struct err *err) MUST_CHECK;

/* Puts the files below `to`, which is made. RC_FORMAT when an object is not what its name
 * says, RC_IO (E3108) when the disk of the jobs directory `room` (NULL: any) would get too full.
 */
enum rc job_snapshot_restore(const char *objects, const char *id, const char *to,
                             const char *room, struct err *err) MUST_CHECK;

#endif
