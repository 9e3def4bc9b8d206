/* SPDX-License-Identifier: Apache-2.0 */
/* job/tree.h - files of a tree in which somebody else may write.
 *
 * A job can put links, pipes and devices where we expect files, also while we look. So every
 * part of a path is opened below the one before it, links are never followed, and only
 * regular files are read. Modes that keep the owner out, if that is us, are widened.
 */
#ifndef JOB_TREE_H
#define JOB_TREE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"

/* Relative, no empty parts, no "." and "..". The bytes may be any (job/name.h). */
bool job_tree_path_ok(const char *rel);
/* Opens `rel` below the directory `root`, which is ours, as a directory or as a regular file
 * (*st, may be NULL). -1 with errno: ELOOP or ENOTDIR where there is a link.
 */
int job_tree_open(const char *root, const char *rel, bool dir, struct stat *st);
/* Whether that would open something. */
bool job_tree_has(const char *root, const char *rel, bool dir);
/* The whole of such a file, the caller's to mem_free(), with a NUL behind it that *n does
 * not count. NULL: there is none, or it has more than `max` bytes.
 */
char *job_tree_read(const char *root, const char *rel, size_t max, size_t *n);

/* A regular file below the directory: `rel` from there, open for reading until the call
 * returns.
 */
typedef enum rc job_tree_fn(void *arg, const char *rel, int fd, const struct stat *st,
                            struct err *err);
/* In the order of names; `fd` stays the caller's. Links and what is no file are passed
 * over. RC_INVAL: nested too deep.
 */
enum rc job_tree_walk(int fd, job_tree_fn *each, void *arg, struct err *err) MUST_CHECK;

#endif
