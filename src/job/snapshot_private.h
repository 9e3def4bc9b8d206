/* SPDX-License-Identifier: Apache-2.0 */
/* job/snapshot_private.h - shared by the files of snapshots. */
#ifndef JOB_SNAPSHOT_PRIVATE_H
#define JOB_SNAPSHOT_PRIVATE_H

#include "job/snapshot.h"
#include "text/node.h"

char *job_snapshot_object_path(const char *objects, const char *id); /* the caller's */
/* Opens the list `id`: *root is its NODE_LIST, both owned by the caller: doc_release() when
 * doc->src is set, mem_free(*text).
 */
enum rc job_snapshot_list_open(const char *objects, const char *id, struct doc *doc,
                               char **text, const struct node **root,
                               struct err *err) MUST_CHECK;

/* One entry of a list, checked for its form: exactly one of link and ids. */
struct job_snapshot_entry {
    const char *path, *link;  /* link NULL: a file */
    const struct node *parts; /* NODE_LIST of ids; NULL: `id` is the file */
    const char *id;
    bool exec;
};
enum rc job_snapshot_entry_read(const struct node *n, struct job_snapshot_entry *out,
                                struct err *err) MUST_CHECK;
size_t job_snapshot_entry_parts(const struct job_snapshot_entry *e);
const char *job_snapshot_entry_part(const struct job_snapshot_entry *e, size_t i);

#endif
