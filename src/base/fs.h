/* SPDX-License-Identifier: Apache-2.0 */
/* base/fs.h - files and directories of this machine.
 *
 * Messages name the path. Texts and arrays that come back are the caller's, to
 * mem_free() or the release named here. Any thread may call.
 */
#ifndef BASE_FS_H
#define BASE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* The whole file with a NUL behind it that *n does not count. RC_INVAL when it is larger
 * than `max` bytes, RC_NOTFOUND, RC_IO, RC_NOMEM.
 */
enum rc fs_read(const char *path, size_t max, char **data, size_t *n,
                struct err *err) MUST_CHECK;

/* A file that replaces the one at `path` when it is whole: it grows under another name in
 * the same directory, is synced, renamed over the old one, and the directory synced. At
 * every moment `path` is the old file or the new one. A symbolic link at `path` is
 * replaced, not followed. Used by one thread at a time.
 */
struct fs_file;
enum rc fs_create(const char *path, mode_t mode, struct fs_file **out,
                  struct err *err) MUST_CHECK;
enum rc fs_append(struct fs_file *f, const void *data, size_t n,
                  struct err *err) MUST_CHECK;
int fs_file_fd(const struct fs_file *f); /* borrowed, for writing at an offset */
/* Several processes may write one file: that which made it tells the others its name until
 * then (borrowed), each writes its own bytes of a stretch, and that one goes on behind it. Bytes
 * are on the disk when fs_part_close() was told to sync, or when the file is committed and all
 * run on one machine. Where a network file system lies between them, no two write to one page.
 */
const char *fs_file_temp(const struct fs_file *f);
enum rc fs_file_skip(struct fs_file *f, int64_t n, struct err *err) MUST_CHECK;
struct fs_part;
/* RC_NOTFOUND: this process does not see it. */
enum rc fs_part_open(const char *temp, struct fs_part **out, struct err *err) MUST_CHECK;
enum rc fs_part_write(struct fs_part *p, int64_t offset, const void *data, size_t n,
                      struct err *err) MUST_CHECK;
/* Ends `p` whatever it returns; NULL is fine. */
enum rc fs_part_close(struct fs_part *p, bool sync, struct err *err) MUST_CHECK;
/* Both end `f`, whatever they return; nothing but the file itself is left behind. When
 * only the last sync of the directory fails, the new file is in place all the same.
 */
enum rc fs_commit(struct fs_file *f, struct err *err) MUST_CHECK;
void fs_abandon(struct fs_file *f); /* NULL is fine */
/* All of it at once. `mode` is taken as given, whatever the umask. */
enum rc fs_write(const char *path, const void *data, size_t n, mode_t mode,
                 struct err *err) MUST_CHECK;

/* Adds one line to the end of a file, made when it is not there (0644), in one write, and
 * syncs it. `line` has its line end.
 */
enum rc fs_add_line(const char *path, const char *line, size_t n,
                    struct err *err) MUST_CHECK;
/* Like mkdir -p. */
enum rc fs_mkdirs(const char *path, mode_t mode, struct err *err) MUST_CHECK;
/* A new directory for this process alone, under $TMPDIR or /tmp: "/tmp/<prefix>-XXXXXX".
 */
enum rc fs_temp_dir(const char *prefix, char **path, struct err *err) MUST_CHECK;
/* Opens `name` below the directory `at` (or AT_FDCWD) for reading, with further `flags`; a
 * link is not followed. Modes by which the owner of a file or directory keeps itself out
 * do not count if that is us: it is let in first, and a directory may then be written to.
 * -1 with errno.
 */
int fs_open_own(int at, const char *name, int flags);
/* With everything in it, whatever its mode; a symbolic link is removed, never followed. Fine
 * when absent.
 */
enum rc fs_remove_all(const char *path, struct err *err) MUST_CHECK;

/* Removes what writers that were killed left half written in this directory, not below
 * it. Only where nobody else is writing.
 */
void fs_sweep(const char *path);
/* The same where others may be writing: only files whose writer is dead. A writer locks its
 * file (flock) while it lives; where there are no locks nothing is removed.
 */
void fs_sweep_dead(const char *path);

/* Puts the file or directory `from` at `to` in one step, then syncs the directory around
 * it. What was at `to` lies at `from` afterwards. File systems that cannot exchange names
 * have a moment without `to`. When only the sync fails, the move has happened.
 */
enum rc fs_move(const char *from, const char *to, struct err *err) MUST_CHECK;

/* Names in a directory without "." and "..", sorted by bytes. */
struct fs_names {
    char **at;
    size_t n;
};
enum rc fs_list(const char *path, struct fs_names *out, struct err *err) MUST_CHECK;
void fs_names_release(struct fs_names *names);

bool fs_exists(const char *path); /* a dangling link does not */
bool fs_is_dir(const char *path);

/* `b` alone when it is absolute; no doubled '/'. */
char *fs_join(const char *a, const char *b) MUST_CHECK;
char *fs_dirname(const char *path) MUST_CHECK;  /* "a/b/": "a"; "a": "."; "/a": "/" */
char *fs_basename(const char *path) MUST_CHECK; /* "a/b/": "b"; "/": "/" */

/* A regular file, mapped for reading. `data` is never NULL; an empty file has n == 0. */
struct fs_map {
    const unsigned char *data;
    size_t n;
};
enum rc fs_map(const char *path, struct fs_map *out, struct err *err) MUST_CHECK;
void fs_unmap(struct fs_map *map); /* twice is fine */

/* Bytes that this user may still write to the file system of `path`, and its size. */
enum rc fs_space(const char *path, int64_t *available, int64_t *total,
                 struct err *err) MUST_CHECK;
/* Files that can still be made there, and all that it can have; 0: no limit is known. */
enum rc fs_files(const char *path, int64_t *available, int64_t *total,
                 struct err *err) MUST_CHECK;

/* For tests: asked before each call to the system made by fs_read(), fs_file and their
 * kin. 0 lets it happen, an errno fails it, FS_SHORT lets a read or write do one byte
 * only. NULL turns it off. Set it while no other thread is here.
 */
enum fs_call {
    FS_OPEN,
    FS_READ,
    FS_WRITE,
    FS_CHMOD,
    FS_SYNC,
    FS_CLOSE,
    FS_RENAME,
    FS_SYNC_DIR,
    FS_MKDIR,
};
#define FS_SHORT (-1)
typedef int fs_hook_fn(void *arg, enum fs_call call);
void fs_set_hook(fs_hook_fn *hook, void *arg);

#endif
