/* SPDX-License-Identifier: Apache-2.0 */
/* job/bucket.h - inputs and outputs of jobs in object stores (s3://, oss://).
 *
 * A store has no directories: an address that ends in '/' stands for all objects below
 * it, any other for one object. Who we are there comes from the environment of this
 * process (io/account.h).
 */
#ifndef JOB_BUCKET_H
#define JOB_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

bool job_bucket_is(const char *uri); /* s3:// or oss:// */
/* oss://bucket/key?endpoint=HOST becomes oss://bucket.HOST/key; others stay. In `a`.
 * RC_UNSUPPORTED (E3006).
 */
enum rc job_bucket_plain(const char *uri, struct arena *a, const char **out,
                         struct err *err) MUST_CHECK;
/* Asks the store whether it is an object or the beginning of some; *out, in `a`, ends in
 * '/' in the second case. RC_NOTFOUND (E3005), else as in io/object.h.
 */
enum rc job_bucket_find(const char *uri, struct arena *a, const char **out,
                        struct err *err) MUST_CHECK;
/* Whether the store can be asked at all, for what will be written there later. */
enum rc job_bucket_reach(const char *uri, struct err *err) MUST_CHECK;

/* What is to be copied, either way. */
struct job_bucket_item {
    const char *from, *to; /* an address and a path, or a path and an address */
    int64_t bytes;
    const char
        *root; /* then `from` is below it, in a tree that others write in (job/tree.h) */
};
struct job_bucket_plan {
    struct arena arena;
    VEC(struct job_bucket_item) list;
    int64_t bytes;
};
/* Adds the object, or all below the prefix, to go into the directory `dir`. Names that
 * would leave it are refused (E3016). `required`: RC_NOTFOUND (E3005) when there is none.
 */
enum rc job_bucket_plan_fetch(struct job_bucket_plan *p, const char *uri, const char *dir,
                              bool required, struct err *err) MUST_CHECK;
/* Adds every regular file below the directory `rel` of `root`, to go below `uri`. The tree may
 * be somebody else's: no link is followed, now and when it is copied.
 */
enum rc job_bucket_plan_send(struct job_bucket_plan *p, const char *root, const char *rel,
                             const char *uri, struct err *err) MUST_CHECK;
void job_bucket_plan_release(struct job_bucket_plan *p);

/* How far it is; called by any thread, one at a time. */
struct job_bucket_state {
    int64_t files, bytes;       /* done */
    int64_t of_files, of_bytes; /* of all */
};
typedef void job_bucket_tell_fn(void *arg, const struct job_bucket_state *s);
/* Copies all, several at a time. A local file that is there with its full size is left
 * alone. The first failure ends it.
 */
enum rc job_bucket_copy(const struct job_bucket_plan *p, job_bucket_tell_fn *tell,
                        void *arg, struct err *err) MUST_CHECK;

#endif
